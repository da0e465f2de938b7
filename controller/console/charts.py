"""What sensors report as charts: dice on the table's plan, impacts by wall, the speed of ball and rotor.

Drawn from the readings that the controller tells a technician, and no earlier: those of ball and rotor come
once the bets are closed.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from controller.model.conversion import converter_of
from controller.model.readings import (
    AnyReading,
    BallBeam,
    DieAt,
    DieReleased,
    DieRest,
    Input,
    RotorIndex,
    Switch,
    WallImpact,
    kind_of,
)

POINTS = 400
"""Points of a track that are drawn: two seconds at 200 frames/s."""
IMPACTS = 24
"""Impacts that are drawn, the newest of all walls."""
SPEEDS = 120
"""Laps that are drawn."""
SLOWEST_LAP_S, FASTEST_LAP_S = 8.0, 0.15
"""A ball's or a rotor's turn lasts neither longer nor shorter."""
WIDTH, HEIGHT = 600, 150
"""Of a chart, in its own units."""

Spot = tuple[float, float]


class _Line(msgspec.Struct):
    reading: AnyReading


_line_of = converter_of(_Line)


class LastReading(msgspec.Struct, frozen=True, kw_only=True):
    """The last reading of one kind from one device, in words."""

    dev: str
    kind: str
    says: str
    count: int
    late: bool
    """Told once the bets were closed."""


@dataclass(slots=True)
class Speeds:
    """Turns per second of a ball or a rotor, a point for each whole turn."""

    points: deque[Spot] = field(default_factory=lambda: deque(maxlen=SPEEDS))
    """When, in seconds, and how fast."""
    _last_us: dict[object, int] = field(default_factory=dict)

    def passed(self, mark: object, t_us: int) -> None:
        """Note that it passed a mark; two passes of one mark are a turn apart."""
        before_us = self._last_us.get(mark)
        self._last_us[mark] = t_us
        lap_s = 0.0 if before_us is None else (t_us - before_us) / 1e6
        if FASTEST_LAP_S <= lap_s <= SLOWEST_LAP_S:
            self.points.append((t_us / 1e6, 1 / lap_s))
        elif lap_s > SLOWEST_LAP_S:
            self.points.clear()

    @property
    def newest(self) -> float | None:
        """Return the newest speed in turns per second."""
        return self.points[-1][1] if self.points else None

    @property
    def most(self) -> float:
        """Return the top of the chart, in turns per second."""
        return max((speed for _, speed in self.points), default=1.0)

    def line(self) -> str:
        """Return the points of the chart's line."""
        if not self.points:
            return ""
        begin_s, end_s = self.points[0][0], self.points[-1][0]
        wide = max(end_s - begin_s, 1.0)
        return _points(
            (WIDTH * (at - begin_s) / wide, HEIGHT * (1 - speed / (1.1 * self.most)))
            for at, speed in self.points
        )


@dataclass(slots=True)
class Charts:
    """All that a screen of sensors shows."""

    told: dict[tuple[str, str], LastReading] = field(default_factory=dict)
    tracks: dict[int, deque[Spot]] = field(default_factory=dict)
    rests: dict[int, DieRest] = field(default_factory=dict)
    impacts: deque[WallImpact] = field(default_factory=lambda: deque(maxlen=IMPACTS))
    ball: Speeds = field(default_factory=Speeds)
    rotor: Speeds = field(default_factory=Speeds)

    def hear(self, line: object, *, late: bool) -> None:
        """Add a reading to the charts; ignore one of a release that this console does not know."""
        try:
            reading = _line_of({"reading": line}).reading
        except msgspec.ValidationError:
            return
        key = (reading.dev, kind_of(reading))
        before = self.told.get(key)
        self.told[key] = LastReading(
            dev=key[0],
            kind=key[1],
            says=in_words(reading),
            count=1 if before is None else before.count + 1,
            late=late,
        )
        self._draw(reading)

    def _draw(self, reading: AnyReading) -> None:
        match reading:
            case DieReleased() | DieAt():
                if self.rests:  # both lay there: another throw has begun
                    self.rests.clear()
                    self.tracks.clear()
                track = self.tracks.setdefault(reading.die, deque(maxlen=POINTS))
                track.append((reading.x, reading.y))
            case DieRest():
                self.rests[reading.die] = reading
            case WallImpact():
                self.impacts.append(reading)
            case BallBeam():
                self.ball.passed(reading.beam, reading.t)
            case RotorIndex():
                self.rotor.passed("mark", reading.t)
            case _:
                pass

    def track(self, die: int) -> str:
        """Return the points of a die's track, in millimetres of the table."""
        return _points(self.tracks.get(die, ()))

    @property
    def loudest(self) -> float:
        """Return the largest peak that is drawn, in ADC counts."""
        return max((impact.peak for impact in self.impacts), default=1.0)


def _points(spots: Iterable[Spot]) -> str:
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in spots)


def in_words(reading: AnyReading) -> str:
    """Return what a reading says, without its device and time."""
    match reading:
        case Switch():
            return f"{reading.name} {'open' if reading.open else 'closed'}"
        case Input():
            return f"{reading.name} by {reading.by}"
        case DieRest(up=up):
            place = f"{reading.x:.0f}, {reading.y:.0f} mm"
            return (
                f"die {reading.die} shows {up or 'no face'} at {place}, confidence {reading.confidence:.2f}"
            )
        case WallImpact():
            return f"{reading.wall} wall at {reading.pos_mm:.0f} mm, peak {reading.peak:g}"
        case DieAt() | DieReleased():
            return f"die {reading.die} at {reading.x:.0f}, {reading.y:.0f} mm"
        case _:
            fields: dict[str, object] = msgspec.to_builtins(reading)
            left_out = {"kind", "t", "dev", "arrived"}
            words = (f"{name} {value}" for name, value in fields.items() if name not in left_out and value)
            return ", ".join(words) or "seen"
