"""The first line of a log: which table, which rules, and the geometry that its readings need."""

from typing import Literal, NamedTuple

import msgspec

from controller.machines.setup import First, State
from controller.model.geometry import DiceTable, Wheel
from controller.model.rulesets import RuleSet
from controller.replay.decoding import UNDECODABLE, LineError, error_of, fields_of, shown

WORD = "table-readings"
_PARTS: dict[str, type[msgspec.Struct]] = {
    "dice_table": DiceTable,
    "wheel": Wheel,
    "first": First,
    "state": State,
}


class Header(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="log", tag="table-readings"
):
    """What a log says of itself.

    `epoch` is the ISO time of t = 0. A live recording adds `session`, `first` (the numbers that follow on)
    and `state` (the game's state and what was learned, at its start); and what its table's file said: `rules`
    (those in force, the table's own thresholds in them), `sources` (which reading kinds each device sends)
    and `locking_switches`.
    """

    version: Literal[1]
    table: str
    ruleset: str = ""
    epoch: str = ""
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    session: str | int | None = None
    first: First | None = None
    state: State | None = None
    rules: RuleSet | None = None
    sources: dict[str, tuple[str, ...]] | None = None
    locking_switches: tuple[str, ...] | None = None


_decode_header = msgspec.json.Decoder(Header).decode


class ReadHeader(NamedTuple):
    """A header, and the names of the keys in it that mean nothing here."""

    header: Header
    unknown: tuple[str, ...]


def read_header(line: bytes) -> ReadHeader:
    """Read a log's first line; raises LineError where it is no header of this format."""
    expected = f'a header {{"log": "{WORD}", "version": 1, ...}}'
    fields = fields_of(line, expected)
    if "log" not in fields:
        raise LineError(shown(line), expected)
    for key, value in {"log": f'"{WORD}"', "version": "1"}.items():
        found = bytes(fields[key]).decode() if key in fields else "nothing"
        if found != value:
            newer = key == "version" and found.isdecimal()
            advice = "a newer release wrote it: replay it with that one" if newer else ""
            raise LineError(
                f"{shown(found.encode())} as `{key}` of the header", f"{value} in {expected}", advice
            )
    try:
        header = _decode_header(line)
    except UNDECODABLE as error:
        wrong = error_of(error, fields, Header, "the header")
        raise LineError(wrong.found, wrong.expected, "correct the header") from error
    return ReadHeader(header, tuple(f"key `{name}` of the header" for name in _unknown(fields)))


def _unknown(fields: dict[str, msgspec.Raw]) -> list[str]:
    names = [name for name in fields if name not in {"log", *Header.__struct_encode_fields__}]
    for part, struct in _PARTS.items():
        inner = msgspec.json.decode(fields.get(part, b"null"), type=dict[str, msgspec.Raw] | None) or {}
        names += [f"{part}.{name}" for name in inner if name not in struct.__struct_encode_fields__]
    return names
