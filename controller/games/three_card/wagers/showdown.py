"""What a deal decides: each position's wagers against the dealer's hand and the pay tables, in order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from controller.games.three_card.wagers.paytable import (
    Card,
    Strength,
    ThreeCardPayTable,
    row,
    side_row,
    strength,
)
from controller.rules.cards.hands import compare
from controller.settlement.book import Bonus, Decided
from controller.settlement.paytable import BreakageLedger, Pays, payout

EqualHands = Literal["push", "dealer_wins"]


class Stake(NamedTuple):
    """One wager on a position."""

    id: str
    wager: str
    cents: int

    def lose(self, reason: str) -> Decided:
        """The stake is gone."""
        return Decided(self.id, self.wager, "lose", self.cents, 0, 0, reason)

    def back(self, status: Literal["push", "void"], reason: str) -> Decided:
        """The stake goes back, no more and no less."""
        return Decided(self.id, self.wager, status, self.cents, 0, self.cents, reason)


Position = Mapping[str, Stake]
"""The wagers on one position: ante, pair_plus, side, play."""


class Showdown:
    """Decides the wagers of one pay table."""

    def __init__(
        self, table: ThreeCardPayTable, breakage: BreakageLedger, equal: EqualHands = "push"
    ) -> None:
        self._table = table
        self._equal = equal
        self._pay_unit_cents = table.settings.pay_unit_cents.value
        self._breakage = breakage

    def forfeits(self, position: Position) -> Iterator[Decided]:
        """Collect what a fold gives up (T-RES-1, T-BOTH-2, !T-7); nothing if the position plays on."""
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
        """Settle what is left: Play, Ante Bonus, Ante, Pair Plus, side (T-DEAL-7)."""
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
                why = f"T-RES-2: dealer doesn't play, {dealer}"
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
        """Pay the bonus on the Ante's amount whatever the dealer has; it has no stake of its own."""
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
        why = f"T-SIDE-1: the best of the six cards is {named}"
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
    """Return whether a position is given up: an Ante without Play is a fold."""
    return "ante" in position and "play" not in position
