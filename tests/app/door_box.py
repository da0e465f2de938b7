"""A complete device type as a driver module defines it: a box on a serial port that sends `cash open`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.model.readings import AnyReading, Switch
from controller.model.tables import ReportedDevice
from drivers.device import DeviceType, RandomBytes, StreamAddress
from drivers.framing import LineSplitter
from drivers.health import LINK, Health, build_readings

MAX_LINE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorBoxSettings:
    """A box with one contact for each door."""

    port: str
    doors: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a box without doors."""
        if not self.doors:
            raise ValueError("doors: found none, expected the names of the box's doors")


class DoorBox:
    """The box. It is up while its port is open, and receives no data."""

    def __init__(self, name: str, settings: DoorBoxSettings, _random_bytes: RandomBytes) -> None:
        self.name = name
        self._doors = settings.doors
        self._lines = LineSplitter(MAX_LINE)
        self._health = Health()

    def start(self, now_us: int) -> list[AnyReading]:
        changes = self._health.record(now_us, "starting", "nothing received yet", down=True)
        return build_readings(changes, [self.name], now_us)

    def on_open(self, now_us: int) -> list[AnyReading]:
        changes = self._health.clear(now_us, "starting", LINK, seen="its port is open")
        return build_readings(changes, [self.name], now_us)

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        return build_readings(self._health.record_closed(now_us, code, seen), [self.name], now_us)

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        changes = self._health.record_loss(now_us, now_us, "sentences_lost", f"{lost} bytes discarded")
        return build_readings(changes, [self.name], now_us)

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        found: list[AnyReading] = []
        for line in self._lines.feed(data):
            door, _, state = line.text.decode("ascii", "replace").partition(" ")
            if door in self._doors and state in ("open", "closed"):
                is_open = state == "open"
                found.append(Switch(t=now_us, dev=self.name, name=door, open=is_open, arrived=now_us))
            else:
                changes = self._health.record_loss(now_us, now_us, "bad_reading", f"found {line.text!r}")
                found += build_readings(changes, [self.name], now_us)
        return found

    def tick(self, now_us: int) -> list[AnyReading]:
        return build_readings(self._health.tick(now_us), [self.name], now_us)

    def next_deadline(self) -> int | None:
        return self._health.next_deadline()

    def take_output(self) -> bytes:
        return b""

    def take_reopen(self) -> bool:
        return False

    def status(self) -> Mapping[str, object]:
        return {"troubles": self._health.fault_labels}


def _address(settings: DoorBoxSettings) -> StreamAddress:
    return StreamAddress(settings.port, 9600)


def _reported_devices(name: str, _settings: DoorBoxSettings) -> Iterator[ReportedDevice]:
    yield ReportedDevice((), name, ("switch",))


TYPE = DeviceType(
    name="door-box",
    title="a box that reports its doors",
    settings=DoorBoxSettings,
    make=DoorBox,
    address=_address,
    reported_devices=_reported_devices,
)
