"""Simulates a table and a node, with clocks that drift and wrap, and lines that lose and delay bytes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

import pytest

from drivers.health import Fault, Recovered
from drivers.node.node_end import Command, NodeEnd
from drivers.node.sentences import (
    CLOCK_US,
    CommandResult,
    Hello,
    Message,
    NodeReading,
    Sentence,
    Speaker,
    encode,
    finish,
)
from drivers.node.table_end import Phase, TableEnd

Line = Callable[[Random, bytes], list[tuple[int, bytes]]]
"""A function that splits bytes into pieces, each with its delay in microseconds."""

HELLO = Hello("w1", "1.0", "B007B007B007B007", {1: ("wall_impact",)}, ("lamp", "selftest"), 16)
KEY = bytes(range(32))
SECOND_US = 1_000_000
SEALED = pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])


def plain(_rng: Random, data: bytes) -> list[tuple[int, bytes]]:
    return [(300, data)]


def one_byte_at_a_time(_rng: Random, data: bytes) -> list[tuple[int, bytes]]:
    return [(300 + 11 * at, data[at : at + 1]) for at in range(len(data))]


def each_sentence(change: Line) -> Line:
    def line(rng: Random, data: bytes) -> list[tuple[int, bytes]]:
        sentences = data.splitlines(keepends=True)
        return [piece for sentence in sentences for piece in change(rng, sentence)]

    return line


def dropping(fraction: float) -> Line:
    return each_sentence(lambda rng, data: [] if rng.random() < fraction else [(300, data)])


def doubling(fraction: float) -> Line:
    return each_sentence(lambda rng, data: [(300, data)] * (2 if rng.random() < fraction else 1))


def delaying(most_us: int) -> Line:
    return lambda rng, data: [(300 + int(rng.random() ** 4 * most_us), data)]


def swapping(fraction: float) -> Line:
    return each_sentence(lambda rng, data: [(3000 if rng.random() < fraction else 300, data)])


def damaging(fraction: float) -> Line:
    def damage(rng: Random, data: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= fraction:
            return [(300, data)]
        at = rng.randrange(len(data))
        return [(300, data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])]

    return each_sentence(damage)


def nonces() -> Callable[[], str]:
    numbers = count(0x3F2A)
    return lambda: f"{next(numbers):04X}0123456789AB"


@dataclass
class World:
    """The table, the node, the simulated time, and the bytes in transit."""

    seed: int = 1
    to_node: Line = plain
    to_table: Line = plain
    key: bytes | None = None
    node_key: bytes | None = None
    hello: Hello = HELLO
    max_per_s: int = 1000
    drift: float = 0.0
    clock_at_start: int = 0
    keeps_order: bool = True
    now_us: int = 0
    reported: list[tuple[int, Message]] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    node_alive: bool = True
    on_wire: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.table = TableEnd("w1", nonces(), key=self.key, max_per_s=self.max_per_s)
        self.started_us = 0
        self._flying: list[tuple[int, int, bool, bytes]] = []
        self._reorder = count()
        self._last = {True: 0, False: 0}
        self.new_node()
        self._tell(self.table.start(self.now_us))
        self._tell(self.table.on_open(self.now_us))
        self.node.start(self.node_clock())

    def new_node(self, boot: int = 0) -> None:
        hello = Hello(
            self.hello.node,
            self.hello.firmware,
            f"{boot:016X}",
            self.hello.reads,
            self.hello.does,
            self.hello.resend,
        )
        self.node = NodeEnd(hello, f"{boot + 0xA000:016X}", key=self.node_key or self.key)

    def restart_node(self, boot: int, clock_at_start: int = 0) -> None:
        self.started_us = self.now_us
        self.clock_at_start = clock_at_start
        self.new_node(boot)
        self.node.start(self.node_clock())

    def node_clock(self, at_us: int | None = None) -> int:
        """Return the node's clock without wrapping. The node sends the lower 32 bits."""
        at = self.now_us if at_us is None else at_us
        return self.clock_at_start + round((at - self.started_us) * (1 + self.drift))

    def until(self, end_us: int) -> None:
        while True:
            self._send()
            due = [end_us]
            deadline = self.table.next_deadline()
            if deadline is not None:
                due.append(deadline)
            if self.node_alive:
                ahead = (self.node.next_deadline() - self.node_clock()) / (1 + self.drift)
                due.append(self.now_us + max(0, round(ahead)) + 1)
            if self._flying:
                due.append(self._flying[0][0])
            self.now_us = max(self.now_us, min(due))
            if self.now_us >= end_us:
                self.now_us = end_us
                return
            self._land()
            self._tell(self.table.tick(self.now_us))
            if self.node_alive:
                self.node.tick(self.node_clock())

    def after(self, more_us: int) -> None:
        self.until(self.now_us + more_us)

    def up(self) -> "World":
        end_us = self.now_us + 20_000_000
        while self.table.phase is not Phase.UP:
            assert self.now_us < end_us, self.reported
            self.after(10_000)
        return self

    def knock(self, pos_mm: float = 511.0, seen_us: int | None = None) -> None:
        """Make the node report a wall impact."""
        fields = {"wall": "left", "pos_mm": str(pos_mm), "peak": "421"}
        self.node.reading(
            self.node_clock(), "wall_impact", fields, channel=1, seen_us=self.node_clock(seen_us)
        )

    def inject(self, data: bytes) -> None:
        """Deliver bytes to the table, bypassing the line's errors."""
        self._tell(self.table.receive(self.now_us, data))

    @property
    def seen(self) -> list[NodeReading]:
        return [message for _, message in self.reported if isinstance(message, NodeReading)]

    @property
    def answers(self) -> list[CommandResult]:
        return [message for _, message in self.reported if isinstance(message, CommandResult)]

    def health(self, since_us: int = -1) -> list[tuple[int, str]]:
        """Return the reports of the node's health, each with its time and the fault's code or `well`."""
        return list(self._health(since_us))

    def _health(self, since_us: int) -> Iterator[tuple[int, str]]:
        for at, message in self.reported:
            if at > since_us and isinstance(message, Fault | Recovered):
                yield at, message.code if isinstance(message, Fault) else "well"

    def _tell(self, messages: Sequence[Message]) -> None:
        self.reported += [(self.now_us, message) for message in messages]

    def _send(self) -> None:
        self._fly(True, self.table.take_output(), self.to_node)
        sent = self.node.take_output()
        if sent and self.node_alive:
            self.on_wire.append(sent)
        self._fly(False, sent if self.node_alive else b"", self.to_table)

    def _fly(self, to_node: bool, data: bytes, line: Line) -> None:
        for delay, piece in line(self.rng, data) if data else ():
            at = self.now_us + delay
            if self.keeps_order:
                at = self._last[to_node] = max(at, self._last[to_node])
            heappush(self._flying, (at, next(self._reorder), to_node, piece))

    def _land(self) -> None:
        while self._flying and self._flying[0][0] <= self.now_us:
            _, _, to_node, piece = heappop(self._flying)
            if not to_node:
                self._tell(self.table.receive(self.now_us, piece))
            elif self.node_alive:
                for command in self.node.receive(self.node_clock(), piece):
                    self.commands.append(command)
                    self.node.acknowledge(self.node_clock(), command.number, message="done")


WRAP_SOON = CLOCK_US - 600_000_000
"""The initial value of a clock that wraps after ten minutes."""


def sentence_of(world: World, verb: str, seq: int, **fields: str) -> bytes:
    """Return a sentence of the current session from a board without the key."""
    session = world.table._wire.session
    clock = world.node_clock() % (1 << 32)
    return finish(encode(Sentence(Speaker.NODE, "w1", session, seq, clock, verb, fields)))
