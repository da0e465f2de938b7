"""The cables of a virtual table: how long bytes take, and what a bad one makes of them."""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

from drivers.sim.boards import Board, Peer

Spoil = Callable[[Random, bytes], list[tuple[int, bytes]]]
"""What a bad cable makes of one line: pieces, each with its further delay in microseconds."""

USB_US = (200, 900)
"""What USB and the operating system take at least, and at most when all is quiet."""


class Wire:
    """One direction of a cable. Bytes keep their order unless something spoils it."""

    def __init__(self, rng: Random) -> None:
        """Be a good wire."""
        self.spoils: list[Spoil] = []
        self._rng = rng
        self._flying: list[tuple[int, int, bytes]] = []
        self._sent = 0
        self._last_us = 0

    def send(self, now_us: int, data: bytes) -> None:
        """Take bytes at one end."""
        for line in data.splitlines(keepends=True):
            pieces = [(0, line)]
            for spoil in self.spoils:
                pieces = [
                    (before + later, piece)
                    for before, bytes_ in pieces
                    for later, piece in spoil(self._rng, bytes_)
                ]
            on_time_us = max(self._last_us, now_us + self._rng.randint(*USB_US))
            self._last_us = on_time_us
            for later, piece in pieces:
                self._sent += 1
                heappush(self._flying, (on_time_us + later, self._sent, piece))

    def next_due_us(self) -> int | None:
        """Give when the next bytes are there."""
        return self._flying[0][0] if self._flying else None

    def take(self, now_us: int) -> bytes:
        """Give the bytes that are there by now."""
        arrived = bytearray()
        while self._flying and self._flying[0][0] <= now_us:
            arrived += heappop(self._flying)[2]
        return bytes(arrived)

    def clear(self) -> None:
        """Lose what is on its way: the cable was pulled."""
        self._flying.clear()


class Cable:
    """A device at its cable, and where the cable's other end is plugged in."""

    def __init__(self, peer: Peer, rng: Random) -> None:
        """Lead from this device to the table's port of the same name."""
        self.peer = peer
        self.rng = rng
        self.port: str | None = peer.name
        """The name under which the table sees it; None while it is pulled."""
        self.plugged = 0
        """Goes up whenever it is plugged in: each time as another port."""
        self.blocked = False
        """The device's port takes no bytes."""
        self.outbox = bytearray()
        """Bytes that are at the table's end."""
        self.to_table = Wire(rng)
        self.to_peer = Wire(rng)

    @property
    def name(self) -> str:
        """Give the device's name."""
        return self.peer.name

    @property
    def devices(self) -> tuple[str, ...]:
        """Name the table's devices that are heard through it."""
        return self.peer.devices if isinstance(self.peer, Board) else (self.name,)

    def pull(self) -> None:
        """Pull it; what was on its way is lost."""
        self.port = None
        self.outbox.clear()
        self.to_table.clear()
        self.to_peer.clear()

    def plug(self, port: str) -> None:
        """Plug it in; bytes that were said meanwhile are lost."""
        self.peer.take_output()
        self.port = port
        self.plugged += 1

    def next_due_us(self) -> int | None:
        """Give when something happens here."""
        due = (self.peer.next_due_us(), self.to_table.next_due_us(), self.to_peer.next_due_us())
        return min((at for at in due if at is not None), default=None)

    def run(self, now_us: int) -> None:
        """Do what is due by now; what the device says goes onto the wire."""
        if heard := self.to_peer.take(now_us):
            self.peer.receive(now_us, heard)
        due = self.peer.next_due_us()
        if due is not None and due <= now_us:
            self.peer.tick(now_us)
        self.flush(now_us)
        self.outbox += self.to_table.take(now_us)

    def flush(self, now_us: int) -> None:
        """Send what the device has said; without a port nobody hears it."""
        said = self.peer.take_output()
        if said and self.port is not None:
            self.to_table.send(now_us, said)


def dropping(share: float) -> Spoil:
    """Lose this share of the lines."""
    return lambda rng, line: [] if rng.random() < share else [(0, line)]


def dropping_for_good(line_of_two: int) -> Spoil:
    """Lose every second sentence of a node, also when it is said again."""

    def drop(_rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        words = line.split(b" ", 3)
        lost = len(words) > 2 and words[2].isdigit() and int(words[2]) % 2 == line_of_two
        return [] if lost else [(0, line)]

    return drop


def doubling(share: float) -> Spoil:
    """Bring this share of the lines twice."""
    return lambda rng, line: [(0, line)] * (2 if rng.random() < share else 1)


def swapping(share: float, most_us: int) -> Spoil:
    """Hold this share of the lines back until others have overtaken them."""
    return lambda rng, line: [(rng.randint(1, most_us) if rng.random() < share else 0, line)]


def cutting(share: float) -> Spoil:
    """Cut this share of the lines off, so that the next begins in the same line."""

    def cut(rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= share or len(line) < 2:
            return [(0, line)]
        return [(0, line[: rng.randrange(1, len(line))].rstrip(b"\r\n"))]

    return cut


def damaging(share: float) -> Spoil:
    """Turn one bit over in this share of the lines."""

    def damage(rng: Random, line: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= share:
            return [(0, line)]
        at = rng.randrange(len(line))
        return [(0, line[:at] + bytes([line[at] ^ 1 << rng.randrange(8)]) + line[at + 1 :])]

    return damage
