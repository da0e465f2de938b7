"""Virtual devices that speak the real protocols, and cables that can disturb their bytes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from random import Random
from typing import Protocol

import msgspec

from controller.model.homography import Homography
from controller.model.readings import AnyReading, Card, DieAt, DieReleased, DieRest, Switch, kind_of
from drivers.node.node_end import NodeEnd
from drivers.node.sentences import CLOCK_US, FIRST_PINGS, Hello
from drivers.readings import COMMON, to_texts
from drivers.shoe.device import LID_SWITCH, ShoeEncoder, ShoeSettings

MAX_KEPT = 16
"""Number of sentences that a board stores and can repeat."""
ALIVE_US = 200_000
FIRMWARE = "virtual-1"
CRYSTAL_PPM = 60.0
"""Maximum clock error of a crystal in working order."""

STAMP_ERROR_US = 1
"""Maximum error of a simulated board's timestamps, which are rounded to whole microseconds."""


class Peer(Protocol):
    """A device at the end of a cable.

    All times are table times, but the device timestamps readings with its own clock.
    """

    name: str
    hung: bool
    """Whether the device has hung, and neither receives nor sends."""
    input_broken: bool
    """Whether the device receives nothing but still sends."""
    clock: "BoardClock"

    def start(self, now_us: int) -> None:
        """Start the device, as at power-on."""
        ...

    def restart(self, now_us: int) -> None:
        """Restart the device, which loses its memory."""
        ...

    def receive(self, now_us: int, data: bytes) -> None:
        """Handle bytes from the table."""
        ...

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Report a reading of the device's sensors."""
        ...

    def tick(self, now_us: int) -> None:
        """Do the work that is due."""
        ...

    def next_due_us(self) -> int | None:
        """Return the time at which `tick` is due next."""
        ...

    def take_output(self) -> bytes:
        """Return the bytes queued for the table, and clear the queue."""
        ...


class BoardClock:
    """A board's clock, with an arbitrary start value and a constant error in ppm."""

    def __init__(self, now_us: int, starts_at: int, off_ppm: float) -> None:
        """Start the clock at the value `starts_at`."""
        self.off_ppm = off_ppm
        self._since_us = now_us
        self._start_value = starts_at

    def read(self, now_us: int) -> int:
        """Return the clock's value at a table time."""
        return self._start_value + round((now_us - self._since_us) * (1 + self.off_ppm / 1e6))

    def table_time_us(self, value: int) -> int:
        """Return the table time at which the clock has this value, rounded up by at most 1 us."""
        return self._since_us + int((value - self._start_value) / (1 + self.off_ppm / 1e6)) + 1

    def run(self, now_us: int, off_ppm: float) -> None:
        """Continue with a different error in ppm."""
        self._start_value, self._since_us = self.read(now_us), now_us
        self.off_ppm = off_ppm

    def jump(self, by_us: int) -> None:
        """Add `by_us` to the clock's value."""
        self._start_value += by_us


@dataclass(frozen=True, slots=True)
class Sensor:
    """The sensor on one channel of a board, with its device name and its kinds of reading."""

    dev: str
    reads: tuple[str, ...]
    fixed_fields: frozenset[str] = frozenset()
    """Fields with fixed values in the table's file, which the board does not send."""


