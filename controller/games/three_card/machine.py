"""The state machine of Three Card Poker, with the betting rounds, the positions and the results."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from controller.games.three_card.deals import Deals
from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import Arrow, FlatMachine, InputRefused, MachineTable
from controller.machines.game import PlaysAttempts
from controller.machines.health import Health
from controller.machines.lifecycle import Result, StandingCall
from controller.machines.setup import to_json_values
from controller.model.conversion import converter_of
from controller.model.outcomes import (
    Awaited,
    Bets,
    Data,
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    SeatResult,
)
from controller.model.readings import AnyReading, Card, Input, Reading
from controller.model.rulesets import Calls, DealRules
from controller.model.verdicts import Dealt, DealVerdict, Notice
from controller.rules.cards.deal import DEALER, left_to_right, position_name
from controller.rules.cards.hands import Card as Face
from controller.rules.cards.hands import announcement, card, compare, strength

THREE_CARD_TABLE = MachineTable(
    name="three_card",
    initial="betting",
    states={
        "betting": "bets are placed; no card is out",
        "no_more_bets": "the dealer has called No More Bets; the first card leaves the shoe next",
        "dealing": "cards are dealt face down to the positions and the dealer",
        "acting": "every position has three cards and plays or folds",
        "showdown": "all positions have acted; the dealer arranges and shows the dealer's hand",
        "reconciling": "the deal is called; hands are reconciled one after another",
    },
    triggers={
        "no_more_bets": "the dealer calls No More Bets",
        "open_bets": "the dealer opens betting again",
        "first_card": "the first card leaves the shoe",
        "cards_out": "the last hand has its third card",
        "all_acted": "the last position plays or folds",
        "hands": "the hands are called",
        "void": "the deal does not count",
        "paid": "every wager is paid or collected",
    },
    arrows=(
        Arrow("no_more_bets", ("betting", "reconciling"), "no_more_bets"),
        Arrow("open_bets", ("no_more_bets",), "betting"),
        Arrow("first_card", ("betting", "no_more_bets", "reconciling"), "dealing"),
        Arrow("cards_out", ("dealing",), "acting"),
        Arrow("all_acted", ("acting",), "showdown"),
        Arrow("hands", ("acting", "showdown"), "reconciling"),
        Arrow("void", ("dealing", "acting", "showdown"), "betting"),
        Arrow("paid", ("reconciling",), "betting"),
    ),
    refusals={
        ("no_more_bets", "no_more_bets"): "bets_closed",
        ("dealing", "no_more_bets"): "bets_closed",
        ("acting", "no_more_bets"): "bets_closed",
        ("showdown", "no_more_bets"): "bets_closed",
        ("betting", "open_bets"): "bets_open",
        ("dealing", "open_bets"): "under_way",
        ("acting", "open_bets"): "under_way",
        ("showdown", "open_bets"): "under_way",
        ("reconciling", "open_bets"): "bets_open",
        ("dealing", "first_card"): "under_way",
        ("acting", "first_card"): "under_way",
        ("showdown", "first_card"): "under_way",
        ("betting", "cards_out"): "not_now",
        ("no_more_bets", "cards_out"): "not_now",
        ("acting", "cards_out"): "not_now",
        ("showdown", "cards_out"): "not_now",
        ("reconciling", "cards_out"): "not_now",
        ("betting", "all_acted"): "no_deal",
        ("no_more_bets", "all_acted"): "no_deal",
        ("dealing", "all_acted"): "not_now",
        ("showdown", "all_acted"): "not_now",
        ("reconciling", "all_acted"): "not_now",
        ("betting", "hands"): "no_deal",
        ("no_more_bets", "hands"): "no_deal",
        ("dealing", "hands"): "not_now",
        ("reconciling", "hands"): "not_now",
        ("betting", "void"): "no_attempt",
        ("no_more_bets", "void"): "no_attempt",
        ("reconciling", "void"): "not_now",
        ("betting", "paid"): "nothing_to_settle",
        ("no_more_bets", "paid"): "nothing_to_settle",
        ("dealing", "paid"): "not_called_yet",
        ("acting", "paid"): "not_called_yet",
        ("showdown", "paid"): "not_called_yet",
    },
)


class ThreeCardState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The game's state between deals, as stored in a recording's header."""

    seats: tuple[str, ...] = ()
    players: dict[str, str] = {}
    without_pair_plus: tuple[str, ...] = ()
    """The positions with an Ante but without Pair Plus, from the settlement engine's last report."""


