"""The last moment at which both dice were certainly in motion: until then the faces are unknown."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.model.readings import DieAt, DieLost, DieOffTable, DieReleased, DieRest, Reading

MOVED_MM = 10.0
"""A die has moved if its track is this far from its earlier position: five times the track's noise."""
STILL_US = 60_000
"""A die that moved less than MOVED_MM in this time may be at rest: below 0.17 m/s it no longer tumbles."""


@dataclass(frozen=True, slots=True)
class Motion:
    """The time until which the dice of a throw were seen to move."""

    until_us: int | None
    """The last time at which both dice were certainly in motion; None if there is none."""
    over: bool
    """Whether a die is, or may be, at rest or gone: no later reading can then change `until_us`."""


@dataclass(slots=True)
class _Die:
    at: DieAt | None = None
    """Its position when it was last seen to have moved by MOVED_MM."""
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


def find_motion(readings: Iterable[Reading]) -> Motion:
    """Return the time until which both dice were in motion, from a throw's readings in time order.

    A die that came to rest, was lost, or may have been at rest for a moment counts as at rest from then on:
    its face may already be known even if it is knocked or pushed later.
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
                released.add(reading.die)  # Earlier points were in the hand.
                dice[reading.die] = _Die()
            case _:
                pass
    until = [die.until_us for die in dice.values()]
    seen = [us for us in until if us is not None]
    return Motion(min(seen) if len(seen) == len(until) else None, any(die.over for die in dice.values()))