class Board:
    """A sensor node, with its end of the link, its clock and its lamps."""

    def __init__(
        self,
        name: str,
        reads: tuple[str, ...],
        rng: Random,
        *,
        key: str = "",
        sensors: Mapping[int, Sensor] | None = None,
    ) -> None:
        """Create a board with one sensor, which sends the kinds of reading in `reads`.

        If `sensors` is given, the board has these sensors, keyed by channel, and `reads` is ignored.
        """
        self.name = name
        self.hung = False
        self.input_broken = False
        self.lamps: dict[str, str] = {}
        self._switches: dict[tuple[str, str], Switch] = {}
        self._greeted = False
        self._sensors = sensors or {0: Sensor(name, reads)}
        for sensor in self._sensors.values():
            if "switch" in sensor.reads:
                door = Switch(t=0, dev=sensor.dev, name="door", open=False)
                self._switches[sensor.dev, door.name] = door
        self.devices = tuple(dict.fromkeys((name, *(sensor.dev for sensor in self._sensors.values()))))
        """The table's devices whose readings the board sends."""
        self._rng = rng
        self._key = bytes.fromhex(key) or None
        self._begin(0, "power")

    def start(self, now_us: int) -> None:
        """Start with an arbitrary clock value, as at power-on."""
        self._start(now_us, "power")

    def restart(self, now_us: int) -> None:
        """Restart, as after a reset by the watchdog."""
        self._start(now_us, "watchdog")

    def _start(self, now_us: int, reset: str) -> None:
        self._begin(now_us, reset)
        self._end.start(self.clock.read(now_us))

    def receive(self, now_us: int, data: bytes) -> None:
        """Handle the table's sentences and carry out its commands."""
        if self.hung or self.input_broken:
            return
        clock_us = self.clock.read(now_us)
        for command in self._end.receive(clock_us, data):
            known = command.verb in ("lamp", "buzzer", "selftest")
            if command.verb == "lamp":
                self.lamps[command.fields.get("name", "")] = command.fields.get("shows", "")
            result = "" if known else f"no {command.verb}"
            if command.verb == "selftest":
                result = self._selftest()
            self._end.acknowledge(clock_us, command.number, ok=known, message=result)
        self._send_switches(now_us)

    def _selftest(self) -> str:
        """Return the result of the self-test. A wheel board's next hello then contains the measured error.

        A real wall board measures its error with a pulse through the panel, which is not simulated.
        """
        if not any("ball_beam" in sensor.reads for sensor in self._sensors.values()):
            return "all well"
        self._end.hello = replace(self._end.hello, error_us=STAMP_ERROR_US)
        return f"timestamps within {STAMP_ERROR_US} us of the edge"

    def _send_switches(self, now_us: int) -> None:
        """Report all switch states after the table connects, as a real board does."""
        is_listening = self._end.pings >= FIRST_PINGS
        if is_listening and not self._greeted:
            for switch in tuple(self._switches.values()):
                self.sense(now_us, msgspec.structs.replace(switch, t=now_us))
        self._greeted = is_listening

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Send a reading with the board's timestamp."""
        if isinstance(reading, Switch):
            self._switches[reading.dev, reading.name] = reading
        if self.hung:
            return
        kind, fields = to_texts(reading)
        channel, sensor = self._sensor_of(reading.dev)
        written = {name: text for name, text in fields.items() if name not in sensor.fixed_fields}
        self.send_reading(now_us, kind, written, seen_us=reading.t, channel=channel)

    def send_reading(
        self, now_us: int, kind: str, fields: Mapping[str, str], *, seen_us: int, channel: int = 0
    ) -> None:
        """Send a reading without checking its fields."""
        clock_us, seen_clock_us = self.clock.read(now_us), self.clock.read(seen_us)
        self._end.reading(clock_us, kind, fields, channel=channel, seen_us=seen_clock_us)

    def _sensor_of(self, dev: str) -> tuple[int, Sensor]:
        """Return the channel and sensor of a device.

        For any other name, such as the board's, return the first channel and its sensor.
        """
        channels = self._sensors.items()
        return next((item for item in channels if item[1].dev == dev), next(iter(channels)))

    def tick(self, now_us: int) -> None:
        """Send a heartbeat or an announcement if one is due."""
        if not self.hung:
            self._end.tick(self.clock.read(now_us))

    def next_due_us(self) -> int | None:
        """Return the time at which `tick` is due next."""
        return None if self.hung else self.clock.table_time_us(self._end.next_deadline())

    def take_output(self) -> bytes:
        """Return the bytes queued for the table, and clear the queue."""
        return self._end.take_output()

    def _begin(self, now_us: int, reset: str) -> None:
        rng = self._rng
        off_ppm = rng.uniform(-CRYSTAL_PPM, CRYSTAL_PPM)
        # One clock in eight wraps within ten minutes.
        near_wrap = CLOCK_US - rng.randrange(600_000_000)
        starts_at = near_wrap if rng.random() < 0.125 else rng.randrange(CLOCK_US)
        self.clock = BoardClock(now_us, starts_at, off_ppm)
        boot, salt = (f"{rng.getrandbits(64):016X}" for _ in range(2))
        commands = ("lamp", "buzzer", "selftest")
        reads = {channel: sensor.reads for channel, sensor in self._sensors.items()}
        hello = Hello(self.name, FIRMWARE, boot, reads, commands, MAX_KEPT, reset=reset)
        self._end = NodeEnd(hello, salt, key=self._key)


class SendOnlyDevice:
    """A device that sends readings and keep-alive messages and ignores input."""

    def __init__(self, name: str) -> None:
        """Create the device with this name."""
        self.name = name
        self.hung = False
        self.input_broken = False
        self.clock = BoardClock(0, 0, 0.0)
        self._output: list[bytes] = []
        self._next_us = 0

    def start(self, now_us: int) -> None:
        """Start the device, as at power-on."""
        self._next_us = now_us
        self._output.clear()
        self.tick(now_us)

    def restart(self, now_us: int) -> None:
        """Restart."""
        self.start(now_us)

    def receive(self, now_us: int, data: bytes) -> None:
        """Ignore the table's bytes."""

    def tick(self, now_us: int) -> None:
        """Send a keep-alive message if one is due."""
        raise NotImplementedError

    def next_due_us(self) -> int | None:
        """Return the time of the next keep-alive message."""
        return None if self.hung else self._next_us

    def take_output(self) -> bytes:
        """Return the bytes queued for the table, and clear the queue."""
        output = b"".join(self._output)
        self._output.clear()
        return output


