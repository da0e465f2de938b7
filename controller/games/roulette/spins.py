"""Spins detected by the table's beams, from the launch to the judgement.

The judge is in `controller.rules.wheel`.
"""

from collections import deque
from collections.abc import Sequence

from controller.games.roulette.launches import NO_BALL_US, Launches
from controller.games.roulette.wheel_spins import WheelGame, WheelSpins
from controller.machines.agenda import Agenda
from controller.machines.flat import InputRefused
from controller.machines.health import Health
from controller.machines.lifecycle import SPIN, Decided
from controller.model.effects import Basis
from controller.model.geometry import Wheel
from controller.model.readings import (
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    ForeignObject,
    Input,
    PocketBall,
    Reading,
    RotorIndex,
    WheelStatus,
)
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Notice, Reason, Ruling, SpinVerdict
from controller.rules.wheel import INDEX_PASSES_KEPT, SURELY_SEEN_US, Learned, SpinWatch
from controller.rules.wheel.judge import after_late_close, after_relaunch
from controller.rules.wheel.smart_wheel_game import NO_MORE_BETS, WheelGameState
from controller.rules.wheel.watch import CheckedWatch

SECOND_US = 1_000_000

MAX_OBJECTS = 16
"""The number of foreign-object readings kept. A sensor sends fewer within `object_before_launch_s`."""
EARLY_NO_SPIN = "spoken"
"""The timer for a No Spin that was called before any pulse was detected."""
RUNS_UNTIL_US = 3_000_000
"""After this time without a pulse, the ball might be at rest, so a person may enter its number."""

_SHORTER = 0.8
"""If a rotor turn is shorter than this fraction of an earlier turn, the give-up time is computed again.

The earlier turn is the one from which the give-up time was last computed. An untouched rotor does not speed
up, so a shorter turn means that index passes had been missed or that somebody pushed the rotor.
"""
_POSTPONES = (BallDrop, PocketBall, DeviceDown)
"""Readings that change the give-up time, at which a spin is decided without a confirmed number."""
_JUDGED_IN_HOLD = (PocketBall, BallOut, ForeignObject, WheelStatus)
"""Readings that can change the verdict while its call is held."""


