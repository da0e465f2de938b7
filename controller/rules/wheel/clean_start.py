"""A launch whose first pulses come from beam to beam at nearly constant speed.

Even before enough pulses have come to rule out every other story, one story is enough: a search of all
stories (`chain.py`) would keep others as well, but drop them all at the pulse that completes the start. At
that pulse, any other story costs at least 2.7, and this one at most 0.5. In a story of the other direction,
each step between neighbouring beams passes a working beam that reports no pulse (0.7), or only every second
or third pulse is the ball's (1 for each left out); if there are only two beams, their distances differ so
much that two steps in a row are faster or slower than a ball's. A story of the same direction continues like
this one after two pulses of its own, so it must have left out the last pulse or the one before, and passed
the beam of that pulse. No such story has begun since the fifth pulse, because that pulse was clearly the
next.
"""

from controller.rules.wheel.story import (
    FASTEST,
    JITTER_S,
    MAX_SLACK,
    SENSES,
    STEP_VARIATION,
    Pass,
    Ring,
    Story,
)

COMPLETE = 7
"""The number of pulses of a complete start: from the fourth on, the next one can be predicted, and three more
that come as predicted rule out every other story."""
KNOWN = 4
"""From this many pulses on, this story is certainly the cheapest: any other leaves out a pulse, or passes a
beam without one."""
_MIN_PULSES = 3
"""Two steps, which show the direction, need this many pulses."""
_MAX_SLOWER, _MAX_FASTER = 0.05, 0.03
"""Maximum fractions of the predicted speed by which a step may be slower, and faster."""
_MIN_STEP_RATIO = 0.8
"""The minimum speed of a step, as a fraction of the last step's speed."""
_MIN_TWO_BEAM_REV_PER_S = 0.8
"""The minimum speed with two beams, in rev/s: a slower ball may lose so much speed from one beam to the other
that either direction fits."""
_MAX_LAUNCH_RATIO = 10.9
"""A launch this many times as fast as the slowest ball could be mistaken for a slow ball that interrupted a
beam twice in passing."""


class CleanStart:
    """Follows the first pulses of a launch for as long as they are clean."""

    __slots__ = ("_ring", "_slowest", "pulses", "story")

    def __init__(self, ring: Ring, slowest: float) -> None:
        """`slowest` is the speed in rev/s of the slowest ball in the track."""
        self._ring = ring
        self._slowest = slowest
        self.pulses: list[tuple[int, int]] = []
        """The time and the beam of each pulse."""
        self.story: Story | None = None
        """The story of these pulses, from the third pulse on."""

    def accepts(self, t: int, beam: int) -> bool:
        """Handle a pulse; return False, with nothing changed, if it is not the next one of a clean start."""
        pulses, story = self.pulses, self.story
        if story is not None:
            if not self._step(story, t, beam):
                return False
        elif len(pulses) == _MIN_PULSES - 1:
            self.story = self._begin_story((t, beam))
            if self.story is None:
                return False
        pulses.append((t, beam))
        return True

    def _begin_story(self, third: tuple[int, int]) -> Story | None:
        (first_us, first), (t, beam) = self.pulses
        if t <= first_us or first == beam:
            return None
        for sense in SENSES:
            ahead = self._ring.ahead[sense][first][beam]
            speed = ahead / ((t - first_us) / 1e6)
            if self._ring.between[sense][first][beam] or not self._can_begin(speed):
                continue
            story = Story(sense, Pass(None, first_us, first).next_pass(t, beam, ahead, speed), 0.0)
            if self._step(story, *third):
                return story
        return None

    def _can_begin(self, speed: float) -> bool:
        fastest = min(FASTEST, _MAX_LAUNCH_RATIO * self._slowest)
        return self._slowest <= speed <= fastest and self._fits_two(speed)

    def _fits_two(self, speed: float) -> bool:
        return self._ring.count > 2 or speed >= _MIN_TWO_BEAM_REV_PER_S

    def _step(self, story: Story, t: int, beam: int) -> bool:
        """Extend the story by a pulse; return False if the pulse is not clearly its next."""
        last, sense = story.last, story.sense
        if t <= last.t or last.beam == beam or self._ring.between[sense][last.beam][beam]:
            return False
        ahead = self._ring.ahead[sense][last.beam][beam]
        seconds, before = (t - last.t) / 1e6, last.speed
        speed = ahead / seconds
        expected = before - last.loss * seconds
        if not -_MAX_SLOWER * expected <= speed - expected <= _MAX_FASTER * expected:
            return False
        if speed < self._slowest or speed < _MIN_STEP_RATIO * before or not self._fits_two(speed):
            return False
        deviation = (speed - expected) / (
            STEP_VARIATION * expected + min(MAX_SLACK * before, JITTER_S / seconds * speed)
        )
        story.cost += 0.25 * deviation * deviation
        story.last = last.next_pass(t, beam, ahead, speed)
        return True
