"""Up to when both dice of a throw were in motion for certain: so long nobody can know how they lie."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.model.readings import DieAt, DieLost, DieOffTable, DieReleased, DieRest, Reading

MOVED_MM = 10.0
"""A die has moved once its track is this far from where it was: five times the track's noise."""
STILL_US = 60_000
"""A die that moved no further for so long may lie: slower than 0.17 m/s it tumbles no more."""


@dataclass(frozen=True, slots=True)
class Motion:
    """How long the dice of a throw were seen to move."""

    until_us: int | None
    """A moment at which both dice were in motion for certain; None where there is none."""
    over: bool
    """Whether a die lies, is gone or may lie: what comes later can't move that moment on any more."""


@dataclass(slots=True)
class _Die:
    at: DieAt | None = None
    """Where it was seen at the start of its last stretch of 10 mm."""
    until_us: int | None = None
    over: bool = False

    def see(self, point: DieAt) -> None:
        before = self.at
        if before is None:
            self.at = point
            return
        if point.t - before.t > STILL_US:
            self.over = True
        elif (point.x - before.x) ** 2 + (point.y - before.y) ** 2 > MOVED_MM**2:
            self.until_us, self.at = before.t, point


def motion_of(readings: Iterable[Reading]) -> Motion:
    """Return how long both dice were in motion, from a throw's readings in the order of their times.

    A die that lay, was lost or may have lain for a moment counts as at rest for the whole throw: one that is
    knocked on or pushed later may be known already.
    """
    dice = {1: _Die(), 2: _Die()}
    released: set[int] = set()
    for reading in readings:
        match reading:
            case DieAt() if not dice[reading.die].over:
                dice[reading.die].see(reading)
            case DieRest() | DieOffTable() | DieLost():
                dice[reading.die].over = True
            case DieReleased() if reading.die not in released:
                released.add(reading.die)  # What was seen of it before was in the hand.
                dice[reading.die] = _Die()
            case _:
                pass
    until = [die.until_us for die in dice.values()]
    seen = [us for us in until if us is not None]
    return Motion(min(seen) if len(seen) == len(until) else None, any(die.over for die in dice.values()))
