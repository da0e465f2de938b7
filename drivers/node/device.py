"""The device for a sensor node, which sends the readings of one or more of the table's devices."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from controller.model.readings import AnyReading, WallImpact
from controller.model.tables import ReportedDevice, ResourceClaim
from drivers.device import DeviceType, Neighbours, RandomBytes, StreamAddress, wall_of
from drivers.health import Fault, Recovered, build_readings
from drivers.node.sentences import NO_SESSION, NODE_NAME, CommandResult, Hello, Message, NodeReading
from drivers.node.table_end import TableEnd
from drivers.readings import ReadingError, build_reading

MAX_RESULTS = 64
UNUSABLE_KEY_BYTES = 32
"""Length of the random key that replaces an unusable key, so that no board is accepted."""
KEY = re.compile(r"(?:[0-9A-Fa-f]{2}){16,64}")
KEY_DIGITS = "an even number of hexadecimal digits, 32 to 128"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """One sensor of a node."""

    dev: str
    """The table's device whose readings the sensor sends."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Fields added to each reading, such as `wall: left`, because the firmware does not know the sensor's
    position."""
    least_peak: float = 0.0
    """Minimum peak of a wall impact. A weaker impact is background noise and is ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """A sensor node on a serial port."""

    node: str
    """The name that the board reports."""
    port: str
    baud: int = 921_600
    key: str = ""
    """The node's key, 16 to 64 bytes in hexadecimal digits. If empty, the node's sentences are not sealed."""
    key_file: str = ""
    """A file that contains the node's key, as an alternative to `key`. The path is relative to the table's
    file. The file must be readable only by the service's user."""
    channels: Mapping[int, ChannelSettings] = field(default_factory=dict)
    """The sensors by channel number. If there are none, every reading belongs to this device."""
    reads: tuple[str, ...] = ()
    """The kinds of reading that the node must be able to send. A node that lacks one is down."""
    firmware: tuple[str, ...] = ()
    """The accepted firmware ids. If empty, any id is accepted."""
    max_per_s: int = 1000
    """Maximum number of sentences read per second. The excess is discarded and reported as a fault."""
    least_peak: float = 0.0
    """Minimum peak of a wall impact, for a node without channels. A weaker impact is background noise and is
    ignored."""

    def __post_init__(self) -> None:
        """Raise ValueError for invalid settings."""
        if not NODE_NAME.fullmatch(self.node):
            raise ValueError(
                f"node: found {self.node!r}, expected 1 to 16 letters, digits, _ or -, beginning with a"
                " letter or digit"
            )
        if self.key and not KEY.fullmatch(self.key):
            raise ValueError(f"key: expected {KEY_DIGITS}")
        if self.max_per_s < 1:
            raise ValueError(f"max_per_s: found {self.max_per_s}, expected at least 1")


