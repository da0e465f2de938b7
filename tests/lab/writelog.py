"""Read a log that dm-log-writes has kept of a disk's writes, and derive the possible states of the disk.

The layout is that of the kernel's Documentation/admin-guide/device-mapper/log-writes.rst: a superblock, then
for each write one sector that describes it, followed by its data. A flush follows the writes that it makes
durable.
"""

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0x6A736677736872
SUPER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
TORN_BYTES = 512
"""A disk writes a sector completely or not at all."""
KEPT = (0.0, 0.3, 0.7, 1.0)
"""Fractions of the undecided sectors that a state of the disk contains."""


class NotALogError(ValueError):
    """Raised if a file is not such a log. The message states what was found."""


@dataclass(frozen=True)
class Entry:
    """One write at a byte offset of the disk, or a mark with a text."""

    at: int
    data: bytes
    flags: int
    mark: str = ""

    @property
    def is_flush(self) -> bool:
        """Return whether the entry makes all earlier writes durable."""
        return bool(self.flags & FLUSH)


@dataclass(frozen=True)
class State:
    """Writes in the order in which they reach the disk, and the last mark before the cut."""

    writes: Sequence[Entry]
    mark: str
    undecided: int
    """Number of sectors that may or may not be on the disk."""


def read(log: Path) -> list[Entry]:
    """Return a log's entries in order.

    Raises:
        NotALogError: The file has no superblock of this kind.
    """
    with log.open("rb") as file:
        magic, version, count, sector_bytes = SUPER.unpack(file.read(SUPER.size))
        if (magic, version) != (MAGIC, 1):
            raise NotALogError(f"{log}: found magic {magic:#x} version {version}, expected {MAGIC:#x} 1")
        entries, at = [], sector_bytes
        for _ in range(count):
            file.seek(at)
            head = file.read(sector_bytes)
            sector, sectors, flags, mark_bytes = ENTRY.unpack_from(head)
            at += sector_bytes
            mark = head[ENTRY.size : ENTRY.size + mark_bytes].decode() if flags & MARK else ""
            data = b""
            if flags & DISCARD:
                data = bytes(sectors * sector_bytes)
            elif sectors:
                data = file.read(sectors * sector_bytes)
                at += sectors * sector_bytes
            entries.append(Entry(sector * sector_bytes, data, flags, mark.rstrip("\0")))
    return entries


def states(entries: Sequence[Entry], count: int, chance: random.Random) -> Iterator[State]:
    """Yield this many states of the disk after a cut at a random moment.

    A state contains all writes before the last flush and all writes with their own flush (FUA). It contains
    any sectors of the other writes after the last flush.
    """
    moments = [n for n, entry in enumerate(entries, 1) if entry.data or entry.mark]
    for _ in range(count):
        cut = chance.choice(moments)
        flushed = max((n for n, entry in enumerate(entries[:cut]) if entry.is_flush), default=0)
        sure = [entry for entry in entries[:flushed] if entry.data]
        late = [entry for entry in entries[flushed:cut] if entry.data]
        sure += [entry for entry in late if entry.flags & FUA]
        pieces = [piece for entry in late if not entry.flags & FUA for piece in _torn(entry)]
        share = chance.choice(KEPT)
        kept = [piece for piece in pieces if chance.random() < share]
        if chance.random() < 0.5:
            chance.shuffle(kept)
        mark = next((entry.mark for entry in reversed(entries[:cut]) if entry.mark), "")
        yield State([*sure, *kept], mark, len(pieces))


def apply(state: State, image: Path) -> None:
    """Write a state to a copy of the disk from before the start of the log."""
    with image.open("r+b") as disk:
        for write in state.writes:
            disk.seek(write.at)
            disk.write(write.data)


def _torn(entry: Entry) -> Iterator[Entry]:
    for start in range(0, len(entry.data), TORN_BYTES):
        yield Entry(entry.at + start, entry.data[start : start + TORN_BYTES], entry.flags)
