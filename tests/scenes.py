"""Scenes for tests: throws of two dice as readings of a table's sensors.

The table is 3600 x 1100 mm, the dice are 19 mm, and the readings have no noise. Times are in microseconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.model.effects import Effect
from controller.model.geometry import DiceTable, Zone
from controller.model.outcomes import Outcome
from controller.model.readings import (
    AnyReading,
    Die,
    DieAt,
    DieReleased,
    DieRest,
    Face,
    Input,
    Surface,
    WallImpact,
)

TABLE = DiceTable(
    length_mm=3600,
    width_mm=1100,
    die_mm=19,
    zones=(
        Zone(name="bank", kind="bank", polygon=((1550, 900), (2050, 900), (2050, 1100), (1550, 1100))),
        Zone(name="cup", kind="cup", polygon=((1700, 0), (1900, 0), (1900, 140), (1700, 140))),
    ),
)
FRAME_US = 11_111
SECOND_US = 1_000_000
SPEED_MM_PER_S = 4000.0
BACK_MM_PER_S = 1200.0
FIRST_X_MM = 450.0


@dataclass(frozen=True, slots=True)
class Flight:
    """One die's path: from the left end to its turn at the right wall and back to its resting place."""

    die: Die
    y_mm: float
    turns_at_mm: float = TABLE.length_mm - TABLE.die_mm / 2
    rests_at_mm: float = 3300.0

    @property
    def turn_us(self) -> int:
        """Return the time from release to the turn."""
        return round((self.turns_at_mm - FIRST_X_MM) / SPEED_MM_PER_S * SECOND_US)

    @property
    def rest_us(self) -> int:
        """Return the time from release to rest."""
        return self.turn_us + round((self.turns_at_mm - self.rests_at_mm) / BACK_MM_PER_S * SECOND_US)

    def x_at(self, after_us: int) -> float:
        """Return the die's place at this time after its release."""
        if after_us < self.turn_us:
            return FIRST_X_MM + SPEED_MM_PER_S * after_us / SECOND_US
        return self.turns_at_mm - BACK_MM_PER_S * (after_us - self.turn_us) / SECOND_US


def throw(
    t: int,
    up: tuple[Face | None, Face | None] = (3, 4),
    *,
    apart_us: int = 0,
    short_mm: tuple[float, float] = (0.0, 0.0),
    on: tuple[Surface, Surface] = ("felt", "felt"),
    confidence: float = 0.98,
    heard: bool = True,
) -> list[AnyReading]:
    """Throw both dice to the right; each turns back `short_mm` before the right wall."""
    readings: list[AnyReading] = []
    dice: tuple[tuple[Die, int, float, Face | None, Surface], ...] = (
        (1, t, short_mm[0], up[0], on[0]),
        (2, t + apart_us, short_mm[1], up[1], on[1]),
    )
    for die, start, lack, face, surface in dice:
        wall_mm = TABLE.length_mm - TABLE.die_mm / 2
        flight = Flight(die, 300.0 + 250.0 * die, wall_mm - lack, wall_mm - lack - 250.0)
        readings += fly(flight, start)
        if heard and lack == 0:
            hit = WallImpact(
                t=start + flight.turn_us + 1000, dev="wall-right", wall="right", pos_mm=flight.y_mm, peak=400
            )
            readings.append(hit)
        readings.append(rest(flight, start, face, surface, confidence))
    return in_order(readings)


def fly(flight: Flight, start_us: int) -> list[AnyReading]:
    release = DieReleased(t=start_us, dev="cam", die=flight.die, x=FIRST_X_MM, y=flight.y_mm)
    readings: list[AnyReading] = [release]
    readings += [
        DieAt(
            t=start_us + after,
            dev="cam",
            die=flight.die,
            x=round(flight.x_at(after), 1),
            y=flight.y_mm,
        )
        for after in range(0, flight.rest_us, FRAME_US)
    ]
    return readings


def rest(flight: Flight, start_us: int, up: Face | None, on: Surface, confidence: float) -> DieRest:
    """Return the reading of a die at the end of its flight."""
    return DieRest(
        t=start_us + flight.rest_us,
        dev="cam",
        die=flight.die,
        x=flight.rests_at_mm,
        y=flight.y_mm,
        up=up,
        confidence=confidence,
        tilt_deg=0.3,
        on=on,
    )


def rest_of(readings: Iterable[AnyReading]) -> int:
    """Return the time at which the last die came to rest."""
    return max(r.t for r in readings if isinstance(r, DieRest))


def input_at(t: int, name: str, by: str = "boxperson", **arguments: object) -> Input:
    """Return a person's input at the console."""
    return Input(t=t, dev="console", name=name, by=by, **arguments)  # type: ignore[arg-type]  # any argument


def in_order(readings: Iterable[AnyReading]) -> list[AnyReading]:
    return sorted(readings, key=lambda reading: reading.t)


def outcomes(effects: Sequence[Effect]) -> list[Outcome]:
    return [effect for effect in effects if isinstance(effect, Outcome)]
