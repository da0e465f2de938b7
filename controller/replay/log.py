"""Readers and writers of sensor logs: a header line, then one reading per line in order of arrival."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple, Self

import msgspec

from controller.games.registry import GAMES
from controller.machines.setup import NextNumbers, State
from controller.model.conversion import StrictJsonError, decode_strict
from controller.model.geometry import DiceTable, Wheel
from controller.model.readings import AnyReading, Reading
from controller.model.rulesets import RuleSet
from controller.replay.source import (
    MAX_LINE_BYTES,
    UNDECODABLE,
    BadLineError,
    LineError,
    LogError,
    Source,
    build_line_error,
    decode_fields,
    decode_reading,
    describe_read_error,
    input_name,
    open_input,
    printable,
    salvage,
)
from controller.settings.mistakes import one_of

FORMAT = "table-readings"
_PARTS: dict[str, type[msgspec.Struct]] = {
    "dice_table": DiceTable,
    "wheel": Wheel,
    "first": NextNumbers,
    "state": State,
}


class Header(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="log", tag="table-readings"
):
    """A log's header.

    `epoch` is the ISO time of t = 0. A live recording adds `session` and, as of its start, `first` (the next
    numbers) and `state` (the game's state and learned values). It also adds settings from the table's file:
    `rules` (the rule set with the table's thresholds), `sources` (the kinds of readings that each device
    sends) and `locking_switches`.
    """

    version: Literal[1]
    table: str
    ruleset: str = ""
    epoch: str = ""
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    session: str | int | None = None
    first: NextNumbers | None = None
    state: State | None = None
    rules: RuleSet | None = None
    sources: dict[str, tuple[str, ...]] | None = None
    locking_switches: tuple[str, ...] | None = None


_decode_header = msgspec.json.Decoder(Header).decode


class ReadHeader(NamedTuple):
    """A header, with descriptions of the unknown keys, which are ignored."""

    header: Header
    unknown: tuple[str, ...]


def read_header(line: bytes) -> ReadHeader:
    """Decode a log's first line; raises LineError if the line is not a header of this format."""
    expected = f'a header {{"log": "{FORMAT}", "version": 1, ...}}'
    fields = decode_fields(line, expected)
    if "log" not in fields:
        raise LineError(printable(line), expected)
    try:
        decode_strict(line)  # `_decode_header` accepts duplicate keys
    except StrictJsonError as error:
        raise LineError(f"{error.found} in the header", error.expected, "correct the header") from error
    for key, value in {"log": f'"{FORMAT}"', "version": "1"}.items():
        found = bytes(fields[key]).decode() if key in fields else "nothing"
        if found != value:
            newer = key == "version" and found.isdecimal()
            advice = "a newer release wrote this log; replay it with that release" if newer else ""
            raise LineError(
                f"{printable(found.encode())} as `{key}` of the header", f"{value} in {expected}", advice
            )
    try:
        header = _decode_header(line)
    except UNDECODABLE as error:
        wrong = build_line_error(error, fields, Header, "the header")
        raise LineError(wrong.found, wrong.expected, "correct the header") from error
    if header.rules is not None and header.rules.game not in GAMES:
        found = f'"{header.rules.game}" as `rules.game` of the header'
        raise LineError(found, one_of(GAMES), "correct the header")
    return ReadHeader(header, tuple(f"key `{name}` of the header" for name in _unknown(fields)))


def _unknown(fields: dict[str, msgspec.Raw]) -> list[str]:
    names = [name for name in fields if name not in {"log", *Header.__struct_encode_fields__}]
    for part, struct in _PARTS.items():
        inner = msgspec.json.decode(fields.get(part, b"null"), type=dict[str, msgspec.Raw] | None) or {}
        names += [f"{part}.{name}" for name in inner if name not in struct.__struct_encode_fields__]
    return names


_NO_LOG = "name a recorded sensor log"


class Log:
    """A log that is read once, in blocks, with only one block and one line in memory.

    `lines` counts the lines read so far, `unknown` the ignored keys and kinds by name, and `skipped` the bad
    lines skipped by a lenient reader; `first_skipped` is the first of them. `truncated` is set at the end of
    a log that was cut off, for example by a power loss.

    The constructor raises LogError if the header is bad. Iteration raises LogError if the file is damaged or,
    with a reader that is not lenient, a line is bad.
    """

    def __init__(self, stream: BinaryIO, name: str, *, lenient: bool = False) -> None:
        self.name = name
        self.lines = 0
        self.unknown: Counter[str] = Counter()
        self.skipped = 0
        self.first_skipped: BadLineError | None = None
        self.truncated = False
        self.numbers: Sequence[int] = ()
        """The line numbers of the current batch's readings."""
        self.first_late: str | None = None
        """A description of the first reading that did not count; a replay sets it."""
        self._lenient = lenient
        self._source = Source(stream)
        self._blocks = self._split_lines()
        self._pending: list[bytes] = []
        self.header = self._header()

    def __iter__(self) -> Iterator[AnyReading]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[AnyReading]]:
        """Yield the readings, one list for each block of the file."""
        yield self._decode(self._pending)
        for lines in self._blocks:
            yield self._decode(lines)

    def _header(self) -> Header:
        for lines in self._blocks:
            if lines:
                self.lines = 1
                self._pending = lines[1:]
                return self._read_header(lines[0])
        if self.truncated:
            raise LogError(
                self.name,
                "a log cut off before its header ended",
                "a complete header",
                "make a new recording",
            )
        raise LogError(self.name, "an empty file", "a header and readings", "make a new recording")

    def _read_header(self, line: bytes) -> Header:
        try:
            header, unknown = read_header(line)
        except LineError as fault:
            raise LogError(self.name, fault.found, fault.expected, fault.advice or _NO_LOG, line=1) from fault
        self.unknown.update(unknown)
        return header

    def _decode(self, lines: list[bytes]) -> list[AnyReading]:
        first = self.lines + 1
        try:
            batch = [decode_reading(line) for line in lines]
        except UNDECODABLE:
            return self._decode_line_by_line(lines)
        self.lines += len(lines)
        self.numbers = range(first, self.lines + 1)
        return batch

    def _decode_line_by_line(self, lines: list[bytes]) -> list[AnyReading]:
        batch, numbers = [], []
        for line in lines:
            reading = self._decode_leniently(line)
            if reading is not None:
                batch.append(reading)
                numbers.append(self.lines)
        self.numbers = numbers
        return batch

    def _decode_leniently(self, line: bytes) -> AnyReading | None:
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
            self._check_damage()
            raise bad
        self.skipped += 1
        self.first_skipped = self.first_skipped or bad

    def _check_damage(self) -> None:
        """Read compressed data to the end, to report any damage instead of the bad line."""
        if self._source.is_gzip:
            for _ in self._blocks:
                pass

    def _split_lines(self) -> Iterator[list[bytes]]:
        rest = b""
        for block in self._read():
            text = rest + block
            lines = text.split(b"\n")
            if len(text) > MAX_LINE_BYTES:
                lines = [line[: MAX_LINE_BYTES + 1] for line in lines]
            rest = lines.pop()
            yield lines
            if len(rest) > MAX_LINE_BYTES and not self._lenient:
                raise BadLineError(
                    self.name, self.lines + 1, f"more than {MAX_LINE_BYTES:,} bytes", "a line of JSON"
                )
        if rest and not _is_json(rest):
            self.truncated = True
        elif rest:
            yield [rest]

    def _read(self) -> Iterator[bytes]:
        try:
            yield from self._source
        except zlib.error as error:
            found = f"{describe_read_error(error)}, noticed at line {max(self.lines, 1)}"
            advice = "copy the file again from the table; gzip -t FILE shows whether a copy is complete"
            raise LogError(self.name, found, "an undamaged gzip stream", advice) from error
        except OSError as error:
            raise LogError(
                self.name, describe_read_error(error), "a readable file", "check the disk"
            ) from error
        self.truncated = self._source.cut


