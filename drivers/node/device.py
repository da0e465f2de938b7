"""A sensor node as a device: its sentences become readings of one or more of the table's devices."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from controller.model.readings import AnyReading, WallImpact
from controller.model.tables import Claim, ReportedDevice
from drivers.device import Chance, DeviceType, Neighbours, StreamAddress, wall_in
from drivers.health import Recovered, Trouble, readings_of
from drivers.node.sentences import NO_SESSION, NODE_NAME, CommandResult, Hello, Message, NodeReading
from drivers.node.table_end import TableEnd
from drivers.readings import ReadingError, reading_of

ANSWERS_KEPT = 64
NOBODYS_BYTES = 32
"""Length of a random key that no board has."""
KEY = re.compile(r"(?:[0-9A-Fa-f]{2}){16,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """One sensor of a node: the table's device whose readings it sends, and what is the same in all of
    them."""

    dev: str
    fields: Mapping[str, str] = field(default_factory=dict)
    """Such as `wall: left`: where the sensor is mounted is known to the table, not to the firmware."""
    least_peak: float = 0.0
    """A wall impact with a weaker peak is the room's noise, and is no reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """A sensor node on a serial port."""

    node: str
    """The name that the board reports."""
    port: str
    baud: int = 921_600
    key: str = ""
    """The node's own key, 16 bytes or more in hexadecimal digits; empty: its sentences are not sealed."""
    key_file: str = ""
    """A file with the node's key, seen from this file, instead of `key`; only the service may read it."""
    channels: Mapping[int, ChannelSettings] = field(default_factory=dict)
    """By channel number; without any, all is sent as the device itself."""
    reads: tuple[str, ...] = ()
    """The kinds that it must send; a node that does not know one of them is faulty."""
    firmware: tuple[str, ...] = ()
    """The firmware ids that its hello may report; empty: any."""
    max_per_s: int = 1000
    """The most sentences read in a second; more are a fault."""
    least_peak: float = 0.0
    """A wall impact with a weaker peak is the room's noise, and is no reading; of a node without channels."""

    def __post_init__(self) -> None:
        """Refuse what can't work, and say what was expected."""
        if not NODE_NAME.fullmatch(self.node):
            raise ValueError(f"node: found {self.node!r}, expected 1 to 16 letters, digits, _ or -")
        if self.key and not KEY.fullmatch(self.key):
            raise ValueError("key: expected 32 to 128 hexadecimal digits")
        if self.max_per_s < 1:
            raise ValueError(f"max_per_s: found {self.max_per_s}, expected at least 1")


