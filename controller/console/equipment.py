"""The data on the technician's pages: devices, journal, clock, settlement, and charts of readings.

While bets are open, the controller does not send readings of the ball and the rotor, even to technicians,
unless the table is in test mode.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from controller.console.answers import Fault
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

Health = Literal["ok", "faulty", "offline"]


class DeviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A device in the controller's status.

    While bets are open, values from which a ball could be timed are None.
    """

    type: str = ""
    up: bool = False
    says: str = ""
    since_s: int | None = None
    """How long the device has been up or down; None if it has never been up."""
    readings_per_s: float | None = None
    last_seen_s: float | None = None
    trouble: str = ""
    do: str = ""
    figures: dict[str, object] = {}
    reads: tuple[str, ...] = ()
    calibrates: Literal["camera", "walls", "wheel"] | None = None
    """The device's kind of calibration; None if `tablectl calibrate` does not calibrate the device."""

    @property
    def found(self) -> str:
        """The device's last report, without its type and the remedy, which are shown separately."""
        report = self.says.partition(": ")[2] or self.says
        return report.removesuffix(self.do).rstrip("; ") if self.do else report

    @property
    def fault_codes(self) -> tuple[str, ...]:
        """The codes of the device's active faults."""
        codes = self.figures.get("troubles")
        return tuple(map(str, codes)) if isinstance(codes, list | dict) else ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the self-test."""

    name: str
    ok: bool
    says: str = ""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's last row, the number of rows waiting for the disk, and the verified part of the chain."""

    last_row: int = 0
    waiting: int = 0
    verified: str = ""


class Publish(msgspec.Struct, frozen=True, kw_only=True):
    """Whether settlement accepts outcomes, and the number of unacknowledged outcomes."""

    ready: bool = False
    unacknowledged: int | None = None


class WallClock(msgspec.Struct, frozen=True, kw_only=True):
    """The machine's clock."""

    now: str = ""
    synchronized: bool = False


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the controller's status that the technician's pages show."""

    table: str
    ruleset: str = ""
    headline: str = ""
    started: str = ""
    session: str | int | None = None
    lock: str = "locked"
    testing: bool = False
    held_back: bool = False
    """Whether values from which a ball could be timed are omitted because bets are open."""
    faults: tuple[Fault, ...] = ()
    self_test: tuple[Check, ...] | None = None
    devices: dict[str, DeviceRow] = {}
    journal: Journal | None = None
    """None until the controller has opened the journal."""
    publish: Publish = Publish()
    wall: WallClock = WallClock()
    recording: str = ""
    late: int = 0

    def health(self, name: str) -> Health:
        """Return a device's state. A device is faulty if it reports a fault or an active fault names it."""
        device = self.devices[name]
        if not device.up:
            return "offline"
        return "faulty" if device.fault_codes or self.faults_of(name) else "ok"

    def faults_of(self, name: str) -> tuple[Fault, ...]:
        """Return the faults that name this device."""
        return tuple(fault for fault in self.faults if fault.where.partition(",")[0] == name)


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of raw readings. `bytes` and `ended` are None for a recording of the current session."""

    name: str
    bytes: int | None = None
    ended: str | None = None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the controller's log."""

    at: str
    says: str


read_equipment = converter_of(Equipment)
"""Converts a status. Raises `msgspec.ValidationError`."""
read_recordings = converter_of(tuple[Recording, ...])
"""Converts a list of recordings. Raises `msgspec.ValidationError`."""
read_log = converter_of(tuple[LogLine, ...])
"""Converts the lines of the log. Raises `msgspec.ValidationError`."""


