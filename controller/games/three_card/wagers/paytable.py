"""A Three Card Poker pay table, and the decisions on each position's wagers.

The best five of the player's and the dealer's six cards decide the side bet. Six suited cards from ace down
to nine form a row above all five-card hands (T-SIDE-1, !T-17).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from controller.rules.cards.hands import (
    ACE,
    RANKS,
    SUITS,
    Card,
    Kind,
    Row,
    Strength,
    card,
    compare,
    deck,
    row,
    strength,
)
from controller.settlement.book import Bonus, Decided
from controller.settlement.paytable import AtLeastOne, BreakageLedger, Figure, Limits, Pays, Switch, payout

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
    """Return the row of the best five of six cards; None for less than three of a kind.

    Five-card hands rank as in poker. A flush beats a straight, and 5-4-3-2-A is a straight.
    """
    six = tuple(cards)
    suit, suited = Counter(suit for _, suit in six).most_common(1)[0]
    if suited >= 5:
        return suited_row(rank for rank, its_suit in six if its_suit == suit)
    return unsuited_row(rank for rank, _ in six)


def suited_row(ranks: Iterable[int]) -> SideRow:
    """Return the row of five or six cards of one suit. Pairs among the six cards can't beat it."""
    held = set(ranks)
    if held == {9, 10, 11, 12, 13, ACE}:
        return SideRow.MAJOR_ROYAL
    top = _five_in_a_row(held)
    if top == ACE:
        return SideRow.ROYAL_FLUSH
    return SideRow.STRAIGHT_FLUSH if top else SideRow.FLUSH


def unsuited_row(ranks: Iterable[int]) -> SideRow | None:
    """Return the row of six cards with at most four of one suit."""
    counts = Counter(ranks)
    commonest, second = sorted(counts.values(), reverse=True)[:2]
    if commonest == 4:
        return SideRow.FOUR_OF_A_KIND
    if commonest == 3 and second >= 2:
        return SideRow.FULL_HOUSE
    if _five_in_a_row(set(counts)):
        return SideRow.STRAIGHT
    return SideRow.THREE_OF_A_KIND if commonest == 3 else None


def _five_in_a_row(ranks: set[int]) -> int:
    """Return the top rank of the highest five-card straight; 0 if there is none."""
    held = ranks | ({1} if ACE in ranks else set())
    return next((top for top in range(ACE, 4, -1) if held.issuperset(range(top - 4, top + 1))), 0)


LimitedWager = Literal["ante", "pair_plus", "side"]


