"""The bytes of a log: plain or gzip, in blocks, as far as they go.

A recorder that loses its power leaves a file that ends early: in mid-line, in the middle of a gzip stream, or
in a tail of NUL bytes where the file system had grown the file but not yet written it.
"""

import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO


class LogError(Exception):
    """A file that can't be used: which one, what was found, what was expected and what to do next."""

    def __init__(self, file: str, found: str, expected: str, advice: str, line: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: found {found}, expected {expected}; {advice}")
        self.file = file
        self.line = line
        self.found = found
        self.expected = expected


class BadLineError(LogError):
    """One line that is no reading; a lenient reader skips it."""

    def __init__(self, file: str, line: int, found: str, expected: str) -> None:
        super().__init__(file, found, expected, "correct the line, or skip such lines with --lenient", line)


BLOCK = 1 << 18
MAX_LINE = 1 << 20
"""A longer line (bytes) is no reading; this bounds the memory that a damaged file can ask for."""

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WBITS = 31
_GZIP_END = 16
"""More NUL bytes (deflate's last, CRC, length) can't end an undamaged gzip stream."""


def unreadable(error: zlib.error | OSError) -> str:
    """Describe why bytes can't be had: packed data that is damaged, or what the system refused."""
    if isinstance(error, OSError):
        return f"it can't be read ({error.strerror or error})"
    return f"gzip data damaged ({str(error).rpartition(': ')[2]})"


class Source:
    """Iterate over a log's unpacked bytes in blocks; afterwards `cut` tells whether they ended early.

    Raises zlib.error where a gzip stream is damaged, OSError where the file can't be read.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.cut = False
        self.packed = False
        """Whether it is gzip, as far as it was read."""
        self._stream = stream
        self._held_nuls = 0

    def __iter__(self) -> Iterator[bytes]:
        blocks = self._without_nul_tail()
        first = next(blocks, b"")
        self.packed = first.startswith(GZIP_MAGIC)
        if self.packed:
            yield from self._unpacked(first, blocks)
        else:
            yield first
            yield from blocks
            self.cut = self._held_nuls > 0

    def _without_nul_tail(self) -> Iterator[bytes]:
        while block := self._stream.read(BLOCK):
            kept = block.rstrip(b"\0")
            if kept:
                yield from self._released_nuls()
                yield kept
            self._held_nuls += len(block) - len(kept)

    def _released_nuls(self) -> Iterator[bytes]:
        while self._held_nuls:
            size = min(self._held_nuls, BLOCK)
            self._held_nuls -= size
            yield bytes(size)

    def _unpacked(self, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(GZIP_WBITS)
        packed = first
        while True:
            if member.eof and packed:
                member = zlib.decompressobj(GZIP_WBITS)
            unpacked = member.decompress(packed, BLOCK)
            yield unpacked
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if not packed and len(unpacked) < BLOCK:
                packed = next(rest, b"")
                if not packed:
                    break
        if not member.eof:
            member, unpacked = self._with_nuls(member)
            yield unpacked
        self.cut = self._held_nuls > 0 or not member.eof

    def _with_nuls(self, member: "zlib._Decompress") -> tuple["zlib._Decompress", bytes]:
        """End a stream whose own last bytes are NUL, told from a tail of lost blocks by trying."""
        tail = bytes(min(self._held_nuls, _GZIP_END))
        ended = member.copy()
        try:
            unpacked = ended.decompress(tail)
        except zlib.error:
            return member, b""
        if not ended.eof:
            return member, b""
        self._held_nuls -= len(tail) - len(ended.unused_data)
        return ended, unpacked


STDIN = "-"


def open_input(path: str, expected: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, or standard input for `-`; raises LogError where there is nothing readable."""
    if path == STDIN:
        if sys.stdin is None:
            raise LogError(name_of(path), "it closed", expected, "feed it by a pipe, or name a file")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except IsADirectoryError as error:
        raise LogError(path, "a directory", expected, "name a file in it") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogError(path, f"no readable file ({reason})", expected, "check the name") from error


def name_of(path: str) -> str:
    """Return the name that messages call this input by."""
    return "standard input" if path == STDIN else path
