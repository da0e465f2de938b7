"""Readers of sensor logs and serial captures, plain or gzip-compressed, and messages about bad lines.

A recorder that loses power leaves an incomplete file. The file ends in the middle of a line or of a gzip
stream, or with NUL bytes that the file system added. These readers read such a file to its end. A serial
capture contains a device's lines as received, each in the form `milliseconds TAB line`.
"""

import re
import sys
import typing
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple, get_args

import msgspec

from controller.model.conversion import nests_too_deep
from controller.model.printable import printable as escaped
from controller.model.readings import AnyReading, Reading
from controller.model.tables import KeyPath
from controller.settings.document import SECTION, describe, shapes_at
from controller.settings.mistakes import dotted


class LogError(Exception):
    """A file that can't be used."""

    def __init__(self, file: str, found: str, expected: str, advice: str, line: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: found {found}, expected {expected}; {advice}")
        self.file = file
        self.line = line
        self.found = found
        self.expected = expected


class BadLineError(LogError):
    """One line that is not a reading; a lenient reader skips it."""

    def __init__(self, file: str, line: int, found: str, expected: str) -> None:
        super().__init__(file, found, expected, "correct the line, or skip such lines with --lenient", line)


BLOCK_BYTES = 1 << 18
MAX_LINE_BYTES = 1 << 20
"""Maximum length of a line in bytes, which limits memory use with a damaged file."""

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WBITS = 31
_GZIP_END = 16
"""Maximum number of NUL bytes with which a complete gzip stream can end: its last data, CRC and length."""


def describe_read_error(error: zlib.error | OSError) -> str:
    """Return a description, for a message, of damaged gzip data or of the operating system's error."""
    if isinstance(error, OSError):
        return f"an unreadable file ({error.strerror or error})"
    return f"damaged gzip data ({str(error).rpartition(': ')[2]})"


class Source:
    """An iterable over a file's uncompressed bytes, in blocks.

    After the last block, `cut` says whether the file was cut off. Iteration raises zlib.error if a gzip
    stream is damaged, and OSError if the file can't be read.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.cut = False
        self.is_gzip = False
        self._stream = stream
        self._held_nuls = 0

    def __iter__(self) -> Iterator[bytes]:
        blocks = self._without_nul_tail()
        first = next(blocks, b"")
        self.is_gzip = first.startswith(GZIP_MAGIC)
        if self.is_gzip:
            yield from self._unpack(first, blocks)
        else:
            yield first
            yield from blocks
            self.cut = self._held_nuls > 0

    def _without_nul_tail(self) -> Iterator[bytes]:
        while block := self._stream.read(BLOCK_BYTES):
            kept = block.rstrip(b"\0")
            if kept:
                yield from self._release_nuls()
                yield kept
            self._held_nuls += len(block) - len(kept)

    def _release_nuls(self) -> Iterator[bytes]:
        while self._held_nuls:
            size = min(self._held_nuls, BLOCK_BYTES)
            self._held_nuls -= size
            yield bytes(size)

    def _unpack(self, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(GZIP_WBITS)
        packed = first
        while True:
            if member.eof and packed:
                member = zlib.decompressobj(GZIP_WBITS)
            unpacked = member.decompress(packed, BLOCK_BYTES)
            yield unpacked
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if not packed and len(unpacked) < BLOCK_BYTES:
                packed = next(rest, b"")
                if not packed:
                    break
        if not member.eof:
            member, unpacked = self._complete_with_nuls(member)
            yield unpacked
        self.cut = self._held_nuls > 0 or not member.eof

    def _complete_with_nuls(self, member: "zlib._Decompress") -> tuple["zlib._Decompress", bytes]:
        """Complete a gzip stream with the NUL bytes held back, if they are the end of the stream."""
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
    """Open a file, or standard input for `-`; raises LogError if it can't be opened."""
    if path == STDIN:
        if sys.stdin is None:
            raise LogError(
                input_name(path), "a closed stream", expected, "pipe a file into the command, or name a file"
            )
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except IsADirectoryError as error:
        raise LogError(path, "a directory", expected, "name a file in the directory") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogError(
            path, f"no readable file ({reason})", expected, "check the name and the permissions"
        ) from error


def input_name(path: str) -> str:
    """Return the name of an input for messages."""
    return "standard input" if path == STDIN else path


UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""All exceptions that the decoding of arbitrary bytes can raise."""

KINDS: dict[str, type[Reading]] = {
    str(reading.__struct_config__.tag): reading for reading in get_args(AnyReading)
}

decode_reading: Callable[[bytes], AnyReading] = msgspec.json.Decoder(AnyReading).decode
"""Decode one line; raises one of UNDECODABLE if the line is not a reading, or has unknown fields."""

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MARKS = {
    b"\xef\xbb\xbf": "a UTF-8 byte order mark",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_MAX_SHOWN = 60
_MISSING = re.compile(r"missing required field `(?P<field>[^`]+)`")
_AT = re.compile(r"^(?P<complaint>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"[^.\[\]]+|(?<=\[)\.\.\.(?=\])")
_DECODER_MESSAGE = re.compile(r"(?:Expected|Invalid|Integer|Number|Object) ")
"""The start of the decoder's messages about a type; other messages come from the reading types."""


class LineError(Exception):
    """A line that can't be used."""

    def __init__(self, found: str, expected: str, advice: str = "") -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.advice = advice
        """The remedy, if it differs from the general advice for bad lines."""


class SalvagedLine(typing.NamedTuple):
    """A line decoded without its unknown fields; `unknown` lists them, or the unknown kind.

    `reading` is None if the kind is unknown.
    """

    reading: AnyReading | None
    unknown: tuple[str, ...]


def salvage(line: bytes) -> SalvagedLine:
    """Decode a line, and ignore an unknown kind or unknown fields.

    Raises LineError if the line has any other mistake.
    """
    fields = decode_fields(line, "a reading (one JSON object)")
    kind = _read_kind(fields)
    known = KINDS.get(kind)
    if known is None:
        return SalvagedLine(None, (f"kind `{kind}`",))
    names = {"kind", *known.__struct_encode_fields__}
    unknown = tuple(f"field `{name}` of `{kind}`" for name in fields if name not in names)
    kept = {name: value for name, value in fields.items() if name in names}
    if kind == "input" and bytes(kept.get("what", b"")).isdigit():
        # A ruling may name the attempt by a JSON number, as outcomes do.
        kept["what"] = msgspec.Raw(b'"%s"' % bytes(kept["what"]))
    try:
        return SalvagedLine(decode_reading(msgspec.json.encode(kept)), unknown)
    except UNDECODABLE as error:
        raise build_line_error(error, kept, known, f"a `{kind}` reading") from error


def decode_fields(line: bytes, expected: str) -> dict[str, msgspec.Raw]:
    """Return the encoded fields of a JSON object; raises LineError if the line is not an object."""
    if len(line) > MAX_LINE_BYTES:
        raise LineError(f"more than {MAX_LINE_BYTES:,} bytes in one line", expected)
    if not line.strip():
        raise LineError("an empty line", expected)
    if (mark := byte_order_mark(line)) is not None:
        raise LineError(mark, f"plain UTF-8, {expected}", "save the file as UTF-8 without a byte order mark")
    if nests_too_deep(line):
        raise LineError("JSON that is nested too deeply", expected)
    try:
        line.decode()
        return _decode_object(line)
    except UnicodeDecodeError as error:
        raise LineError(
            f"byte 0x{line[error.start]:02x} at position {error.start}, which is not UTF-8", "UTF-8 text"
        ) from error
    except msgspec.ValidationError as error:
        raise LineError(printable(line), expected) from error
    except msgspec.DecodeError as error:
        raise LineError(f"{printable(line)}, which is not JSON ({error})", expected) from error


def build_line_error(
    error: Exception, fields: dict[str, msgspec.Raw], struct: type[msgspec.Struct], what: str
) -> LineError:
    """Return an error that names the key at which the decoding of `fields` as `struct` failed."""
    missing = _MISSING.search(str(error))
    match = _AT.match(str(error))
    assert match is not None
    path = match["path"] or ""
    if missing is not None:
        owner = f"`{path}` of {what}" if path else what
        return LineError(f"{owner} without `{missing['field']}`", f"the field `{missing['field']}`")
    key_path: KeyPath = tuple(int(part) if part.isdigit() else part for part in _STEP.findall(path))
    value, at = _json_at(fields, key_path)
    return LineError(
        f"{printable(value)} as `{dotted(at)}` of {what}", _expected(match["complaint"], struct, key_path)
    )


def _json_at(fields: dict[str, msgspec.Raw], path: KeyPath) -> tuple[bytes, KeyPath]:
    """Return the JSON at a path, and the path; if only its first part exists, use that part.

    Paths from the decoder do not contain the keys of mappings.
    """
    value = msgspec.json.encode(fields)
    for at, step in enumerate(path):
        inside = msgspec.json.decode(value, type=dict[str, msgspec.Raw] | list[msgspec.Raw] | None)
        if isinstance(inside, list) and isinstance(step, int):
            value = bytes(inside[step])
        elif isinstance(inside, dict) and step in inside:
            value = bytes(inside[str(step)])
        else:
            return value, path[:at]
    return value, path


def _expected(complaint: str, struct: type[msgspec.Struct], path: KeyPath) -> str:
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    words = [describe(shape, key) for shape in shapes_at(struct, path)]
    description = " or ".join(word for word in words if word).replace(SECTION, "a JSON object")
    return description if description and _DECODER_MESSAGE.match(complaint) else complaint


def byte_order_mark(line: bytes) -> str | None:
    """Return the name of the byte order mark at the start of a line, or None."""
    return next((name for mark, name in _MARKS.items() if line.startswith(mark)), None)


def printable(value: bytes) -> str:
    """Return the start of `value` in printable form, for a message."""
    text = value[: _MAX_SHOWN + 1].strip().decode("ascii", "backslashreplace")
    shown = escaped(text)
    return shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "..."


def _read_kind(fields: dict[str, msgspec.Raw]) -> str:
    if "kind" not in fields:
        raise LineError("an object without `kind`", "a reading's `kind`, such as die_at or ball_beam")
    try:
        return msgspec.json.decode(fields["kind"], type=str)
    except UNDECODABLE as error:
        raise LineError(f"{printable(bytes(fields['kind']))} as `kind`", "text such as die_at") from error


EXPECTED = "`milliseconds TAB line`, as in `496<TAB>*X;2;002;31;0;146;1`"
PAUSE_US = 10_000_000
"""The pause assumed at a restart of the recorder's clock; longer than a watchdog's timeout."""
_LATEST_MS = 2**53 // 1000
_MAX_CAPTURE_SHOWN = 40
_TOO_LONG = f"more than {MAX_LINE_BYTES:,} bytes"


class CapturedLine(NamedTuple):
    """One line from the device, without the line ending, and the time, in us, at which it was received."""

    t: int
    text: bytes


class Capture:
    """A serial capture that is read once, with only one block and one line in memory.

    `lines` counts the lines read so far, `restarts` the restarts of the recorder's clock, and `skipped` the
    bad lines skipped by a lenient reader. `truncated` is set if the last line was cut off. Iteration raises
    LogError if the file is damaged or, with a reader that is not lenient, a line is bad.
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
        if len(line) > MAX_LINE_BYTES:
            self._skip(_TOO_LONG)
            return None
        written, tab, text = line.partition(b"\t")
        if not tab or not written.isdigit() or len(written) > len(str(_LATEST_MS)):
            mark = byte_order_mark(line)
            shown = line[:_MAX_CAPTURE_SHOWN].decode("ascii", "backslashreplace")
            self._skip(mark or shown or "an empty line")
            return None
        ms = int(written)
        if ms < self._last_ms:
            self.restarts += 1
            self._shift_us += (self._last_ms - ms) * 1000 + PAUSE_US
        self._last_ms = ms
        return CapturedLine(ms * 1000 + self._shift_us, text)

    def _skip(self, found: str) -> None:
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
            if len(rest) > MAX_LINE_BYTES:
                if not self._lenient:
                    raise BadLineError(self.name, self.lines + 1, _TOO_LONG, EXPECTED)
                # One byte above the maximum shows that the line is too long; more would only fill memory.
                rest = rest[: MAX_LINE_BYTES + 1]
        if self.truncated or (rest and b"\t" not in rest):
            self.truncated = True
        elif rest:
            yield rest

    def _blocks(self) -> Iterator[bytes]:
        try:
            yield from self._source
        except (zlib.error, OSError) as error:
            found = f"{describe_read_error(error)}, noticed after line {self.lines}"
            raise LogError(
                self.name, found, "a serial capture", "copy the file again from the table"
            ) from error
        self.truncated = self._source.cut


@contextmanager
def open_capture(path: str, *, lenient: bool = False) -> Iterator[Capture]:
    """Open a capture file, or standard input for `-`; raises LogError if it can't be read."""
    with open_input(path, "a raw serial capture") as stream:
        yield Capture(stream, input_name(path), lenient=lenient)
