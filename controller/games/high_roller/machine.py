"""The state machine of High Roller: the button, the cards, the rolls and the winner."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from controller.games.high_roller import buying
from controller.games.high_roller.rolls import (
    Publication,
    RollEffect,
    called,
    corrected,
    decline,
    effect_of,
    game_void,
    illegal,
    roller,
    start_of,
    started,
    under_review,
)
from controller.games.high_roller.table import (
    BUYING,
    HIGH_ROLLER_TABLE,
    ROLLING,
    HighRollerState,
    as_high_roller_state,
)
from controller.machines.agenda import Agenda
from controller.machines.flat import FlatMachine, InputRefused, is_allowed
from controller.machines.health import Health
from controller.machines.lifecycle import Result, StandingCall
from controller.machines.setup import read_memory, to_json_values
from controller.machines.throws import Dice, PlaysThrows, Throws
from controller.model.geometry import DiceTable
from controller.model.outcomes import (
    Bets,
    BonusPaid,
    Data,
    RollDeclined,
    Seat,
)
from controller.model.readings import AnyReading, Card, DeviceDown, DieReleased, Input, Reading
from controller.model.rulesets import Calls, HighRollerRules, ThrowRules
from controller.model.verdicts import Reason

REJECTION_REPORT_US = 8_000_000
"""The minimum time between two published refusals of dice that are thrown while no roll is due."""


class HighRoller(PlaysThrows):
    """The High Roller games of one table."""

    def __init__(
        self,
        throw_rules: ThrowRules,
        rules: HighRollerRules,
        table: DiceTable,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        state: HighRollerState | None = None,
        standing_call: StandingCall | None = None,
        last_roll: int = 0,
        betting_round: int = 1,
        learned: Mapping[str, float] | None = None,
    ) -> None:
        """Start in `state`, after roll `last_roll`.

        `standing_call` is the last roll if it can still be corrected. `learned` holds wall properties learned
        from earlier throws.
        """
        self._rules = rules
        self._agenda = agenda
        self._health = health
        self._state = state or HighRollerState()
        self._machine = FlatMachine(HIGH_ROLLER_TABLE, self._state.stage)
        self._round = betting_round
        self._next_outcomes: tuple[Publication, ...] = ()
        self._rejection_reported_until_us = 0
        self.throws = Throws(
            self, throw_rules, table, agenda, health, calls=calls, last=last_roll, learned=learned
        )
        if standing_call is not None:
            before = read_memory(standing_call.high_roller, as_high_roller_state)
            if before is not None:
                self.throws.resume(standing_call, before)

    # --- the GameMachine interface ---

    def memory(self) -> Mapping[str, object]:
        """Return the state to keep between throws, keyed by the field names of `State`."""
        call, before = self.attempts.standing_call(), self.attempts.before
        if call is not None and isinstance(before, HighRollerState):
            call = msgspec.structs.replace(call, high_roller=to_json_values(before))
        return {"high_roller": to_json_values(self._state), "call": call, "learned": self.throws.learned}

    def next_numbers(self) -> Mapping[str, int]:
        """Return the numbers of the next roll and of the current buying round."""
        return {"roll": self.attempts.number + 1, "round": self._round}

    @property
    def attempt_in_flight(self) -> bool:
        """Whether a throw is in progress or not yet called, or a card is owed."""
        attempts = self.attempts
        return attempts.in_progress or attempts.state == "held" or bool(self._state.owed)

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        if isinstance(reading, Card):
            self._handle_card(reading)
            return
        if isinstance(reading, DeviceDown) and "card" in self._health.sources.get(reading.dev, ()):
            self._state = buying.miss_cards(self._state, self._state.sold)
        if self.open_attempt or (refusal := buying.no_roll_due(self._state)) is None:
            self.throws.receive(reading)
        elif isinstance(reading, DieReleased):
            self._reject(reading, refusal)

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used."""
        if isinstance(reading, Card):
            self._miss(reading, InputRefused("card_late"))
        elif self.open_attempt or buying.no_roll_due(self._state) is None:
            self.throws.late(reading)

    def begins_attempt(self, reading: Reading) -> bool:
        """Return whether this reading begins a throw or, while any cards are owed, is a card."""
        if isinstance(reading, Card):
            return bool(self._state.owed)
        return isinstance(reading, DieReleased) and not self.attempts.in_progress

    def reject_attempt(self, reading: Reading) -> None:
        """Handle a release or a card while the table is not in play."""
        if not isinstance(reading, Card):
            self.throws.reject_attempt(reading)
        elif reading.to is None:
            self._state = buying.miss_cards(self._state)

    def enter(self, entered: Input) -> bool:
        """Handle a person's input and return True, or return False if High Roller has no such input.

        Raise InputRefused if the input is not allowed.
        """
        match entered.name:
            case "draw_button":
                self._draw_button(entered)
            case "buy":
                self._buy(entered)
            case "set_card":
                self._set_card(entered)
            case "start_roll":
                self._start_roll(entered)
            case "decline":
                self._decline(entered)
            case "leave":
                self._leave(entered)
            case "closing":
                self._closing(entered)
            case "void" if entered.what == "game" or not self._concerns_a_roll():
                self._abandon(entered, "declared", f"declared by the {entered.by}")
            case "settled" | "paid" if self._state.stage == "won" and not self._state.over:
                self.attempts.require_attempt(entered)
                self._next_game(entered.t)
            case _:
                return self.attempts.enter(entered)
        return True

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that are allowed at `t`."""
        attempts, allows, state = self.attempts, self._machine.allows, self._state
        roll_inputs = tuple(attempts.allowed(t))
        yield from roll_inputs
        if state.stage == "won" and not state.over and "settled" not in roll_inputs:
            yield "settled"
        if state.stage == "won" and not state.over:
            yield "paid"
        if allows("draw_button"):
            yield "draw_button"
        if allows("start_roll") and is_allowed(partial(buying.require_ready, state)):
            yield "start_roll"
        if allows("decline") and not self.open_attempt and is_allowed(partial(decline, state, self._rules)):
            yield "decline"
        if is_allowed(self._ready_to_sell):
            yield "buy"
        if state.stage == "button_draw" or (state.stage in BUYING and (state.owed or state.cards)):
            yield "set_card"
        if allows("abandon") and state.sold and not self.open_attempt and "void" not in roll_inputs:
            yield "void"
        if set(state.names) - set(state.gone):
            yield "leave"
        if is_allowed(partial(buying.close_hours, state, None)) or is_allowed(
            partial(buying.close_hours, state, 0)
        ):
            yield "closing"

    def reset(self, t: int) -> None:
        """When the table opens, start the draw for the button unless a game is unfinished. Keep the pot."""
        del t
        state = self._state
        if not state.sold or state.stage == "won":
            game = state.game + (state.stage == "won")
            self._set_state(HighRollerState(game=game, pot=state.pot))

    # --- the DiceGame interface ---

    @property
    def warnings(self) -> int:
        """Always 0, because High Roller has no warnings."""
        return 0

    def snapshot(self) -> object:
        """Return the game's state for a later `restore`."""
        return self._state

    def restore(self, snapshot: object) -> None:
        """Restore a state returned by `snapshot`."""
        assert isinstance(snapshot, HighRollerState)
        self._set_state(snapshot)

    def began(self, t: int) -> None:
        """End buying when the dice leave the hand, if the dealer has not already ended it."""
        if self._state.stage in BUYING:
            self._start(t, "dice_released", self._rules.bonus_take_cents)

    def call(self, result: Result[Dice]) -> Data:
        """Apply a roll that counts and return its data."""
        assert result.value is not None
        before = self._state
        effect = self._apply_total(sum(result.value))
        return called(result, before, self._state, effect.call, self._next_outcomes)

    def no_result(self, result: Result[Dice]) -> Data:
        """Return the data of an illegal roll. The same player rolls again (H-LEGAL-4)."""
        self._agenda.inspections.require_after(result.reasons, game_equipment="dice")
        return illegal(result)

    def review(self, result: Result[Dice]) -> Data:
        """Return the data of a roll that needs a person's ruling."""
        return under_review(result)

    def correct(self, result: Result[Dice], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply the corrected roll, reapply the inputs made since the original roll, and return the data."""
        before = self._state
        call = None if result.value is None else self._apply_total(sum(result.value)).call
        for entered in since:
            # An input that the corrected game does not allow is omitted.
            with suppress(InputRefused):
                self._reapply(entered)
        return corrected(
            result,
            before,
            self._state,
            call,
            corrects=corrects,
            ruling=ruling,
            outcomes=self._next_outcomes,
        )

    def follow_up(self, t: int) -> None:
        """Publish the outcomes that follow the roll, and open buying if the roll voided the game."""
        outcomes, self._next_outcomes = self._next_outcomes, ()
        for kind, data in outcomes:
            self._agenda.publish(kind, t, data)
        if self._state.stage in BUYING:
            self._open_bets(t, "result")

    # --- rolling ---

    def _apply_total(self, total: int) -> RollEffect:
        effect = effect_of(self._state, total, self._rules)
        self._apply_effect(effect)
        return effect

    def _apply_effect(self, effect: RollEffect) -> None:
        self._machine.fire(effect.trigger)
        self._state = effect.state.replace(stage=self._machine.state)
        self._next_outcomes = (*self._next_outcomes, *effect.outcomes)

    def _set_state(self, state: HighRollerState) -> None:
        self._state = state
        self._machine.restore(state.stage)

    def _start_roll(self, entered: Input) -> None:
        take = buying.bonus_take(entered.count, self._rules)
        if self._machine.allows("start_roll"):
            buying.require_ready(self._state)
        self._start(entered.t, "dealer", take)

    def _start(self, t: int, cause: str, bonus_take: int) -> None:
        self._machine.fire("start_roll")
        self._state = started(self._state, bonus_take, self._rules)
        notices = self._agenda.inspections.notices()
        self._agenda.publish("bets.closed", t, Bets(round=self._round, cause=cause, notices=notices))
        self._agenda.publish("game.started", t, start_of(self._state, self._rules))

    def _decline(self, entered: Input) -> None:
        if not self._machine.allows("decline"):
            self._machine.fire("decline")
        if self.open_attempt:
            raise InputRefused("under_way")
        player = roller(self._state)
        if entered.seat is not None and str(entered.seat) != player:
            raise InputRefused("not_your_turn", f"it is seat {player}'s turn to roll (H-ORDER-1)")
        state = self._state
        self._apply_effect(decline(state, self._rules))
        self.attempts.keep(msgspec.structs.replace(entered, seat=player))
        self.attempts.note_ruling(entered)
        data = RollDeclined(game=state.game, player=state.seat(player), by=entered.by, who=entered.who)
        self._agenda.publish("roll.declined", entered.t, data)
        self.follow_up(entered.t)

    def _reapply(self, entered: Input) -> None:
        """Apply an input again. A skip applies only if the same player is due to roll."""
        match entered.name:
            case "decline" if roller(self._state) == str(entered.seat):
                self._apply_effect(decline(self._state, self._rules))
            case "leave":
                self._set_state(buying.leave(self._state, str(entered.seat)))
            case "closing":
                self._set_state(buying.close_hours(self._state, entered.count))

    def _concerns_a_roll(self) -> bool:
        attempts = self.attempts
        return attempts.machine.allows("no_roll") and self._state.stage not in BUYING

    def _reject(self, reading: Reading, refused: InputRefused) -> None:
        self.throws.reject_attempt(reading)
        if reading.t < self._rejection_reported_until_us:
            return
        self._rejection_reported_until_us = reading.t + REJECTION_REPORT_US
        self._agenda.refuse_reading(reading, refused.code, refused.message)

    # --- the button and the cards ---

    def _draw_button(self, entered: Input) -> None:
        self._machine.fire("draw_button")
        rank = buying.rank_entered(entered.card, "draw_button")
        self._state = buying.draw(self._state, entered.seat, rank, self._rules)

    def _buy(self, entered: Input) -> None:
        state = self._ready_to_sell()
        count = 1 if entered.count is None else entered.count
        is_re_buy = buying.is_re_buy(state, str(entered.seat))
        sell = buying.buy_again if is_re_buy else buying.buy
        state = sell(state, entered.seat, count, self._rules)
        if self._state.stage == "won":
            self._next_game(entered.t)
        else:
            self._settle_last()
        if self._machine.allows("button_placed"):
            self._machine.fire("button_placed")
        self._machine.fire("re_buy" if is_re_buy else "buy")
        self._state = state
        if count:
            self._agenda.publish("cards.bought", entered.t, buying.bought(state, entered, count))

    def _ready_to_sell(self) -> HighRollerState:
        """Return the state for a sale, with the button placed and the previous game ended.

        Raise InputRefused if no card can be sold.
        """
        state = self._state
        if state.over:
            raise InputRefused("final_game_over")
        if state.stage in ROLLING:
            raise InputRefused("buying_over")
        if state.stage == "won":
            state = buying.next_game(state, button_moves=True)
        return buying.place_button(state, self._rules) if state.stage == "button_draw" else state

    def _handle_card(self, card: Card) -> None:
        try:
            rank = buying.rank_dealt(card)
            buying.require_known_player(self._state, card)
            self._place_card(card, card.to, rank)
        except InputRefused as refused:
            self._miss(card, refused)

    def _miss(self, card: Card, refused: InputRefused) -> None:
        self._agenda.refuse_reading(card, refused.code, refused.message)
        if card.to is None:
            self._state = buying.miss_cards(self._state)

    def _set_card(self, entered: Input) -> None:
        rank = buying.rank_entered(entered.card, "set_card")
        if entered.what is None:
            self._place_card(entered, entered.seat, rank)
            self._state = buying.enter_missed_card(self._state)
            return
        replaced = buying.rank_entered(entered.what, "set_card")
        self._state = buying.replace_card(self._state, entered.seat, rank, replaced, self._rules)
        self._pitched(entered, str(entered.seat), rank, replaced)

    def _place_card(self, seen: Card | Input, seat: Seat | None, rank: int) -> None:
        if self._state.stage == "button_draw":
            self._state = buying.draw(self._state, seat, rank, self._rules)
            return
        self._state, player = buying.pitch(self._state, seat, rank, self._rules)
        self._pitched(seen, player, rank)

    def _pitched(self, seen: Card | Input, name: str, rank: int, replaced: int | None = None) -> None:
        pitched = buying.pitched(self._state, seen, name, rank, replaced)
        self._agenda.publish("card.pitched", seen.t, pitched)

    def _leave(self, entered: Input) -> None:
        name = buying.seat_name(entered.seat, "leave")
        held = self._state.cards.get(name) or self._state.owed.get(name)
        left = buying.leave(self._state, name)
        if held and self._rules.leaver == "void_game" and self._machine.allows("abandon"):
            self._abandon(entered, "left", f"seat {name} left, entered by the {entered.by}")
            left = buying.leave(self._state, name)
        self._set_state(left)
        self.attempts.keep(entered)

    # --- between games ---

    def _next_game(self, t: int) -> None:
        self._settle_last()
        self._machine.fire("next_game")
        self._set_state(buying.next_game(self._state, button_moves=True))
        self._open_bets(t, "result")

    def _settle_last(self) -> None:
        """Settle the last roll, if it is not settled yet, so that it can no longer be corrected."""
        if self.attempts.machine.allows("settled"):
            self.attempts.machine.fire("settled")

    def _open_bets(self, t: int, cause: str) -> None:
        self._round += 1
        self._agenda.publish("bets.opened", t, Bets(round=self._round, cause=cause))

    def _abandon(self, entered: Input, code: str, seen: str) -> None:
        if self.open_attempt:
            raise InputRefused("under_way")
        if not self._machine.allows("abandon"):
            self._machine.fire("abandon")
        state = self._state
        if not state.sold:
            raise InputRefused("no_game")
        reason_text = f": {entered.reason}" if entered.reason else ""
        reason = Reason(code=code, rule="!H-19", seen=seen + reason_text)
        self._machine.fire("abandon")
        self._settle_last()
        self._set_state(buying.next_game(state, button_moves=False))
        kind, data = game_void(state, reason, by=entered.by, who=entered.who)
        self._agenda.publish(kind, entered.t, data)
        if state.stage in ROLLING:
            self._open_bets(entered.t, "game_void")

    def _closing(self, entered: Input) -> None:
        pot = self._state.pot.cents
        self._state = buying.close_hours(self._state, entered.count)
        if self._state.over:
            self._settle_last()
        self.attempts.keep(entered)
        if self._state.over and pot:
            data = BonusPaid(player=None, amount=pot, cause="recorded_as_rake")
            self._agenda.publish("bonus.paid", entered.t, data)
