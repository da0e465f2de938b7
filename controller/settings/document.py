"""Strict reading of a YAML file as a frozen dataclass. All mistakes are reported at once."""

import json
import re
import types
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import annotated_types as bounds
import msgspec

from controller.model.tables import KeyPath
from controller.settings.mistakes import Mistake, SettingsError, did_you_mean, one_of
from controller.settings.yaml_text import Document, Value, parse_document

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Shape = object
"""A type or a type form such as `tuple[float, ...]`. The typing module has no narrower name for both."""

SECTION = "a section of 'key: value' lines"

_UNITS = {
    "_rev_per_s": "revolutions per second",
    "_cents": "cents",
    "_deg": "degrees",
    "_ms": "milliseconds",
    "_us": "microseconds",
    "_mm": "millimetres",
    "_s": "seconds",
}


def shapes_at(shape: Shape, path: KeyPath) -> tuple[Shape, ...]:
    """Return the types that a value at this key path can have; empty if the shape has no such key."""
    if not path:
        return (shape,)
    step, rest = path[0], path[1:]
    return tuple(
        found for inner in _members(shape) for part in _part(inner, step) for found in shapes_at(part, rest)
    )


def keys_of(shape: Shape) -> tuple[str, ...]:
    """Return the keys that a section of this shape can have, in order of declaration."""
    return tuple(key for inner in _members(shape) for key in _keys(inner))


def _keys(shape: Shape) -> tuple[str, ...]:
    if is_dataclass(shape):
        return tuple(field.name for field in fields(shape))
    return shape.__struct_encode_fields__ if _is_struct(shape) else ()


def _is_struct(shape: Shape) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(shape, type) and issubclass(shape, msgspec.Struct)


def choices_of(shape: Shape) -> tuple[object, ...]:
    """Return the values that a shape lists as a Literal or an Enum."""
    return tuple(choice for inner in _members(shape) for choice in _choices(inner))


def describe(shape: Shape, key: str = "") -> str:
    """Describe the values that a shape allows. The unit follows from the ending of `key`."""
    choices = choices_of(shape)
    others = [_describe_one(inner, key) for inner in _members(shape) if not _choices(inner)]
    words = ([one_of(choices)] if choices else []) + [text for text in dict.fromkeys(others) if text]
    return " or ".join(words) + _limits(shape)


def _members(shape: Shape) -> Iterator[Shape]:
    """Yield the alternatives of a shape, without annotations and without None."""
    origin = get_origin(shape)
    if origin is Annotated:
        yield from _members(get_args(shape)[0])
    elif origin is Union or origin is types.UnionType:
        for member in get_args(shape):
            yield from _members(member)
    elif shape is not types.NoneType:
        yield shape


def _part(shape: Shape, step: str | int) -> Iterator[Shape]:
    origin, arguments = get_origin(shape), get_args(shape)
    if isinstance(shape, type) and is_dataclass(shape):
        hints = get_type_hints(shape, include_extras=True)
        if step in hints:
            yield hints[str(step)]
    elif _is_struct(shape):
        yield from (field.type for field in msgspec.structs.fields(shape) if field.encode_name == step)
    elif not isinstance(origin, type):
        return
    elif issubclass(origin, Mapping) and isinstance(step, str):
        yield arguments[1]
    elif issubclass(origin, Collection) and isinstance(step, int):
        if len(arguments) == 1 or arguments[-1] is Ellipsis:
            yield arguments[0]
        elif step < len(arguments):
            yield arguments[step]


def _choices(shape: Shape) -> tuple[object, ...]:
    if get_origin(shape) is Literal:
        return get_args(shape)
    if isinstance(shape, type) and issubclass(shape, Enum):
        return tuple(member.value for member in shape)
    return ()


def _describe_one(shape: Shape, key: str) -> str:
    unit = next((f" of {unit}" for suffix, unit in _UNITS.items() if key.endswith(suffix)), "")
    plain = {bool: "true or false", int: f"a whole number{unit}", float: f"a number{unit}", str: "text"}
    if isinstance(shape, type) and shape in plain:
        return plain[shape]
    origin = get_origin(shape) or shape
    if (
        is_dataclass(origin)
        or _is_struct(origin)
        or (isinstance(origin, type) and issubclass(origin, Mapping))
    ):
        return SECTION
    if isinstance(origin, type) and issubclass(origin, (Sequence, Collection)):
        arguments = get_args(shape)
        fixed = origin is tuple and arguments and arguments[-1] is not Ellipsis
        return f"a list of {len(arguments)}" if fixed else "a list"
    return ""