Listed = Literal["nothing", "high_card", "pair", "flush", "straight", "three_of_a_kind", "straight_flush"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedChance:
    """A row of the document's list of hands (T-PROB-1): the number of hands, and their percentage."""

    combinations: AtLeastOne
    per_cent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAfterFold:
    """The effect of a fold on the position's side bet."""

    value: Literal["stands", "forfeited"]
    rule: str
    reason: str


_TWO_POSITIONS = Switch(
    value=True, rule="T-DEAL-1d", reason="the house may let a player bet on two adjacent positions"
)
"""The default for pay table files that lack this setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeCardSettings:
    """The policies of a Three Card Poker table."""

    limits_cents: Mapping[LimitedWager, Limits]
    ante_required: Switch
    """Whether other wagers on a position require an Ante."""
    side_needs_pair_plus: Switch
    """Whether the side bet requires Pair Plus on the same position."""
    side_after_fold: SideAfterFold
    ante_bonus_after_fold: Switch
    """Whether a folded hand still earns the Ante Bonus (!T-6)."""
    pay_unit_cents: Figure
    """Winnings are rounded down to a multiple of this amount."""
    two_positions: Switch = _TWO_POSITIONS
    """Whether a player may bet on two adjacent positions. If not, a player may bet on only one."""

    def __post_init__(self) -> None:
        """Raise ValueError if a wager has no limits."""
        wagers: tuple[LimitedWager, ...] = ("ante", "pair_plus", "side")
        if missing := [wager for wager in wagers if wager not in self.limits_cents]:
            raise ValueError(f"limits for every wager; add {', '.join(missing)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeCardPayTable:
    """The payouts of each wager by kind of hand, and the policies that the document leaves open.

    A kind of hand without a row pays nothing. `flat` is the payout of Ante and Play.
    """

    name: str
    title: str
    flat: Pays
    pair_plus: Mapping[Row, Pays]
    ante_bonus: Mapping[Row, Pays]
    side: Mapping[SideRow, Pays]
    printed_chances: Mapping[Listed, PrintedChance] = field(default_factory=dict)
    settings: ThreeCardSettings


EqualHands = Literal["push", "dealer_wins"]


class Stake(NamedTuple):
    """One wager on a position."""

    id: str
    wager: str
    cents: int

    def lose(self, reason: str) -> Decided:
        """Return the decision for a lost stake."""
        return Decided(self.id, self.wager, "lose", self.cents, 0, 0, reason)

    def back(self, status: Literal["push", "void"], reason: str) -> Decided:
        """Return the decision for a returned stake."""
        return Decided(self.id, self.wager, status, self.cents, 0, self.cents, reason)


Position = Mapping[str, Stake]
"""The wagers on one position, by name: ante, pair_plus, side, play."""


class Showdown:
    """Decides the wagers on each position according to one pay table."""

    def __init__(
        self, table: ThreeCardPayTable, breakage: BreakageLedger, equal: EqualHands = "push"
    ) -> None:
        self._table = table
        self._equal = equal
        self._pay_unit_cents = table.settings.pay_unit_cents.value
        self._breakage = breakage

    def forfeits(self, position: Position) -> Iterator[Decided]:
        """Yield the decisions on the wagers that a fold forfeits (T-RES-1, T-BOTH-2, !T-7)."""
        if not folded(position):
            return
        yield position["ante"].lose("T-RES-1: folded")
        if "pair_plus" in position:
            yield position["pair_plus"].lose("T-BOTH-2: folded with an Ante")
        after = self._table.settings.side_after_fold
        if "side" in position and after.value == "forfeited":
            yield position["side"].lose(f"{after.rule}: folded")

    def reconcile(
        self, position: Position, hand: Sequence[Card], dealer: Sequence[Card]
    ) -> Iterator[Decided]:
        """Yield the decisions on the remaining wagers: Play, Ante Bonus, Ante, Pair Plus, side (T-DEAL-7)."""
        held = strength(hand)
        out = folded(position)
        if "play" in position and "ante" in position:
            yield from self._against_dealer(position["ante"], position["play"], held, strength(dealer))
        elif out and self._table.settings.ante_bonus_after_fold.value:
            yield from self._ante_bonus(position["ante"], held)
        if "pair_plus" in position and not out:
            yield self._pair_plus(position["pair_plus"], held)
        if "side" in position and not (out and self._table.settings.side_after_fold.value == "forfeited"):
            yield self._side(position["side"], hand, dealer)

    def _against_dealer(
        self, ante: Stake, play: Stake, held: Strength, dealer: Strength
    ) -> Iterator[Decided]:
        met = f"{held} against {dealer}"
        bonus = list(self._ante_bonus(ante, held))
        match compare(held, dealer, self._equal):
            case "dealer_does_not_play":
                why = f"T-RES-2: the dealer does not play with {dealer}"
                yield play.back("push", why)
                yield from bonus
                yield self._win(ante, self._table.flat, why)
            case "win":
                yield self._win(play, self._table.flat, f"T-RES-3: {met}")
                yield from bonus
                yield self._win(ante, self._table.flat, f"T-RES-3: {met}")
            case "lose":
                rule = "!T-3" if held == dealer else "T-RES-4"
                yield play.lose(f"{rule}: {met}")
                yield from bonus
                yield ante.lose(f"{rule}: {met}")
            case "push":
                yield play.back("push", f"!T-3: {met}")
                yield from bonus
                yield ante.back("push", f"!T-3: {met}")

    def _ante_bonus(self, ante: Stake, held: Strength) -> Iterator[Decided]:
        """Yield the Ante Bonus, if earned. It depends on the Ante's amount but not on the dealer's hand."""
        earned = row(held)
        pays = self._table.ante_bonus.get(earned) if earned else None
        if pays:
            paid = self._pay(ante.cents, pays)
            reason = f"{pays.rule}: {held} pays {pays.ratio}"
            yield Bonus(ante.id + Bonus.ENDING, "ante_bonus", "win", 0, paid, paid, reason)

    def _pair_plus(self, stake: Stake, held: Strength) -> Decided:
        earned = row(held)
        pays = self._table.pair_plus.get(earned) if earned else None
        return self._win(stake, pays, f"T-PP-1: {held}") if pays else stake.lose(f"T-PP-1: {held}")

    def _side(self, stake: Stake, hand: Sequence[Card], dealer: Sequence[Card]) -> Decided:
        earned = side_row((*hand, *dealer))
        pays = self._table.side.get(earned) if earned else None
        named = earned.replace("_", " ") if earned else "less than three of a kind"
        why = f"T-SIDE-1: the best five of the six cards: {named}"
        return self._win(stake, pays, why) if pays else stake.lose(why)

    def _win(self, stake: Stake, pays: Pays, reason: str) -> Decided:
        paid = self._pay(stake.cents, pays)
        reason = f"{reason}; {pays.rule}: {self._table.name} pays {pays.ratio}"
        return Decided(stake.id, stake.wager, "win", stake.cents, paid, stake.cents + paid, reason)

    def _pay(self, cents: int, pays: Pays) -> int:
        won = payout(cents, pays.ratio, self._pay_unit_cents)
        self._breakage.keep(won)
        return won.paid_cents


def folded(position: Position) -> bool:
    """Return whether a position is folded, which means that it has an Ante without Play."""
    return "ante" in position and "play" not in position
