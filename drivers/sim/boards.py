"""What hangs on a virtual table's cables: sensor boards and camera scripts that speak the real protocols."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

import msgspec

from controller.model.readings import AnyReading, DieAt, DieReleased, DieRest, kind_of
from drivers.devices.homography import Homography
from drivers.devices.node_values import COMMON, texts_of
from drivers.protocol.node_messages import Hello
from drivers.protocol.node_peer import NodeEnd
from drivers.protocol.node_sentences import CLOCK_US

REMEMBERED = 16
"""Sentences that a board can say again."""
ALIVE_US = 200_000
FIRMWARE = "virtual-1"
SOUND_PPM = 60.0
"""How far off a sound crystal may be, warm or cold."""


class Peer(Protocol):
    """One device's own end of its cable. Times are the table's; what it stamps is its own clock's."""

    name: str
    hung: bool
    """It neither hears nor says anything, though its cable is good."""
    deaf: bool
    """It hears nothing, and goes on speaking."""
    clock: "BoardClock"

    def start(self, now_us: int) -> None:
        """Begin as after power-on."""
        ...

    def restart(self, now_us: int) -> None:
        """Begin anew, knowing nothing of before."""
        ...

    def receive(self, now_us: int, data: bytes) -> None:
        """Take bytes from the table."""
        ...

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Tell of what its sensors saw."""
        ...

    def tick(self, now_us: int) -> None:
        """Do what is due by now."""
        ...

    def next_due_us(self) -> int | None:
        """Give when `tick` has something to do."""
        ...

    def take_output(self) -> bytes:
        """Give the bytes for the table; they are handed out once."""
        ...


class BoardClock:
    """A board's own clock: it began somewhere and is some millionths off."""

    def __init__(self, now_us: int, starts_at: int, off_ppm: float) -> None:
        """Stand at `starts_at` now."""
        self.off_ppm = off_ppm
        self._since_us = now_us
        self._stood_at = starts_at

    def read(self, now_us: int) -> int:
        """Give where it stands at a table time."""
        return self._stood_at + round((now_us - self._since_us) * (1 + self.off_ppm / 1e6))

    def when(self, stands_at: int) -> int:
        """Give the table time at which it stands there, or a microsecond later."""
        return self._since_us + int((stands_at - self._stood_at) / (1 + self.off_ppm / 1e6)) + 1

    def run(self, now_us: int, off_ppm: float) -> None:
        """Run at another speed from now on."""
        self._stood_at, self._since_us = self.read(now_us), now_us
        self.off_ppm = off_ppm

    def jump(self, by_us: int) -> None:
        """Stand elsewhere, from one moment to the next."""
        self._stood_at += by_us


@dataclass(frozen=True, slots=True)
class Sensor:
    """What hangs on one of a board's channels: a device of the table, and the kinds that it can send."""

    dev: str
    reads: tuple[str, ...]
    told: frozenset[str] = frozenset()
    """Fields that the table's file says of it, so that the board need not know them."""