def _limits(shape: Shape) -> str:
    if get_origin(shape) is not Annotated:
        return ""
    parts = "characters" if set(_members(shape)) == {str} else "items"
    return "".join(_limit(mark, parts) for mark in _marks(get_args(shape)[1:]))


def _marks(marks: Sequence[object]) -> Iterator[object]:
    for mark in marks:
        if isinstance(mark, bounds.GroupedMetadata):
            yield from mark
        else:
            yield mark


def _limit(mark: object, parts: str) -> str:
    match mark:
        case bounds.Gt(gt=minimum):
            return f" greater than {minimum}"
        case bounds.Ge(ge=minimum):
            return f", at least {minimum}"
        case bounds.Lt(lt=maximum):
            return f" less than {maximum}"
        case bounds.Le(le=maximum):
            return f", at most {maximum}"
        case bounds.MinLen(min_length=minimum):
            return f" of at least {minimum} {parts}" if minimum != 1 else " that is not empty"
        case bounds.MaxLen(max_length=maximum):
            return f" of at most {maximum} {parts}"
        case msgspec.Meta():
            return "".join(_limit(bound, parts) for bound in _bounds_of(mark))
        case _:
            return ""


def _bounds_of(mark: msgspec.Meta) -> Iterator[object]:
    if mark.gt is not None:
        yield bounds.Gt(_plain(mark.gt))
    if mark.ge is not None:
        yield bounds.Ge(_plain(mark.ge))
    if mark.lt is not None:
        yield bounds.Lt(_plain(mark.lt))
    if mark.le is not None:
        yield bounds.Le(_plain(mark.le))
    if mark.min_length is not None:
        yield bounds.MinLen(mark.min_length)
    if mark.max_length is not None:
        yield bounds.MaxLen(mark.max_length)


def _plain(limit: float) -> float:
    return int(limit) if limit == int(limit) else limit


T = TypeVar("T")

_OWN_MISTAKE = re.compile(r"(?P<key>[^\s:]+): (?:found (?P<found>.+?), )?expected (?P<expected>.+)")
"""The format of the mistakes that a section's own check reports, one per line.

An example is `inputs.door.line: found 30, expected ...`.
"""
_KEEP_MESSAGE = ("assertion_error", "string_pattern_mismatch", "multiple_of")


def read_document(path: Path, shape: type[T]) -> T:
    """Read a YAML file as a frozen dataclass.

    Lists become tuples, and whole numbers become floats where a float is expected. Nothing else is converted.

    Raises:
        SettingsError: there are unknown or missing keys, wrong types or values out of range. The error lists
            all of them.
    """
    return validate(parse_document(path), shape)


def validate(document: Document, shape: type[T]) -> T:
    """Convert a parsed document to `shape`. Raises SettingsError, listing all mistakes, if there are any."""
    from pydantic import ValidationError  # noqa: PLC0415 - see `_validator`

    mistakes = list(document.mistakes)
    try:
        # In strict mode, only JSON input may supply a list for a tuple, or a whole number for a float.
        found = _validator(cast("Hashable", shape)).validate_json(
            json.dumps(document.value), strict=True, extra="forbid"
        )
    except ValidationError as error:
        reported = {mistake.key for mistake in mistakes}
        more = _explain(document, shape, error.errors(include_url=False))
        mistakes += {mistake.key: mistake for mistake in more if mistake.key not in reported}.values()
    else:
        if not mistakes:
            return cast("T", found)
    raise SettingsError(mistakes)


@cache
def _validator(shape: type[object]) -> "TypeAdapter[object]":
    """Return the validator of a shape, cached because creating one takes longer than reading a file."""
    # The import of pydantic takes 0.1 s, so only commands that read configuration should import it.
    from pydantic import TypeAdapter  # noqa: PLC0415 - see above

    return TypeAdapter(shape)


