"""Three Card Poker's hands as its document ranks them; knows nothing of the controller's own rules."""

from collections.abc import Sequence
from typing import NamedTuple

from drivers.sim.scenes import Told

RANKS = "23456789TJQKA"
DEALER = "dealer"


class Dealt(NamedTuple):
    """A deal as it lies on the felt."""

    hands: dict[str, list[str]]
    folds: list[str]


def results(dealt: Dealt) -> list[Told]:
    """Hold every hand against the dealer's, from his right; folds come last."""
    dealer = worth(dealt.hands[DEALER])
    seats = sorted((seat for seat in dealt.hands if seat != DEALER), key=int, reverse=True)
    found: list[Told] = []
    for seat in seats:
        if seat in dealt.folds:
            continue
        held = worth(dealt.hands[seat])
        if dealer < (0, [RANKS.index("Q")]):
            result = "dealer_does_not_play"
        else:
            result = "push" if held == dealer else "win" if held > dealer else "lose"
        found.append({"seat": seat, "result": result})
    found += [{"seat": seat, "result": "fold"} for seat in reversed(seats) if seat in dealt.folds]
    return found


def worth(hand: Sequence[str]) -> tuple[int, list[int]]:
    """Rank three cards: pair 1, flush 2, straight 3, three of a kind 4, straight flush 5; then by rank."""
    ranks = sorted((RANKS.index(card[0]) for card in hand), reverse=True)
    flush = len({card[1] for card in hand}) == 1
    if ranks == [12, 1, 0]:
        ranks = [1, 0, -1]
    straight = ranks[0] - 1 == ranks[1] == ranks[2] + 1
    if len(set(ranks)) == 1:
        return 4, ranks
    if len(set(ranks)) == 2:
        pair = ranks[1]
        return 1, [pair, pair, next(rank for rank in ranks if rank != pair)]
    return 5 if straight and flush else 3 if straight else 2 if flush else 0, ranks
