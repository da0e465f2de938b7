"""What a roulette pay table file holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from controller.games.roulette.wagers.layout import RULES, Wheel
from controller.settlement.paytable import Figure, Limits, Pays, Switch

Wager = Literal[
    "straight",
    "split",
    "three",
    "four",
    "five",
    "six",
    "column",
    "dozen",
    "red",
    "black",
    "odd",
    "even",
    "low",
    "high",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelKind:
    """Which zeros the wheel has."""

    value: Wheel
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RouletteSettings:
    """The policies of a roulette table."""

    wheel: WheelKind
    zero_splits: Switch
    """Whether 0-1, 0-2, 00-2 and 00-3 are offered."""
    limits_cents: Limits
    """What a player may have on one spot."""
    pay_unit_cents: Figure
    """What winnings are rounded down to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoulettePayTable:
    """What each wager pays, and the policies that the document leaves open."""

    name: str
    title: str
    pays: Mapping[Wager, Pays]
    settings: RouletteSettings

    def __post_init__(self) -> None:
        """Refuse a table that could not be settled; raises ValueError."""
        missing = [wager for wager in RULES if wager not in self.pays]
        if missing:
            raise ValueError(f"odds for every wager under `pays`; add {', '.join(missing)}")