as_three_card_state = converter_of(ThreeCardState)
"""Converts the JSON values of a recorded state to a ThreeCardState."""


class ThreeCard(PlaysAttempts):
    """The Three Card Poker game of one table."""

    def __init__(
        self,
        rules: DealRules,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        state: ThreeCardState | None = None,
        standing_call: StandingCall | None = None,
        last_deal: int = 0,
        betting_round: int = 1,
        bets_opened_us: int = 0,
    ) -> None:
        """Start in `state`, after deal `last_deal`, with betting round `betting_round` open.

        `bets_opened_us` is the time at which betting opened; 0 if unknown. `standing_call` is the last deal
        if it can still be corrected.
        """
        before = state or ThreeCardState()
        self._rules = rules
        self._agenda = agenda
        self._bets_open = True
        self._opened_us = bets_opened_us
        """The time at which betting last opened; 0 if that was before the first recording."""
        self._closed_us = 0
        """The time at which betting last closed, on the readings' clock."""
        self._stay_closed = False
        self._machine = FlatMachine(THREE_CARD_TABLE)
        self._round = betting_round
        self._players: dict[str, str] = dict(before.players)
        self.seats: tuple[str, ...] = before.seats
        self._without_pair_plus: tuple[str, ...] = before.without_pair_plus
        self.deals = Deals(self, rules, agenda, health, calls=calls, last=last_deal)
        if standing_call is not None:
            self.deals.resume(standing_call, self.snapshot())
            if standing_call.value is not None:
                self._machine.restore("reconciling")

    # --- the GameMachine interface ---

    @property
    def attempts(self) -> Attempts[Dealt, DealVerdict]:
        """This game's attempts, which are deals."""
        return self.deals.attempts

    def memory(self) -> Mapping[str, object]:
        """Return the state to keep between deals, keyed by the field names of `State`."""
        state = ThreeCardState(
            seats=self.seats, players=dict(self._players), without_pair_plus=self._without_pair_plus
        )
        return {"three_card": to_json_values(state), "call": self.deals.standing_call()}

    def next_numbers(self) -> Mapping[str, int]:
        """Return the numbers of the next deal and of the current betting round."""
        return {"deal": self.attempts.number + 1, "round": self._round}

    def awaited(self) -> Awaited | None:
        """Return the deal that a person must rule on or confirm, with the positions that lack a card."""
        return self.deals.awaited()

    def acted(self) -> Mapping[str, str]:
        """Return `play` or `fold` for each position that has acted in the current deal."""
        return self.deals.acted()

    @property
    def bets_opened_us(self) -> int:
        """The time at which betting last opened; 0 if that was before the first recording."""
        return self._opened_us

    @property
    def awaits_play(self) -> bool:
        """Whether Play is accepted: betting is closed, and a position has yet to act (T-DEAL-4)."""
        return self._machine.state in ("no_more_bets", "dealing", "acting")

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        self.deals.receive(reading)

    def begins_attempt(self, reading: Reading) -> bool:
        """Return whether this reading begins a deal."""
        return isinstance(reading, Card) and self.deals.would_begin(reading)

    def reject_attempt(self, reading: Reading) -> None:
        """Handle a card that is dealt while the table is not in play."""
        self.deals.reject_attempt(reading)

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used."""
        self.deals.late(reading)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        self.deals.timer(name, t)

    def enter(self, entered: Input) -> bool:
        """Handle a person's input and return True, or return False if the game has no such input.

        Raise InputRefused if the input is not allowed.
        """
        match entered.name:
            case "seats":
                self._name_seats(entered)
            case "pair_plus" | "play_asked" | "played":
                self._note_bets(entered)
            case "no_more_bets":
                self._machine.fire("no_more_bets")
                self.deals.end_last()
                self._close_bets(entered.t, "dealer")
            case "open_bets":
                self._machine.fire("open_bets")
                self._open_bets(entered.t, "dealer")
            case "play" | "fold":
                self.deals.act(entered)
            case "set_card":
                self.deals.set_card(entered)
            case "settled" | "paid":
                self.attempts.require_attempt(entered)
                self.attempts.settle()
                if self._machine.allows("paid"):
                    self._machine.fire("paid")
            case "accept" if self.deals.has_both:
                self.attempts.require_attempt(entered)
                raise InputRefused("played")
            case _:
                return self.attempts.enter(entered)
        return True

    def _note_bets(self, entered: Input) -> None:
        """Handle the settlement engine's report on wagers."""
        if entered.name == "pair_plus":
            self._without_pair_plus = tuple(map(str, entered.seats or ()))
        elif entered.name == "play_asked" and self.awaits_play:
            self.deals.play_asked(entered)
        elif entered.name == "played" and entered.what == str(self._round):
            self.deals.record_play(entered)

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that are allowed at `t`."""
        attempts = self.attempts
        yield from attempts.allowed(t)
        yield from filter(self._machine.allows, ("no_more_bets", "open_bets"))
        if attempts.machine.allows("settled"):
            yield "paid"
        yield from self.deals.acts()
        if not self.open_attempt:
            yield "seats"

    def reset(self, t: int) -> None:
        """Start a betting round without named positions when the table opens."""
        self._machine.restore(THREE_CARD_TABLE.initial)
        self.attempts.settle_at_opening()
        if not self._bets_open:
            self._open_bets(t, "open_table")
        self.seats = ()
        self._players.clear()
        self.deals.forget_play()

    # --- the CardGame interface ---

    def snapshot(self) -> object:
        """Return the state for a later `restore`. A deal changes only the state of the machine."""
        return "showdown"

    def restore(self, snapshot: object) -> None:
        """Restore a state returned by `snapshot`."""
        self._machine.restore(str(snapshot))

    def began(self, t: int) -> None:
        """Close betting when the first card is out (T-DEAL-2)."""
        if not self._machine.allows("first_card"):
            self._machine.restore(THREE_CARD_TABLE.initial)
        self._machine.fire("first_card")
        if self._bets_open:
            self._close_bets(t, "first_card")

    def note_late(self, t: int) -> None:
        """Close betting as of `t`, the time of a card with a delayed report (T-DEAL-2).

        If betting closed after `t`, it closes again as of `t`, and bets made in between are returned. A card
        from before betting opened has no effect.
        """
        if t <= self._opened_us or (not self._bets_open and t >= self._closed_us):
            return
        if self._machine.allows("no_more_bets"):
            self._machine.fire("no_more_bets")
        self._close_bets(t, "first_card")

    def cards_out(self) -> None:
        """Allow the positions to play or fold, because each has its cards (T-DEAL-4)."""
        if self._machine.allows("cards_out"):
            self._machine.fire("cards_out")

    def all_acted(self) -> None:
        """Begin the showdown, because every position has acted (T-DEAL-6)."""
        if self._machine.allows("all_acted"):
            self._machine.fire("all_acted")

    def call(self, result: Result[Dealt]) -> Data:
        """Apply the hands and return the data of the call, with results in reconciling order (T-DEAL-7)."""
        assert result.value is not None
        self._without_pair_plus = ()
        self._show()
        dealt = arranged(result.value)
        dealer = strength(_faces(dealt.dealer))
        return DealCalled(
            deal=result.number,
            hands=dealt.hands,
            dealer=dealt.dealer,
            folds=dealt.folds,
            qualifies=dealer.qualifies,
            announcement=announcement(dealer),
            results=self._results(dealt),
            grade=result.grade,
            notices=result.notices,
            by=result.by,
            who=result.who,
        )

    def no_result(self, result: Result[Dealt]) -> Data:
        """Apply a void deal and return its data. Its cards are reshuffled (T-IRR-1)."""
        self._agenda.inspections.require_after(result.reasons, game_equipment="shoe")
        self._without_pair_plus = ()
        self._machine.restore(THREE_CARD_TABLE.initial)
        return DealVoid(
            deal=result.number,
            reasons=result.reasons,
            by=result.by or "sensors",
            who=result.who,
            notices=result.notices,
        )

    def review(self, result: Result[Dealt]) -> Data:
        """Return the data of a deal that needs a person's ruling."""
        return DealReview(deal=result.number, reasons=result.reasons, notices=result.notices)

    def correct(self, result: Result[Dealt], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply a ruling that replaces the call, and return its data. Betting that is closed stays closed."""
        del since
        self._stay_closed = not self._bets_open
        corrected = DealCorrected(
            deal=result.number,
            corrects=corrects,
            ruling=ruling,
            by=result.by or "",
            who=result.who,
            reasons=result.reasons,
        )
        if result.value is None:
            self._machine.fire("void")
            return corrected
        self._show()
        dealt = arranged(result.value)
        dealer = strength(_faces(dealt.dealer))
        return msgspec.structs.replace(
            corrected,
            hands=dealt.hands,
            dealer=dealt.dealer,
            folds=dealt.folds,
            qualifies=dealer.qualifies,
            announcement=announcement(dealer),
            results=self._results(dealt),
        )

    def follow_up(self, t: int) -> None:
        """Open betting again, unless the dealer had closed it before a correction (T-DEAL-2)."""
        if self._stay_closed:
            self._stay_closed = False
            self._machine.restore("no_more_bets")
        elif not self._bets_open:
            self._open_bets(t, "result")

    # --- the rules of the game ---

    def _show(self) -> None:
        if not self._machine.allows("hands"):
            self._machine.restore("showdown")
        self._machine.fire("hands")

    def _results(self, dealt: Dealt) -> tuple[SeatResult, ...]:
        dealer = strength(_faces(dealt.dealer))
        seats = left_to_right(dealt.hands)
        if self._rules.reconcile_from == "right":
            seats = seats[::-1]
        standing = [seat for seat in seats if seat not in dealt.folds]
        hands = {seat: strength(_faces(dealt.hands[seat])) for seat in seats}
        met = {seat: compare(hands[seat], dealer, self._rules.equal_hands) for seat in standing}
        return (
            *(SeatResult(seat=s, hand=str(hands[s]), result=met[s]) for s in standing),
            *(SeatResult(seat=s, hand=str(hands[s]), result="fold") for s in dealt.folds),
        )

    def _name_seats(self, entered: Input) -> None:
        """Record the positions dealt in or, with `what`, the positions of one player (T-DEAL-1d)."""
        if self.open_attempt:
            raise InputRefused("under_way")
        named = [position_name(seat) for seat in entered.seats or ()]
        positions = left_to_right(seat for seat in named if seat is not None)
        if not positions or DEALER in positions or len(positions) != len(named) or "" in positions:
            raise InputRefused(
                "bad_argument",
                "`seats` must list the positions that are dealt in, each exactly once; enter them again",
            )
        self.deals.end_last()
        if entered.what is None:
            self.seats = positions
            self._players = {seat: who for seat, who in self._players.items() if seat in positions}
            return
        self._check_positions(positions, entered.what)
        self.seats = left_to_right((*self.seats, *positions))
        self._players |= dict.fromkeys(positions, entered.what)

    def _check_positions(self, positions: tuple[str, ...], player: str) -> None:
        """Raise InputRefused if the player may not have these positions as well as those already named."""
        others = {seat for seat, who in self._players.items() if who == player}
        together = left_to_right({*positions, *others})
        if len(together) > self._rules.positions_per_player:
            raise InputRefused("too_many_positions")
        numbers = [int(seat) for seat in together if seat.isdecimal() and seat.isascii()]
        adjacent = len(numbers) == len(together) and numbers[-1] - numbers[0] == len(numbers) - 1
        if len(together) > 1 and not adjacent:
            raise InputRefused("too_many_positions", "a player's two positions must be adjacent (T-DEAL-1d)")

    # --- the bets ---

    def _close_bets(self, t: int, cause: str) -> None:
        self._bets_open = False
        self._closed_us = t
        self._agenda.set_lamp(t, "no_more_bets", "on")
        notices = (*self._agenda.inspections.notices(), *self._pair_plus_notices())
        self._agenda.publish("bets.closed", t, Bets(round=self._round, cause=cause, notices=notices))

    def _pair_plus_notices(self) -> Iterator[Notice]:
        """Yield the notice that asks the dealer to name the positions without Pair Plus (T-DEAL-2b).

        There is no notice without a report from the settlement engine.
        """
        if self._without_pair_plus:
            seen = f"name the positions without Pair Plus: {', '.join(self._without_pair_plus)}"
            yield Notice(code="without_pair_plus", seen=seen, rule="T-DEAL-2b")

    def _open_bets(self, t: int, cause: str) -> None:
        self._bets_open = True
        self._opened_us = t
        self._round += 1
        self.deals.forget_play()
        self._agenda.set_lamp(t, "no_more_bets", "off")
        self._agenda.publish("bets.opened", t, Bets(round=self._round, cause=cause))


def arranged(dealt: Dealt) -> Dealt:
    """Return the deal with the dealer's hand sorted, highest card first (T-DEAL-6)."""
    dealer = sorted(dealt.dealer, key=lambda text: _faces((text,)), reverse=True)
    return msgspec.structs.replace(dealt, dealer=tuple(dealer))


def _faces(texts: tuple[str, ...]) -> tuple[Face, ...]:
    return tuple(found for text in texts if (found := card(text)) is not None)
