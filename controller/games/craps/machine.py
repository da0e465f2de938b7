"""The state machine of craps: the phases, the shooter, the puck, and the betting rounds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from controller.games.craps.late_wagers import LateWagers
from controller.machines.agenda import Agenda
from controller.machines.flat import Arrow, FlatMachine, InputRefused, MachineTable
from controller.machines.health import Health
from controller.machines.lifecycle import Result, StandingCall
from controller.machines.setup import read_memory, to_json_values
from controller.machines.throws import Dice, PlaysThrows, Throws
from controller.model.conversion import converter_of
from controller.model.geometry import DiceTable
from controller.model.outcomes import (
    Bets,
    CrapsCall,
    Data,
    DiceOut,
    Phase,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    Seat,
    ShooterChanged,
)
from controller.model.readings import Input
from controller.model.rulesets import Calls, CrapsRules, ThrowRules
from controller.model.verdicts import Notice, Reason

NATURALS = (7, 11)
CRAPS = (2, 3, 12)

CRAPS_TABLE = MachineTable(
    name="craps",
    initial="come_out",
    states={
        "come_out": "no point is on; the next roll is a come-out roll",
        "point": "a point is on; it must be rolled again before a 7",
        "run_out": "the shooter has no line bet; rolls decide only Come and Don't Come bets and set no point",
    },
    triggers={
        "natural": "7 or 11 on a come-out roll or in a run-out",
        "craps": "2, 3 or 12 on a come-out roll or in a run-out",
        "point_set": "4, 5, 6, 8, 9 or 10 on a come-out roll",
        "point_made": "the point is rolled again",
        "seven_out": "7 with a point on",
        "no_decision": "any other total",
        "run_out": "the boxperson begins a run-out",
        "run_out_over": "a 7, a new shooter or the boxperson ends the run-out",
    },
    arrows=(
        Arrow("natural", ("come_out",), "come_out"),
        Arrow("natural", ("run_out",), "run_out"),
        Arrow("craps", ("come_out",), "come_out"),
        Arrow("craps", ("run_out",), "run_out"),
        Arrow("point_set", ("come_out",), "point"),
        Arrow("point_made", ("point",), "come_out"),
        Arrow("seven_out", ("point",), "come_out"),
        Arrow("no_decision", ("point",), "point"),
        Arrow("no_decision", ("run_out",), "run_out"),
        Arrow("run_out", ("come_out",), "run_out"),
        Arrow("run_out_over", ("run_out",), "come_out"),
    ),
    refusals={
        ("point", "natural"): "impossible_call",
        ("point", "craps"): "impossible_call",
        ("point", "point_set"): "impossible_call",
        ("run_out", "point_set"): "impossible_call",
        ("come_out", "point_made"): "impossible_call",
        ("run_out", "point_made"): "impossible_call",
        ("come_out", "seven_out"): "impossible_call",
        ("run_out", "seven_out"): "impossible_call",
        ("come_out", "no_decision"): "impossible_call",
        ("point", "run_out"): "run_out_needs_come_out",
        ("run_out", "run_out"): "no_change",
        ("come_out", "run_out_over"): "no_change",
        ("point", "run_out_over"): "no_change",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsState:
    """The game's state: the phase, the point, the shooter, and the shooter's warnings and invalid rolls."""

    phase: str = "come_out"
    point: int | None = None
    shooter: Seat | None = None
    warnings: int = 0
    invalid_rolls: int = 0


as_craps_state = converter_of(CrapsState)
"""Converts the JSON values of a recorded state to a CrapsState."""


class Craps(PlaysThrows):
    """The craps game of one table."""

    def __init__(
        self,
        throw_rules: ThrowRules,
        rules: CrapsRules,
        table: DiceTable,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        state: CrapsState | None = None,
        standing_call: StandingCall | None = None,
        last_roll: int = 0,
        betting_round: int = 1,
        line_bet: tuple[Seat, bool] | None = None,
        learned: Mapping[str, float] | None = None,
    ) -> None:
        """Start in `state`, after roll `last_roll`, with betting round `betting_round` open.

        `standing_call` is the last roll if it can still be corrected. `line_bet` is the settlement engine's
        latest report on a shooter's line bet. `learned` holds wall properties learned from earlier throws.
        """
        self._line_bet = line_bet
        self._late = LateWagers()
        self._rules = rules
        self._causes: Mapping[str, str] = throw_rules.causes
        self._agenda = agenda
        self._state = state or CrapsState()
        self._published_shooter: Seat | None = self._state.shooter
        self._shooter_cause: str | None = None
        self._machine = FlatMachine(CRAPS_TABLE, self._state.phase)
        self._line_bet_shown = "missing" if self._lacks_line_bet else "off"
        self._bets_open = True
        self._round = betting_round
        self.throws = Throws(
            self, throw_rules, table, agenda, health, calls=calls, last=last_roll, learned=learned
        )
        if standing_call is not None:
            before = read_memory(standing_call.craps, as_craps_state)
            if before is not None:
                self.throws.resume(standing_call, before)

    # --- the GameMachine interface ---

    @property
    def dice_out(self) -> DiceOut | None:
        """The late wagers confirmed in the open throw, and the last time at which both dice moved.

        None if no throw is open (C34-MK-1b). The time is None if it is unknown or no wager is confirmed.
        """
        if not self.open_attempt:
            return None
        confirmed = self._late.confirmed
        return DiceOut(confirmed, self.throws.motion.until_us if confirmed else None)

    def memory(self) -> Mapping[str, object]:
        """Return the state to keep between throws, keyed by the field names of `State`."""
        state = self._state
        call, before = self.attempts.standing_call(), self.attempts.before
        if call is not None and isinstance(before, CrapsState):
            call = msgspec.structs.replace(call, craps=to_json_values(before))
        return {
            "point": state.point,
            "shooter": state.shooter,
            "warnings": state.warnings,
            "invalid_rolls": state.invalid_rolls,
            "run_out": state.phase == "run_out",
            "call": call,
            "line_bet": self._line_bet,
            "learned": self.throws.learned,
        }

    def next_numbers(self) -> dict[str, int]:
        """Return the numbers of the next roll and of the current betting round."""
        return {"roll": self.attempts.number + 1, "round": self._round}

    def enter(self, entered: Input) -> bool:
        """Handle an input and return True, or return False if craps has no such input.

        Raise InputRefused if the input is not allowed.
        """
        if entered.name == "line_bet":
            self._line_bet = None if entered.seat is None else (str(entered.seat), entered.on is True)
            self._show_line_bet(entered.t)
            return True
        if entered.name == "late_wager":
            if self.attempts.in_progress:
                self._late.lodge(entered)
            return True
        if entered.name == "confirm_late":
            in_progress = self.attempts.in_progress
            in_motion = in_progress and not self.throws.motion.over
            self._agenda.answer = self._late.confirm(entered, in_motion=in_motion)
            return True
        if entered.name not in _BETWEEN_THROWS:
            return self.attempts.enter(entered)
        if self.open_attempt:
            raise InputRefused("under_way")
        self._check_between_throws(entered)
        self._apply_between_throws(entered)
        self.attempts.keep(entered)
        self._publish_shooter(entered.t, entered)
        self._show_puck(entered.t)
        shooter = self._state.shooter
        named = "none named" if shooter is None else f"seat {shooter}"
        self._agenda.answer = f"Shooter: {named}; {self._state.phase.replace('_', ' ')}"
        return True

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that are allowed at `t`."""
        yield from self.attempts.allowed(t)
        if self._late.waiting and self.attempts.in_progress and not self.throws.motion.over:
            yield "confirm_late"
        if not self.open_attempt:
            yield from ("new_shooter", "pass_dice")
            if self._rules.run_out and any(map(self._machine.allows, ("run_out", "run_out_over"))):
                yield "run_out"

    def reset(self, t: int) -> None:
        """Start with a come-out roll when the table opens (C34-DEF-2)."""
        # No `bets.opened` is due: bets close only for a throw, and the table can't be closed during a throw.
        del t
        self.restore(CrapsState())
        self.attempts.settle_at_opening()
        self._published_shooter = None
        self._bets_open = True

    # --- the DiceGame interface ---

    @property
    def warnings(self) -> int:
        """The number of warnings given to the current shooter."""
        return self._state.warnings

    def snapshot(self) -> object:
        """Return the game's state for a later `restore`."""
        return self._state

    def restore(self, snapshot: object) -> None:
        """Restore a state returned by `snapshot`."""
        assert isinstance(snapshot, CrapsState)
        self._state = snapshot
        self._machine.restore(snapshot.phase)
        self._shooter_cause = "corrected"

    def began(self, t: int) -> None:
        """Close betting when the dice leave the shooter's hand (C34-MK-1a)."""
        self._late.clear()
        if self._bets_open:
            self._bets_open = False
            notices = self._agenda.inspections.notices()
            if self._lacks_line_bet:
                missing = self._no_line_bet()
                notices = (*notices, Notice(code=missing.code, seen=missing.seen, rule=missing.rule))
                if self._rules.line_bet == "refuse":
                    self.attempts.object_to(missing)
            self._agenda.publish(
                "bets.closed", t, Bets(round=self._round, cause="dice_released", notices=notices)
            )

    @property
    def _lacks_line_bet(self) -> bool:
        """Whether the shooter of the next come-out roll lacks a line bet (C34-DICE-4, CV1-SHOOT-1).

        The settlement engine reports a missing bet. Without a report, the shooter is assumed to have a bet.
        """
        shooter = self._state.shooter
        due = shooter is not None and self._state.phase == "come_out"
        return due and self._line_bet == (str(shooter), False)

    def _no_line_bet(self) -> Reason:
        seen = f"the shooter, seat {self._state.shooter}, has neither a Pass nor a Don't Pass bet"
        return Reason(code="no_line_bet", rule=self._rules.line_bet_rule, seen=seen)

    def _show_line_bet(self, t: int) -> None:
        lamp = "missing" if self._lacks_line_bet else "off"
        if lamp != self._line_bet_shown:
            self._line_bet_shown = lamp
            self._agenda.set_lamp(t, "line_bet", lamp)

    def call(self, result: Result[Dice]) -> Data:
        """Apply a roll that counts and return its data."""
        assert result.value is not None
        before, call = self._apply(result.value, result.warning)
        return RollCalled(
            roll=result.number,
            dice=result.value,
            total=sum(result.value),
            phase=_phase(before),
            point=before.point,
            call=call,
            point_after=self._state.point,
            shooter=before.shooter,
            grade=result.grade,
            notices=result.notices,
            by=result.by,
            who=result.who,
            run_out=before.phase == "run_out",
        )

    def no_result(self, result: Result[Dice]) -> Data:
        """Count a No Roll and return its data. The same shooter throws again."""
        self._agenda.inspections.require_after(result.reasons, game_equipment="dice")
        count = self._state.invalid_rolls + 1
        self._state = replace(self._state, invalid_rolls=count)
        notices = result.notices
        if count > 1:
            seen = f"{count} invalid rolls by this shooter"
            rule = self._causes.get("repeated_invalid")
            notices = (*notices, Notice(code="repeated_invalid", seen=seen, rule=rule))
        return RollNoRoll(
            roll=result.number,
            reasons=result.reasons,
            by=result.by or "sensors",
            who=result.who,
            notices=notices,
        )

    def review(self, result: Result[Dice]) -> Data:
        """Return the data of a roll that needs a person's ruling."""
        return RollReview(
            roll=result.number, reasons=result.reasons, dice=result.value, notices=result.notices
        )

    def correct(self, result: Result[Dice], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply the corrected roll, reapply the inputs made since the original roll, and return the data."""
        corrected = self._corrected(result, corrects, ruling)
        for entered in since:
            self._reapply(entered)
        return corrected

    def _corrected(self, result: Result[Dice], corrects: str, ruling: str) -> RollCorrected:
        corrected = RollCorrected(
            roll=result.number,
            corrects=corrects,
            ruling=ruling,
            by=result.by or "",
            who=result.who,
            reasons=result.reasons,
        )
        if result.value is None:
            self._state = replace(self._state, invalid_rolls=self._state.invalid_rolls + 1)
            return corrected
        before, call = self._apply(result.value, result.warning)
        return RollCorrected(
            roll=corrected.roll,
            corrects=corrects,
            ruling=ruling,
            by=corrected.by,
            who=corrected.who,
            dice=result.value,
            total=sum(result.value),
            phase=_phase(before),
            point=before.point,
            call=call,
            point_after=self._state.point,
            shooter=before.shooter,
            run_out=before.phase == "run_out",
        )

    def follow_up(self, t: int) -> None:
        """Publish a new shooter, update the lamps, and reopen betting if it was closed."""
        self._publish_shooter(t)
        self._show_puck(t)
        if not self._bets_open:
            self._bets_open = True
            self._round += 1
            self._agenda.publish("bets.opened", t, Bets(round=self._round, cause="result"))

    # --- the rules of the game ---

    def _apply(self, dice: Dice, warning: bool) -> tuple[CrapsState, CrapsCall]:
        before = self._state
        total = sum(dice)
        call = call_for(before.phase, before.point, total)
        self._machine.fire(call)
        if before.phase == "run_out" and total == 7:
            self._machine.fire("run_out_over")
        point = {"point_set": total, "no_decision": before.point}.get(call)
        self._state = replace(
            before,
            phase=self._machine.state,
            point=point if self._machine.state == "point" else None,
            warnings=before.warnings + warning,
            invalid_rolls=0,
        )
        if call == "seven_out" or (self._rules.passes_dice_on == "any_loser" and call == "craps"):
            self._pass_dice(call)
        return before, call

    def _pass_dice(self, cause: str) -> None:
        self._state = replace(self._state, shooter=None, warnings=0, invalid_rolls=0)
        self._shooter_cause = cause
        self._published_shooter = _TO_BE_PUBLISHED

    def _check_between_throws(self, entered: Input) -> None:
        """Raise InputRefused if the input lacks its seat, is not offered, or changes nothing."""
        if entered.name == "new_shooter" and entered.seat is None:
            raise InputRefused(
                "bad_argument", "new_shooter needs the shooter's seat; enter it again with a seat"
            )
        if entered.name == "run_out" and not self._rules.run_out:
            raise InputRefused("not_offered")
        if entered.name == "new_shooter" and entered.seat == self._state.shooter:
            raise InputRefused("no_change")

    def _apply_between_throws(self, entered: Input) -> None:
        """Apply an input between two throws. Raise InputRefused if the phase does not allow it."""
        match entered.name:
            case "pass_dice":
                self._pass_dice("pass_dice")
            case "run_out":
                self._machine.fire("run_out_over" if entered.on is False else "run_out")
                self._state = replace(self._state, phase=self._machine.state)
            case "new_shooter":
                if self._state.phase == "run_out":
                    self._machine.fire("run_out_over")
                named_late = self._state.shooter is None  # CV1-SHARP-2: this names the current hand's shooter
                before = self._state if named_late else replace(self._state, warnings=0, invalid_rolls=0)
                self._state = replace(before, phase=self._machine.state, shooter=entered.seat)
                self._shooter_cause = "new_shooter"

    def _reapply(self, entered: Input) -> None:
        with suppress(InputRefused):  # a run-out is dropped if the corrected roll leaves a point on
            self._check_between_throws(entered)
            self._apply_between_throws(entered)
        if entered.name != "run_out":
            self._published_shooter = _TO_BE_PUBLISHED
            self._shooter_cause = "corrected"

    def _publish_shooter(self, t: int, entered: Input | None = None) -> None:
        if self._published_shooter == self._state.shooter:
            return
        self._published_shooter = self._state.shooter
        data = ShooterChanged(
            shooter=self._state.shooter,
            cause=self._shooter_cause or "new_shooter",
            by=entered.by if entered else None,
            who=entered.who if entered else None,
        )
        self._agenda.publish("shooter.changed", t, data)

    def _show_puck(self, t: int) -> None:
        off = {"come_out": "off", "run_out": "off_dont_pass"}.get(self._state.phase)
        self._agenda.set_lamp(t, "puck", off or f"on_{self._state.point}")
        self._show_line_bet(t)


_TO_BE_PUBLISHED = "another shooter"
"""A value that matches no shooter, so the next `shooter.changed` is published even for the same seat."""
_BETWEEN_THROWS = frozenset({"new_shooter", "pass_dice", "run_out"})


def call_for(phase: str, point: int | None, total: int) -> CrapsCall:
    """Return the call for a total (C34-PASS-2..5, CV1-RND-2..7). A run-out sets no point (!34-16)."""
    if phase == "point":
        if total == point:
            return "point_made"
        return "seven_out" if total == 7 else "no_decision"
    if total in NATURALS:
        return "natural"
    if total in CRAPS:
        return "craps"
    return "no_decision" if phase == "run_out" else "point_set"


def _phase(state: CrapsState) -> Phase:
    return "point" if state.phase == "point" else "come_out"
