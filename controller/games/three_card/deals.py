"""Deals of cards, from the first card to the judgement.

The judge is in `controller.rules.cards`. Its final verdict is used, and cards are revealed, only after every
position has played or folded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import InputRefused
from controller.machines.health import Health
from controller.machines.lifecycle import DEAL, Decided, Results, StandingCall
from controller.model.effects import Basis
from controller.model.outcomes import Awaited
from controller.model.readings import Card, DeviceDown, DeviceFault, Input, Reading
from controller.model.rulesets import Calls, DealRules
from controller.model.verdicts import Dealt, DealVerdict, Reason, Ruling
from controller.rules.cards.deal import (
    CARDS_EACH,
    Act,
    Layout,
    build_layout,
    fill,
    judge_deal,
    left_to_right,
    opens_shoe,
    position_name,
)

ACTING_ROLES = frozenset({"player", "guest"})
"""The roles that may play or fold, but may not change the decision afterwards."""
SECOND_US = 1_000_000
RUNS_ON_US = 4_000_000
"""Cards dealt within this time of a void deal belong to it, because the dealer might not have stopped."""
PLAY_DECIDED_US = 10 * SECOND_US
"""The minimum time from a request for Play to a fold on the same position.

By then the settlement engine has granted or refused Play, and its report `played` has arrived. The table's
statement takes up to 0.6 s, and the engine's database up to 5 s.
"""


class CardGame(Results[Dealt], Protocol):
    """The card game's part in the life cycle of its deals."""

    @property
    def seats(self) -> Sequence[str]:
        """The positions that are dealt in; empty if none are named."""

    def note_late(self, t: int) -> None:
        """Handle the delayed report of a card that left the shoe at `t`."""

    def cards_out(self) -> None:
        """Handle the last card of the deal. Every position now has three cards."""

    def all_acted(self) -> None:
        """Handle the last play or fold. Every position has now acted."""


