"""Read a recorded sensor log: its header, then its readings in order of arrival, as far as they go."""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import msgspec

from controller.model.readings import AnyReading
from controller.replay.decoding import UNDECODABLE, LineError, decode_reading, salvage
from controller.replay.errors import BadLineError, LogError
from controller.replay.files import name_of, open_input
from controller.replay.header import Header, read_header
from controller.replay.source import MAX_LINE, Source, unreadable

_NO_LOG = "is this a recorded sensor log?"


class Log:
    """A log being read, once, in blocks; it holds no more of it than one block and one line.

    `lines` counts the lines read so far, `unknown` what was ignored by name, `skipped` the bad lines that a
    lenient reader left out, with the first of them in `first_skipped`. `truncated` is set at the end of a log
    that was cut off (power loss). Raises LogError, from the start for its header and while it is iterated.
    """

    def __init__(self, stream: BinaryIO, name: str, *, lenient: bool = False) -> None:
        self.name = name
        self.lines = 0
        self.unknown: Counter[str] = Counter()
        self.skipped = 0
        self.first_skipped: BadLineError | None = None
        self.truncated = False
        self.numbers: Sequence[int] = ()
        """The lines of the present batch's readings."""
        self.first_late: str | None = None
        """What a replay found to be the first reading that does not count."""
        self._lenient = lenient
        self._source = Source(stream)
        self._blocks = self._split_lines()
        self._pending: list[bytes] = []
        self.header = self._header()

    def __iter__(self) -> Iterator[AnyReading]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[AnyReading]]:
        """Iterate over the readings, a list for each block of the file."""
        yield self._decoded(self._pending)
        for lines in self._blocks:
            yield self._decoded(lines)

    def _header(self) -> Header:
        for lines in self._blocks:
            if lines:
                self.lines = 1
                self._pending = lines[1:]
                return self._read_header(lines[0])
        if self.truncated:
            raise LogError(
                self.name, "a log cut off before its header ended", "a header", "nothing can be replayed"
            )
        raise LogError(self.name, "an empty file", "a header and readings", "record it anew")

    def _read_header(self, line: bytes) -> Header:
        try:
            header, unknown = read_header(line)
        except LineError as fault:
            raise LogError(self.name, fault.found, fault.expected, fault.advice or _NO_LOG, line=1) from fault
        self.unknown.update(unknown)
        return header

    def _decoded(self, lines: list[bytes]) -> list[AnyReading]:
        first = self.lines + 1
        try:
            batch = [decode_reading(line) for line in lines]
        except UNDECODABLE:
            return self._decoded_with_care(lines)
        self.lines += len(lines)
        self.numbers = range(first, self.lines + 1)
        return batch

    def _decoded_with_care(self, lines: list[bytes]) -> list[AnyReading]:
        batch, numbers = [], []
        for line in lines:
            reading = self._carefully(line)
            if reading is not None:
                batch.append(reading)
                numbers.append(self.lines)
        self.numbers = numbers
        return batch

    def _carefully(self, line: bytes) -> AnyReading | None:
        self.lines += 1
        try:
            return decode_reading(line)
        except UNDECODABLE:
            pass
        try:
            salvaged = salvage(line)
        except LineError as fault:
            self._skip(BadLineError(self.name, self.lines, fault.found, fault.expected))
            return None
        self.unknown.update(salvaged.unknown)
        return salvaged.reading

    def _skip(self, bad: BadLineError) -> None:
        if not self._lenient:
            self._look_for_damage()
            raise bad
        self.skipped += 1
        self.first_skipped = self.first_skipped or bad

    def _look_for_damage(self) -> None:
        """Read packed data on to its end, which tells whether the line is bad or the file is damaged."""
        if self._source.packed:
            for _ in self._blocks:
                pass

    def _split_lines(self) -> Iterator[list[bytes]]:
        rest = b""
        for block in self._read():
            text = rest + block
            lines = text.split(b"\n")
            if len(text) > MAX_LINE:
                lines = [line[: MAX_LINE + 1] for line in lines]
            rest = lines.pop()
            yield lines
            if len(rest) > MAX_LINE and not self._lenient:
                raise BadLineError(
                    self.name, self.lines + 1, f"more than {MAX_LINE:,} bytes", "a line of JSON"
                )
        if rest and not _is_json(rest):
            self.truncated = True
        elif rest:
            yield [rest]

    def _read(self) -> Iterator[bytes]:
        try:
            yield from self._source
        except zlib.error as error:
            found = f"{unreadable(error)}, noticed at line {max(self.lines, 1)}"
            advice = "copy it again from the table; gzip -t FILE tells whether a copy is whole"
            raise LogError(self.name, found, "an undamaged gzip stream", advice) from error
        except OSError as error:
            raise LogError(self.name, unreadable(error), "a readable file", "check the disk") from error
        self.truncated = self._source.cut


@contextmanager
def open_log(path: str, *, lenient: bool = False) -> Iterator[Log]:
    """Open a log file, or standard input for `-`; raises LogError where it or its header is bad."""
    with open_input(path, "a recorded sensor log") as stream:
        yield Log(stream, name_of(path), lenient=lenient)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except UNDECODABLE:
        return False
    return True
