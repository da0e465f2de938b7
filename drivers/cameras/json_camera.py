"""The device for a script, such as a camera program, that sends readings as JSON lines.

The readings are checked as strictly as those of other devices. The lines have no checksum, sequence number or
handshake, so the loss of a line is not detected. docs/devices/json-camera.md describes how accurate
the timestamps are and how the script's clock is tracked.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard

from controller.model.conversion import StrictJsonError, decode_strict
from controller.model.homography import DEFAULT_MAX_ERROR_MM, fit_rows
from controller.model.printable import printable
from controller.model.readings import AnyReading
from controller.model.tables import ReportedDevice
from drivers.device import DeviceType, RandomBytes, StreamAddress
from drivers.framing import LineSplitter, RateLimit
from drivers.health import LINK, Change, Health, PortReopening, build_readings
from drivers.readings import ReadingError, build_reading

MAX_LINE = 4096
"""Maximum length of a line in bytes."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not accepted as a JSON object, and the reason."""

    reason: str


Object = dict[str, object]


class JsonLines:
    """Decodes the JSON lines of one connection at a time."""

    def __init__(self) -> None:
        self._lines = LineSplitter(MAX_LINE)
        self.good = 0
        self.bad = 0

    def connect(self) -> None:
        """Discard an unfinished line of the previous connection."""
        self._lines.clear()

    def feed(self, data: bytes) -> list[Object | BadLine]:
        """Add bytes and return the contents of the completed lines, except empty lines."""
        found = []
        for line in self._lines.feed(data):
            if line.dropped:
                item: Object | BadLine = BadLine(f"more than {MAX_LINE} bytes in one line")
            elif line.text.strip():
                item = _parse_object(line.text)
            else:
                continue
            if isinstance(item, BadLine):
                self.bad += 1
            else:
                self.good += 1
            found.append(item)
        return found


def _parse_object(line: bytes) -> Object | BadLine:
    try:
        value = decode_strict(line)
    except StrictJsonError as error:
        return BadLine(f"{_printable(line)}, which is not accepted as JSON ({error})")
    if not isinstance(value, dict):
        return BadLine(f"{_printable(line)}, where one JSON object was expected")
    return value


def _printable(line: bytes) -> str:
    return printable(line[:60].decode("ascii", "backslashreplace"))


WINDOW_US = 10_000_000
SLICE_US = 1_000_000
MAX_DEVIATION_US = 2_000_000
RESET_AFTER = 3
"""Number of consecutive impossible times after which the script's clock is assumed to have been reset."""


class BadClockError(ValueError):
    """Raised for an impossible time."""


class ScriptClock:
    """Estimates the offset between the script's clock and the table's from the smallest recent delay."""

    def __init__(self) -> None:
        self._min_delays: deque[tuple[int, int]] = deque()
        self._impossible = 0

    def to_table(self, t_us: int, arrived_us: int) -> int:
        """Convert the script's `t_us`, from a line that arrived at `arrived_us`, to table time.

        Raises:
            BadClockError: If `t_us` deviates by more than `MAX_DEVIATION_US` from the time that earlier lines
                imply.
        """
        delay = arrived_us - t_us
        self._check(delay)
        delays = self._min_delays
        if not delays or arrived_us - delays[-1][0] >= SLICE_US:
            delays.append((arrived_us, delay))
        elif delay < delays[-1][1]:
            delays[-1] = (delays[-1][0], delay)
        while arrived_us - delays[0][0] > WINDOW_US:
            delays.popleft()
        return max(0, t_us + self._min_delay())

    def _min_delay(self) -> int:
        return min(delay for _, delay in self._min_delays)

    def _check(self, delay: int) -> None:
        if not self._min_delays or abs(delay - self._min_delay()) <= MAX_DEVIATION_US:
            self._impossible = 0
            return
        seconds = (self._min_delay() - delay) / 1e6
        self._impossible += 1
        if self._impossible >= RESET_AFTER:
            self._min_delays.clear()
            self._impossible = 0
        raise BadClockError(
            f"found `t` {seconds:+.1f} s from the time that earlier lines imply, expected a difference of at"
            f" most {MAX_DEVIATION_US / 1e6:g} s"
        )


