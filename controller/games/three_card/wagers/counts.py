"""Every three-card hand against every dealer's hand, and every six cards of the side bet, counted exactly.

Each count goes by classes of equal hands, so that all 22,100 hands against 18,424 dealers and all 20,358,520
six-card sets take a moment, with integers and fractions only.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, prod

from controller.games.three_card.wagers.hands import (
    RANKS,
    SUITS,
    Card,
    SideRow,
    Strength,
    deck,
    strength,
    suited_row,
    unsuited_row,
)

HANDS = comb(52, 3)
DEALERS = comb(49, 3)
SIX_CARDS = comb(52, 6)

Hand = tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Showdown:
    """One player's hand against all 18,424 dealer's hands that its cards leave."""

    hand: Strength
    unqualified: int
    higher: int
    equal: int
    lower: int


@cache
def showdowns() -> tuple[Showdown, ...]:
    """Meet every hand with every dealer's hand."""
    return tuple(_meetings())


def _meetings() -> Iterator[Showdown]:
    strengths: dict[Hand, Strength] = {hand: strength(hand) for hand in combinations(deck(), 3)}
    order = {held: place for place, held in enumerate(sorted(set(strengths.values())))}
    places = {hand: order[held] for hand, held in strengths.items()}
    first_to_qualify = min(place for held, place in order.items() if held.qualifies)
    dealers = _Dealers(places)
    for hand, held in strengths.items():
        own = places[hand]
        unqualified = dealers.below(first_to_qualify, hand)
        lower = max(dealers.below(own, hand), unqualified)
        not_higher = max(dealers.below(own + 1, hand), unqualified)
        yield Showdown(held, unqualified, DEALERS - not_higher, not_higher - lower, lower - unqualified)


class _Dealers:
    """Counts the dealer's hands below a strength among those that share no card with the player's.

    All hands, less those that hold one of the player's cards, more those that hold two, less the one that
    holds all three: each from the sorted strengths of the hands that hold given cards.
    """

    def __init__(self, places: Mapping[Hand, int]) -> None:
        holding: defaultdict[Hand, list[int]] = defaultdict(list)
        for hand, place in places.items():
            for size in range(3):
                for held in combinations(hand, size):
                    holding[held].append(place)
        self._own = places
        self._holding = {held: sorted(found) for held, found in holding.items()}

    def below(self, place: int, hand: Hand) -> int:
        """Count the dealer's hands weaker than the strength at this place."""
        count = 0
        for size, sign in ((0, 1), (1, -1), (2, 1)):
            count += sign * sum(bisect_left(self._holding[held], place) for held in combinations(hand, size))
        return count - (self._own[hand] < place)


@cache
def side_rows() -> Mapping[SideRow | None, int]:
    """Count all sets of six cards by the row of the side bet that they earn."""
    rows: Counter[SideRow | None] = Counter()
    for ranks in combinations(range(2, 15), 6):
        rows[suited_row(ranks)] += len(SUITS)
    for ranks in combinations(range(2, 15), 5):
        rows[suited_row(ranks)] += len(SUITS) * (52 - len(RANKS))
    for ranks in combinations_with_replacement(range(2, 15), 6):
        alike = Counter(ranks).values()
        if max(alike) <= len(SUITS):
            rows[unsuited_row(ranks)] += prod(comb(len(SUITS), many) for many in alike) - _suited_ways(
                len(alike)
            )
    return rows


def _suited_ways(different: int) -> int:
    """Count the ways to suit six cards of so many different ranks with five or six in one suit."""
    if different == 6:
        return len(SUITS) * (1 + 6 * 3)
    return len(SUITS) * 3 if different == 5 else 0
