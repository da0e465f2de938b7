"""The notation of cards, the ranking of Three Card Poker hands, and their rows in the pay tables.

A straight beats a flush (T-RANK-1). The ace is high except in 3-2-A (T-RANK-2).
"""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import Literal, NamedTuple

from controller.model.readings import Card as CardReading

RANKS = "23456789TJQKA"
SUITS = "cdhs"
ACE = 14
"""The rank of the ace as the highest card. The ace is low in the straight 3-2-A."""
QUEEN = 12
"""The lowest high card with which the dealer qualifies."""


class Card(NamedTuple):
    """A card, with a rank from 2 to 14 (ace high) and a suit."""

    rank: int
    suit: str


def card(text: str) -> Card | None:
    """Parse a card such as `Qh` or `Td`. Return None if the text is not a card."""
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        return None
    return Card(RANKS.index(text[0]) + 2, text[1])


def deck() -> list[Card]:
    """Return the 52 cards (T-DECK-1)."""
    return [Card(rank, suit) for rank in range(2, ACE + 1) for suit in SUITS]


@lru_cache(maxsize=256)
def written(text: str | None) -> str | None:
    """Return the published form of a card, such as `Th` for `10h` or `TH`; None if it is not a card."""
    if text is None:
        return None
    tidy = text.strip()
    tidy = (tidy[:-1].upper() + tidy[-1:].lower()).replace("10", "T")
    return tidy if card(tidy) else None


def read_face(reading: CardReading) -> str | None:
    """Return the card that a shoe read, such as `Qh`; None if it was unread or is not one of the 52 cards."""
    if reading.rank is None or reading.suit is None:
        return None
    return written(f"{reading.rank}{reading.suit}")


Meeting = Literal["win", "lose", "push", "dealer_does_not_play"]
"""The result of a hand against the dealer's hand."""


class Kind(IntEnum):
    """The kinds of three-card hand, weakest first (T-RANK-1)."""

    HIGH_CARD = 0
    PAIR = 1
    FLUSH = 2
    STRAIGHT = 3
    THREE_OF_A_KIND = 4
    STRAIGHT_FLUSH = 5


class Strength(NamedTuple):
    """A hand's strength. Stronger hands compare as greater."""

    kind: Kind
    ranks: tuple[int, ...]

    @property
    def qualifies(self) -> bool:
        """Whether the dealer plays with this hand, which requires queen high or better (T-ANTE-1)."""
        return self.kind > Kind.HIGH_CARD or self.ranks[0] >= QUEEN

    @property
    def mini_royal(self) -> bool:
        """Whether the hand is the ace, king and queen of one suit (!T-5)."""
        return self.kind is Kind.STRAIGHT_FLUSH and self.ranks[0] == ACE

    def __str__(self) -> str:
        ranks = "-".join(RANKS[rank - 2] for rank in self.ranks)
        kind = "high" if self.kind is Kind.HIGH_CARD else self.kind.name.lower().replace("_", " ")
        return f"{ranks} {kind}"


def strength(hand: Sequence[Card]) -> Strength:
    """Return the strength of three cards."""
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
    """Return the top rank of a three-card straight, or 0. The ace is low only in 3-2-A (T-RANK-2)."""
    high, middle, low = descending
    if high == middle + 1 == low + 2:
        return high
    return 3 if (high, middle, low) == (ACE, 3, 2) else 0


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
    """Return the highest row that a hand earns, which is the only one paid (!T-4); None below a pair."""
    return Row.MINI_ROYAL if hand.mini_royal else _ROWS.get(hand.kind)


def compare(held: Strength, dealer: Strength, equal: Literal["push", "dealer_wins"] = "push") -> Meeting:
    """Compare a hand with the dealer's (T-RES-2..4). `equal` is the result of equal hands (!T-3)."""
    if not dealer.qualifies:
        return "dealer_does_not_play"
    if held == dealer:
        return "push" if equal == "push" else "lose"
    return "win" if held > dealer else "lose"


def announcement(dealer: Strength) -> str:
    """Return the dealer's announcement of the hand (T-DEAL-6)."""
    if not dealer.qualifies:
        return "Dealer doesn't play"
    if dealer.kind is not Kind.HIGH_CARD:
        kind = dealer.kind.name.lower().replace("_", " ")
        return f"Dealer plays with {'' if dealer.kind is Kind.THREE_OF_A_KIND else 'a '}{kind}"
    highest = dealer.ranks[0]
    return f"Dealer plays with {'an' if highest == ACE else 'a'} {_NAMES[highest]}"


_NAMES = {QUEEN: "Queen", QUEEN + 1: "King", ACE: "Ace"}