ALIVE = "alive"
"""The kind of a line that only shows that the script is running."""
CLOSING_KINDS = frozenset({"die_released", "card"})
"""The kinds of reading that close the betting. If such a reading's timestamp were too late, players could bet
on an event that they had already seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCameraSettings:
    """A script that sends JSON lines."""

    port: str
    """`unix:` followed by a socket's path, `pipe:` followed by a pipe's path, or a serial port's path."""
    baud: int = 115_200
    clock: Literal["arrival", "own"] = "arrival"
    """The source of timestamps. `arrival` means the time of arrival. `own` means the field `t`, in
    microseconds on the script's monotonic clock.
    """
    silent_s: float = 1.5
    """Time without a valid line after which a fault is reported. The script sends {"kind": "alive"} when it
    has nothing else to send.
    """
    alive_ms: int | None = None
    """With `clock: arrival`, the maximum interval between the script's lines. A release or a card that
    arrives after a silence of more than twice this interval is given the timestamp of the last line before
    the silence, because the event might have occurred just after that line.
    """
    max_per_s: int = 1000
    """Maximum number of lines read per second. The excess is discarded and reported as a fault."""
    calibration: tuple[tuple[float, ...], ...] = ()
    """Four or more points: x and y in the script's coordinates, x and y on the table in millimetres. If
    empty, the script sends millimetres on the table.
    """
    error_mm: float = DEFAULT_MAX_ERROR_MM
    """Maximum error of the calibration at any of its points."""

    def __post_init__(self) -> None:
        """Raise ValueError for invalid settings."""
        if not 0 < self.silent_s <= 60:
            raise ValueError(f"silent_s: found {self.silent_s}, expected more than 0 and at most 60")
        if self.alive_ms is not None and not 1 <= self.alive_ms <= 10_000:
            raise ValueError(f"alive_ms: found {self.alive_ms}, expected 1 to 10000")
        if self.alive_ms is not None and self.clock == "own":
            raise ValueError("alive_ms: found with `clock: own`, expected only with `clock: arrival`")
        if self.max_per_s < 1:
            raise ValueError(f"max_per_s: found {self.max_per_s}, expected at least 1")
        if self.calibration:
            fit_rows(self.calibration, self.error_mm)


