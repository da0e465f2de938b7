"""How hands rank in Three Card Poker, and which row of the pay tables they earn.

Three cards: a straight beats a flush (T-RANK-1), the ace is high except in 3-2-A (T-RANK-2). The side bet
plays the best five of six cards, with one row above for six suited cards from ace to nine (T-SIDE-1, !T-17).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple

RANKS = "23456789TJQKA"
SUITS = "cdhs"
_ACE = 14
_QUEEN = 12


class Card(NamedTuple):
    """A card: rank 2 to 14 (ace high) and its suit."""

    rank: int
    suit: str


def card(text: str) -> Card | None:
    """Read a card such as `Qh` or `Td`; None where the text names none."""
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        return None
    return Card(RANKS.index(text[0]) + 2, text[1])


def deck() -> list[Card]:
    """Give the 52 cards (T-DECK-1)."""
    return [Card(rank, suit) for rank in range(2, _ACE + 1) for suit in SUITS]


class Kind(IntEnum):
    """The kinds of a three-card hand, weakest first (T-RANK-1)."""

    HIGH_CARD = 0
    PAIR = 1
    FLUSH = 2
    STRAIGHT = 3
    THREE_OF_A_KIND = 4
    STRAIGHT_FLUSH = 5


class Strength(NamedTuple):
    """A hand's strength: strengths compare as hands do."""

    kind: Kind
    ranks: tuple[int, ...]

    @property
    def qualifies(self) -> bool:
        """Whether a dealer with this hand plays: queen high or better (T-ANTE-1)."""
        return self.kind > Kind.HIGH_CARD or self.ranks[0] >= _QUEEN

    @property
    def mini_royal(self) -> bool:
        """Whether it is ace, king and queen in one suit (!T-5)."""
        return self.kind is Kind.STRAIGHT_FLUSH and self.ranks[0] == _ACE

    def __str__(self) -> str:
        ranks = "-".join(RANKS[rank - 2] for rank in self.ranks)
        kind = "high" if self.kind is Kind.HIGH_CARD else self.kind.name.lower().replace("_", " ")
        return f"{ranks} {kind}"


def strength(hand: Sequence[Card]) -> Strength:
    """Rank three cards."""
    ranks = sorted((rank for rank, _ in hand), reverse=True)
    high, middle, low = ranks
    suited = hand[0].suit == hand[1].suit == hand[2].suit
    if high == low:
        return Strength(Kind.THREE_OF_A_KIND, (high,))
    if middle in (high, low):
        return Strength(Kind.PAIR, (middle, low if high == middle else high))
    top = _straight_to(ranks)
    if top:
        return Strength(Kind.STRAIGHT_FLUSH if suited else Kind.STRAIGHT, (top,))
    return Strength(Kind.FLUSH if suited else Kind.HIGH_CARD, tuple(ranks))


def _straight_to(descending: Sequence[int]) -> int:
    """Give the top of a three-card straight, or 0; the ace is low only in 3-2-A (T-RANK-2)."""
    high, middle, low = descending
    if high == middle + 1 == low + 2:
        return high
    return 3 if (high, middle, low) == (_ACE, 3, 2) else 0


class Row(StrEnum):
    """The rows of the three-card pay tables (T-PP-2, T-AB-1)."""

    PAIR = "pair"
    FLUSH = "flush"
    STRAIGHT = "straight"
    THREE_OF_A_KIND = "three_of_a_kind"
    STRAIGHT_FLUSH = "straight_flush"
    MINI_ROYAL = "mini_royal"


_ROWS = {
    Kind.PAIR: Row.PAIR,
    Kind.FLUSH: Row.FLUSH,
    Kind.STRAIGHT: Row.STRAIGHT,
    Kind.THREE_OF_A_KIND: Row.THREE_OF_A_KIND,
    Kind.STRAIGHT_FLUSH: Row.STRAIGHT_FLUSH,
}


def row(hand: Strength) -> Row | None:
    """Give the highest row that a hand earns, and no other (!T-4); None below a pair."""
    return Row.MINI_ROYAL if hand.mini_royal else _ROWS.get(hand.kind)


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
    """Give the highest row that the best five of six cards earn; None below three of a kind.

    Five-card hands rank as in poker: a flush beats a straight, and 5-4-3-2-A is a straight.
    """
    six = tuple(cards)
    suit, suited = Counter(suit for _, suit in six).most_common(1)[0]
    if suited >= 5:
        return suited_row(rank for rank, its_suit in six if its_suit == suit)
    return unsuited_row(rank for rank, _ in six)


def suited_row(ranks: Iterable[int]) -> SideRow:
    """Give the row of five or six cards of one suit: they leave no room for a hand of pairs above a flush."""
    held = set(ranks)
    if held == {9, 10, 11, 12, 13, _ACE}:
        return SideRow.MAJOR_ROYAL
    top = _five_in_a_row(held)
    if top == _ACE:
        return SideRow.ROYAL_FLUSH
    return SideRow.STRAIGHT_FLUSH if top else SideRow.FLUSH


def unsuited_row(ranks: Iterable[int]) -> SideRow | None:
    """Give the row of six cards without five of one suit."""
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
    """Give the top of the highest five-card straight, or 0."""
    held = ranks | ({1} if _ACE in ranks else set())
    return next((top for top in range(_ACE, 4, -1) if held.issuperset(range(top - 4, top + 1))), 0)