class Script(SendOnlyDevice):
    """A camera script that prints readings as JSON lines, with or without timestamps from its clock."""

    def __init__(self, name: str, rng: Random, *, stamps: bool, lens: Homography | None = None) -> None:
        """Create a script; with a `lens`, the script prints image coordinates."""
        super().__init__(name)
        self._rng = rng
        self._stamps = stamps
        self._lens = lens

    def start(self, now_us: int) -> None:
        """Start the script, which sends a keep-alive message."""
        starts_at = self._rng.randrange(1 << 40)
        self.clock = BoardClock(now_us, starts_at, self._rng.uniform(-CRYSTAL_PPM, CRYSTAL_PPM))
        super().start(now_us)

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Print a reading."""
        del now_us
        fields = {k: v for k, v in msgspec.to_builtins(reading).items() if k not in COMMON and v is not None}
        if self._lens is not None and isinstance(reading, DieReleased | DieAt | DieRest):
            place = self._lens.to_table(reading.x, reading.y)
            assert place is not None
            fields |= {"x": round(place[0], 2), "y": round(place[1], 2)}
        self.print_reading(kind_of(reading), fields, seen_us=reading.t)

    def print_reading(self, kind: str, fields: Mapping[str, object], *, seen_us: int) -> None:
        """Print a reading without checking its fields."""
        stamp = {"t": self.clock.read(seen_us)} if self._stamps else {}
        if not self.hung:
            self._output.append(json.dumps({"kind": kind, **fields, **stamp}).encode() + b"\n")

    def tick(self, now_us: int) -> None:
        """Send a keep-alive message if one is due."""
        if self.hung or now_us < self._next_us:
            return
        self._next_us = now_us + ALIVE_US
        self.print_reading("alive", {}, seen_us=now_us)


SHOE_SETTINGS: Mapping[str, str | float | list[str]] = {
    "unread": ["NR"],
    "lid_open": ["LID1"],
    "lid_closed": ["LID0"],
    "alive": ["OK"],
    "silent_s": 3.0,
}
"""Settings of a virtual shoe in a table's file, without the port."""
SHOE_ALIVE_US = 1_000_000
SHOE_TIMES = 2


class VirtualShoe(SendOnlyDevice):
    """A shoe that deals in rotation and sends cards without positions or times."""

    def __init__(self, name: str) -> None:
        """Create the device with this name."""
        super().__init__(name)
        codes = ShoeSettings(port="", unread=("NR",), lid_open=("LID1",), lid_closed=("LID0",), alive=("OK",))
        self._speaker = ShoeEncoder(codes.codes, times=SHOE_TIMES)

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Send the code of a dealt card or of the lid's new state."""
        del now_us
        if self.hung:
            return
        match reading:
            case Card(rank=None):
                self._output.append(self._speaker.word("unread") * SHOE_TIMES)
            case Card(rank=rank, suit=suit):
                self._output.append(self._speaker.card(f"{rank}{suit}"))
            case Switch(name=name, open=is_open) if name == LID_SWITCH:
                self._output.append(self._speaker.word("lid_open" if is_open else "lid_closed"))
            case _:
                pass

    def tick(self, now_us: int) -> None:
        """Send a keep-alive message if one is due."""
        if not self.hung and now_us >= self._next_us:
            self._next_us = now_us + SHOE_ALIVE_US
            self._output.append(self._speaker.word("alive"))


Disturbance = Callable[[Random, bytes], list[tuple[int, bytes]]]
"""Function that takes a line and returns the pieces that a faulty cable delivers, each with its additional
delay in microseconds."""

USB_US = (200, 900)
"""Minimum and maximum delay through USB and an idle operating system."""