def _explain(document: Document, shape: Shape, errors: "list[ErrorDetails]") -> Iterator[Mistake]:
    for error in errors:
        path, missing = _locate(document.value, error["loc"])
        if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            yield _unknown_key(document, shape, path)
        elif error["type"] == "missing" and isinstance(missing, str):
            yield _missing_key(document, shape, (*path, missing))
        elif error["loc"][-1:] == ("[key]",):
            yield document.mistake(path, f"the key '{path[-1]}'", _message_of(error))
        elif error["type"] == "value_error":
            for line in _message_of(error).splitlines():
                yield _own_mistake(document, path, line)
        else:
            yield _wrong_value(document, shape, path, error)


def _locate(value: Value, location: KeyPath) -> tuple[KeyPath, str | int | None]:
    """Return the part of an error's location that is in the document, and the missing key, if any.

    A location also names the alternatives of a union, which a document does not contain.
    """
    path: KeyPath = ()
    missing: str | int | None = None
    for step in location:
        inside = _inside(value)
        if step in inside:
            path, value, missing = (*path, step), inside[step], None
        elif isinstance(value, dict):
            missing = step
    return path, missing


def _unknown_key(document: Document, shape: Shape, path: KeyPath) -> Mistake:
    known = tuple(key for section in shapes_at(shape, path[:-1]) for key in keys_of(section))
    present = _inside(_value_at(document.value, path[:-1]))
    free = [key for key in known if key not in present]
    hint = did_you_mean(path[-1], free) or did_you_mean(path[-1], known) or "delete it or correct its name"
    return document.mistake(path, "an unknown key", one_of(known), hint)


def _missing_key(document: Document, shape: Shape, path: KeyPath) -> Mistake:
    shapes = shapes_at(shape, path)
    expected = " or ".join(describe(inner, str(path[-1])) for inner in shapes) or "this key"
    return document.mistake(path, "nothing", expected, f"add the key '{path[-1]}'")


def _wrong_value(document: Document, shape: Shape, path: KeyPath, error: "ErrorDetails") -> Mistake:
    value = _value_at(document.value, path)
    shapes = shapes_at(shape, path)
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    expected = " or ".join(text for inner in shapes if (text := describe(inner, key)))
    if error["type"] in _KEEP_MESSAGE or not expected:
        expected = _message_of(error)
    return document.mistake(path, _found(value), expected, _hint(value, shapes))


def _own_mistake(document: Document, path: KeyPath, line: str) -> Mistake:
    match = _OWN_MISTAKE.fullmatch(line)
    if match is None:
        return document.mistake(path, _found(_value_at(document.value, path)), line)
    expected, _, hint = match["expected"].partition("; ")
    at = (*path, *match["key"].split("."))
    return document.mistake(at, match["found"] or "something else", expected, hint)


def _message_of(error: "ErrorDetails") -> str:
    text = error["msg"]
    for prefix in ("Value error, ", "Assertion failed, ", "Input should be ", "String should be "):
        text = text.removeprefix(prefix)
    return text.replace("String should match", "text that matches")


def _inside(value: Value) -> Mapping[str | int, Value]:
    if isinstance(value, dict):
        return dict(value.items())
    return dict(enumerate(value)) if isinstance(value, list) else {}


def _value_at(value: Value, path: KeyPath) -> Value:
    for step in path:
        value = _inside(value)[step]
    return value


def _found(value: Value) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return repr(value if len(value) <= 40 else f"{value[:37]}...")
        case list():
            return f"a list of {len(value)}"
        case dict():
            return SECTION
        case _:
            return str(value)


def _hint(value: Value, shapes: tuple[Shape, ...]) -> str:
    choices = [str(choice) for inner in shapes for choice in choices_of(inner)]
    if choices:
        return did_you_mean(value, choices)
    wanted = {member for inner in shapes for member in _members(inner)}
    if wanted == {str} and isinstance(value, bool | int | float):
        return f"write it in quotes: '{_found(value)}'"
    if wanted == {bool}:
        return "`on`, `off`, `yes` and `no` are read as text; write true or false"
    if isinstance(value, str) and not wanted.isdisjoint({int, float}):
        return "write a plain decimal number, without a unit or quotes"
    return ""
