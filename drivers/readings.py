"""Builds and validates readings from the fields that a device sends, and converts readings back to text."""

from collections.abc import Mapping
from typing import get_args, get_origin

import msgspec

from controller.model.conversion import converter_of
from controller.model.readings import AnyReading, Reading, kind_of

COMMON = frozenset({"t", "dev", "arrived", "kind"})
"""The fields that `build_reading` takes as separate arguments. A device must not send them as fields."""


class ReadingError(ValueError):
    """Raised for fields that do not form a valid reading."""


def _is_list(hint: object) -> bool:
    return get_origin(hint) is tuple or any(get_origin(member) is tuple for member in get_args(hint))


KINDS: Mapping[str, type[AnyReading]] = {
    str(reading.__struct_config__.tag): reading for reading in get_args(AnyReading)
}
_CONVERTERS = {kind: converter_of(reading) for kind, reading in KINDS.items()}
_LISTS: Mapping[str, frozenset[str]] = {
    kind: frozenset(field.encode_name for field in msgspec.structs.fields(reading) if _is_list(field.type))
    for kind, reading in KINDS.items()
}


def build_reading(
    kind: object,
    fields: Mapping[str, object],
    dev: str,
    t_us: int,
    arrived_us: int,
    *,
    text_values: bool = False,
) -> AnyReading:
    """Build a reading from its fields.

    Args:
        kind: The reading's kind.
        fields: The reading's other fields, without those in COMMON.
        dev: The device that sent the reading.
        t_us: The reading's time.
        arrived_us: The reading's time of arrival.
        text_values: Whether all values are strings, in which commas separate the items of a list.

    Raises:
        ReadingError: If the kind does not exist or the fields are not valid for it.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ReadingError(f"found kind {kind!r}, expected a kind such as die_at or wall_impact")
    lists = _LISTS[kind]
    if not COMMON.isdisjoint(fields):
        raise ReadingError(f"found {sorted(COMMON & fields.keys())} in a {kind}; only the table sets these")
    values: dict[str, object] = {
        name: value.split(",") if text_values and name in lists and isinstance(value, str) else value
        for name, value in fields.items()
    }
    if kind == "input" and type(what := values.get("what")) is int:
        # The number of the attempt to be ruled on is text in a reading, but a device may send an integer.
        values["what"] = str(what)
    values |= {"kind": kind, "dev": dev, "t": t_us, "arrived": arrived_us}
    try:
        reading: AnyReading = _CONVERTERS[kind](values, strict=not text_values)
    except msgspec.ValidationError as error:
        raise ReadingError(f"not a valid {kind}: {error}") from error
    return reading


def to_texts(reading: Reading) -> tuple[str, dict[str, str]]:
    """Return a reading's kind and, as text, its fields without those in COMMON."""
    values = msgspec.to_builtins(reading)
    return kind_of(reading), {
        name: _text(value) for name, value in values.items() if name not in COMMON and value is not None
    }


def _text(value: object) -> str:
    match value:
        case bool():
            return "1" if value else "0"
        case list() | tuple():
            return ",".join(map(_text, value))
        case _:
            return str(value)
