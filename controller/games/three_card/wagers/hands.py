"""Which row of its pay table the side bet earns: the best five of the player's and the dealer's six cards.

One row stands above the five-card list: six suited cards from ace to nine (T-SIDE-1, !T-17).
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from controller.rules.cards.card import ACE, RANKS, SUITS, Card, card, deck
from controller.rules.cards.hands import Kind, Row, Strength, row, strength

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
