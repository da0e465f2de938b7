"""The exact house edges of Three Card Poker, computed over all pairs of hands and all sets of six cards."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from typing import NamedTuple, TypeVar

from controller.games.three_card.wagers.paytable import (
    RANKS,
    SUITS,
    Card,
    EqualHands,
    Kind,
    Row,
    SideRow,
    Strength,
    ThreeCardPayTable,
    deck,
    row,
    strength,
    suited_row,
    unsuited_row,
)
from controller.settlement.paytable import (
    Chance,
    Edge,
    Finding,
    Pays,
    Report,
    breakage_findings,
    edge_findings,
)

K = TypeVar("K", Row, SideRow)
ANTE_AND_PLAY, PAIR_PLUS, SIDE = "ante and play", "pair_plus", "side"
ALL_MONEY_BET = "ante and play, of all money bet"
HANDS = comb(52, 3)
DEALERS = comb(49, 3)
"""The number of the dealer's possible hands, given a player's three cards."""
SIX_CARDS = comb(52, 6)

Hand = tuple[Card, ...]


class BestPlay(NamedTuple):
    """The best play: its mean win in Antes, the number of hands that it plays, and the weakest of them."""

    worth: Fraction
    played: int
    weakest: Strength


@dataclass(frozen=True, slots=True)
class Showdown:
    """A player's hand, and the number of the dealer's 18,424 possible hands with each result.

    `higher`, `equal` and `lower` count only the dealer's hands that qualify.
    """

    hand: Strength
    unqualified: int
    higher: int
    equal: int
    lower: int


@cache
def showdowns() -> tuple[Showdown, ...]:
    """Return the showdowns of all hands."""
    return tuple(_showdowns())


def _showdowns() -> Iterator[Showdown]:
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
    """Counts the dealer's hands that are below a given strength and share no card with the player's hand.

    The count uses inclusion-exclusion: all hands, minus those with each of the player's cards, plus those
    with each pair of them, minus the hand with all three. Each term is looked up in the sorted strengths of
    the hands that contain those cards.
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
        """Return the number of the dealer's hands that are weaker than the strength at index `place`."""
        count = 0
        for size, sign in ((0, 1), (1, -1), (2, 1)):
            count += sign * sum(bisect_left(self._holding[held], place) for held in combinations(hand, size))
        return count - (self._own[hand] < place)


@cache
def side_rows() -> Mapping[SideRow | None, int]:
    """Return the number of sets of six cards for each row of the side bet."""
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
    """Return the number of ways in which six cards of `different` ranks have five or six of one suit."""
    if different == 6:
        return len(SUITS) * (1 + 6 * 3)
    return len(SUITS) * 3 if different == 5 else 0


def report(table: ThreeCardPayTable, equal: EqualHands = "push") -> Report:
    """Return every wager's edge, the printed chances and the findings."""
    settings = table.settings
    best = best_play(table, equal)
    edges = (
        Edge(wager=ANTE_AND_PLAY, edge=-best.worth),
        Edge(wager=ALL_MONEY_BET, edge=-best.worth / (1 + Fraction(best.played, HANDS))),
        Edge(wager=PAIR_PLUS, edge=-_pair_plus_worth(table.pair_plus)),
        Edge(wager=SIDE, edge=-_mean(side_rows(), table.side)),
    )
    rules = {
        ANTE_AND_PLAY: table.flat.rule,
        ALL_MONEY_BET: table.flat.rule,
        PAIR_PLUS: "T-PP-2",
        SIDE: "T-SIDE-2",
    }
    chip_cents = settings.limits_cents["ante"].min_cents
    return Report(
        ruleset=table.name,
        title=table.title,
        edges=edges,
        chances=(*_printed_chances(table), *_further_chances(best)),
        findings=(
            *_wrong_counts(table),
            *edge_findings(edges, rules),
            *breakage_findings(_all_pays(table), chip_cents, settings.pay_unit_cents.value),
        ),
    )


