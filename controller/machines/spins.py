"""Spins of the ball: when one begins, when it is decided, and its way through the life-cycle.

What a spin is worth is the judge's matter (`controller.rules.wheel`); when to ask it is decided here.
"""

from collections import deque
from typing import Protocol

from controller.machines.attempts import Attempts, Result
from controller.machines.desk import Desk
from controller.machines.flat import Refused
from controller.machines.health import Health
from controller.machines.launches import Launches
from controller.machines.lifecycle import SPIN
from controller.machines.running_out import QUIET_US
from controller.model.effects import Basis
from controller.model.geometry import Wheel
from controller.model.outcomes import Data
from controller.model.readings import (
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    ForeignObject,
    Input,
    PocketBall,
    Reading,
    RotorIndex,
    WheelStatus,
)
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Notice, Reason, Ruling, SpinVerdict
from controller.rules.wheel import INDEX_PASSES_KEPT, Learned, SpinWatch
from controller.rules.wheel.checked import CheckedWatch
from controller.rules.wheel.late_close import after_late_close
from controller.rules.wheel.wheel_word import NO_MORE_BETS, WheelGames

BOUNCES_US = 2_000_000
"""So long after the drop a ball that bounces may still cut a beam; later it is the next ball."""

RUNS_UNTIL_US = 3_000_000
"""A ball without a pulse for so long is not seen to run: a person may say where it lies."""


class WheelGame(Protocol):
    """What a wheel game does with its spins."""

    @property
    def bets_open(self) -> bool:
        """Whether bets can still be placed."""

    def snapshot(self) -> object:
        """Give the game's state, to come back to when the result is corrected."""

    def restore(self, snapshot: object) -> None:
        """Go back to that state."""

    def began(self, t: int) -> None:
        """A spin begins."""

    def no_more_bets(self, t: int, cause: str = "ball_speed") -> None:
        """The ball is about to drop, or a person must rule first: close the bets."""

    def dropped(self, t: int) -> None:
        """The ball left the track."""

    def call(self, result: Result[str]) -> Data:
        """Apply a spin that counts, and give what to publish."""

    def no_result(self, result: Result[str]) -> Data:
        """Apply a No Spin, and give what to publish."""

    def review(self, result: Result[str]) -> Data:
        """Give what to publish for a review."""

    def correct(self, result: Result[str], corrects: str, ruling: str) -> Data:
        """Apply a result in place of the one just undone, and give what to publish."""

    def follow_up(self, t: int) -> None:
        """Publish what follows from a result."""


