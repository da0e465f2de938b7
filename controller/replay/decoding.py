"""From a line of JSON to a reading, and from a decoder's refusal to words that a technician can act on."""

import re
import typing
from collections.abc import Callable
from typing import get_args

import msgspec

from controller.model.readings import AnyReading, Reading
from controller.model.tables import KeyPath
from controller.replay.source import MAX_LINE
from controller.settings.document import SECTION, describe, shapes_at
from controller.settings.mistakes import dotted

UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""All that decoding hostile bytes can raise."""

KINDS: dict[str, type[Reading]] = {
    str(reading.__struct_config__.tag): reading for reading in get_args(AnyReading)
}

decode_reading: Callable[[bytes], AnyReading] = msgspec.json.Decoder(AnyReading).decode
"""Decode one line; raises one of UNDECODABLE for whatever is not exactly a reading."""

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MARKS = {
    b"\xef\xbb\xbf": "a UTF-8 byte order mark",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_SHOWN = 60
_MISSING = re.compile(r"missing required field `(?P<field>[^`]+)`")
_AT = re.compile(r"^(?P<complaint>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"[^.\[\]]+|(?<=\[)\.\.\.(?=\])")
_DECODERS_OWN = re.compile(r"(?:Expected|Invalid|Integer|Number|Object) ")
"""How the decoder begins what it says of a type; all else a type says of itself."""


class LineError(Exception):
    """Why a line can't be used: what was found in it and what was expected there."""

    def __init__(self, found: str, expected: str, advice: str = "") -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.advice = advice
        """What to do about it, where the reader of the whole file would say something else."""


class Salvaged(typing.NamedTuple):
    """A line read with what it holds too much left out: no reading at all where its kind is unknown."""

    reading: AnyReading | None
    unknown: tuple[str, ...]


def salvage(line: bytes) -> Salvaged:
    """Read a line that is not exactly a reading, leaving out an unknown kind or unknown fields.

    Raises LineError where something else is wrong with it.
    """
    fields = fields_of(line, "one JSON object, a reading")
    kind = _kind_of(fields)
    known = KINDS.get(kind)
    if known is None:
        return Salvaged(None, (f"kind `{kind}`",))
    names = {"kind", *known.__struct_encode_fields__}
    unknown = tuple(f"field `{name}` of `{kind}`" for name in fields if name not in names)
    kept = {name: value for name, value in fields.items() if name in names}
    try:
        return Salvaged(decode_reading(msgspec.json.encode(kept)), unknown)
    except UNDECODABLE as error:
        raise error_of(error, kept, known, f"a `{kind}` reading") from error


def fields_of(line: bytes, expected: str) -> dict[str, msgspec.Raw]:
    """Split one JSON object into its fields, each still JSON; raises LineError where it is none."""
    if len(line) > MAX_LINE:
        raise LineError(f"more than {MAX_LINE:,} bytes in one line", f"{expected} in a line")
    if not line.strip():
        raise LineError("an empty line", expected)
    if (mark := mark_of(line)) is not None:
        raise LineError(mark, f"plain UTF-8, {expected}", "save the file as UTF-8 without a byte order mark")
    try:
        line.decode()
        return _decode_object(line)
    except UnicodeDecodeError as error:
        raise LineError(
            f"byte 0x{line[error.start]:02x} at {error.start}, not UTF-8", "UTF-8 text"
        ) from error
    except msgspec.ValidationError as error:
        raise LineError(shown(line), expected) from error
    except msgspec.DecodeError as error:
        raise LineError(f"{shown(line)}, which is no JSON ({error})", expected) from error
    except RecursionError as error:
        raise LineError("JSON nested too deep", expected) from error


def error_of(
    error: Exception, fields: dict[str, msgspec.Raw], struct: type[msgspec.Struct], what: str
) -> LineError:
    """Describe why `fields` are not the struct they should be: the key, what it is, what it should be."""
    missing = _MISSING.search(str(error))
    match = _AT.match(str(error))
    assert match is not None
    path = match["path"] or ""
    if missing is not None:
        owner = f"`{path}` of {what}" if path else what
        return LineError(f"{owner} without `{missing['field']}`", f"the field `{missing['field']}`")
    there: KeyPath = tuple(int(part) if part.isdigit() else part for part in _STEP.findall(path))
    value, at = _followed(fields, there)
    return LineError(
        f"{shown(value)} as `{dotted(at)}` of {what}", _expected(match["complaint"], struct, there)
    )


def _followed(fields: dict[str, msgspec.Raw], path: KeyPath) -> tuple[bytes, KeyPath]:
    """Return the JSON at a path as far as it can be followed: a decoder names no key of a mapping."""
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
    told = " or ".join(word for word in words if word).replace(SECTION, "a JSON object")
    return told if told and _DECODERS_OWN.match(complaint) else complaint


def mark_of(line: bytes) -> str | None:
    """Name the mark that an editor put before a file's text; None where there is none."""
    return next((name for mark, name in _MARKS.items() if line.startswith(mark)), None)


def shown(value: bytes) -> str:
    """Return the start of some bytes of a log in printable form, short enough for a message."""
    text = value[: _SHOWN + 1].strip().decode("ascii", "backslashreplace")
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return printable if len(printable) <= _SHOWN else printable[:_SHOWN] + "..."


def _kind_of(fields: dict[str, msgspec.Raw]) -> str:
    if "kind" not in fields:
        raise LineError("a line without `kind`", "a reading's `kind`, such as die_at or ball_beam")
    try:
        return msgspec.json.decode(fields["kind"], type=str)
    except UNDECODABLE as error:
        raise LineError(f"{shown(bytes(fields['kind']))} as `kind`", "a word such as die_at") from error
