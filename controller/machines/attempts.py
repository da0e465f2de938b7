"""The attempts of a game, and the life cycle of each one. The code is the same for all games."""

from collections.abc import Iterator
from functools import cache
from typing import Generic

import msgspec

from controller.machines.agenda import Agenda
from controller.machines.flat import FlatMachine, InputRefused
from controller.machines.lifecycle import (
    AttemptJudge,
    AttemptRules,
    AttemptTerms,
    Result,
    Results,
    StandingCall,
    V,
    Value,
    as_spoken,
    life_cycle,
)
from controller.model.effects import Judged, Proposed
from controller.model.outcomes import Awaited, Data, Grade, Outcome
from controller.model.readings import Input
from controller.model.rulesets import Calls
from controller.model.verdicts import Dealt, DealVerdict, Notice, Reason, Ruling, SpinVerdict, ThrowVerdict
from controller.rules.doubt import with_doubt, with_objection

_table_of = cache(life_cycle)

SPOKEN_CAUSES = frozenset({"called", "cheating", "disputed"})
"""The cause codes that a person may give for a void. For any other text, the code is `called`."""


class Attempts(Generic[Value, V]):
    """The attempts of one game."""

    def __init__(
        self,
        terms: AttemptTerms,
        game: Results[Value],
        judge: AttemptJudge[Value, V],
        agenda: Agenda,
        rules: AttemptRules,
        *,
        calls: Calls,
        last: int = 0,
    ) -> None:
        """Start after attempt `last`.

        `judge` judges each attempt by its readings, and `game` applies the result.
        """
        self.terms = terms
        self.number = last
        self.machine = FlatMachine(_table_of(terms))
        self.calls = calls
        self.ending = False
        self._game = game
        self._judge = judge
        self._agenda = agenda
        self._hold_us = round(rules.call_hold_ms * 1000)
        self._causes = rules.causes
        self._verdict: V | None = None
        self._decided_at = 0
        self._doubt = ""
        self._objection: Reason | None = None
        self._open_reasons: tuple[Reason, ...] = ()
        self._ruled_us = -1
        """The time, on the readings' clock, of the last ruling that named no attempt; -1 if there is none."""
        self.began_us = 0
        """The time at which the current or last attempt began."""
        self.over_us = 0
        """The time at which an attempt was last called, declared void or corrected."""
        self.before: object = None
        """The game's state before the decision on the current or last attempt."""
        self._since: list[Input] = []
        self._standing = ""
        self._standing_value: Value | None = None
        self.away = False
        """Whether the controller has stopped since the last call and might have missed an attempt."""
        self._cleared_in_hold = False
        self.cleared = True
        """Whether the dice have been collected, so that moving dice can begin the next attempt."""

    @property
    def state(self) -> str:
        """The state of the current attempt."""
        return self.machine.state

    @property
    def in_progress(self) -> bool:
        """Whether an attempt is in progress and undecided."""
        return self.machine.state == self.terms.in_progress

    @property
    def open(self) -> bool:
        """Whether an attempt awaits its call or a ruling."""
        return self.state in (self.terms.in_progress, "held", "proposed", "review")

    def begin(self, t: int) -> None:
        """Begin the next attempt. An attempt that still awaits a ruling becomes void (`unruled`)."""
        if self.state in ("proposed", "review"):
            seen = f"nobody ruled on it before the next {self.terms.attempt} began"
            self.machine.fire(self.terms.void)
            self._void(t, (self._reason("unruled", seen),), by="nobody", lapsed=True)
        self.machine.fire(self.terms.begin)
        self.number += 1
        self._verdict = None
        self._cleared_in_hold = False
        self._doubt = ""
        if t <= self._ruled_us:
            self._doubt = (
                "it had already begun when a ruling was entered and applied to the previous"
                f" {self.terms.attempt}"
            )
        self._objection = None
        self.began_us = t
        self.cleared = False
        self.away = False
        self._standing_value = None
        self._since.clear()
        self._game.began(t)

    def on_verdict(self, t: int, verdict: V, doubt: str = "") -> None:
        """Handle the judge's verdict after a reading or a timer at `t`.

        A non-empty `doubt` says why the verdict is unreliable, and sends the attempt to review.
        """
        if self.ending:
            return
        self._doubt = self._doubt or doubt
        if self._doubt:
            verdict = with_doubt(verdict, self._doubt, self._causes)
        verdict = with_objection(verdict, self._objection)
        self._agenda.stop_timer("hold")
        self._verdict = verdict
        self._open_reasons = verdict.reasons
        self._decided_at = t
        if verdict.ruling is Ruling.REVIEW:
            self.machine.fire("judged_review")
            self._review(t, verdict.reasons)
        elif self.calls == "confirm":
            self.machine.fire("judged_proposal")
            self._agenda.effects.append(Proposed(t=t, attempt=self.number, verdict=verdict))
        elif verdict.ruling is Ruling.VOID:
            self.machine.fire("judged_void")
            self._void(t, verdict.reasons, by="sensors", notices=verdict.notices)
        else:
            self.machine.fire("judged_valid")
            self._agenda.set_timer("hold", t + self._hold_us)

    def reconsider(self, verdict: V) -> None:
        """Handle a new verdict on an attempt under review. Only a person can end the review."""
        self._verdict = verdict

    def doubt(self, seen: str) -> None:
        """Send the attempt in progress to review because its times are unreliable. `seen` is the reason."""
        if self.in_progress:
            self._doubt = self._doubt or seen

    def object_to(self, objection: Reason) -> None:
        """Send the attempt in progress to review for this reason if it would otherwise count."""
        self._objection = objection

    def note_late(self, seen: str) -> None:
        """Send an attempt to review before its call, because a reading for it arrived too late."""
        self.doubt(seen)
        if self.state == "held" and self._verdict is not None and not self.ending:
            self._doubt = seen
            self.on_verdict(self._decided_at, self._verdict)

    def on_die_moved(self) -> None:
        """Withdraw a decision during the hold, because a die at rest has moved."""
        self.machine.fire("moved")
        self._agenda.stop_timer("hold")

    def make_call(self) -> None:
        """End the hold and make the call."""
        verdict = self._verdict
        assert verdict is not None
        self.machine.fire("hold_over")
        self._call(self._decided_at, self._judge.value_of(verdict), _grade_of(verdict))
        self._end_hold()

    def enter(self, entered: Input) -> bool:
        """Handle a person's input if it concerns an attempt, and return whether it does.

        Raise InputRefused if the input is not allowed now, or names another attempt.
        """
        terms = self.terms
        if entered.name in (terms.void, "void", terms.void_input):
            self.require_attempt(entered)
            self._declare_void(entered)
        elif entered.name == terms.set_result:
            self.set_result(entered)
        elif entered.name == "accept":
            self.require_attempt(entered)
            self._accept(entered)
        elif entered.name == terms.clear:
            self.require_attempt(entered)
            self._clear(entered.name, entered.t)
            self._answer(terms.clear.replace("_", " "))
        elif entered.name == terms.settle:
            self.require_attempt(entered)
            self.settle()
        else:
            return False
        return True

    def require_attempt(self, entered: Input) -> None:
        """Raise InputRefused if the input names any attempt other than the current or last one."""
        named = self.terms.attempt_named(entered)
        if named is None or named == str(self.number):
            return
        attempt, number = self.terms.attempt, self.number
        acts_on = f"it would act on {attempt} {number}" if number else f"there has been no {attempt} yet"
        target = f"{attempt} {named}" if named.isdecimal() else f"{named!r}, which is not a {attempt} number"
        message = f"{entered.name} names {target}, but {acts_on}; check the number, then enter it again"
        raise InputRefused("other_attempt", message)

    def settle(self) -> None:
        """Settle the attempt, which makes it final. Raise InputRefused if it can't be settled now."""
        self.machine.fire(self.terms.settle)
        self._answer("settled")

    def settle_at_opening(self) -> None:
        """Settle the last attempt when the table opens. No ruling can change it afterwards."""
        if self.machine.allows(self.terms.settle):
            self.machine.fire(self.terms.settle)

    def awaited(self) -> Awaited | None:
        """Return the attempt that needs a person's ruling or confirmation; None if there is none."""
        verdict = self._verdict
        if verdict is None or self.state not in ("review", "proposed"):
            return None
        value = as_spoken(self._judge.value_of(verdict)) if self.terms.attempt != "deal" else ""
        void = verdict.ruling is Ruling.VOID
        proposes = "" if self.state == "review" else self._as_spoken(None) if void else value or "the hands"
        return Awaited(
            attempt=self.terms.attempt,
            number=self.number,
            state="review" if self.state == "review" else "proposed",
            reasons=self._open_reasons,
            seen=value,
            proposes=proposes,
        )

    def keep(self, entered: Input) -> None:
        """Record an input made after the call. A correction of the call reapplies it."""
        self._since.append(entered)

    def standing_call(self) -> StandingCall | None:
        """Return the call or void that can still be corrected; None if there is none."""
        if self.state not in ("called", self.terms.void, self.terms.cleared) or not self._standing:
            return None
        value = self._standing_value
        assert value is None or isinstance(value, tuple | str | Dealt)
        return StandingCall(
            number=self.number,
            state=self.state,
            outcome=self._standing,
            value=value,
            since=tuple(self._since),
            away=self.away,
        )

    def resume(self, call: StandingCall, value: Value | None, before: object) -> None:
        """Continue from a call that can still be corrected. `before` is the game's state before the call."""
        if call.number != self.number:
            return
        self.machine.restore(call.state)
        self.cleared = call.state == self.terms.cleared
        self.away = call.away
        self._standing = call.outcome
        self._standing_value = value
        self.before = before
        self._since = list(call.since)

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that the current attempt accepts at `t`."""
        terms, allows = self.terms, self.machine.allows
        voidable = allows(terms.void) and not self._standing_is_void()
        if voidable:
            yield terms.void_input or terms.void
        if allows(terms.set_result) and self._judge.result_can_be_entered(t):
            yield terms.set_result
        if self._acceptable():
            yield "accept"
        if terms.clear and (allows(terms.clear) or self.in_progress or not self.cleared):
            yield terms.clear
        if allows(terms.settle):
            yield terms.settle
        if voidable:
            yield "void"

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review with this reason when the recording ends at `t`."""
        if not self.machine.allows("power_lost"):
            return
        self.machine.fire("power_lost")
        self._agenda.stop_timer("hold")
        self._review(t, (reason,))

    def _declare_void(self, entered: Input) -> None:
        if self._standing_is_void():
            raise InputRefused("already_void")
        was = self._describe()
        reason = self._spoken_reason(entered)
        if self.open:
            verdict = self._judge.judge(entered.t, reason)
            reasons = verdict.reasons if reason in verdict.reasons else (*verdict.reasons, reason)
            self.machine.fire(self.terms.void)
            self._void(entered.t, reasons, by=entered.by, who=entered.who, judged=verdict)
            self._end_hold()
        else:
            self.machine.fire(self.terms.void)
            self._correct(entered, None, (reason,))
        self.note_ruling(entered)
        self._answer_ruling(was)

    def set_result(self, entered: Input) -> None:
        """Handle a result that a person enters. Raise InputRefused if it is not allowed."""
        self.require_attempt(entered)
        was = self._describe()
        if not self.machine.allows(self.terms.set_result):
            self.machine.fire(self.terms.set_result)
        value = self._judge.value_entered(entered)
        if self.open:
            self.machine.fire(self.terms.set_result)
            self._call(entered.t, value, "person", entered)
            self._end_hold()
        elif value == self._standing_value:
            raise InputRefused("no_change")
        else:
            self.machine.fire(self.terms.set_result)
            self._correct(entered, value, ())
        self.note_ruling(entered)
        self._answer_ruling(was)

    def _acceptable(self) -> bool:
        verdict = self._verdict
        if verdict is None or not self.machine.allows("accept"):
            return False
        proposed_void = self.state == "proposed" and verdict.ruling is Ruling.VOID
        return proposed_void or self._judge.value_of(verdict) is not None

    def _accept(self, entered: Input) -> None:
        verdict = self._verdict
        if verdict is None or not self._acceptable():
            raise InputRefused("nothing_to_accept")
        was = self._describe()
        if self.state == "proposed" and verdict.ruling is Ruling.VOID:
            self.machine.fire(f"accept_{self.terms.void}")
            self._void(entered.t, verdict.reasons, by=entered.by, who=entered.who, notices=verdict.notices)
            self.note_ruling(entered)
            self._answer_ruling(was)
            return
        grade: Grade = _grade_of(verdict) if self.state == "held" else "person"
        self.machine.fire("accept")
        self._call(entered.t, self._judge.value_of(verdict), grade, entered)
        self._end_hold()
        self.note_ruling(entered)
        self._answer_ruling(was)

    def _clear(self, clear: str, t: int) -> None:
        if self.in_progress:
            self.on_verdict(t, self._judge.judge(t, None))
        if self._only_ignored_dice_left(clear):
            self.cleared = True
        elif not self.in_progress:
            self._cleared_in_hold = self.state == "held"
            self.machine.fire(clear)
            self.cleared = True

    def _only_ignored_dice_left(self, clear: str) -> bool:
        """Return whether the dice to collect were thrown while the table was not in play."""
        return not (self.cleared or self.in_progress or self.machine.allows(clear))

    def _end_hold(self) -> None:
        self._agenda.stop_timer("hold")
        if self._cleared_in_hold and self.terms.clear:
            self._cleared_in_hold = False
            self.machine.fire(self.terms.clear)

    def _standing_is_void(self) -> bool:
        closed = self.state in (self.terms.void, self.terms.cleared)
        return closed and self._standing_value is None

    def _spoken_reason(self, entered: Input) -> Reason:
        words = entered.reason or ""
        code = words if words in SPOKEN_CAUSES else "called"
        details = f": {words}" if words and words != code else ""
        return self._reason(code, f"declared by the {entered.by}{details}")

    def _reason(self, code: str, seen: str) -> Reason:
        return Reason(code=code, rule=self._causes.get(code, ""), seen=seen)

    def _call(self, t: int, value: Value | None, grade: Grade, entered: Input | None = None) -> None:
        assert value is not None
        self._save_state(self._game.snapshot())
        last_entry = self._judge.last_entry
        if grade == "sensors" and last_entry is not None:
            grade, entered = "person", last_entry
        verdict = self._verdict
        stands = verdict is not None and verdict.ruling is not Ruling.VOID
        self._judge.on_decision("called")
        result = Result(
            number=self.number,
            value=value,
            grade=grade,
            notices=verdict.notices if verdict is not None and stands else (),
            warning=stands and isinstance(verdict, ThrowVerdict) and verdict.warning,
            by=entered.by if entered else None,
            who=entered.who if entered else None,
        )
        self._publish("called", t, self._game.call(result), value)
        self._follow_up(t)

    def _void(
        self,
        t: int,
        reasons: tuple[Reason, ...],
        *,
        by: str,
        who: str | None = None,
        notices: tuple[Notice, ...] = (),
        lapsed: bool = False,
        judged: V | None = None,
    ) -> None:
        self._save_state(self._game.snapshot())
        self._judge.on_decision("lapsed" if lapsed else "void")
        result: Result[Value] = Result(
            number=self.number,
            value=None,
            grade="sensors" if by == "sensors" else "person",
            reasons=reasons,
            notices=notices,
            by=by,
            who=who,
        )
        self._publish(self.terms.void, t, self._game.no_result(result), None, judged)
        if not lapsed:
            self._follow_up(t)

    def _review(self, t: int, reasons: tuple[Reason, ...]) -> None:
        verdict = self._verdict
        self._open_reasons = reasons
        self._judge.on_decision("review")
        result = Result(
            number=self.number,
            value=self._judge.value_of(verdict) if verdict is not None else None,
            grade="sensors",
            reasons=reasons,
            notices=verdict.notices if verdict is not None else (),
        )
        self._publish("review", t, self._game.review(result), None)

    def _correct(self, entered: Input, value: Value | None, reasons: tuple[Reason, ...]) -> None:
        self._game.restore(self.before)
        result = Result(
            number=self.number,
            value=value,
            grade="person",
            reasons=reasons,
            by=entered.by,
            who=entered.who,
        )
        data = self._game.correct(result, self._standing, entered.name, self._since)
        self._publish("corrected", entered.t, data, value)
        self._follow_up(entered.t)

    def _follow_up(self, t: int) -> None:
        self.over_us = t
        self._game.follow_up(t)

    def _publish(
        self, what: str, t: int, data: Data, value: Value | None, judged: V | None = None
    ) -> Outcome:
        outcome = self._agenda.publish(f"{self.terms.attempt}.{what}", t, data)
        self._standing = outcome.id
        self._standing_value = value
        verdict = judged or self._verdict
        if verdict is not None and what != "corrected":
            basis = self._judge.basis()
            if basis.called is None:
                basis = msgspec.structs.replace(basis, doubt=self._doubt, objection=self._objection)
            readings = self._judge.readings()
            self._agenda.effects.append(
                Judged(outcome=outcome, verdict=verdict, readings=readings, basis=basis)
            )
        return outcome

    def _save_state(self, before: object) -> None:
        """Save the game's state for a correction, and start a new record of inputs."""
        self.before = before
        self._since.clear()

    def note_ruling(self, entered: Input) -> None:
        """Record the time of a ruling without a number, to detect an attempt that began before it."""
        if entered.what is None:
            self._ruled_us = entered.t

    def _describe(self) -> str:
        if self.state in ("called", self.terms.void, self.terms.cleared):
            return self._as_spoken(self._standing_value)
        return {"review": "under review", "proposed": "proposed"}.get(self.state, "not called yet")

    def _as_spoken(self, value: Value | None) -> str:
        return as_spoken(value) or (self.terms.void_input or self.terms.void).replace("_", " ").title()

    def _answer_ruling(self, was: str) -> None:
        now = self._as_spoken(self._standing_value)
        self._answer(f"{now} again" if now == was else f"{now}, was {was}")

    def _answer(self, result: str) -> None:
        self._agenda.answer = f"{self.terms.attempt.capitalize()} {self.number}: {result}"


def _grade_of(verdict: ThrowVerdict | SpinVerdict | DealVerdict) -> Grade:
    return verdict.grade if isinstance(verdict, SpinVerdict) else "sensors"
