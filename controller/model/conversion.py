"""Conversion of JSON and other values to the program's types.

A module must create its decoders (`msgspec.json.Decoder`) and converters at import, and no function may call
`decode(..., type=)` or `convert`. Otherwise, msgspec 0.22 compiles a type's decoder at its first use, and
other threads can see the decoder before it is complete. An incomplete decoder crashes the process.

JSON that crosses a trust boundary must be unambiguous. RFC 8259 does not define the meaning of a repeated
key, a number out of range or half of a surrogate pair, and parsers differ. `decode_strict` refuses such text
and names the key. It is used wherever money or a ruling crosses the boundary.
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
    """Converts values to one type, like `msgspec.convert`. Raises `msgspec.ValidationError`."""

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
    """Compile the decoder of a type and return the type's converter."""
    msgspec.json.Decoder(kind)
    return partial(msgspec.convert, type=kind)


_MAX_DEPTH = 200
"""The maximum nesting of lists and objects. It is explicit because Python's limit differs by release."""
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_MAX_DIGITS = 300
"""The maximum number of characters of an integer, including its sign. The largest double has 309 digits."""
_LONG_INTEGER = re.compile(rb"[-0-9]{%d}" % (_MAX_DIGITS + 1))
_EXPECTED = "one JSON text in UTF-8"
_NUMBER = f"a number within the range of a double, or an integer of at most {_MAX_DIGITS} digits"
_MAX_SHOWN = 60
"""The maximum number of characters that a message quotes from a found value."""


class StrictJsonError(ValueError):
    """The text is not JSON or is ambiguous JSON. The message states what was found and expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected


def decode_strict(raw: bytes) -> object:
    """Return the value of a JSON text in UTF-8.

    Raises:
        StrictJsonError: the text is not JSON, is nested too deeply, repeats a key, or contains NaN, Infinity,
            an integer of more than 300 digits, another number outside the range of a double, half of a
            surrogate pair, or a NUL in a string.
    """
    if nests_too_deep(raw):
        raise StrictJsonError(f"lists and objects nested more than {_MAX_DEPTH} deep", _EXPECTED)
    try:
        value: object = msgspec.json.decode(raw)
    except ValueError:
        # msgspec does not name the key. `_decode_slowly` finds the same mistake and names the key.
        return _decode_slowly(raw)
    return value if _is_surely_unambiguous(value, raw) else _decode_slowly(raw)


def nests_too_deep(raw: bytes) -> bool:
    """Return whether lists and objects are nested deeper than `decode_strict` accepts."""
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


def _is_surely_unambiguous(value: object, raw: bytes) -> bool:
    """Return whether the bytes rule out every ambiguity in the decoded text.

    The bytes must contain no `\\u` escape, no long integer, at most one object, and one colon for each key.
    """
    if b"\\u" in raw or (len(raw) > _MAX_DIGITS and _LONG_INTEGER.search(raw)):
        return False
    if isinstance(value, dict):
        return raw.count(b":") == len(value)
    return b":" not in raw


def _decode_slowly(raw: bytes) -> object:
    try:
        value: object = json.loads(
            raw.decode(),
            object_pairs_hook=_object,
            parse_constant=_UnusableNumber,
            parse_float=_float,
            parse_int=_integer,
        )
    except StrictJsonError:
        raise
    except UnicodeDecodeError as error:
        raise StrictJsonError(
            f"a byte that is not UTF-8 (0x{raw[error.start]:02x} at offset {error.start})", _EXPECTED
        ) from error
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"no JSON ({error.msg} at character {error.pos})", _EXPECTED) from error
    _check("the text", value)
    return value


class _UnusableNumber(str):
    """The text of a number that is out of range. The check of the enclosing object names the key."""

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
    """Raise StrictJsonError for an unusable value or list item. Values in objects have been checked."""
    match value:
        case _UnusableNumber():
            raise StrictJsonError(f"{where} {_shorten(value)}", _NUMBER)
        case str() if "\0" in value:
            raise StrictJsonError(f"a NUL in {where}: {_shorten(ascii(value))}", "text without a NUL")
        case str() if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise StrictJsonError(
                f"half of a surrogate pair in {where}: {_shorten(ascii(value))}", "whole characters"
            )
        case list():
            for item in value:
                _check(where, item)
        case _:
            pass


def _float(text: str) -> float | _UnusableNumber:
    value = float(text)
    return value if math.isfinite(value) else _UnusableNumber(text)


def _integer(text: str) -> int | _UnusableNumber:
    return int(text) if len(text) <= _MAX_DIGITS else _UnusableNumber(text)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
