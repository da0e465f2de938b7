"""A table: its geometry, its devices, and the rules it is played by.

Filled by `controller.settings.tables` from one file of `config/tables`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from controller.model.geometry import DiceTable, Wheel
from controller.model.keys import KeyPath
from controller.model.publishing import PublishSettings
from controller.model.readings import Wall
from controller.model.rulesets import Calls, RuleSet

DeviceReading = Literal[
    "die_released",
    "die_at",
    "die_rest",
    "die_off_table",
    "die_lost",
    "die_contact",
    "wall_impact",
    "ball_beam",
    "ball_drop",
    "ball_out",
    "rotor_index",
    "pocket_ball",
    "foreign_object",
    "wheel_status",
    "card",
    "switch",
    "input",
]
"""The kinds of reading that a device can be there for; its own health it always tells."""

OnOpen = Literal["lock", "note"]
"""What an opened switch does: it locks the table, or it is only written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What a device is there for: without it, these readings are missing rather than not seen."""

    reads: tuple[DeviceReading, ...] = ()
    """Empty for one that only speaks for others."""
    wall: Wall | None = None
    """The wall that a wall sensor listens to."""
    type: str = ""
    """The kind of hardware; empty where another device speaks for it, or readings come from elsewhere."""
    settings: object | None = None
    """Its kind's own settings; None where the table was loaded without its hardware."""


class Speaks(NamedTuple):
    """A device speaks for a device of the table: itself, or one whose name stands at this key.

    `kinds` and `wall` are what its settings tell of it; None where they don't.
    """

    at: KeyPath
    dev: str
    kinds: tuple[DeviceReading, ...] | None = None
    wall: Wall | None = None


class Claim(NamedTuple):
    """Something that no second device may have: a port, a name, a line of a chip."""

    at: KeyPath
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """One table. `rules` is its rule set with the table's own thresholds already in it."""

    table: str
    rules: RuleSet
    calls: Calls = "automatic"
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    devices: Mapping[str, Device] = field(default_factory=dict)
    switches: Mapping[str, OnOpen] = field(default_factory=dict)
    publish: PublishSettings = field(default_factory=PublishSettings)