class NodeDevice:
    """The table's end of the link to one node, and the table's devices whose readings the node sends."""

    def __init__(self, name: str, settings: NodeSettings, random_bytes: RandomBytes) -> None:
        self.name = name
        self.results: deque[CommandResult] = deque(maxlen=MAX_RESULTS)
        """The results of the latest commands."""
        self._settings = settings
        self._random_bytes = random_bytes
        self._end = TableEnd(
            settings.node,
            lambda: _nonce(random_bytes),
            key=bytes.fromhex(settings.key) or None,
            max_per_s=settings.max_per_s,
        )
        self._devices = tuple(dict.fromkeys((name, *(c.dev for c in settings.channels.values()))))
        self._missing: tuple[str, ...] = ()
        self._firmware = ""
        self._soft_impacts = 0

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until the node responds."""
        return self._readings(self._end.start(now_us), now_us)

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the port by greeting the node."""
        return self._readings(self._end.on_open(now_us), now_us)

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the loss of the port."""
        return self._readings(self._end.on_close(now_us, code, seen), now_us)

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle bytes lost because the table was busy."""
        return self._readings(self._end.on_overflow(now_us, lost), now_us)

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        return self._readings(self._end.receive(now_us, data), now_us)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        return self._readings(self._end.tick(now_us), now_us)

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        return self._end.next_deadline()

    def take_output(self) -> bytes:
        """Return the bytes to send to the node."""
        return self._end.take_output()

    def take_reopen(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        return self._end.reopening.take()

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Queue a command (lamp, buzzer, selftest); return the number of its result in `results`.

        Raises:
            ValueError: If the command cannot be encoded.
            OverflowError: If too many commands are waiting.
        """
        return self._end.command(now_us, verb, fields)

    def rekey(self, key: str, flaw: str = "") -> None:
        """Change the key (hexadecimal digits) immediately.

        If `key` is empty, no node is accepted, and a fault reports `flaw` as the reason.
        """
        self._end.rekey(bytes.fromhex(key) or self._random_bytes(UNUSABLE_KEY_BYTES), flaw)

    def status(self) -> Mapping[str, object]:
        """Return the node's identity, phase, clock, counters and faults."""
        end = self._end
        hello = end.hello
        return {
            "node": self._settings.node,
            "phase": end.phase.name.lower(),
            "firmware": hello.firmware if hello else None,
            "reset": hello.reset if hello else None,
            "boot": hello.boot if hello else None,
            "error_mm": hello.error_mm if hello else None,
            "error_us": hello.error_us if hello else None,
            "does": list(hello.does) if hello else [],
            "drift_ppm": round(end.clock.drift * 1e6, 1),
            "clock_error_us": round(end.clock.error_us) if end.clock.ready else None,
            "troubles": list(end.health.codes),
            "soft_impacts": self._soft_impacts,
            **end.counters.snapshot(),
        }

    def _readings(self, messages: Sequence[Message], now_us: int) -> list[AnyReading]:
        readings: list[AnyReading] = []
        for message in messages:
            match message:
                case NodeReading():
                    readings += self._handle_reading(message, now_us)
                case Fault():
                    readings += build_readings([message], self._devices, now_us)
                case Recovered():
                    readings += build_readings(
                        [message, *self._identity_faults(now_us)], self._devices, now_us
                    )
                case Hello():
                    self._missing = self._missing_kinds(message)
                    self._firmware = message.firmware
                case CommandResult():
                    self.results.append(message)
        return readings

    def _handle_reading(self, seen: NodeReading, now_us: int) -> list[AnyReading]:
        channel = self._settings.channels.get(seen.channel)
        if channel is None and (self._settings.channels or seen.channel) and seen.kind not in _HEALTH:
            return self._refuse(
                now_us,
                f"found {seen.kind} from channel {seen.channel}, expected a channel in the table's file",
            )
        dev, fixed = (self.name, {}) if channel is None else (channel.dev, channel.fields)
        if seen.kind in _HEALTH:
            fixed = {}  # readings about the device's health have no wall, beam or die
        if any(seen.fields.get(name, value) != value for name, value in fixed.items()):
            return self._refuse(
                now_us,
                f"found {seen.kind} from channel {seen.channel} with {_field_list(seen.fields)}, expected"
                f" {_field_list(fixed)}",
            )
        try:
            reading = build_reading(
                seen.kind, {**seen.fields, **fixed}, dev, seen.t_us, now_us, text_values=True
            )
        except ReadingError as error:
            return self._refuse(now_us, str(error))
        min_peak = self._settings.least_peak if channel is None else channel.least_peak
        if isinstance(reading, WallImpact) and reading.peak < min_peak:
            self._soft_impacts += 1
            return []
        return [reading]

    def _refuse(self, now_us: int, seen: str) -> list[AnyReading]:
        return self._readings(self._end.refuse(now_us, seen), now_us)

    def _missing_kinds(self, hello: Hello) -> tuple[str, ...]:
        known = {kind for kinds in hello.reads.values() for kind in kinds}
        return tuple(kind for kind in self._settings.reads if kind not in known)

    def _identity_faults(self, now_us: int) -> list[Fault]:
        node, faults = self._settings.node, []
        if self._settings.firmware and self._firmware not in self._settings.firmware:
            seen = f"node {node} runs {self._firmware}, expected {' or '.join(self._settings.firmware)}"
            faults.append(Fault("wrong_firmware", seen, True, now_us))
        if self._missing:
            seen = f"node {node} cannot send {', '.join(self._missing)}"
            faults.append(Fault("lacks", seen, True, now_us))
        return faults


_HEALTH = ("device_up", "device_down", "device_fault")


def _field_list(fields: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


def _nonce(random_bytes: RandomBytes) -> str:
    while (nonce := random_bytes(8).hex().upper()).startswith(NO_SESSION):
        pass
    return nonce


def _address(settings: NodeSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, settings: NodeSettings) -> Iterator[ReportedDevice]:
    if not settings.channels:
        yield ReportedDevice((), name)
    for number, channel in settings.channels.items():
        yield ReportedDevice(("channels", str(number), "dev"), channel.dev, wall=wall_of(channel.fields))


def _claims(settings: NodeSettings) -> Iterator[ResourceClaim]:
    yield ResourceClaim(("node",), f"node {settings.node}")


def _with_walls(name: str, settings: NodeSettings, devices: Neighbours) -> NodeSettings:
    """Add the sensors' walls and the required kinds of reading to a node's settings."""
    channels = settings.channels or (
        {0: ChannelSettings(dev=name, least_peak=settings.least_peak)} if devices[name].wall else {}
    )
    mounted = {number: _at_wall(channel, devices) for number, channel in channels.items()}
    reported = [devices[channel.dev] for channel in mounted.values()] or [devices[name]]
    reads = tuple(dict.fromkeys(kind for device in reported for kind in device.reads))
    own = {field.name: getattr(settings, field.name) for field in fields(NodeSettings)}
    return NodeSettings(**{**own, "channels": mounted, "reads": reads})


def _at_wall(channel: ChannelSettings, devices: Neighbours) -> ChannelSettings:
    wall = devices[channel.dev].wall
    return channel if wall is None else replace(channel, fields={"wall": wall, **channel.fields})


TYPE = DeviceType(
    name="node",
    title="sensor node: cameras, wall sensors, beams, shoe and console boards",
    settings=NodeSettings,
    make=NodeDevice,
    address=_address,
    reported_devices=_reported_devices,
    claims=_claims,
    mounted=_with_walls,
)
"""The device type for the registry."""