class Deals:
    """The deals of one table, from the first card to the ruling."""

    def __init__(
        self,
        game: CardGame,
        rules: DealRules,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        last: int = 0,
    ) -> None:
        self._game = game
        self._rules = rules
        self._agenda = agenda
        self._health = health
        self._readings: list[Reading] = []
        self._basis = Basis(decided_at_us=0)
        self._found_first: tuple[Reason, ...] = ()
        self._found: tuple[Reason, ...] = ()
        self._seats: tuple[str, ...] = ()
        self._runs_on_from_us: int | None = None
        self._late = ""
        self._play_asked: dict[str, int] = {}
        """For each position, the time of the settlement engine's request for Play, which delays a fold."""
        self._nonces: set[str | None] = set()
        """The nonces of the settlement engine's requests. Each nonce is used once."""
        self._played: set[str] = set()
        """The positions for which the settlement engine has reported Play. They can't fold."""
        self._last_played: frozenset[str] = frozenset()
        """The positions with Play in the last decided deal, for later rulings on that deal."""
        self.attempts: Attempts[Dealt, DealVerdict] = Attempts(
            DEAL, game, self, agenda, rules, calls=calls, last=last
        )

    def standing_call(self) -> StandingCall | None:
        """Return the deal that can still be corrected, with its cards; None if there is none."""
        call = self.attempts.standing_call()
        if call is None:
            return None
        cards = tuple(reading for reading in self._readings if isinstance(reading, Card | Input))
        return msgspec.structs.replace(
            call, seats=self._seats, cards=cards, played=left_to_right(self._last_played)
        )

    def resume(self, call: StandingCall, before: object) -> None:
        """Continue from a deal that can still be corrected. `before` is the game's state before the deal."""
        self.attempts.resume(call, call.value if isinstance(call.value, Dealt) else None, before)
        self._seats = call.seats
        self._readings = list(call.cards)
        self._last_played = frozenset(call.played)

    # --- readings, timers and inputs ---

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        attempts = self.attempts
        if isinstance(reading, Card) and self.would_begin(reading):
            self._begin(reading)
        elif isinstance(reading, Card) and not attempts.open:
            self._runs_on_from_us = reading.t
        elif attempts.open and (isinstance(reading, Card | DeviceDown | DeviceFault) or opens_shoe(reading)):
            self._readings.append(reading)
            self._judge_after(reading)

    def late(self, reading: Reading) -> None:
        """Handle a reading that arrived too late to be used. If it is a card, its position is unknown."""
        if not isinstance(reading, Card):
            return
        if not self.attempts.open and not self.would_begin(reading):
            self._runs_on_from_us = max(self._runs_on_from_us or 0, reading.t)
            return
        self._game.note_late(reading.t)
        self._late = f"a card from {reading.dev} was reported too late to be assigned to a position"
        self.attempts.note_late(self._late)

    def would_begin(self, card: Card) -> bool:
        """Return whether this card begins a deal. If not, it belongs to the current or last deal."""
        attempts = self.attempts
        if attempts.in_progress or attempts.state == "held":
            return False
        if not attempts.open:
            from_us = self._runs_on_from_us
            return from_us is None or card.t - from_us > RUNS_ON_US
        cards = [reading for reading in self._readings if isinstance(reading, Card)]
        wanted = CARDS_EACH * len(self._layout().positions)
        quiet_us = round(self._rules.act_timeout_s * SECOND_US)
        return len(cards) >= wanted or card.t - cards[-1].t > quiet_us

    def reject_attempt(self, card: Reading) -> None:
        """Handle the first card of a deal that must not be judged. Later cards belong to the same deal."""
        self._runs_on_from_us = card.t

    def end_last(self) -> None:
        """End the last deal, so that further cards belong to the next one."""
        self._runs_on_from_us = None

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        if name == "hold":
            self.attempts.make_call()
        elif name == "deal" and self.attempts.in_progress:
            self._decide(t, self._judge(t))

    def act(self, entered: Input) -> None:
        """Handle a position's play or fold. Raise InputRefused if it is not allowed."""
        attempts = self.attempts
        attempts.require_attempt(entered)
        if attempts.state in ("called", "settled"):
            if entered.by in ACTING_ROLES:
                raise InputRefused("has_acted")
            if entered.name == "fold" and position_name(entered.seat) in self._last_played:
                raise InputRefused("played")
            attempts.set_result(entered)
            return
        if not attempts.open:
            raise InputRefused("no_deal")
        layout = self._layout()
        position = self._position_in(layout, entered)
        before = layout.acts.get(position)
        if before == _act_of(entered):
            raise InputRefused("no_change")
        if before is not None and entered.by in ACTING_ROLES:
            raise InputRefused("has_acted")
        self._check_fold(position, entered)
        self._add_input(entered)

    def _check_fold(self, position: str, entered: Input) -> None:
        """Raise InputRefused for a fold on a position with Play or with a request for Play (T-DEAL-4).

        Staff may fold a position with a request once `PLAY_DECIDED_US` has passed since the request.
        """
        if entered.name != "fold":
            return
        if position in self._played:
            raise InputRefused("played")
        requested_us = self._play_asked.get(position)
        if requested_us is None:
            return
        if entered.by in ACTING_ROLES:
            raise InputRefused("play_asked")
        wait_us = requested_us + PLAY_DECIDED_US - entered.t
        if wait_us > 0:
            wait_s = -(-wait_us // SECOND_US)
            message = (
                f"Play was requested here and might still be granted; enter the fold again in {wait_s} s"
            )
            raise InputRefused("play_asked", message)

    def play_asked(self, entered: Input) -> None:
        """Record a request for Play on the positions that have not folded (T-DEAL-4).

        The table first records the request and then signs the statement that permits Play. A position
        therefore can't be folded while its Play is being decided.
        """
        if entered.what in self._nonces:
            return  # A repeated request must not make the dealer wait again.
        self._nonces.add(entered.what)
        folded = self._folded
        for seat in entered.seats or ():
            position = position_name(seat)
            if position is not None and position not in folded:
                self._play_asked[position] = entered.t

    def record_play(self, entered: Input) -> None:
        """Record the positions with Play. If the dealer has already folded one, the deal goes to review."""
        positions = [name for seat in entered.seats or () if (name := position_name(seat)) is not None]
        self._played.update(positions)
        folded = self._folded
        both = [position for position in positions if position in folded]
        if both:
            have = "has" if len(both) == 1 else "have"
            self.attempts.note_late(f"{_were_folded(both)} but {have} a Play wager (T-DEAL-4)")

    def _unanswered(self) -> str:
        """Return the reason to check folds on positions that might have Play; empty if there is none.

        On these positions, the settlement engine requested Play and did not report the result (T-DEAL-4).
        """
        folded = left_to_right(seat for seat in self._folded if seat in self._play_asked)
        if not folded:
            return ""
        return (
            f"{_were_folded(folded)}, but Play was requested there and the settlement engine"
            " did not report whether it was granted (T-DEAL-4); check the player's account, then accept the"
            " deal or enter play"
        )

    @property
    def _folded(self) -> tuple[str, ...]:
        acts = self._layout().acts if self.attempts.open else {}
        return tuple(position for position, act in acts.items() if act == "fold")

    @property
    def has_both(self) -> bool:
        """Whether a position has both Play and a fold, in which case the current deal can't be called."""
        return not self._played.isdisjoint(self._folded)

    def forget_play(self) -> None:
        """Discard all requests for Play and all reports of Play, because their betting round is over."""
        self._play_asked.clear()
        self._nonces.clear()
        self._played.clear()

    def set_card(self, entered: Input) -> None:
        """Handle a card that a person enters because the shoe misread or missed it.

        Raise InputRefused if the card can't be entered.
        """
        if not self.attempts.open:
            self.attempts.set_result(entered)
            return
        self.attempts.require_attempt(entered)
        entered = self._without_number(entered)
        self._check_card(entered)
        self._add_input(entered)

    def _begin(self, first: Card) -> None:
        self.attempts.begin(first.t)
        self.end_last()
        self._readings = [*self._health.down.values(), first]
        self._seats = tuple(self._game.seats)
        if self._late:
            self.attempts.note_late(self._late)
        self._judge_after(first)

    def _judge_after(self, reading: Reading) -> None:
        """Judge the deal after a reading. A deal that is certainly void ends immediately."""
        attempts = self.attempts
        verdict = self._judge(reading.t)
        if attempts.state in ("review", "proposed"):
            self._reconsider(reading.t, verdict)
        elif verdict.ruling is Ruling.VOID or attempts.state == "held":
            self._decide(reading.t, verdict)
        else:
            self._advance(reading.t, verdict, new_card=isinstance(reading, Card))

    def _add_input(self, entered: Input) -> None:
        attempts = self.attempts
        readings = [*self._readings, entered]
        if attempts.in_progress:
            self._readings = readings
            self._advance(entered.t, self._judge(entered.t), new_card=False)
            return
        verdict = self._judge(entered.t, readings)
        self._readings = readings
        if attempts.state == "held":
            self._decide(entered.t, verdict)
            return
        self._reconsider(entered.t, verdict)
        if verdict.ruling is Ruling.VALID and attempts.state == "review" and not self.has_both:
            # The `what` of `set_card` names the card to be replaced, not a deal.
            what = None if entered.name == "set_card" else entered.what
            attempts.enter(msgspec.structs.replace(entered, name="accept", what=what))

    def _advance(self, t: int, verdict: DealVerdict, *, new_card: bool) -> None:
        layout = self._layout()
        if layout.all_dealt:
            self._game.cards_out()
        if layout.all_dealt and layout.all_acted:
            self._game.all_acted()
            self._decide(t, verdict)
        elif new_card or layout.all_dealt:
            wait_s = self._rules.act_timeout_s if layout.all_dealt else self._rules.deal_timeout_s
            self._agenda.set_timer("deal", t + round(wait_s * SECOND_US))

    def _decide(self, t: int, verdict: DealVerdict) -> None:
        self._found_first = self._found = verdict.reasons
        self._agenda.stop_timer("deal")
        self._note_basis(t)
        # A void deal returns all stakes, including those of folded positions.
        doubt = "" if verdict.ruling is Ruling.VOID else self._unanswered()
        self.attempts.on_verdict(t, verdict, doubt)

    def _reconsider(self, t: int, verdict: DealVerdict) -> None:
        self._found = verdict.reasons
        self._note_basis(t)
        self.attempts.reconsider(verdict)

    def _note_basis(self, t: int, called: Reason | None = None) -> None:
        self._basis = Basis(decided_at_us=t, called=called, sources=dict(self._health.sources))

    # --- the layout of the deal ---

    def _layout(self, readings: Sequence[Reading] | None = None) -> Layout:
        return build_layout(self._readings if readings is None else readings, self._seats, self._rules.order)

    def _judge(
        self, t: int, readings: Sequence[Reading] | None = None, *, called: Reason | None = None
    ) -> DealVerdict:
        return judge_deal(
            self._readings if readings is None else readings,
            self._seats,
            self._rules,
            decided_at_us=t,
            sources=self._health.sources,
            called=called,
        )

    def _position_in(self, layout: Layout, entered: Input) -> str:
        position = position_name(entered.seat)
        if position not in layout.seats:
            seats = ", ".join(layout.seats) or "none yet"
            raise InputRefused(
                "bad_argument", f"{entered.name} needs a position in this deal ({seats}); enter it again"
            )
        return position

    def _without_number(self, entered: Input) -> Input:
        """Return the input without the deal's number. Its `what` then names only the card to be replaced."""
        return msgspec.structs.replace(entered, what=self.attempts.terms.part_named(entered))

    def _check_card(self, entered: Input) -> None:
        layout = self._layout()
        filled = fill(layout.hands, entered)
        if filled is None:
            raise InputRefused("bad_argument", SET_CARD_NEEDS)
        position, hand = filled
        if not layout.directed and len(hand) > len(layout.hands[position]):
            raise InputRefused("order_broken")

    # --- the AttemptJudge interface ---

    def value_of(self, verdict: DealVerdict) -> Dealt | None:
        """Return the complete deal; None if any part of it is unknown."""
        return verdict.dealt

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether a card can be entered.

        After a decision, this requires that all cards are out and all positions have acted.
        """
        del t
        layout = self._layout()
        return self.attempts.open or (layout.all_dealt and layout.all_acted)

    def acts(self) -> Iterator[str]:
        """Yield `play` if any position has not played, and `fold` if any position has not folded.

        Between deals, yield nothing.
        """
        if self.attempts.open or self.attempts.state == "called":
            layout = self._layout()
            done = [layout.acts.get(position) for position in layout.seats]
            yield from (act for act in ("play", "fold") if any(each != act for each in done))

    def acted(self) -> Mapping[str, str]:
        """Return `play` or `fold` for each position that has acted. Empty between deals."""
        return dict(self._layout().acts) if self.attempts.open or self.attempts.state == "called" else {}

    def value_entered(self, entered: Input) -> Dealt:
        """Return the deal as changed by a person's input. Raise InputRefused if it is still incomplete."""
        entered = self._without_number(entered)
        if entered.name == "set_card":
            self._check_card(entered)
        else:
            self._position_in(self._layout(), entered)
        readings = [*self._readings, entered]
        dealt = self._judge(entered.t, readings).dealt
        if dealt is None:
            raise InputRefused(
                "bad_argument",
                "the deal would still be incomplete; first enter the missing cards, plays and folds",
            )
        self._readings = readings
        return dealt

    def awaited(self) -> Awaited | None:
        """Return the deal that awaits a person's decision; None if there is none.

        A review also lists the positions that lack a card, and the cards that a person has entered.
        """
        awaited = self.attempts.awaited()
        if awaited is None:
            return None
        kept = [
            reason for reason in awaited.reasons if reason in self._found or reason not in self._found_first
        ]
        new = [reason for reason in self._found if reason not in kept]
        layout = self._layout()
        lacks, entered = (
            (layout.positions_lacking_card, layout.entered) if awaited.state == "review" else ((), ())
        )
        return msgspec.structs.replace(awaited, reasons=(*kept, *new), lacks=lacks, entered=entered)

    def judge(self, t: int, called: Reason | None) -> DealVerdict:
        """Judge the current deal on the readings so far."""
        verdict = self._judge(t, called=called)
        self._note_basis(t, called)
        return verdict

    def readings(self) -> tuple[Reading, ...]:
        """Return all readings and inputs of the current deal."""
        return tuple(self._readings)

    def basis(self) -> Basis:
        """Return the data, other than the readings, on which the last verdict was based."""
        return self._basis

    @property
    def last_entry(self) -> Input | None:
        """The last card that a person entered; None if there is none."""
        by_hand = [r for r in self._readings if isinstance(r, Input) and r.name == "set_card"]
        return by_hand[-1] if by_hand else None

    def on_decision(self, decided: Decided) -> None:
        """Stop the deal's timer. The missing cards of a void deal might still leave the shoe."""
        self._agenda.stop_timer("deal")
        if decided != "review":
            self._late = ""
            self._play_asked.clear()
            self._nonces.clear()
            self._last_played = frozenset(self._played)
        if decided in ("void", "lapsed"):
            cards = [reading.t for reading in self._readings if isinstance(reading, Card)]
            self._runs_on_from_us = cards[-1] if cards and not self._layout().all_dealt else None


SET_CARD_NEEDS = (
    "set_card needs the card's rank and suit, its position and, if it replaces a card, that card in `what`;"
    " enter it again"
)


def _were_folded(positions: Sequence[str]) -> str:
    if len(positions) == 1:
        return f"position {positions[0]} was folded"
    return f"positions {', '.join(positions[:-1])} and {positions[-1]} were folded"


def _act_of(entered: Input) -> Act:
    return "play" if entered.name == "play" else "fold"
