"""From a line of JSON to a reading, and from a decoder's refusal to words that a technician can act on."""

import re
import typing
from collections.abc import Callable
from typing import Literal, get_args, get_origin

import msgspec

from controller.model.readings import AnyReading, Reading
from controller.replay.source import MAX_LINE

UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""All that decoding hostile bytes can raise."""

KINDS: dict[str, type[Reading]] = {
    str(reading.__struct_config__.tag): reading for reading in get_args(AnyReading)
}

decode_reading: Callable[[bytes], AnyReading] = msgspec.json.Decoder(AnyReading).decode
"""Decode one line; raises one of UNDECODABLE for whatever is not exactly a reading."""

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_SHOWN = 60
_MISSING = re.compile(r"missing required field `(?P<field>[^`]+)`")
_AT = re.compile(r"^(?P<complaint>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_EXPECTED = re.compile(r"^Expected (?P<expected>.*?)(?:, got .*)?$", re.DOTALL)


class LineError(Exception):
    """Why a line can't be used: what was found in it and what was expected there."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected


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
    """Say in words why `fields` are not the struct they should be."""
    missing = _MISSING.search(str(error))
    match = _AT.match(str(error))
    assert match is not None
    path, complaint = match["path"] or "", match["complaint"]
    if missing is not None:
        owner = f"`{path}` of {what}" if path else what
        return LineError(f"{owner} without `{missing['field']}`", f"the field `{missing['field']}`")
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    value = shown(bytes(fields[name])) if name in fields else "something else"
    return LineError(f"{value} as `{name}` of {what}", _expected(complaint, path, name, struct))


def shown(value: bytes) -> str:
    """Give the start of some bytes of a log in printable form, short enough for a message."""
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


def _expected(complaint: str, path: str, name: str, struct: type[msgspec.Struct]) -> str:
    match = _EXPECTED.match(complaint)
    if match is not None:
        expected = match["expected"]
    else:
        choices = _choices(_hint(struct, path))
        expected = "one of " + ", ".join(str(choice) for choice in choices) if choices else complaint.lower()
    return expected if path == name else f"{expected} at {path}"


def _hint(struct: type[msgspec.Struct], path: str) -> object:
    """Find the annotation at a dotted path; positions in lists keep that of the list."""
    hint: object = struct
    for name in re.findall(r"[^.\[\]]+", path):
        for owner in (hint, *get_args(hint)):
            if isinstance(owner, type) and issubclass(owner, msgspec.Struct):
                fields = msgspec.structs.fields(owner)
                hint = next((field.type for field in fields if field.encode_name == name), None)
    return hint


def _choices(hint: object) -> tuple[object, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(choice for part in get_args(hint) for choice in _choices(part))