class Spins(WheelSpins):
    """The spins of one wheel, detected by the table's beams, from the launch to the ruling."""

    launch_reported_by = "ball_beam"

    def __init__(
        self,
        game: WheelGame,
        rules: SpinRules,
        wheel: Wheel,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        learned: Learned,
        wheel_state: WheelGameState | None = None,
        last: int = 0,
    ) -> None:
        super().__init__(
            game,
            rules,
            wheel,
            agenda,
            health,
            calls=calls,
            learned=learned,
            wheel_state=wheel_state,
            last=last,
        )
        self._index_passes: deque[Reading] = deque(maxlen=2 * INDEX_PASSES_KEPT)
        self._objects: deque[Reading] = deque(maxlen=MAX_OBJECTS)
        self._early_no_spin: Input | None = None
        self._watch: SpinWatch | None = None
        self._launches = Launches(self._new_watch)
        self._verdict: SpinVerdict | None = None
        self._last_pulse_us = 0
        self._watched_since_us = 0
        self._ask_for_drop_us = 0
        self._give_up_turn_us = 0.0
        self._dropped_us: int | None = None
        self._late_close = False
        self._machine = self.attempts.machine

    # --- readings and timers ---

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        kind, state = type(reading), self._machine.state
        if state == SPIN.in_progress and kind is BallBeam:
            self._handle_pulse(reading)
        elif state == SPIN.in_progress and kind is RotorIndex:
            self._handle_index(reading)
        elif kind is RotorIndex and state != "held" and self._launches.idle:
            self._index_passes.append(reading)
        else:
            self._handle_other(reading)

    def _handle_index(self, mark: Reading) -> None:
        watch = self._watch
        assert watch is not None
        watch.receive(mark)
        decided_by = watch.decided_by
        if decided_by is not None:
            self._decide(decided_by.t)
        elif watch.turn_us < _SHORTER * self._give_up_turn_us:
            self._set_give_up(mark.t)
        self._index_passes.append(mark)

    def _handle_pulse(self, pulse: Reading) -> None:
        watch = self._watch
        assert watch is not None
        watch.receive(pulse)
        launched = self._launches.relaunched(watch) if watch.may_be_another_launch else None
        if launched is not None:
            self._decide_before_launch()
            self._begin(launched, pulse)
            return
        if watch.no_spin_by is not None:
            self._decide(pulse.t)
            return
        self._last_pulse_us = pulse.t
        if self._dropped_us is not None and not watch.dropped:
            self._dropped_us, self._late_close = None, False
            self._set_give_up(pulse.t)
        if pulse.t >= self._ask_for_drop_us and self._game.bets_open:
            self._expect_drop(pulse.t)

    def _handle_other(self, reading: Reading) -> None:
        begun = (
            reading if isinstance(reading, WheelStatus) and self.games.receive(reading) == "seen" else None
        )
        state = self._machine.state
        if state == SPIN.in_progress:
            self._follow(reading)
        elif state == "held":
            self._follow_held(reading)
        else:
            launched = self._launches.receive(reading)
            if launched is None and begun is not None and not self._launches.old_ball_runs:
                launched = self._launches.launched_by_wheel(begun)
            if launched is not None:
                self._begin(launched, reading)
        if isinstance(reading, RotorIndex):
            self._index_passes.append(reading)
        elif isinstance(reading, ForeignObject):
            self._objects.append(reading)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        if name == "hold":
            self.attempts.make_call()
        elif name == EARLY_NO_SPIN:
            self._no_launch_followed(t)
        elif name == "no_more_bets" and self.attempts.in_progress:
            if not self._postpone_timer(name, self._no_more_bets_at_us(), t):
                self._game.no_more_bets(t)
                self._set_give_up(t)
        elif (
            name == "give_up"
            and self.attempts.in_progress
            and not self._postpone_timer(name, self._give_up_at_us(), t)
        ):
            self._decide(t)

    def would_launch(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play, and return whether it might begin a spin.

        Such a spin never counts.
        """
        return not self.attempts.in_progress and self._launches.reject(reading)

    def reject_late(self, reading: Reading) -> bool:
        """Handle a delayed pulse from a time when the table was not in play.

        Return whether it might begin a spin. A spin that began at such a time never counts. If later pulses
        of the same ball have already begun a spin, that spin goes to review.
        """
        if not isinstance(reading, BallBeam):
            return False
        attempts = self.attempts
        if not attempts.open:
            return self._launches.reject_late(reading)
        if 0 < attempts.began_us - reading.t <= NO_BALL_US:
            attempts.note_late(
                f"{reading.dev} reported too late that a beam was interrupted before the table was in play"
            )
        return False

    def begin_pending(self, t: int) -> None:
        """If pulses are pending at `t`, begin their spin, because a person's input refers to it."""
        if self._launches.pending_at(t) and not self.attempts.open:
            watch = self._launches.take_pending()
            assert watch is not None
            self._begin(watch, watch.readings[-1])

    def hold_no_spin(self, entered: Input) -> bool:
        """Hold a No Spin called before any pulse, in case a launch follows; return whether it is held."""
        named = entered.what is not None
        if named or self._early_no_spin is not None or not self._game.bets_open or self.attempts.open:
            return False
        self._early_no_spin = entered
        due_us = entered.t + round(self._rules.object_before_launch_s * SECOND_US) + 1
        self._agenda.set_timer(EARLY_NO_SPIN, due_us)
        return True

    def _belongs_to_launch(self, entered_us: int) -> bool:
        before_us = self._launches.first_pulse_us - entered_us
        return before_us <= self._rules.object_before_launch_s * SECOND_US

    def _no_launch_followed(self, t: int) -> None:
        """Apply the held No Spin to the last spin or publish its refusal, because no launch followed.

        If pulses that might belong to a launch are pending, wait another second.
        """
        entered = self._early_no_spin
        assert entered is not None
        if self._launches.pending_at(t) and self._belongs_to_launch(entered.t):
            self._agenda.set_timer(EARLY_NO_SPIN, t + SECOND_US)
            return
        self._early_no_spin = None
        try:
            self._game.rule(entered)
        except InputRefused as refused:
            self._agenda.refuse(entered, refused.code, refused.message)

    @property
    def revolutions(self) -> float | None:
        """The number of revolutions that the readings prove for the current spin; None before its verdict."""
        return self._verdict.revolutions if self._verdict is not None else None

    def _sign_of_another_spin(self, t: int, *, new_round: bool) -> str | None:
        if self._launches.pending_at(t):
            return "a track beam was interrupted"
        if self._launches.rejected_us > self.attempts.over_us:
            return "a ball was launched while the table was not in play"
        return super()._sign_of_another_spin(t, new_round=new_round)

    def _new_watch(self, first_pulse_us: int) -> SpinWatch:
        sources = self._health.sources
        smart = any("wheel_status" in kinds for kinds in sources.values())
        watch = (CheckedWatch if smart else SpinWatch)(self._wheel, self._rules, self.learned, sources)
        passes = [r for r in self._index_passes if r.t < first_pulse_us][-INDEX_PASSES_KEPT:]
        object_us = first_pulse_us - round(self._rules.object_before_launch_s * SECOND_US)
        objects = [r for r in self._objects if object_us <= r.t < first_pulse_us]
        before = [*self._health.absences_and_faults(first_pulse_us - SURELY_SEEN_US), *passes, *objects]
        if len(before) > len(passes):
            before.sort(key=lambda reading: reading.t)
        watch.see_before(before)
        return watch

    def _begin(self, watch: SpinWatch, latest: Reading) -> None:
        self.attempts.begin(self._launches.first_pulse_us)
        self._watch = watch
        self._verdict = None
        self._last_pulse_us = latest.t
        self._watched_since_us = 0
        self._ask_for_drop_us = 0
        self._dropped_us = None
        self._late_close = False
        self._set_give_up(latest.t)
        no_spin, self._early_no_spin = self._early_no_spin, None
        if no_spin is not None and self._belongs_to_launch(no_spin.t):
            self._agenda.stop_timer(EARLY_NO_SPIN)
            self.attempts.enter(no_spin)
            return
        self._after(watch, latest)

    def _follow(self, reading: Reading) -> None:
        watch = self._watch
        assert watch is not None
        watch.receive(reading)
        self._after(watch, reading)

    def _decide_before_launch(self) -> None:
        """Decide a spin that is still open when the next ball is launched.

        A review becomes a No Spin, because nobody can rule on the spin any more.
        """
        t = self._launches.first_pulse_us
        self._decide(t, ends=True)
        if self.attempts.state == "held":
            self.attempts.make_call()

    def _after(self, watch: SpinWatch, reading: Reading) -> None:
        if isinstance(reading, BallDrop):
            self._drop(reading.t)
        if watch.decided_by is not None:
            self._decide(watch.decided_by.t)
            return
        if isinstance(reading, BallBeam):
            self._last_pulse_us = reading.t
            if self._game.bets_open and reading.t >= self._ask_for_drop_us:
                self._expect_drop(reading.t)
        elif isinstance(reading, _POSTPONES):
            self._set_give_up(reading.t)
        elif isinstance(reading, DeviceUp) and reading.dev in watch.devices_lost:
            self._watched_since_us = reading.t
        elif isinstance(reading, WheelStatus):
            if reading.state == NO_MORE_BETS:
                self._game.no_more_bets(reading.t)
            self._set_give_up(reading.t)

    def _expect_drop(self, t: int) -> None:
        due_us = self._no_more_bets_at_us()
        if due_us is None:
            return
        self._agenda.set_timer("no_more_bets", max(due_us, t))
        self._ask_for_drop_us = t + (due_us - t) // 4

    def _set_give_up(self, t: int) -> None:
        watch = self._watch
        assert watch is not None
        give_up_us = watch.give_up_at_us()
        if give_up_us is not None:
            self._give_up_turn_us = watch.turn_us
            self._agenda.set_timer("give_up", max(give_up_us, t))

    def _no_more_bets_at_us(self) -> int | None:
        return self._watch.no_more_bets_at_us() if self._watch is not None else None

    def _give_up_at_us(self) -> int | None:
        return self._watch.give_up_at_us() if self._watch is not None else None

    def _postpone_timer(self, name: str, due_us: int | None, t: int) -> bool:
        """Set the timer again if readings have moved its due time beyond `t`; return whether they have."""
        if due_us is None or due_us <= t:
            return False
        self._agenda.set_timer(name, due_us)
        return True

    def _follow_held(self, reading: Reading) -> None:
        watch = self._watch
        assert watch is not None
        watch.receive(reading)
        unproved = isinstance(reading, DeviceFault) and watch.pocket() is None
        if unproved or isinstance(reading, _JUDGED_IN_HOLD):
            self._decide(reading.t)

    def _drop(self, t: int) -> None:
        if self._dropped_us is None:
            self._dropped_us = t
            self._late_close = self._game.bets_open
            self._agenda.stop_timer("no_more_bets")
            self._game.on_ball_drop(t)

    def _decide(self, t: int, *, ends: bool = False) -> None:
        self._stop_timers()
        watch = self._watch
        assert watch is not None
        verdict, learned = watch.verdict(t)
        if ends:
            verdict = after_relaunch(verdict, self._rules)
        if not self.attempts.ending:
            self.learned = learned
            if verdict.ruling is not Ruling.VOID:
                self._drop(t)
        self._verdict = after_late_close(verdict, self._rules) if self._late_close else verdict
        self._note_basis(t, late_close=self._late_close, relaunched=ends)
        self.attempts.on_verdict(t, self._verdict)

    def _note_basis(
        self, t: int, called: Reason | None = None, *, late_close: bool = False, relaunched: bool = False
    ) -> None:
        assert self._watch is not None
        self._basis = Basis(
            decided_at_us=t,
            called=called,
            sources=dict(self._health.sources),
            learned=self._watch.learned.figures(),
            late_close=late_close,
            relaunched=relaunched,
        )

    # --- the AttemptJudge interface ---

    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the current spin on its readings up to `t`."""
        assert self._watch is not None
        self._note_basis(t, called)
        return self._watch.verdict(t, called)[0]

    @property
    def _seen(self) -> Sequence[Reading]:
        return self._watch.readings if self._watch is not None else ()

    def _runs(self, t: int) -> bool:
        return self._dropped_us is None and t - self._last_pulse_us <= RUNS_UNTIL_US

    def on_decision(self, decided: Decided) -> None:
        """Stop the timers of a spin that is void or under review.

        After a No Spin, attribute further pulses to its ball.
        """
        if self._watch is not None and decided == "void":
            self._launches.follow_old_ball(self._watch)
        super().on_decision(decided)


def late_close_notice() -> Notice:
    """Return the notice that betting was still open at the drop."""
    return Notice(code="late_close", seen="bets were still open when the ball dropped", rule="R-SPIN-3")
