"""A launch whose first pulses come from beam to beam, one speed hardly different from the next.

Until so many have come that every other story is ruled out, one story is enough: a search of all stories
(`chain.py`) would keep others beside it, and drop them all with the pulse that makes the start complete.

Why it would: with that pulse a story that is not this one is at least 2.7 dearer than nothing, and this one
costs at most 0.5. The other way round passes a working beam with each step between neighbours (0.7), or goes
on only from every second or third pulse (1 for each left out); where there are but two beams, their ways
differ so much that two steps in a row are faster or slower than a ball's. The same way round goes on alike
with this story after two pulses of its own, so it must have left out the last one or the one before, and
passed its beam; and since the fifth pulse, which was plainly next, no such story began.
"""

from controller.rules.wheel.story import EVEN, FASTEST, JITTER_S, MAX_SLACK, SENSES, Pass, Ring, Story

COMPLETE = 7
"""Pulses: the fourth makes it plain what comes next, and three more that come so leave no other story."""
KNOWN = 4
"""Pulses from which on this story is the cheapest for certain: any other left out a pulse, or passed a
beam."""
_BEGINS = 3
"""Pulses that show two steps, and so the way round."""
_SLOWER, _FASTER = 0.05, 0.03
"""Share of the foretold speed by which a step is slower or faster at most."""
_LEAST_OF_LAST = 0.8
"""Of the last step's speed, at least: what any ball makes."""
_SLOWEST_OF_TWO = 0.8
"""rev/s: a slower ball past two beams may lose so much from one to the other that either way round fits."""
_FASTEST_OF_SLOWEST = 10.9
"""A launch so much faster than the slowest ball might be told as one that cut a beam twice in passing."""


class CleanStart:
    """Follows the first pulses of a launch for as long as they are clean."""

    __slots__ = ("_ring", "_slowest", "pulses", "story")

    def __init__(self, ring: Ring, slowest: float) -> None:
        """`slowest` is the speed in rev/s of the slowest ball in the track."""
        self._ring = ring
        self._slowest = slowest
        self.pulses: list[tuple[int, int]] = []
        """The time and the beam of each."""
        self.story: Story | None = None
        """The story of them, from the third on."""

    def goes_on(self, t: int, beam: int) -> bool:
        """Handle a pulse; False, with nothing changed, where it does not come as a clean start's next."""
        pulses, story = self.pulses, self.story
        if story is not None:
            if not self._step(story, t, beam):
                return False
        elif len(pulses) == _BEGINS - 1:
            self.story = self._begun((t, beam))
            if self.story is None:
                return False
        pulses.append((t, beam))
        return True

    def _begun(self, third: tuple[int, int]) -> Story | None:
        (first_us, first), (t, beam) = self.pulses
        if t <= first_us or first == beam:
            return None
        for sense in SENSES:
            ahead = self._ring.ahead[sense][first][beam]
            speed = ahead / ((t - first_us) / 1e6)
            if self._ring.between[sense][first][beam] or not self._can_begin(speed):
                continue
            story = Story(sense, Pass(None, first_us, first).then(t, beam, ahead, speed), 0.0)
            if self._step(story, *third):
                return story
        return None

    def _can_begin(self, speed: float) -> bool:
        fastest = min(FASTEST, _FASTEST_OF_SLOWEST * self._slowest)
        return self._slowest <= speed <= fastest and self._fits_two(speed)

    def _fits_two(self, speed: float) -> bool:
        return self._ring.count > 2 or speed >= _SLOWEST_OF_TWO

    def _step(self, story: Story, t: int, beam: int) -> bool:
        """Let the story go on to a pulse; False where that is not plainly its next."""
        last, sense = story.last, story.sense
        if t <= last.t or last.beam == beam or self._ring.between[sense][last.beam][beam]:
            return False
        ahead = self._ring.ahead[sense][last.beam][beam]
        seconds, before = (t - last.t) / 1e6, last.speed
        speed = ahead / seconds
        expected = before - last.loss * seconds
        if not -_SLOWER * expected <= speed - expected <= _FASTER * expected:
            return False
        if speed < self._slowest or speed < _LEAST_OF_LAST * before or not self._fits_two(speed):
            return False
        off = (speed - expected) / (EVEN * expected + min(MAX_SLACK * before, JITTER_S / seconds * speed))
        story.cost += 0.25 * off * off
        story.last = last.then(t, beam, ahead, speed)
        return True