def duration_text(seconds: float) -> str:
    """Return a duration as text, such as `3 h`."""
    for unit, length_s in (("day", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length_s:
            count = int(seconds // length_s)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return f"{seconds:.0f} s"


MAX_POINTS = 400
"""Maximum number of points in a die's track: two seconds at 200 frames/s."""
MAX_IMPACTS = 24
"""Maximum number of impacts in the chart, for all walls together."""
MAX_SPEEDS = 120
"""Maximum number of speeds in a chart."""
MAX_LAP_S, MIN_LAP_S = 8.0, 0.15
"""Longest and shortest revolution of a ball or a rotor that a chart shows."""
WIDTH, HEIGHT = 600, 150
"""The size of a chart in SVG units."""

Spot = tuple[float, float]


class _Line(msgspec.Struct):
    reading: AnyReading


_line_of = converter_of(_Line)


class LastReading(msgspec.Struct, frozen=True, kw_only=True):
    """The last reading of one kind from one device, as text."""

    dev: str
    kind: str
    says: str
    count: int
    late: bool
    """Whether the controller held the reading back while bets were open."""


@dataclass(slots=True)
class Speeds:
    """The speeds of a ball or a rotor, in revolutions per second, each averaged over one revolution."""

    points: deque[Spot] = field(default_factory=lambda: deque(maxlen=MAX_SPEEDS))
    """The end of each measured revolution, in seconds, and its speed."""
    _last_us: dict[object, int] = field(default_factory=dict)

    def add_pass(self, mark: object, t_us: int) -> None:
        """Add a pass of a mark: a beam that the ball passed, or the rotor's mark.

        Two consecutive passes of the same mark are one revolution apart. If more than MAX_LAP_S lies
        between them, the chart is cleared.
        """
        before_us = self._last_us.get(mark)
        self._last_us[mark] = t_us
        lap_s = 0.0 if before_us is None else (t_us - before_us) / 1e6
        if MIN_LAP_S <= lap_s <= MAX_LAP_S:
            self.points.append((t_us / 1e6, 1 / lap_s))
        elif lap_s > MAX_LAP_S:
            self.points.clear()

    @property
    def newest(self) -> float | None:
        """The newest speed in revolutions per second; None if there is none."""
        return self.points[-1][1] if self.points else None

    @property
    def max_speed(self) -> float:
        """The highest speed in revolutions per second; 1 if there is none."""
        return max((speed for _, speed in self.points), default=1.0)

    def line(self) -> str:
        """Return the chart's line as the points of an SVG polyline."""
        if not self.points:
            return ""
        begin_s, end_s = self.points[0][0], self.points[-1][0]
        wide = max(end_s - begin_s, 1.0)
        return _points(
            (WIDTH * (at - begin_s) / wide, HEIGHT * (1 - speed / (1.1 * self.max_speed)))
            for at, speed in self.points
        )


@dataclass(slots=True)
class Charts:
    """The data shown on a sensors page."""

    last: dict[tuple[str, str], LastReading] = field(default_factory=dict)
    tracks: dict[int, deque[Spot]] = field(default_factory=dict)
    rests: dict[int, DieRest] = field(default_factory=dict)
    impacts: deque[WallImpact] = field(default_factory=lambda: deque(maxlen=MAX_IMPACTS))
    ball: Speeds = field(default_factory=Speeds)
    rotor: Speeds = field(default_factory=Speeds)

    def add(self, line: object, *, late: bool) -> None:
        """Add a reading to the charts. Ignore a kind of reading that this release does not know."""
        try:
            reading = _line_of({"reading": line}).reading
        except msgspec.ValidationError:
            return
        key = (reading.dev, kind_of(reading))
        before = self.last.get(key)
        self.last[key] = LastReading(
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
                if self.rests:  # The next throw has begun.
                    self.rests.clear()
                    self.tracks.clear()
                track = self.tracks.setdefault(reading.die, deque(maxlen=MAX_POINTS))
                track.append((reading.x, reading.y))
            case DieRest():
                self.rests[reading.die] = reading
            case WallImpact():
                self.impacts.append(reading)
            case BallBeam():
                self.ball.add_pass(reading.beam, reading.t)
            case RotorIndex():
                self.rotor.add_pass("mark", reading.t)
            case _:
                pass

    def track(self, die: int) -> str:
        """Return a die's track as the points of an SVG polyline, in mm in the table's coordinates."""
        return _points(self.tracks.get(die, ()))

    @property
    def loudest(self) -> float:
        """The largest peak in the chart, in ADC counts; 1 if the chart is empty."""
        return max((impact.peak for impact in self.impacts), default=1.0)


def _points(spots: Iterable[Spot]) -> str:
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in spots)


def in_words(reading: AnyReading) -> str:
    """Return a reading as text, without its device and time."""
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