@contextmanager
def open_log(path: str, *, lenient: bool = False) -> Iterator[Log]:
    """Open a log file, or standard input for `-`; raises LogError if the file or its header is bad."""
    with open_input(path, "a recorded sensor log") as stream:
        yield Log(stream, input_name(path), lenient=lenient)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except UNDECODABLE:
        return False
    return True


class LogWriter:
    """A writer of a log to an open binary stream, which the caller closes.

    The writer is a context manager whose exit completes a gzip stream. Equal readings produce equal bytes.
    """

    def __init__(self, stream: BinaryIO, header: Header, *, compress: bool = False) -> None:
        self._stream = stream
        # The gzip header contains neither a name nor a time, so equal logs have equal bytes.
        self._gzip = gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if compress else None
        self._encoder = msgspec.json.Encoder()
        self._write(self._encoder.encode(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, reading: Reading) -> None:
        """Write one reading, with the arrival time if present."""
        self._write(self._encoder.encode(reading))

    def flush(self) -> None:
        """Flush all readings to the stream."""
        if self._gzip is not None:
            self._gzip.flush()
        self._stream.flush()

    def close(self) -> None:
        """Complete the log, and leave the stream open."""
        if self._gzip is not None:
            self._gzip.close()
        self._stream.flush()

    def _write(self, line: bytes) -> None:
        (self._gzip or self._stream).write(line + b"\n")
