"""A card, and how people and shoes write it."""

from functools import lru_cache
from typing import NamedTuple

from controller.model.readings import Card as CardReading

RANKS = "23456789TJQKA"
SUITS = "cdhs"
ACE = 14
"""Its rank as the highest card; in the straight A-2-3 it is low."""
QUEEN = 12
"""The rank with which a dealer qualifies."""


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
    """Return the 52 cards (T-DECK-1)."""
    return [Card(rank, suit) for rank in range(2, ACE + 1) for suit in SUITS]


@lru_cache(maxsize=256)
def written(text: str | None) -> str | None:
    """Return a card as it is told (`Th`), however a person writes it (`10h`, `TH`); None where it is none."""
    if text is None:
        return None
    tidy = text.strip()
    tidy = (tidy[:-1].upper() + tidy[-1:].lower()).replace("10", "T")
    return tidy if card(tidy) else None


def face_of(reading: CardReading) -> str | None:
    """Return the card that a shoe read, such as `Qh`; None where it was not read or is in no deck of 52."""
    if reading.rank is None or reading.suit is None:
        return None
    return written(f"{reading.rank}{reading.suit}")
