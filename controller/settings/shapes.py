"""What a typed shape expects at a key, in a technician's words."""

import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Annotated, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

import annotated_types as bounds
import msgspec

from controller.model.keys import KeyPath
from controller.settings.mistakes import one_of

Shape = object
"""A type or a type form such as `tuple[float, ...]`; typing has no narrower name for both."""

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
    """Give the shapes that may stand at a key path; none where the shape has no such key."""
    if not path:
        return (shape,)
    step, rest = path[0], path[1:]
    return tuple(
        found for inner in _members(shape) for part in _part(inner, step) for found in shapes_at(part, rest)
    )


def keys_of(shape: Shape) -> tuple[str, ...]:
    """Give the keys that a section of this shape may have, in their declared order."""
    return tuple(key for inner in _members(shape) for key in _keys(inner))


def _keys(shape: Shape) -> tuple[str, ...]:
    if is_dataclass(shape):
        return tuple(field.name for field in fields(shape))
    return shape.__struct_encode_fields__ if _is_struct(shape) else ()


def _is_struct(shape: Shape) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(shape, type) and issubclass(shape, msgspec.Struct)


def choices_of(shape: Shape) -> tuple[object, ...]:
    """Give the words a value may be, where the shape lists them."""
    return tuple(choice for inner in _members(shape) for choice in _choices(inner))


def describe(shape: Shape, key: str = "") -> str:
    """Say what a value of this shape looks like; the key's ending names its unit."""
    choices = choices_of(shape)
    others = [_describe_one(inner, key) for inner in _members(shape) if not _choices(inner)]
    words = ([one_of(choices)] if choices else []) + [text for text in dict.fromkeys(others) if text]
    return " or ".join(words) + _limits(shape)


def _members(shape: Shape) -> Iterator[Shape]:
    """Take a shape apart into its alternatives, without annotations and without None."""
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
    return "".join(_limit(mark) for mark in _marks(get_args(shape)[1:]))


def _marks(marks: Sequence[object]) -> Iterator[object]:
    for mark in marks:
        if isinstance(mark, bounds.GroupedMetadata):
            yield from mark
        else:
            yield mark


def _limit(mark: object) -> str:
    match mark:
        case bounds.Gt(gt=least):
            return f" greater than {least}"
        case bounds.Ge(ge=least):
            return f", at least {least}"
        case bounds.Lt(lt=most):
            return f" less than {most}"
        case bounds.Le(le=most):
            return f", at most {most}"
        case bounds.MinLen(min_length=least):
            return f" with at least {least} in it" if least != 1 else " that is not empty"
        case bounds.MaxLen(max_length=most):
            return f" with at most {most} in it"
        case msgspec.Meta():
            return "".join(map(_limit, _bounds_of(mark)))
        case _:
            return ""


def _bounds_of(mark: msgspec.Meta) -> Iterator[object]:
    """Give a wire type's limits as a setting's are written."""
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
