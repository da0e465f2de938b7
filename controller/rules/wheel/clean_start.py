"""A launch whose first pulses come from beam to beam at nearly constant speed.

One story is enough for a clean start. A search of all stories (`chain.py`) would follow other stories as
well, but drop them all at the pulse that completes the start. At that pulse, this story costs at most 0.5 and
any other story at least 2.7.

A story of the other direction has one of three forms: each step between neighbouring beams passes a working
beam that reports no pulse (cost 0.7); only every second or third pulse is the ball's (cost 1 for each omitted
pulse); or there are only two beams, whose distances differ so much that two consecutive steps are faster or
slower than a ball's.

A story of the same direction continues like this story after two pulses. It must therefore have omitted the
last pulse or the one before, and passed the beam of that pulse. No such story has begun since the fifth
pulse, which was clearly the next.
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
"""Number of pulses of a complete start. The pulses from the fourth on can be predicted; three pulses as
predicted rule out every other story."""
KNOWN = 4
"""Number of pulses from which this story is certainly the cheapest. Any other story omits a pulse, or passes
a beam without one."""
_MIN_PULSES = 3
"""Minimum number of pulses that show the direction, which takes two steps."""
_MAX_SLOWER, _MAX_FASTER = 0.05, 0.03
"""Maximum fractions of the predicted speed by which a step may be slower, and faster."""
_MIN_STEP_RATIO = 0.8
_MIN_TWO_BEAM_REV_PER_S = 0.8
"""Minimum speed with two beams, in rev/s. A slower ball may lose so much speed between the beams that both
directions are possible."""
_MAX_LAUNCH_RATIO = 10.9
"""Ratio of the launch speed to the slowest ball's speed from which a launch resembles a slow ball that
interrupted a beam twice in one pass."""


class CleanStart:
    """The first pulses of a launch while they are clean."""

    __slots__ = ("_ring", "_slowest", "pulses", "story")

    def __init__(self, ring: Ring, slowest: float) -> None:
        """`slowest` is the speed of the slowest ball in the track, in rev/s."""
        self._ring = ring
        self._slowest = slowest
        self.pulses: list[tuple[int, int]] = []
        self.story: Story | None = None
        """Story of these pulses, from the third pulse on."""

    def accepts(self, t: int, beam: int) -> bool:
        """Handle a pulse. Return False, without a change, if the pulse is not the next of a clean start."""
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
        """Extend the story by a pulse; return False if the pulse is not clearly the next."""
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
