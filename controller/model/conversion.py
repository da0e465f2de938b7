"""From JSON and plain values to the program's types.

A type's decoder is compiled at import. msgspec 0.22 otherwise compiles it at its first use and exposes it to
every thread before it is complete; a thread that uses the half-built one crashes the process. So
`decode(..., type=)` and `convert` may not appear inside a function: a module makes its decoders
(`msgspec.json.Decoder`) and its converters when it is imported.

JSON that crosses a trust boundary has one meaning or none. RFC 8259 leaves open what a key given twice, a
number out of range or half a surrogate pair means, and parsers differ. If money or a ruling crosses the
boundary, such a text is refused, and its key named.
"""

import json
import math
import re
from collections.abc import Iterable
from functools import partial
from typing import Protocol, TypeVar

import msgspec

T = TypeVar("T")
Made_co = TypeVar("Made_co", covariant=True)


class Converter(Protocol[Made_co]):
    """Makes values of one type, as `msgspec.convert` does; raises `msgspec.ValidationError`."""

    def __call__(
        self,
        value: object,
        /,
        *,
        strict: bool = True,
        builtin_types: Iterable[type] | None = None,
        str_keys: bool = False,
    ) -> Made_co: ...


def converter_of(kind: type[T]) -> Converter[T]:
    """Compile the type now and return its converter."""
    msgspec.json.Decoder(kind)
    return partial(msgspec.convert, type=kind)


_MAX_DEPTH = 200
"""Lists and objects inside one another; a bound of our own, since Python's differs by release."""
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_MAX_DIGITS = 300
"""Digits allowed in an integer; a number with more is out of a double's range as well."""
_EXPECTED = "one JSON text in UTF-8"
_SHOWN = 60
"""The most characters of a found value that a message repeats."""


class StrictJsonError(ValueError):
    """Text that is not JSON, or JSON with two meanings: what was found, and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected


def strict(raw: bytes) -> object:
    """Return the value of a JSON text in UTF-8.

    Raises:
        StrictJsonError: it is not JSON, is nested too deeply, gives a key twice, or contains NaN, Infinity, a
            number out of a double's range, half of a surrogate pair, or a NUL in a string.
    """
    if nests_too_deep(raw):
        raise StrictJsonError("a text that nests too deep", _EXPECTED)
    try:
        value: object = msgspec.json.decode(raw)
    except ValueError:
        # The library does not name the key; `_decode_strictly` finds the same mistake again and does.
        return _decode_strictly(raw)
    return value if _plainly_one_meaning(value, raw) else _decode_strictly(raw)


def nests_too_deep(raw: bytes) -> bool:
    """Return whether a text has more lists and objects inside one another than is read."""
    if raw.count(b"[") + raw.count(b"{") <= _MAX_DEPTH:
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(raw):
        mark = found[0]
        depth += mark in b"[{"
        depth -= mark in b"]}"
        if depth > _MAX_DEPTH:
            return True
    return False


def _plainly_one_meaning(value: object, raw: bytes) -> bool:
    """Return whether the bytes alone show it: no escape, and no more colons than a flat object's keys."""
    if b"\\u" in raw:
        return False
    if isinstance(value, dict):
        return raw.count(b":") == len(value)
    return b":" not in raw


def _decode_strictly(raw: bytes) -> object:
    try:
        value: object = json.loads(
            raw.decode(),
            object_pairs_hook=_object,
            parse_constant=_Unfit,
            parse_float=_number,
            parse_int=_whole,
        )
    except StrictJsonError:
        raise
    except UnicodeDecodeError as error:
        raise StrictJsonError(
            f"byte {error.start} {raw[error.start : error.start + 1]!r}", _EXPECTED
        ) from error
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"no JSON ({error.msg} at character {error.pos})", _EXPECTED) from error
    _check("the text", value)
    return value


class _Unfit(str):
    """A number that can't be used, as it was written; its object's check names the key."""

    __slots__ = ()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        _check("a key", key)
        if key in found:
            raise StrictJsonError(f"`{key}` twice", "each key once")
        _check(f"`{key}`", value)
        found[key] = value
    return found


def _check(where: str, value: object) -> None:
    """Check a value, or the items of a list; an object's values were checked when it was read."""
    match value:
        case _Unfit():
            raise StrictJsonError(f"{where} {_cut(value)}", "a number within the range of a double")
        case str() if "\0" in value:
            raise StrictJsonError(f"a NUL in {where}: {_cut(ascii(value))}", "text without one")
        case str() if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise StrictJsonError(
                f"half of a surrogate pair in {where}: {_cut(ascii(value))}", "whole characters"
            )
        case list():
            for item in value:
                _check(where, item)
        case _:
            pass


def _number(text: str) -> float | _Unfit:
    value = float(text)
    return value if math.isfinite(value) else _Unfit(text)


def _whole(text: str) -> int | _Unfit:
    return int(text) if len(text) <= _MAX_DIGITS else _Unfit(text)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
