"""Converts the detections of a JeVois-style smart camera above a dice table to readings of the dice.

The camera reports the positions and faces of dice. It does not report releases, surfaces, tilts, or dice that
leave the table. A table that needs these readings must have other sensors.

The decoder accepts the camera's two-dimensional Normal (`N2 id x y w h`) and Detail (`D2 id x1 y1 ... x4 y4
extra`) messages, with or without a preceding stamp, and the marks at the start and end of each frame.
Coordinates are 0 in the middle of the image; x ranges from -1000 (left) to 1000, and y increases downwards.
Because the firmware deviates from its documentation, the decoder tolerates a corner that is sent twice, a
count before the corners, and spaces at the end of a line.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from controller.model.homography import DEFAULT_MAX_ERROR_MM, fit_rows
from controller.model.printable import printable
from controller.model.readings import (
    AnyReading,
    DieAt,
    DieLost,
    DieRest,
    Face,
)
from controller.model.tables import ReportedDevice
from drivers.cameras.dice_tracker import Candidate, DiceTracker, Sight, TrackerRules
from drivers.device import DeviceType, RandomBytes, StreamAddress
from drivers.framing import Line, LineSplitter
from drivers.health import Change, Fault, Health, PortReopening, build_readings

BAUD = 115_200
MAX_LINE = 1024
MAX_COORDINATE = 10_000.0
"""Maximum coordinate, far outside any image. A line with a larger coordinate is damaged."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Detection:
    """An object in the image, with the camera's score (0 to 100) and the object's centre."""

    category: str
    score: float | None
    x: float
    y: float
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class FrameMark:
    """The start or end of the camera's messages about one frame."""

    which: Literal["start", "stop"]
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class DiscardedLine:
    """A line that is neither a detection nor a frame mark. `text` is printable."""

    text: str


Message = Detection | FrameMark | DiscardedLine

_LINE_ENDS = b"\r\n\0"
_STAMP = re.compile(r"\d+(?:/\d{4}-\d{2}-\d{2})?(?:/\d{2}:\d{2}:\d{2})?|\d{2}:\d{2}:\d{2}")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,10})?")
_MAX_SHOWN = 60


class Decoder:
    """Decodes bytes, with any of the camera's line endings, into messages."""

    def __init__(self) -> None:
        self.lines = 0
        """Number of non-empty lines received."""
        self.discarded = 0
        """Number of lines received that were neither a detection nor a frame mark."""
        self._lines = LineSplitter(MAX_LINE, _LINE_ENDS)

    def join(self) -> None:
        """Discard the text before the next line end, because it might be the end of a truncated line."""
        self._lines.join()

    def feed(self, data: bytes) -> list[Message]:
        """Add bytes and return the messages of the completed lines."""
        return [self._read(line) for line in self._lines.feed(data) if line.text.strip()]

    def reset(self) -> None:
        """Discard an unfinished line after the loss of the link."""
        self._lines.clear()

    def _read(self, line: Line) -> Message:
        self.lines += 1
        text = line.text.decode("ascii", "backslashreplace")
        readable = line.text.isascii() and not line.dropped and not line.maybe_cut
        message = _parse(text.split()) if readable else None
        if message is None:
            self.discarded += 1
            return DiscardedLine(printable(text[:_MAX_SHOWN]))
        return message


def _parse(words: Sequence[str]) -> Message | None:
    stamp = words[0] if words and _STAMP.fullmatch(words[0]) else None
    match words[1:] if stamp else words:
        case ["MARK", "START"]:
            return FrameMark("start", stamp)
        case ["MARK", "STOP"]:
            return FrameMark("stop", stamp)
        case ["N2", name, *fields]:
            return _normal(name, fields, stamp)
        case ["D2", name, *fields]:
            return _detail(name, fields, stamp)
    return None


def _normal(name: str, fields: Sequence[str], stamp: str | None) -> Detection | None:
    numbers = _numbers(fields)
    if len(numbers) != 4 or len(fields) != 4 or min(numbers[2:]) < 0:
        return None
    return _detection(name, numbers[0], numbers[1], stamp)


