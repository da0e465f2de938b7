"""Typed documents: a YAML file against a frozen dataclass, strictly, with every mistake at once."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from controller.model.keys import KeyPath
from controller.settings.mistakes import Mistake, SettingsError, did_you_mean, one_of
from controller.settings.shapes import SECTION, Shape, choices_of, describe, keys_of, shapes_at
from controller.settings.yaml_text import Document, Value, parse_document

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

_SELF_TOLD = re.compile(r"(?P<key>[^\s:]+): (?:found (?P<found>.+?), )?expected (?P<expected>.+)")
"""How a section that checks itself tells a mistake, one a line: `inputs.door.line: found 30, expected ...`"""
_IN_ITS_OWN_WORDS = ("assertion_error", "string_pattern_mismatch", "multiple_of")


def read_document(path: Path, shape: type[T]) -> T:
    """Read a YAML file as a frozen dataclass.

    Unknown and missing keys, wrong types and broken limits are all told at once by a SettingsError. Lists
    stand for tuples and whole numbers for floats; nothing else is converted.
    """
    return validate(parse_document(path), shape)


def validate(document: Document, shape: type[T]) -> T:
    """Give a document that was read before its type; raises SettingsError with every mistake in it."""
    # pydantic takes a tenth of a second to import: only a command that reads configuration pays for it.
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - as said above

    mistakes = list(document.mistakes)
    try:
        # JSON, because strictness then still lets a list be a tuple and a whole number a float.
        value = TypeAdapter(shape).validate_json(json.dumps(document.value), strict=True, extra="forbid")
    except ValidationError as error:
        told = {mistake.key for mistake in mistakes}
        found = _explain(document, shape, error.errors(include_url=False))
        mistakes += {mistake.key: mistake for mistake in found if mistake.key not in told}.values()
    else:
        if not mistakes:
            return value
    raise SettingsError(mistakes)


def _explain(document: Document, shape: Shape, errors: "list[ErrorDetails]") -> Iterator[Mistake]:
    for error in errors:
        path, missing = _locate(document.value, error["loc"])
        if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            yield _unknown_key(document, shape, path)
        elif error["type"] == "missing" and isinstance(missing, str):
            yield _missing_key(document, shape, (*path, missing))
        elif error["loc"][-1:] == ("[key]",):
            yield document.mistake(path, f"the key '{path[-1]}'", _own_words(error))
        elif error["type"] == "value_error":
            for line in _own_words(error).splitlines():
                yield _self_told(document, path, line)
        else:
            yield _wrong_value(document, shape, path, error)


def _locate(value: Value, location: KeyPath) -> tuple[KeyPath, str | int | None]:
    """Follow an error's location into the document; give the path that is there and a last step that is not.

    A location also names the alternatives of a union: steps that no document has.
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
    taken = _inside(_value_at(document.value, path[:-1]))
    free = [key for key in known if key not in taken]
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
    if error["type"] in _IN_ITS_OWN_WORDS or not expected:
        expected = _own_words(error)
    return document.mistake(path, _found(value), expected, _hint(value, shapes))


def _self_told(document: Document, path: KeyPath, line: str) -> Mistake:
    told = _SELF_TOLD.fullmatch(line)
    if told is None:
        return document.mistake(path, _found(_value_at(document.value, path)), line)
    expected, _, hint = told["expected"].partition("; ")
    at = (*path, *told["key"].split("."))
    return document.mistake(at, told["found"] or "something else", expected, hint)


def _own_words(error: "ErrorDetails") -> str:
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
    wanted = {describe(inner).split(",")[0] for inner in shapes}
    if wanted == {"text"} and isinstance(value, bool | int | float):
        return f"write it in quotes: '{_found(value)}'"
    if wanted == {"true or false"}:
        return "on, off, yes and no are words here"
    if isinstance(value, str) and any(text.startswith(("a number", "a whole number")) for text in wanted):
        return "write a plain decimal number, without unit or quotes"
    return ""