class NodeDevice:
    """The table's end of one node, and the table's devices that it speaks for."""

    def __init__(self, name: str, settings: NodeSettings, chance: Chance) -> None:
        """Create the device of this name."""
        self.name = name
        self.answers: deque[CommandResult] = deque(maxlen=ANSWERS_KEPT)
        """The results of the last commands."""
        self._settings = settings
        self._chance = chance
        self._end = TableEnd(
            settings.node,
            lambda: _nonce(chance),
            key=bytes.fromhex(settings.key) or None,
            max_per_s=settings.max_per_s,
        )
        self._devices = tuple(dict.fromkeys((name, *(c.dev for c in settings.channels.values()))))
        self._lacks: tuple[str, ...] = ()
        self._runs = ""
        self._soft_impacts = 0

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: down until the node is heard."""
        return self._readings(self._end.start(now_us), now_us)

    def opened(self, now_us: int) -> list[AnyReading]:
        """Greet the node: its port is open."""
        return self._readings(self._end.opened(now_us), now_us)

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle that the port is gone."""
        return self._readings(self._end.closed(now_us, code, seen), now_us)

    def overflowed(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle the loss of bytes on their way here."""
        return self._readings(self._end.overflowed(now_us, lost), now_us)

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        return self._readings(self._end.receive(now_us, data), now_us)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Handle what is due by now."""
        return self._readings(self._end.tick(now_us), now_us)

    def next_deadline(self) -> int | None:
        """Return when `tick` has something to do."""
        return self._end.next_deadline()

    def take_output(self) -> bytes:
        """Return the bytes for the node."""
        return self._end.take_output()

    def take_reopen(self) -> bool:
        """Return, once, whether the port should be reopened."""
        return self._end.reopening.take()

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Send a command (lamp, buzzer, selftest); return its number, which its answer in `answers` carries.

        Raises ValueError if it can't be encoded, OverflowError if too many are waiting already.
        """
        return self._end.command(now_us, verb, fields)

    def rekey(self, key: str, flaw: str = "") -> None:
        """Use another key (hexadecimal digits) at once; without one no key is accepted, and `flaw` says
        why.
        """
        self._end.rekey(bytes.fromhex(key) or self._chance(NOBODYS_BYTES), flaw)

    def recent(self) -> list[str]:
        """Return the last lines received and sent, for troubleshooting; bytes other than ASCII are
        escaped."""
        return [line.decode("ascii", "backslashreplace") for line in self._end.recent]

    def status(self) -> Mapping[str, object]:
        """Return identity, phase, clock and counters, and what is wrong."""
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
                    readings += self._seen(message, now_us)
                case Trouble():
                    readings += readings_of([message], self._devices, now_us)
                case Recovered():
                    readings += readings_of([message, *self._lacking(now_us)], self._devices, now_us)
                case Hello():
                    self._lacks = self._lacked(message)
                    self._runs = message.firmware
                case CommandResult():
                    self.answers.append(message)
        return readings

    def _seen(self, seen: NodeReading, now_us: int) -> list[AnyReading]:
        channel = self._settings.channels.get(seen.channel)
        if channel is None and (self._settings.channels or seen.channel) and seen.kind not in _HEALTH:
            return self._refused(
                now_us, f"{seen.kind} of channel {seen.channel}, which the table does not know"
            )
        dev, fixed = (self.name, {}) if channel is None else (channel.dev, channel.fields)
        if seen.kind in _HEALTH:
            fixed = {}  # a reading about the device itself has no wall, beam or die
        if any(seen.fields.get(name, value) != value for name, value in fixed.items()):
            return self._refused(now_us, f"{seen.kind} of channel {seen.channel} contradicts {dict(fixed)}")
        try:
            reading = reading_of(seen.kind, {**seen.fields, **fixed}, dev, seen.t_us, now_us, texts=True)
        except ReadingError as error:
            return self._refused(now_us, str(error))
        least = self._settings.least_peak if channel is None else channel.least_peak
        if isinstance(reading, WallImpact) and reading.peak < least:
            self._soft_impacts += 1
            return []
        return [reading]

    def _refused(self, now_us: int, seen: str) -> list[AnyReading]:
        return self._readings(self._end.refuse(now_us, seen), now_us)

    def _lacked(self, hello: Hello) -> tuple[str, ...]:
        known = {kind for kinds in hello.reads.values() for kind in kinds}
        return tuple(kind for kind in self._settings.reads if kind not in known)

    def _lacking(self, now_us: int) -> list[Trouble]:
        node, troubles = self._settings.node, []
        if self._settings.firmware and self._runs not in self._settings.firmware:
            seen = f"node {node} runs {self._runs}, approved is {' or '.join(self._settings.firmware)}"
            troubles.append(Trouble("wrong_firmware", seen, True, now_us))
        if self._lacks:
            seen = f"node {node} can't send {', '.join(self._lacks)}"
            troubles.append(Trouble("lacks", seen, True, now_us))
        return troubles


_HEALTH = ("device_up", "device_down", "device_fault")


def _nonce(chance: Chance) -> str:
    while (nonce := chance(8).hex().upper()).startswith(NO_SESSION):
        pass
    return nonce


def _address(settings: NodeSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, settings: NodeSettings) -> Iterator[ReportedDevice]:
    if not settings.channels:
        yield ReportedDevice((), name)
    for number, channel in settings.channels.items():
        yield ReportedDevice(("channels", str(number), "dev"), channel.dev, wall=wall_in(channel.fields))


def _claims(settings: NodeSettings) -> Iterator[Claim]:
    yield Claim(("node",), f"node {settings.node}")


def _mounted(name: str, settings: NodeSettings, devices: Neighbours) -> NodeSettings:
    """Return the settings of a node completed with where its sensors are mounted and what they are for."""
    channels = settings.channels or (
        {0: ChannelSettings(dev=name, least_peak=settings.least_peak)} if devices[name].wall else {}
    )
    mounted = {number: _at_wall(channel, devices) for number, channel in channels.items()}
    speaks_for = [devices[channel.dev] for channel in mounted.values()] or [devices[name]]
    reads = tuple(dict.fromkeys(kind for spoken in speaks_for for kind in spoken.reads))
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
    mounted=_mounted,
)
"""What the registry knows of this type."""
