"""What a simulated evening is made of: scenes with their truth, readings with their arrival."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from controller.model.geometry import DiceTable, Wheel
from controller.model.readings import AnyReading

Verdict = Literal["valid", "void", "review"]
Feed = list[tuple[int, AnyReading]]
"""Readings with their arrival in table time (us), in order of arrival."""
Told = dict[str, object]
"""An outcome that must be published: its type, and the keys of its data that matter."""


class Truth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened on the table, and what may be published about it.

    `verdict` is what happened; `allowed` are the correct first outcomes, including a review if the
    sensors leave room for doubt. `reasons` are the codes that a void must give (`may_add` the further ones
    that it may). `ruled` is what a person's ruling after the first outcome makes of the attempt.
    """

    verdict: Verdict
    allowed: tuple[Verdict, ...]
    reasons: tuple[str, ...] = ()
    may_add: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dice: tuple[int, int] | None = None
    any_order: bool = False
    """The dice cannot be told apart: either order of the faces is right."""
    number: str | None = None
    revolutions: float | None = None
    drop_us: int | None = None
    ruled: Literal["called", "void", "corrected", "unruled", "stands"] | None = None
    ruled_dice: tuple[int, int] | None = None
    ruled_number: str | None = None
    cards: dict[str, tuple[str, ...]] = {}
    """What was dealt from the shoe to each position of a card game."""
    hands: dict[str, tuple[str, ...]] = {}
    """The cards of each position that must stand in the end, `dealer` included; empty where none do."""
    told: tuple[Told, ...] = ()
    """Every outcome of a game of cards, in order, without the numbers of rolls, deals and games."""


class Scene(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of an evening: the n-th scene is the n-th roll, spin or deal, or a game of many rolls."""

    kind: str
    start_us: int
    end_us: int
    truth: Truth
    throws: tuple["Scene", ...] = ()
    """The rolls of a game that has many."""
    depends_on_previous: bool = False
    """The expected outcomes depend on the scenes before it."""


def without_numbers(told: Iterable[Told]) -> tuple[Told, ...]:
    """Leave out which roll, deal or game it was: a table that missed one numbers them differently."""
    kept: list[Told] = []
    for outcome in told:
        data = outcome["data"]
        assert isinstance(data, dict)
        own = {key: value for key, value in data.items() if key not in ("roll", "deal", "game")}
        kept.append({"type": outcome["type"], "data": own})
    return tuple(kept)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a log of table readings."""

    log: Literal["table-readings"] = "table-readings"
    version: int = 1
    table: str
    ruleset: str
    epoch: str = "2026-01-01T20:00:00Z"
    dice_table: DiceTable | msgspec.UnsetType = msgspec.UNSET
    wheel: Wheel | msgspec.UnsetType = msgspec.UNSET


def in_order_of_arrival(feed: Iterable[tuple[int, AnyReading]]) -> Feed:
    """Sort readings by arrival; those that arrive together keep their order."""
    return sorted(feed, key=lambda item: item[0])


def write_log(path: Path, header: Header, feed: Feed, *, arrived: bool = False) -> None:
    """Write a log of table readings, gzipped where the name ends in `.gz`.

    With `arrived` each line carries its arrival; without, only the order of the lines shows it.
    """
    encode = msgspec.json.Encoder().encode
    lines = [encode(header)]
    for arrived_us, reading in feed:
        lines.append(encode(msgspec.structs.replace(reading, arrived=arrived_us if arrived else None)))
    data = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


class Played(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="told", tag="attempt"):
    """An attempt was made: what happened, and which faults may have hidden some of it.

    It is over at `ends_us`, when the next one begins. A disturbed one may be published as a review instead
    of its call, or nothing where the table could not see it; never something that did not happen.
    """

    t: int
    attempt: int
    scene: Scene
    ends_us: int
    disturbed_by: tuple[str, ...] = ()


class Began(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault"):
    """A fault began: the codes that the table must report of the device, and what a technician sees."""

    t: int
    fault: str
    device: str
    seconds: float
    codes: tuple[str, ...]
    sees: str


class Over(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault_over"):
    """A fault is over; the device must recover soon."""

    t: int
    fault: str
    device: str


Story = Played | Began | Over
