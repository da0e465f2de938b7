"""What a Three Card Poker pay table file holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from controller.games.three_card.wagers.hands import Row, SideRow
from controller.settlement.paytable import AtLeastOne, Figure, Limits, Pays, Switch

LimitedWager = Literal["ante", "pair_plus", "side"]


Listed = Literal["nothing", "high_card", "pair", "flush", "straight", "three_of_a_kind", "straight_flush"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedChance:
    """A row of the document's list of hands (T-PROB-1): how many there are, and their part in per cent."""

    combinations: AtLeastOne
    per_cent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAfterFold:
    """What a fold means to the side bet on the same position."""

    value: Literal["stands", "forfeited"]
    rule: str
    reason: str


_TWO_POSITIONS = Switch(
    value=True, rule="T-DEAL-1d", reason="the house may let a player bet on two adjacent positions"
)
"""What a pay table file that was written before this setting means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeCardSettings:
    """The policies of a Three Card Poker table."""

    limits_cents: Mapping[LimitedWager, Limits]
    ante_required: Switch
    """Whether a position without an Ante may have no other wager."""
    side_needs_pair_plus: Switch
    side_after_fold: SideAfterFold
    ante_bonus_after_fold: Switch
    """Whether a folded hand still earns the Ante Bonus (!T-6)."""
    pay_unit_cents: Figure
    """What winnings are rounded down to."""
    two_positions: Switch = _TWO_POSITIONS
    """Whether a player may bet on two adjacent positions, or on one alone."""

    def __post_init__(self) -> None:
        """Refuse settings that leave a wager without limits; raises ValueError."""
        wagers: tuple[LimitedWager, ...] = ("ante", "pair_plus", "side")
        if missing := [wager for wager in wagers if wager not in self.limits_cents]:
            raise ValueError(f"limits for every wager; add {', '.join(missing)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeCardPayTable:
    """What each row of hands pays on each wager, and the policies that the document leaves open.

    A row that is left out does not pay. `flat` is what Ante and Play pay against the dealer.
    """

    name: str
    title: str
    flat: Pays
    pair_plus: Mapping[Row, Pays]
    ante_bonus: Mapping[Row, Pays]
    side: Mapping[SideRow, Pays]
    printed_chances: Mapping[Listed, PrintedChance] = field(default_factory=dict)
    settings: ThreeCardSettings
