"""What High Roller's throws are worth: the chance to stay in, and the chance to win the roll-off.

The money has no house edge to find: the house and charity keep the rake, the rest goes to the players.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

TOTALS = Counter(one + other for one, other in product(range(1, 7), repeat=2))
"""How many of the 36 throws give each total."""


def stays_in(total: int) -> Fraction:
    """Give the chance that the elimination throw matches a card of this rank (2 to 12)."""
    return Fraction(TOTALS[total], 36)


def nobody_matches_of(cards: int, decks: int) -> Fraction:
    """Give the chance that the elimination throw matches none of so many cards, and is thrown again.

    The cards were just dealt from full decks of eleven ranks, unseen.
    """
    per_rank, all_cards = 4 * decks, 44 * decks
    missing = Fraction(1)
    for dealt in range(cards):
        missing *= Fraction(all_cards - per_rank - dealt, all_cards - dealt)
    return missing


def wins_roll_off(rolls: Sequence[int]) -> tuple[Fraction, ...]:
    """Give each player's chance to win when they have so many rolls each (H-WIN-1, H-MULTI-1).

    Players tied at the top roll again by one roll each (!H-3), so that each of them has the same chance then.
    """
    return tuple(
        sum((_wins_with(best, rolls, player) for best in TOTALS), Fraction(0)) for player in range(len(rolls))
    )


def _wins_with(best: int, rolls: Sequence[int], player: int) -> Fraction:
    """Give the chance that this player's best roll is `best` and he wins with it, ties included."""
    tied_with = [_best_is(best, rolls[player])]
    for other, count in enumerate(rolls):
        if other == player:
            continue
        level, below = _best_is(best, count), _best_below(best, count)
        alone = [chance * below for chance in tied_with] + [Fraction(0)]
        joined = [Fraction(0)] + [chance * level for chance in tied_with]
        tied_with = [one + more for one, more in zip(alone, joined, strict=True)]
    return sum((chance / (others + 1) for others, chance in enumerate(tied_with)), Fraction(0))


def _best_below(total: int, rolls: int) -> Fraction:
    return Fraction(sum(count for thrown, count in TOTALS.items() if thrown < total), 36) ** rolls


def _best_is(total: int, rolls: int) -> Fraction:
    return _best_below(total + 1, rolls) - _best_below(total, rolls)
