"""What a Three Card Poker pay table file holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from controller.settlement.paytable import Figure, Limits, Pays, Switch
from controller.settlement.three_card.hands import Row, SideRow

LimitedWager = Literal["ante", "pair_plus", "side"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAfterFold:
    """What a fold means to the side bet on the same position."""

    value: Literal["stands", "forfeited"]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeCardSettings:
    """The policies of a Three Card Poker table."""

    limits_cents: Mapping[LimitedWager, Limits]
    ante_required: Switch
    """Whether a position without an Ante may have no other wager."""
    side_needs_pair_plus: Switch
    side_after_fold: SideAfterFold
    pay_unit_cents: Figure
    """What winnings are rounded down to."""

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
    settings: ThreeCardSettings