class Board:
    """A sensor node: the node's end of the link, a clock of its own, and lamps that it is told to light."""

    def __init__(
        self,
        name: str,
        reads: tuple[str, ...],
        rng: Random,
        *,
        key: str = "",
        sensors: Mapping[int, Sensor] | None = None,
    ) -> None:
        """Be the board of this name that can send these kinds, or the one of these sensors by channel."""
        self.name = name
        self.hung = False
        self.deaf = False
        self.lamps: dict[str, str] = {}
        self._sensors = sensors or {0: Sensor(name, reads)}
        self.devices = tuple(dict.fromkeys((name, *(sensor.dev for sensor in self._sensors.values()))))
        """The table's devices that it speaks for."""
        self._rng = rng
        self._key = bytes.fromhex(key) or None
        self._begin(0)

    def start(self, now_us: int) -> None:
        """Begin, with a clock that has run for a while already."""
        self._begin(now_us)
        self._end.start(self.clock.read(now_us))

    def restart(self, now_us: int) -> None:
        """Begin anew."""
        self.start(now_us)

    def receive(self, now_us: int, data: bytes) -> None:
        """Take the table's sentences; do what it asks."""
        if self.hung or self.deaf:
            return
        clock_us = self.clock.read(now_us)
        for command in self._end.receive(clock_us, data):
            known = command.verb in ("lamp", "buzzer", "selftest")
            if command.verb == "lamp":
                self.lamps[command.fields.get("name", "")] = command.fields.get("shows", "")
            says = "all well" if command.verb == "selftest" else ("" if known else f"no {command.verb}")
            self._end.acknowledge(clock_us, command.number, ok=known, says=says)

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Say what was seen, stamped with the board's clock of that moment."""
        if self.hung:
            return
        kind, fields = texts_of(reading)
        channel, sensor = self._sensor_of(reading.dev)
        said = {name: text for name, text in fields.items() if name not in sensor.told}
        self.say(now_us, kind, said, seen_us=reading.t, channel=channel)

    def say(
        self, now_us: int, kind: str, fields: Mapping[str, str], *, seen_us: int, channel: int = 0
    ) -> None:
        """Say anything, whether it makes sense or not."""
        clock_us, seen_clock_us = self.clock.read(now_us), self.clock.read(seen_us)
        self._end.reading(clock_us, kind, fields, channel=channel, seen_us=seen_clock_us)

    def _sensor_of(self, dev: str) -> tuple[int, Sensor]:
        """Give a device's channel; what is the whole board's comes from the first."""
        channels = self._sensors.items()
        return next((item for item in channels if item[1].dev == dev), next(iter(channels)))

    def tick(self, now_us: int) -> None:
        """Beat, or announce itself."""
        if not self.hung:
            self._end.tick(self.clock.read(now_us))

    def next_due_us(self) -> int | None:
        """Give when the next beat is due."""
        return None if self.hung else self.clock.when(self._end.next_deadline())

    def take_output(self) -> bytes:
        """Give the bytes for the table."""
        return self._end.take_output()

    def _begin(self, now_us: int) -> None:
        rng = self._rng
        off_ppm = rng.uniform(-SOUND_PPM, SOUND_PPM)
        # One start in eight has a clock that begins again within the next minutes.
        soon = CLOCK_US - rng.randrange(600_000_000)
        starts_at = soon if rng.random() < 0.125 else rng.randrange(CLOCK_US)
        self.clock = BoardClock(now_us, starts_at, off_ppm)
        boot, salt = (f"{rng.getrandbits(64):016X}" for _ in range(2))
        does = ("lamp", "buzzer", "selftest")
        reads = {channel: sensor.reads for channel, sensor in self._sensors.items()}
        hello = Hello(self.name, FIRMWARE, boot, reads, does, REMEMBERED)
        self._end = NodeEnd(hello, salt, key=self._key)


class Unasked:
    """What speaks by itself and is never spoken to: its bytes, and when it says next that it is there."""

    def __init__(self, name: str) -> None:
        """Be the device of this name."""
        self.name = name
        self.hung = False
        self.deaf = False
        self.clock = BoardClock(0, 0, 0.0)
        self._output: list[bytes] = []
        self._next_us = 0

    def start(self, now_us: int) -> None:
        """Begin as after power-on."""
        self._next_us = now_us
        self._output.clear()
        self.tick(now_us)

    def restart(self, now_us: int) -> None:
        """Begin anew."""
        self.start(now_us)

    def receive(self, now_us: int, data: bytes) -> None:
        """Take no notice."""

    def tick(self, now_us: int) -> None:
        """Say that it is there."""
        raise NotImplementedError

    def next_due_us(self) -> int | None:
        """Give when it says so next."""
        return None if self.hung else self._next_us

    def take_output(self) -> bytes:
        """Give the bytes for the table."""
        output = b"".join(self._output)
        self._output.clear()
        return output


class Script(Unasked):
    """A camera program that prints readings as JSON lines, stamped by its own clock or not at all."""

    def __init__(self, name: str, rng: Random, *, stamps: bool, lens: Homography | None = None) -> None:
        """Be the script of this name; with a `lens` it prints places of its image, not of the table."""
        super().__init__(name)
        self._rng = rng
        self._stamps = stamps
        self._lens = lens

    def start(self, now_us: int) -> None:
        """Begin with a line that says nothing but that it runs."""
        starts_at = self._rng.randrange(1 << 40)
        self.clock = BoardClock(now_us, starts_at, self._rng.uniform(-SOUND_PPM, SOUND_PPM))
        super().start(now_us)

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Print a reading."""
        del now_us
        fields = {k: v for k, v in msgspec.to_builtins(reading).items() if k not in COMMON and v is not None}
        if self._lens is not None and isinstance(reading, DieReleased | DieAt | DieRest):
            place = self._lens.to_table(reading.x, reading.y)
            assert place is not None
            fields |= {"x": round(place[0], 2), "y": round(place[1], 2)}
        self.say(kind_of(reading), fields, seen_us=reading.t)

    def say(self, kind: str, fields: Mapping[str, object], *, seen_us: int) -> None:
        """Print anything, whether it makes sense or not."""
        stamp = {"t": self.clock.read(seen_us)} if self._stamps else {}
        if not self.hung:
            self._output.append(json.dumps({"kind": kind, **fields, **stamp}).encode() + b"\n")

    def tick(self, now_us: int) -> None:
        """Say that it is alive."""
        if self.hung or now_us < self._next_us:
            return
        self._next_us = now_us + ALIVE_US
        self.say("alive", {}, seen_us=now_us)
