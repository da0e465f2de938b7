"""Read a raw serial capture: what a device said line by line, `milliseconds TAB line`, as it was heard."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from controller.replay.source import (
    MAX_LINE,
    BadLineError,
    LogError,
    Source,
    mark_of,
    name_of,
    open_input,
    unreadable,
)

EXPECTED = "`milliseconds TAB line`, as in `496<TAB>*X;2;002;31;0;146;1`"
PAUSE_US = 10_000_000
"""Where the recorder's clock restarted, nobody knows how long it was off: longer than a watchdog waits."""
_LATEST_MS = 2**53 // 1000
_SHOWN = 40


class CapturedLine(NamedTuple):
    """One line of the device, without its line end, and when it was heard (microseconds)."""

    t: int
    text: bytes


class Capture:
    """A capture being read, once; it holds no more of it than one block and one line.

    `lines` counts the lines read so far, `restarts` how often the recorder's clock went back, `skipped` the
    bad lines that a lenient reader left out. `truncated` is set where the last line was cut off. Raises
    LogError.
    """

    def __init__(self, stream: BinaryIO, name: str, *, lenient: bool = False) -> None:
        self.name = name
        self.lines = 0
        self.restarts = 0
        self.skipped = 0
        self.first_skipped: BadLineError | None = None
        self.truncated = False
        self._lenient = lenient
        self._source = Source(stream)
        self._last_ms = 0
        self._shift_us = 0

    def __iter__(self) -> Iterator[CapturedLine]:
        for line in self._split():
            self.lines += 1
            captured = self._read(line.removesuffix(b"\r"))
            if captured is not None:
                yield captured

    def _read(self, line: bytes) -> CapturedLine | None:
        written, tab, text = line.partition(b"\t")
        if not tab or not written.isdigit() or len(written) > len(str(_LATEST_MS)):
            self._skip(line)
            return None
        ms = int(written)
        if ms < self._last_ms:
            self.restarts += 1
            self._shift_us += (self._last_ms - ms) * 1000 + PAUSE_US
        self._last_ms = ms
        return CapturedLine(ms * 1000 + self._shift_us, text)

    def _skip(self, line: bytes) -> None:
        mark = mark_of(line)
        found = mark or line[:_SHOWN].decode("ascii", "backslashreplace") or "an empty line"
        bad = BadLineError(self.name, self.lines, found, EXPECTED)
        if not self._lenient:
            raise bad
        self.skipped += 1
        self.first_skipped = self.first_skipped or bad

    def _split(self) -> Iterator[bytes]:
        rest = b""
        for block in self._blocks():
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > MAX_LINE:
                raise BadLineError(self.name, self.lines + 1, f"more than {MAX_LINE:,} bytes", EXPECTED)
        if self.truncated or (rest and b"\t" not in rest):
            self.truncated = True
        elif rest:
            yield rest

    def _blocks(self) -> Iterator[bytes]:
        try:
            yield from self._source
        except (zlib.error, OSError) as error:
            found = f"{unreadable(error)}, noticed after line {self.lines}"
            raise LogError(self.name, found, "a serial capture", "copy it again from the table") from error
        self.truncated = self._source.cut


@contextmanager
def open_capture(path: str, *, lenient: bool = False) -> Iterator[Capture]:
    """Open a capture's file, or standard input for `-`; raises LogError where there is none to read."""
    with open_input(path, "a raw serial capture") as stream:
        yield Capture(stream, name_of(path), lenient=lenient)