class JsonCamera:
    """The device for a script."""

    def __init__(self, name: str, settings: JsonCameraSettings, _random_bytes: RandomBytes) -> None:
        self.name = name
        self._settings = settings
        self._lines = JsonLines()
        self._plane = fit_rows(settings.calibration, settings.error_mm) if settings.calibration else None
        self._clock = ScriptClock()
        self._health = Health()
        self._budget = RateLimit(settings.max_per_s)
        self._open = False
        self._received_us = 0
        self._reopening = PortReopening()
        self._babble = 0
        self._delay_window: tuple[int, int] = (0, 0)
        """The time of the last line before a silence, and the time until which delayed lines might arrive."""

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until a line is received."""
        return self._build_readings(
            now_us, self._health.record(now_us, "starting", "nothing received yet", down=True)
        )

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle a script's connection. The device is up after the script's first valid line."""
        self._lines.connect()
        self._clock = ScriptClock()
        self._delay_window = (0, 0)
        self._open = True
        self._received_us = now_us
        self._reopening.postpone(now_us)
        changes = self._health.record(now_us, "starting", "waiting for its first line", down=True)
        return self._build_readings(now_us, changes + self._health.clear(now_us, LINK, seen="connected"))

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the loss of the connection or the port."""
        self._open = False
        return self._build_readings(now_us, self._health.record_closed(now_us, code, seen))

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle bytes lost because the table was busy."""
        seen = f"{lost} bytes discarded: the table was busy"
        return self._build_readings(now_us, self._record_loss(now_us, "sentences_lost", seen))

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        readings: list[AnyReading] = []
        if not self._open:
            return readings
        for item in self._lines.feed(data):
            if not self._budget.spend(now_us):
                self._babble += 1
                seen = f"found more than {self._budget.per_s} lines per second"
                readings += self._build_readings(now_us, self._record_loss(now_us, "babbling", seen))
            elif isinstance(item, BadLine):
                readings += self._build_readings(
                    now_us, self._record_loss(now_us, "bad_reading", f"found {item.reason}")
                )
            else:
                readings += self._handle(now_us, item)
        return readings

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        changes = self._health.tick(now_us)
        if self._open and now_us >= self._silent_at_us():
            seconds = (now_us - self._received_us) / 1e6
            changes += self._health.record(
                now_us, "silent", f"no valid line received for {seconds:.1f} s", down=True
            )
            self._reopening.request(now_us)
        return self._build_readings(now_us, changes)

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next."""
        due = self._health.next_deadline()
        if not self._open:
            return due
        silent = self._reopening.due_us if "silent" in self._health else self._silent_at_us()
        return silent if due is None else min(due, silent)

    def take_output(self) -> bytes:
        """Return no bytes, because nothing is sent to a script."""
        return b""

    def take_reopen(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        return self._reopening.take()

    def status(self) -> Mapping[str, object]:
        """Return the counters and the active faults."""
        return {
            "lines": self._lines.good,
            "bad_lines": self._lines.bad,
            "babble": self._babble,
            "connected": self._open,
            "clock": self._settings.clock,
            "troubles": list(self._health.codes),
        }

    def _silent_at_us(self) -> int:
        return self._received_us + round(self._settings.silent_s * 1e6)

    def _handle(self, now_us: int, item: Object) -> list[AnyReading]:
        fields = dict(item)
        kind = fields.pop("kind", None)
        try:
            t_us = self._event_time(kind, fields, now_us)
            self._to_table(kind, fields)
            readings = [] if kind == ALIVE else [build_reading(kind, fields, self.name, t_us, now_us)]
        except ReadingError as error:
            return self._build_readings(now_us, self._record_loss(now_us, "bad_reading", str(error)))
        except BadClockError as error:
            return self._build_readings(now_us, self._record_loss(now_us, "bad_clock", str(error)))
        self._received_us = now_us
        up = self._health.clear(now_us, "starting", "silent", LINK, seen="a valid line was received")
        return self._build_readings(now_us, up) + readings

    def _event_time(self, kind: object, fields: dict[str, object], now_us: int) -> int:
        t = fields.pop("t", None)
        if self._settings.clock == "arrival":
            if t is not None:
                raise ReadingError("found `t`, expected no `t` with `clock: arrival`")
            return self._latest_time(kind, now_us)
        if not isinstance(t, int) or isinstance(t, bool):
            raise ReadingError(f"found `t` {t!r}, expected a whole number of microseconds")
        return self._clock.to_table(t, now_us)

    def _latest_time(self, kind: object, now_us: int) -> int:
        """Return the time for a line without `t`.

        It is normally the line's time of arrival. After a long silence, delayed lines might arrive together.
        A reading that closes the betting is then timestamped with the start of the silence.
        """
        alive_ms, received_us = self._settings.alive_ms, self._received_us
        if alive_ms is None:
            return now_us
        silent_us = now_us - received_us
        if silent_us > 2 * alive_ms * 1000:
            self._delay_window = (received_us, now_us + silent_us)
        before_us, until_us = self._delay_window
        return before_us if kind in CLOSING_KINDS and now_us <= until_us else now_us

    def _to_table(self, kind: object, fields: dict[str, object]) -> None:
        x, y = fields.get("x"), fields.get("y")
        if self._plane is None or not _is_number(x) or not _is_number(y):
            return
        position = self._plane.to_table(x, y)
        if position is None:
            raise ReadingError(f"found {kind} at {x}, {y}, which the calibration maps beyond the horizon")
        fields["x"], fields["y"] = round(position[0], 1), round(position[1], 1)

    def _record_loss(self, now_us: int, code: str, seen: str) -> list[Change]:
        return self._health.record_loss(now_us, self._received_us, code, seen)

    def _build_readings(self, now_us: int, changes: list[Change]) -> list[AnyReading]:
        return build_readings(changes, [self.name], now_us)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _address(settings: JsonCameraSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, _settings: JsonCameraSettings) -> Iterator[ReportedDevice]:
    yield ReportedDevice((), name)


TYPE = DeviceType(
    name="json-camera",
    title="your own camera program, sending JSON lines",
    settings=JsonCameraSettings,
    make=JsonCamera,
    address=_address,
    reported_devices=_reported_devices,
    calibrated_camera=True,
)
"""The device type for the registry."""