def best_play(table: ThreeCardPayTable, equal: EqualHands = "push") -> BestPlay:
    """Return the best play, which folds a hand if playing it would lose more than the Ante on average.

    The value of a hand includes its bonus. Every hand that earns a bonus is played, so
    `ante_bonus_after_fold` (!T-6) has no effect.
    """
    flat = table.flat.ratio.exact
    worth, played = Fraction(0), []
    for showdown in showdowns():
        value = _against_dealer(showdown, flat, equal) + (_to_one(table.ante_bonus, row(showdown.hand)) or 0)
        if value > -1:
            played.append(showdown.hand)
        worth += max(value, Fraction(-1))
    return BestPlay(worth / HANDS, len(played), min(played))


def _against_dealer(showdown: Showdown, flat: Fraction, equal: EqualHands) -> Fraction:
    """Return the mean win of Ante and Play over the dealer's hands, in Antes (T-RES-2 to T-RES-4, !T-3)."""
    won = showdown.unqualified * flat + showdown.lower * 2 * flat
    lost = showdown.higher + (showdown.equal if equal == "dealer_wins" else 0)
    return (won - 2 * lost) / DEALERS


def _pair_plus_worth(pays: Mapping[Row, Pays]) -> Fraction:
    return _mean(Counter(row(showdown.hand) for showdown in showdowns()), pays)


def _mean(rows: Mapping[K | None, int], pays: Mapping[K, Pays]) -> Fraction:
    """Return the mean win of a stake over the counted rows. The key None counts the hands without a row."""
    net = Fraction(0)
    for earned, count in rows.items():
        won = _to_one(pays, earned)
        net += count * (Fraction(-1) if won is None else won)
    return net / sum(rows.values())


def _to_one(pays: Mapping[K, Pays], earned: K | None) -> Fraction | None:
    found = pays.get(earned) if earned is not None else None
    return found.ratio.exact if found else None


def hand_counts() -> Mapping[str, int]:
    """Return the number of hands of each kind that the document lists (T-PROB-1).

    `nothing` is jack high or lower.
    """
    return Counter(_listed_as(showdown.hand) for showdown in showdowns())


def _listed_as(hand: Strength) -> str:
    if hand.kind is Kind.HIGH_CARD:
        return "high_card" if hand.qualifies else "nothing"
    return hand.kind.name.lower()


def _printed_chances(table: ThreeCardPayTable) -> Iterator[Chance]:
    counts = hand_counts()
    for listed, printed in table.printed_chances.items():
        chance = Fraction(counts[listed], HANDS)
        yield Chance(
            event=listed.replace("_", " "), chance=chance, printed=printed.per_cent, in_per_cent=True
        )


def _wrong_counts(table: ThreeCardPayTable) -> Iterator[Finding]:
    counts = hand_counts()
    for listed, printed in table.printed_chances.items():
        if printed.combinations != counts[listed]:
            yield Finding(
                code="wrong_count",
                wager=listed,
                rule="T-PROB-1",
                text=f"{printed.combinations} combinations are printed, but there are {counts[listed]}",
            )


def _further_chances(best: BestPlay) -> Iterator[Chance]:
    qualifies = sum(showdown.hand.qualifies for showdown in showdowns())
    yield Chance(event="dealer qualifies", chance=Fraction(qualifies, HANDS), in_per_cent=True)
    yield Chance(
        event=f"fold by best play, below {best.weakest}",
        chance=Fraction(HANDS - best.played, HANDS),
        in_per_cent=True,
    )


def _all_pays(table: ThreeCardPayTable) -> Iterator[tuple[str, Pays]]:
    yield ANTE_AND_PLAY, table.flat
    for wager, rows in ((PAIR_PLUS, table.pair_plus), ("ante_bonus", table.ante_bonus)):
        yield from ((f"{wager} {name}", pays) for name, pays in rows.items())
    yield from ((f"{SIDE} {name}", pays) for name, pays in table.side.items())