def _detail(name: str, fields: Sequence[str], stamp: str | None) -> Detection | None:
    """Parse four corners. The count 4 can precede them, and other categories can follow them."""
    numbers = _numbers(fields)
    if len(numbers) == 9 and numbers[0] == 4:
        numbers = numbers[1:]
    if len(numbers) != 8:
        return None
    x, y = _centre(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return _detection(name, x, y, stamp)


def _centre(corners: list[Point]) -> Point:
    """Return the centre of four corners. The firmware sometimes repeats one corner and omits another."""
    if len(set(corners)) == len(corners):
        return sum(x for x, _ in corners) / 4, sum(y for _, y in corners) / 4
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2


def _numbers(fields: Sequence[str]) -> list[float]:
    numbers: list[float] = []
    for field in fields:
        if not _NUMBER.fullmatch(field) or abs(float(field)) > MAX_COORDINATE:
            break
        numbers.append(float(field))
    return numbers


def _detection(name: str, x: float, y: float, stamp: str | None) -> Detection | None:
    category, colon, score_text = name.rpartition(":")
    if not colon:
        return Detection(name, None, x, y, stamp)
    if not _NUMBER.fullmatch(score_text) or not category:
        return Detection(name, None, x, y, stamp)
    score = float(score_text)
    return Detection(category, score, x, y, stamp) if 0 <= score <= 100 and math.isfinite(score) else None


MAX_OBJECTS = 32
"""Maximum number of objects stored from one frame, far more than the number of dice on a table."""
MAX_AHEAD_US = 100_000
"""Maximum difference between a frame's timestamp and the time derived from its arrival. Frames that arrive in
one burst are timestamped 0.9 frame periods apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JevoisSettings:
    """A camera on a serial port, calibrated for one table."""

    port: str
    """The serial port's path in /dev/serial, or its udev name."""
    faces: Mapping[str, int]
    """The face for each of the camera's categories, for example `die5: 5`."""
    calibration: tuple[tuple[float, ...], ...]
    """Four or more points: x and y in the camera's coordinates, x and y on the table in millimetres."""
    baud: int = BAUD
    die_mm: float = 19.0
    frame_ms: float = 33.3
    """The camera's frame period."""
    latency_ms: float = 0.0
    """Delay between the exposure and the arrival of the frame's first line."""
    still_mm: float = 4.0
    still_ms: float = 250.0
    """A die that moves by at most `still_mm` for `still_ms` is at rest."""
    lost_ms: float = 150.0
    silent_s: float = 2.0
    """Time without a complete frame after which the camera is down."""
    error_mm: float = DEFAULT_MAX_ERROR_MM
    """Maximum error of the calibration at any of its points."""

    def __post_init__(self) -> None:
        """Raise ValueError for invalid settings."""
        for category, face in self.faces.items():
            if not 1 <= face <= 6:
                raise ValueError(f"faces: found {face} for category {category}, expected 1 to 6")
        fit_rows(self.calibration, self.error_mm)


class JevoisCamera:
    """The device for a JeVois-style camera."""

    def __init__(self, name: str, settings: JevoisSettings, _random_bytes: RandomBytes | None = None) -> None:
        self.name = name
        self.decoder = Decoder()
        self.frames = 0
        """Number of complete frames received."""
        self.spoilt_frames = 0
        """Number of frames skipped because a line was damaged or missing."""
        self.unknown_objects = 0
        """Number of detections that are not dice on the table's plane."""
        self._settings = settings
        self._plane = fit_rows(settings.calibration, settings.error_mm)
        self._tracker = DiceTracker(
            TrackerRules(
                die_mm=settings.die_mm,
                still_mm=settings.still_mm,
                still_us=round(settings.still_ms * 1000),
                lost_us=round(settings.lost_ms * 1000),
            )
        )
        self._readings: list[AnyReading] = []
        self._frame: list[Detection] | None = None
        self._frame_us = 0
        self._last_seen_us = -MAX_AHEAD_US
        self._spoilt = False
        self._last_stamp_us = -1
        self._received_us = 0
        self._open = False
        self._health = Health()
        self._health.record(0, "starting", "nothing received yet", down=True)
        self._reopening = PortReopening()

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until a complete frame is received."""
        self._report(
            now_us,
            self._health.record(
                now_us, "starting", "no complete frame received yet", down=True, on_change=True
            ),
        )
        return self._take_readings()

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the port."""
        self.decoder.join()
        self._begin_receiving(now_us)
        return self._take_readings()

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the closing of the port. `code` and `seen` describe the fault."""
        self.decoder.reset()
        self._open = False
        self._report(now_us, self._health.record_closed(now_us, code, seen))
        return self._take_readings()

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle bytes lost because the table was busy; skip the frame."""
        self.decoder.join()
        self._spoilt = True
        seen = f"{lost} bytes discarded: the table was busy"
        self._report(now_us, [Fault("sentences_lost", seen, False, now_us)])
        return self._take_readings()

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        if not self._open:
            self._begin_receiving(now_us)
        for message in self.decoder.feed(data):
            self._handle(now_us, message)
        return self._take_readings()

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next."""
        if not self._open:
            return None
        if "silent" in self._health:
            return self._reopening.due_us
        return self._received_us + round(self._settings.silent_s * 1e6)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        due = self.next_deadline()
        if due is not None and now_us >= due:
            seen = (
                f"no complete frame for {self._settings.silent_s:g} s (check that serout and sermark are on)"
            )
            self._report(now_us, self._health.record(now_us, "silent", seen, down=True))
            self._reopening.request(now_us)
        return self._take_readings()

    def take_output(self) -> bytes:
        """Return no bytes, because the camera is configured by its own script."""
        return b""

    def take_reopen(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        return self._reopening.take()

    def status(self) -> Mapping[str, object]:
        """Return the counters and the active faults."""
        return {
            "frames": self.frames,
            "spoilt_frames": self.spoilt_frames,
            "strangers": self.unknown_objects,
            "malformed": self.decoder.discarded,
            "calibration_error_mm": round(self._plane.error_mm, 2),
            "troubles": sorted(self._health.codes),
        }

    def _begin_receiving(self, now_us: int) -> None:
        self._open = True
        self._received_us = now_us
        self._frame = None
        self._spoilt = True

    # --- frames ---

    def _handle(self, now_us: int, message: Message) -> None:
        match message:
            case FrameMark(which="start"):
                self._begin(now_us)
            case FrameMark(which="stop"):
                self._end(now_us)
            case Detection():
                self._spoilt = self._spoilt or self._frame is None
                if self._frame is not None and len(self._frame) < MAX_OBJECTS:
                    self._frame.append(message)
            case DiscardedLine():
                self._spoilt = True

    def _begin(self, now_us: int) -> None:
        self.spoilt_frames += self._frame is not None
        self._frame, self._frame_us, self._spoilt = [], now_us, False

    def _end(self, now_us: int) -> None:
        frame, self._frame = self._frame, None
        if frame is None or self._spoilt:
            self.spoilt_frames += 1
            return
        self.frames += 1
        self._received_us = now_us
        self._report(now_us, self._health.clear(now_us, seen="a complete frame was received"))
        seen_us = self._frame_time(self._frame_us)
        candidates = [
            candidate for detection in frame if (candidate := self._candidate(detection)) is not None
        ]
        self._readings += [
            self._build_reading(sight, seen_us, now_us) for sight in self._tracker.frame(seen_us, candidates)
        ]

    def _frame_time(self, arrived_us: int) -> int:
        """Return the time of a frame's exposure, even if a busy host reads several frames at once."""
        seen_us = max(0, arrived_us - round(self._settings.latency_ms * 1000))
        spread_us = min(self._last_seen_us + round(self._settings.frame_ms * 900), seen_us + MAX_AHEAD_US)
        self._last_seen_us = max(seen_us, spread_us)
        return self._last_seen_us

    def _candidate(self, detection: Detection) -> Candidate | None:
        face = self._settings.faces.get(detection.category)
        position = self._plane.to_table(detection.x, detection.y)
        if face is None or position is None:
            self.unknown_objects += 1
            return None
        confidence = 0.0 if detection.score is None else detection.score / 100
        return Candidate(position[0], position[1], _face(face), confidence)

    def _build_reading(self, sight: Sight, seen_us: int, now_us: int) -> AnyReading:
        die, name = sight.die, self.name
        t = self._stamp(seen_us)
        x, y = round(sight.x, 1), round(sight.y, 1)
        arrived = max(t, now_us)
        match sight.what:
            case "at":
                return DieAt(t=t, dev=name, arrived=arrived, die=die, x=x, y=y)
            case "rest":
                return DieRest(
                    t=t,
                    dev=name,
                    arrived=arrived,
                    die=die,
                    x=x,
                    y=y,
                    up=sight.face,
                    confidence=round(sight.confidence, 3),
                )
            case "lost":
                return DieLost(t=t, dev=name, arrived=arrived, die=die)

    # --- health ---

    def _report(self, now_us: int, changes: list[Change]) -> None:
        self._readings += build_readings(changes, [self.name], now_us, stamp=self._stamp)

    def _stamp(self, t_us: int) -> int:
        """Return a unique timestamp for the next reading, so that readings keep their order."""
        self._last_stamp_us = max(t_us, self._last_stamp_us + 1)
        return self._last_stamp_us

    def _take_readings(self) -> list[AnyReading]:
        readings, self._readings = self._readings, []
        return readings


def _face(number: int) -> Face:
    faces: dict[int, Face] = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6}
    return faces[number]


def _address(settings: JevoisSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, _settings: JevoisSettings) -> Iterator[ReportedDevice]:
    yield ReportedDevice((), name, ("die_at", "die_rest", "die_lost"))


TYPE = DeviceType(
    name="jevois",
    title="JeVois-style smart camera on a serial port",
    settings=JevoisSettings,
    make=JevoisCamera,
    address=_address,
    reported_devices=_reported_devices,
    calibrated_camera=True,
)
"""The device type for the registry."""