class Spins:
    """The spins of one wheel, from the launch to the ruling."""

    def __init__(
        self,
        game: WheelGame,
        rules: SpinRules,
        wheel: Wheel,
        desk: Desk,
        health: Health,
        *,
        calls: Calls,
        learned: Learned,
        last: int = 0,
    ) -> None:
        """Begin after spin number `last`, knowing what was learned of the wheel."""
        self.learned = learned
        self._game = game
        self._rules = rules
        self._wheel = wheel
        self._desk = desk
        self._health = health
        self._index_passes: deque[Reading] = deque(maxlen=INDEX_PASSES_KEPT)
        self._wheel_games = WheelGames()
        self._watch: SpinWatch | None = None
        self._launches = Launches(self._new_watch)
        self._verdict: SpinVerdict | None = None
        self._basis = Basis(decided_at_us=0)
        self._last_pulse_us = 0
        self._ask_for_drop_us = 0
        self._dropped_us: int | None = None
        self._late_close = False
        self.attempts: Attempts[str, SpinVerdict] = Attempts(
            SPIN, self, desk, calls=calls, call_hold_ms=rules.call_hold_ms, causes=rules.causes, last=last
        )
        self._machine = self.attempts.machine

    # --- readings and timers ---

    def see(self, reading: Reading) -> None:
        """Take a reading, in time order."""
        if (
            isinstance(reading, BallBeam)
            and self._machine.state == SPIN.under_way
            and self._dropped_us is None
            and reading.t - self._last_pulse_us <= QUIET_US
            and not self._launches.pending
        ):
            self._see_pulse(reading)
        else:
            self._see_with_care(reading)

    def _see_pulse(self, pulse: BallBeam) -> None:
        """Take a pulse of the ball that runs; no other is in sight."""
        watch = self._watch
        assert watch is not None
        watch.see(pulse)
        if watch.no_spin_by is not None:
            self._decide(pulse.t)
            return
        self._last_pulse_us = pulse.t
        if pulse.t >= self._ask_for_drop_us and self._game.bets_open:
            self._expect_drop(pulse.t)

    def _see_with_care(self, reading: Reading) -> None:
        attempts = self.attempts
        word = reading if isinstance(reading, WheelStatus) else None
        told = word if word is not None and self._wheel_games.see(word) == "seen" else None
        if attempts.under_way:
            self._follow(reading)
        elif attempts.state == "held":
            self._follow_held(reading)
        else:
            launched = self._launches.see(reading)
            if launched is None and told is not None and not self._launches.old_ball_runs:
                launched = self._launches.told_by(told)
            if launched is not None:
                self._begin(launched, reading)
        if isinstance(reading, RotorIndex):
            self._index_passes.append(reading)

    def timer(self, name: str, t: int) -> None:
        """Take a timer of ours that is due at t."""
        if name == "hold":
            self.attempts.hold_over()
        elif name == "no_more_bets" and self.attempts.under_way:
            if not self._put_off(name, self._no_more_bets_at_us(), t):
                self._game.no_more_bets(t)
                self._set_give_up(t)
        elif (
            name == "give_up"
            and self.attempts.under_way
            and not self._put_off(name, self._give_up_at_us(), t)
        ):
            self._decide(t)

    def would_launch(self, reading: Reading) -> bool:
        """Tell whether this reading could begin a spin."""
        ours = self.attempts.under_way or self._launches.old_ball_runs
        return isinstance(reading, BallBeam) and not ours

    def launch_seen(self) -> None:
        """Begin the spin whose first pulses were seen: a person speaks of it before its first lap is run."""
        if self._launches.pending and not self.attempts.open:
            watch = self._launches.take()
            assert watch is not None
            self._begin(watch, watch.readings[-1])

    @property
    def revolutions(self) -> float | None:
        """What the present spin's ball provably ran in the track."""
        return self._verdict.revolutions if self._verdict is not None else None

    def _new_watch(self) -> SpinWatch:
        sources = self._health.sources
        smart = any("wheel_status" in kinds for kinds in sources.values())
        watch = (CheckedWatch if smart else SpinWatch)(self._wheel, self._rules, self.learned, sources)
        for standing in (*self._health.down.values(), *self._index_passes):
            watch.see(standing)
        return watch

    def _begin(self, watch: SpinWatch, latest: Reading) -> None:
        self.attempts.begin(self._launches.first_pulse_us)
        self._watch = watch
        self._verdict = None
        self._last_pulse_us = latest.t
        self._ask_for_drop_us = 0
        self._dropped_us = None
        self._late_close = False
        self._set_give_up(latest.t)
        self._after(watch, latest)

    def _follow(self, reading: Reading) -> None:
        watch = self._watch
        assert watch is not None
        next_ball = isinstance(reading, BallBeam) and self._off_the_track(reading.t)
        if next_ball or self._launches.pending:
            launched = self._launches.see(reading)
            if launched is not None:
                self._decide_before_launch()
                self._begin(launched, reading)
                return
        if not next_ball:
            watch.see(reading)
            self._after(watch, reading)

    def _off_the_track(self, t: int, bounces_us: int = BOUNCES_US, quiet_us: int = QUIET_US) -> bool:
        dropped = self._dropped_us is not None and t - self._dropped_us > bounces_us
        return dropped or t - self._last_pulse_us > quiet_us

    def _decide_before_launch(self) -> None:
        """Decide a spin that was still open when the next ball was sent off."""
        self._decide(self._launches.first_pulse_us)
        if self.attempts.state == "held":
            self.attempts.hold_over()

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
        elif isinstance(reading, BallDrop | PocketBall | DeviceDown):
            self._set_give_up(reading.t)
        elif isinstance(reading, WheelStatus):
            if reading.state == NO_MORE_BETS:
                self._game.no_more_bets(reading.t)
            self._set_give_up(reading.t)

    def _expect_drop(self, t: int) -> None:
        due_us = self._no_more_bets_at_us()
        if due_us is None:
            return
        self._desk.set_timer("no_more_bets", max(due_us, t))
        self._ask_for_drop_us = t + (due_us - t) // 4

    def _set_give_up(self, t: int) -> None:
        give_up_us = self._give_up_at_us()
        if give_up_us is not None:
            self._desk.set_timer("give_up", max(give_up_us, t))

    def _no_more_bets_at_us(self) -> int | None:
        return self._watch.no_more_bets_at_us() if self._watch is not None else None

    def _give_up_at_us(self) -> int | None:
        return self._watch.give_up_at_us() if self._watch is not None else None

    def _put_off(self, name: str, due_us: int | None, t: int) -> bool:
        """Set the timer anew where what was seen since it was set puts it off."""
        if due_us is None or due_us <= t:
            return False
        self._desk.set_timer(name, due_us)
        return True

    def _follow_held(self, reading: Reading) -> None:
        watch = self._watch
        assert watch is not None
        watch.see(reading)
        if isinstance(reading, PocketBall | BallOut | ForeignObject | WheelStatus):
            self._decide(reading.t)

    def _drop(self, t: int) -> None:
        if self._dropped_us is None:
            self._dropped_us = t
            self._late_close = self._game.bets_open
            self._desk.stop_timer("no_more_bets")
            self._game.dropped(t)

    def _decide(self, t: int) -> None:
        self._stop_timers()
        watch = self._watch
        assert watch is not None
        verdict, learned = watch.verdict(t)
        if not self.attempts.ending:
            self.learned = learned
            if verdict.ruling is not Ruling.VOID:
                self._drop(t)
        self._verdict = after_late_close(verdict, self._rules) if self._late_close else verdict
        self._note_basis(t, late_close=self._late_close)
        self.attempts.judged(t, self._verdict)

    def _note_basis(self, t: int, called: Reason | None = None, *, late_close: bool = False) -> None:
        assert self._watch is not None
        self._basis = Basis(
            decided_at_us=t,
            called=called,
            sources=dict(self._health.sources),
            learned=self._watch.learned.figures(),
            late_close=late_close,
        )

    def _stop_timers(self) -> None:
        for name in ("no_more_bets", "give_up"):
            self._desk.stop_timer(name)

    # --- what the life-cycle asks of its game ---

    def snapshot(self) -> object:
        """Give the game's state."""
        return self._game.snapshot()

    def restore(self, snapshot: object) -> None:
        """Put the game's state back."""
        self._game.restore(snapshot)

    def value_of(self, verdict: SpinVerdict) -> str | None:
        """Give the number seen."""
        return verdict.number

    def value_entered(self, entered: Input) -> str:
        """Give the number a person entered; raises Refused while the ball runs or for no pocket."""
        if self.attempts.under_way and not self._off_the_track(
            entered.t, bounces_us=0, quiet_us=RUNS_UNTIL_US
        ):
            raise Refused("result_not_in")
        number = str(entered.number)
        if number not in self._wheel.pockets_clockwise:
            raise Refused(
                "bad_argument", f"set_number: this wheel has no pocket {number!r}; enter one it has"
            )
        return number

    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the present spin on what was seen up to t."""
        assert self._watch is not None
        self._note_basis(t, called)
        return self._watch.verdict(t, called)[0]

    def readings(self) -> tuple[Reading, ...]:
        """Give every reading of the present spin."""
        return tuple(self._watch.readings) if self._watch is not None else ()

    def basis(self) -> Basis:
        """Give what the last verdict rests on beside them."""
        return self._basis

    def began(self, t: int) -> None:
        """Tell the game that a spin begins."""
        self._game.began(t)

    def call(self, result: Result[str]) -> Data:
        """Let the game apply a spin that counts."""
        return self._game.call(result)

    def no_result(self, result: Result[str]) -> Data:
        """Let the game apply a No Spin; a ball that still runs is not the next spin's."""
        self._stop_timers()
        if self._watch is not None and self._dropped_us is None and result.by != "nobody":
            self._launches.let_run_out(self._watch.readings)
        return self._game.no_result(result)

    def review(self, result: Result[str]) -> Data:
        """Let the game say what a review tells."""
        self._stop_timers()
        return self._game.review(result)

    def correct(self, result: Result[str], corrects: str, ruling: str) -> Data:
        """Let the game apply a correction."""
        return self._game.correct(result, corrects, ruling)

    def follow_up(self, t: int) -> None:
        """Let the game publish what follows."""
        self._game.follow_up(t)


def late_close_notice() -> Notice:
    """Give the notice that bets were still open at the drop."""
    return Notice(code="late_close", seen="bets were still open when the ball dropped", rule="R-SPIN-3")
