"""Where a die is, and when: straight legs of even deceleration, from the hand to rest.

Points are (u, y): u runs from the shooter's end of the table to the far one, y as on the table. Speeds are
metres a second (millimetres a millisecond), times microseconds.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

Point = tuple[float, float]
Side = Literal["near", "far", "front", "back"]


@dataclass(frozen=True, slots=True)
class Leg:
    """A straight piece of a path."""

    begin_us: int
    end_us: int
    start: Point
    stop: Point
    speed_in: float
    speed_out: float

    def at(self, t_us: float) -> Point:
        """Give the place at a time within the leg."""
        run_ms = (self.end_us - self.begin_us) / 1000
        gone_ms = (t_us - self.begin_us) / 1000
        way = self.speed_in * gone_ms + (self.speed_out - self.speed_in) * gone_ms**2 / (2 * run_ms)
        share = min(1.0, max(0.0, way / math.dist(self.start, self.stop)))
        return (
            self.start[0] + share * (self.stop[0] - self.start[0]),
            self.start[1] + share * (self.stop[1] - self.start[1]),
        )


@dataclass(frozen=True, slots=True)
class Touch:
    """The die struck a wall."""

    t_us: int
    side: Side
    along_mm: float
    speed: float


@dataclass(slots=True)
class Path:
    """One die's way; grows leg by leg."""

    release_us: int
    hand: Point
    legs: list[Leg] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)

    @property
    def end_us(self) -> int:
        """When the last leg ends."""
        return self.legs[-1].end_us if self.legs else self.release_us

    @property
    def here(self) -> Point:
        """Where the last leg ends."""
        return self.legs[-1].stop if self.legs else self.hand

    def go(self, to: Point, speed: float, speed_there: float) -> None:
        """Move straight to a point, slowing (or driven) evenly from one speed to the other."""
        way = math.dist(self.here, to)
        if way < 1e-6:
            return
        run_us = max(1, round(2000 * way / (speed + speed_there)))
        begin = self.end_us
        self.legs.append(Leg(begin, begin + run_us, self.here, to, speed, speed_there))

    def strike(self, side: Side, speed: float) -> None:
        """Strike a wall where the path ends now."""
        along = self.here[1] if side in ("near", "far") else self.here[0]
        self.touches.append(Touch(self.end_us, side, along, speed))

    def at(self, t_us: float) -> Point:
        """Give the place at a time: the hand before the release, the last point after the end."""
        if t_us <= self.release_us or not self.legs:
            return self.hand
        for leg in self.legs:
            if t_us < leg.end_us:
                return leg.at(t_us)
        return self.here

    def struck(self, side: Side) -> bool:
        """Say whether the die struck this wall."""
        return any(touch.side == side for touch in self.touches)


def nearest_approach(first: Path, second: Path) -> tuple[int, float]:
    """Find when two moving dice are nearest each other, and how near (mm), to a millisecond."""
    begin = max(first.release_us, second.release_us)
    end = max(begin + 1, min(first.end_us, second.end_us))
    return min(
        ((t, math.dist(first.at(t), second.at(t))) for t in range(begin, end, 1000)), key=lambda pair: pair[1]
    )
