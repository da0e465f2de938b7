"""The shape of a table's file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen

from controller.model.publishing import PublishSettings
from controller.model.readings import Surface
from controller.model.rulesets import Calls, NotNegative, Positive, Word
from controller.model.tables import OnOpen


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneSection:
    """A polygon on which a die rests, whatever the camera calls it."""

    kind: Surface
    polygon: Annotated[tuple[tuple[float, float], ...], MinLen(3)]
    """Corner points [x, y] in millimetres."""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiceTableSection:
    """A dice table's inside: wall to wall, and the edge of its dice."""

    length_mm: Positive
    """From the left end wall (x = 0) to the right one."""
    width_mm: Positive
    """From the stickperson's rail (y = 0) to the boxperson's."""
    die_mm: Positive
    """The edge of a die."""
    wall_relief_mm: Annotated[float, Ge(0), Le(50)] = 12.0
    """How far the ground between the pyramids lies behind their tips, to which the table is measured."""
    zones: tuple[ZoneSection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSection:
    """A wheel; bowl angles in degrees, counter-clockwise positive seen from above."""

    pockets: Literal["american", "european"]
    pockets_clockwise: tuple[str, ...] | None = None
    """The pockets clockwise from the rotor's mark on, in quotes; left out, the standard order from 0 on."""
    beams_deg: Annotated[tuple[float, ...], MinLen(1)] | None = None
    """The track beams' bowl angles, by beam number. This and what follows is left out for a trusted wheel."""
    pocket_reader_deg: float | None = None
    """Where the pocket reader looks."""
    rotor_index_deg: float | None = None
    """Where the rotor's mark is when the index sensor fires."""
    drop_rev_per_s: Positive | None = None
    """The nominal ball speed at which it leaves the track."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A table's file as it is written."""

    table: Word
    """The table's name, in logs and outcomes."""
    ruleset: Word
    """A rule set's name, or its file's path, seen from this file."""
    calls: Calls = "automatic"
    """Who calls: the controller where the readings are certain, or a person who confirms its proposal."""
    dice_table: DiceTableSection | None = None
    wheel: WheelSection | None = None
    max_lateness_ms: NotNegative | None = None
    """Replaces the rule set's."""
    throw: Mapping[str, object] | None = None
    """Thresholds that replace the rule set's; only those that differ."""
    craps: Mapping[str, object] | None = None
    """Thresholds that replace the rule set's; only those that differ."""
    spin: Mapping[str, object] | None = None
    """Thresholds that replace the rule set's; only those that differ."""
    high_roller: Mapping[str, object] | None = None
    """What replaces the rule set's policies; only what differs."""
    deal: Mapping[str, object] | None = None
    """What replaces the rule set's policies; only what differs."""
    devices: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The devices by their names: what each is there for, and how it is reached."""
    switches: Mapping[str, OnOpen] = field(default_factory=dict)
    """What a switch does when it opens; `door` and `tamper` lock the table unless said otherwise."""
    publish: PublishSettings = field(default_factory=PublishSettings)
    """To whom outcomes go, and how long play goes on without an answer."""
