"""A Three Card Poker pay table, and the row that the side bet earns.

The side bet earns by the best five of the player's and the dealer's six cards; one row is above the five-card
list: six suited cards from ace to nine (T-SIDE-1, !T-17).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from controller.rules.cards.hands import (
    ACE,
    RANKS,
    SUITS,
    Card,
    Kind,
    Row,
    Strength,
    card,
    deck,
    row,
    strength,
)
from controller.settlement.paytable import AtLeastOne, Figure, Limits, Pays, Switch

__all__ = [
    "RANKS",
    "SUITS",
    "Card",
    "Kind",
    "Row",
    "SideRow",
    "Strength",
    "card",
    "deck",
    "row",
    "side_row",
    "strength",
    "suited_row",
    "unsuited_row",
]


class SideRow(StrEnum):
    """The rows of the side bet's pay table, lowest first (T-SIDE-2)."""

    THREE_OF_A_KIND = "three_of_a_kind"
    STRAIGHT = "straight"
    FLUSH = "flush"
    FULL_HOUSE = "full_house"
    FOUR_OF_A_KIND = "four_of_a_kind"
    STRAIGHT_FLUSH = "straight_flush"
    ROYAL_FLUSH = "royal_flush"
    MAJOR_ROYAL = "major_royal"


def side_row(cards: Iterable[Card]) -> SideRow | None:
    """Return the highest row that the best five of six cards earn; None below three of a kind.

    Five-card hands rank as in poker: a flush beats a straight, and 5-4-3-2-A is a straight.
    """
    six = tuple(cards)
    suit, suited = Counter(suit for _, suit in six).most_common(1)[0]
    if suited >= 5:
        return suited_row(rank for rank, its_suit in six if its_suit == suit)
    return unsuited_row(rank for rank, _ in six)


def suited_row(ranks: Iterable[int]) -> SideRow:
    """Return the row of five or six cards of one suit; they leave no room for pairs above a flush."""
    held = set(ranks)
    if held == {9, 10, 11, 12, 13, ACE}:
        return SideRow.MAJOR_ROYAL
    top = _five_in_a_row(held)
    if top == ACE:
        return SideRow.ROYAL_FLUSH
    return SideRow.STRAIGHT_FLUSH if top else SideRow.FLUSH


def unsuited_row(ranks: Iterable[int]) -> SideRow | None:
    """Return the row of six cards without five of one suit."""
    counts = Counter(ranks)
    most, second = sorted(counts.values(), reverse=True)[:2]
    if most == 4:
        return SideRow.FOUR_OF_A_KIND
    if most == 3 and second >= 2:
        return SideRow.FULL_HOUSE
    if _five_in_a_row(set(counts)):
        return SideRow.STRAIGHT
    return SideRow.THREE_OF_A_KIND if most == 3 else None


def _five_in_a_row(ranks: set[int]) -> int:
    """Return the top of the highest five-card straight, or 0."""
    held = ranks | ({1} if ACE in ranks else set())
    return next((top for top in range(ACE, 4, -1) if held.issuperset(range(top - 4, top + 1))), 0)


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
"""The value for a pay table file that was written before this setting existed."""


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