class Wire:
    """One direction of a cable. Lines arrive in order unless a disturbance delays them."""

    def __init__(self, rng: Random) -> None:
        """Create a wire without disturbances."""
        self.disturbances: list[Disturbance] = []
        self._rng = rng
        self._flying: list[tuple[int, int, bytes]] = []
        self._sent = 0
        self._last_us = 0

    def send(self, now_us: int, data: bytes) -> None:
        """Send bytes through the cable."""
        for line in data.splitlines(keepends=True):
            pieces = [(0, line)]
            for disturb in self.disturbances:
                pieces = [
                    (before + later, piece)
                    for before, bytes_ in pieces
                    for later, piece in disturb(self._rng, bytes_)
                ]
            on_time_us = max(self._last_us, now_us + self._rng.randint(*USB_US))
            self._last_us = on_time_us
            for later, piece in pieces:
                self._sent += 1
                heappush(self._flying, (on_time_us + later, self._sent, piece))

    def next_due_us(self) -> int | None:
        """Return the arrival time of the next bytes."""
        return self._flying[0][0] if self._flying else None

    def take(self, now_us: int) -> bytes:
        """Return the bytes that have arrived."""
        arrived = bytearray()
        while self._flying and self._flying[0][0] <= now_us:
            arrived += heappop(self._flying)[2]
        return bytes(arrived)

    def clear(self) -> None:
        """Discard the bytes in transit."""
        self._flying.clear()


class Cable:
    """A device's cable to a port of the table."""

    def __init__(self, peer: Peer, rng: Random) -> None:
        """Connect the device to the table's port of the same name."""
        self.peer = peer
        self.rng = rng
        self.port: str | None = peer.name
        """Name of the table's port; None while the cable is unplugged."""
        self.plugged = 0
        """Number of times that the cable has been plugged in; a new port is created each time."""
        self.blocked = False
        """Whether the device's port has stopped accepting bytes."""
        self.outbox = bytearray()
        """Bytes that have arrived at the table."""
        self.to_table = Wire(rng)
        self.to_peer = Wire(rng)

    @property
    def name(self) -> str:
        """Name of the device."""
        return self.peer.name

    @property
    def devices(self) -> tuple[str, ...]:
        """The table's devices whose readings the cable carries."""
        return self.peer.devices if isinstance(self.peer, Board) else (self.name,)

    def pull(self) -> None:
        """Unplug the cable; bytes in transit are lost."""
        self.port = None
        self.outbox.clear()
        self.to_table.clear()
        self.to_peer.clear()

    def plug(self, port: str) -> None:
        """Plug the cable in; bytes sent while it was unplugged are lost."""
        self.peer.take_output()
        self.port = port
        self.plugged += 1

    def next_due_us(self) -> int | None:
        """Return the time at which `run` is due next; None if nothing is scheduled."""
        due = (self.peer.next_due_us(), self.to_table.next_due_us(), self.to_peer.next_due_us())
        return min((at for at in due if at is not None), default=None)

    def run(self, now_us: int) -> None:
        """Do the work that is due, and send the device's bytes."""
        if received := self.to_peer.take(now_us):
            self.peer.receive(now_us, received)
        due = self.peer.next_due_us()
        if due is not None and due <= now_us:
            self.peer.tick(now_us)
        self.flush(now_us)
        self.outbox += self.to_table.take(now_us)

    def flush(self, now_us: int) -> None:
        """Send the device's bytes; they are lost while the cable is unplugged."""
        output = self.peer.take_output()
        if output and self.port is not None:
            self.to_table.send(now_us, output)


def dropping(fraction: float) -> Disturbance:
    """Return a disturbance that loses this fraction of the lines."""
    return lambda rng, line: [] if rng.random() < fraction else [(0, line)]


def dropping_for_good(remainder: int) -> Disturbance:
    """Return a disturbance that loses a node's sentences if their sequence number modulo 2 is `remainder`.

    Repetitions of these sentences are lost as well.
    """

    def drop(_rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        words = line.split(b" ", 3)
        lost = len(words) > 2 and words[2].isdigit() and int(words[2]) % 2 == remainder
        return [] if lost else [(0, line)]

    return drop


def doubling(fraction: float) -> Disturbance:
    """Return a disturbance that delivers this fraction of the lines twice."""
    return lambda rng, line: [(0, line)] * (2 if rng.random() < fraction else 1)


def swapping(fraction: float, max_us: int) -> Disturbance:
    """Return a disturbance that delays this fraction of the lines; later lines can overtake them."""
    return lambda rng, line: [(rng.randint(1, max_us) if rng.random() < fraction else 0, line)]


def cutting(fraction: float) -> Disturbance:
    """Return a disturbance that cuts off the end of this fraction of the lines, including the line break."""

    def cut(rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= fraction or len(line) < 2:
            return [(0, line)]
        return [(0, line[: rng.randrange(1, len(line))].rstrip(b"\r\n"))]

    return cut


def damaging(fraction: float) -> Disturbance:
    """Return a disturbance that flips one bit in this fraction of the lines."""

    def damage(rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= fraction:
            return [(0, line)]
        at = rng.randrange(len(line))
        return [(0, line[:at] + bytes([line[at] ^ 1 << rng.randrange(8)]) + line[at + 1 :])]

    return damage
