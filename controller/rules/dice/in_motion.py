"""The last moment of a throw at which both dice were certainly in motion, and no face could yet be known."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.model.readings import DieAt, DieLost, DieOffTable, DieReleased, DieRest, Reading

MOVED_MM = 10.0
"""Distance, in mm, from a die's earlier position beyond which the die has certainly moved. It is five times
the track's noise."""
STILL_US = 60_000
"""A die that moved less than MOVED_MM in this time, in microseconds, may be at rest. Below 0.17 m/s a die no
longer tumbles."""


@dataclass(frozen=True, slots=True)
class Motion:
    """The period during which the dice of a throw were in motion."""

    until_us: int | None
    """The last time at which both dice were certainly in motion, or None."""
    over: bool
    """Whether a die is, or may be, at rest or gone. Later readings then cannot change `until_us`."""


@dataclass(slots=True)
class _Die:
    at: DieAt | None = None
    """The die's position when the camera last saw that it had moved by MOVED_MM."""
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
    """Return the period during which both dice were in motion, from a throw's readings in time order.

    The motion of a die ends when the die rests, may be at rest, leaves the table, or is lost. Its face may be
    known from then on, even if the die moves again later.
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
                released.add(reading.die)  # At earlier points the die was in the hand.
                dice[reading.die] = _Die()
            case _:
                pass
    until = [die.until_us for die in dice.values()]
    seen = [us for us in until if us is not None]
    return Motion(min(seen) if len(seen) == len(until) else None, any(die.over for die in dice.values()))
