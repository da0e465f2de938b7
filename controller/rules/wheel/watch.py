"""A running spin as the table's sensors report it, alone or together with a smart wheel.

Even at a smart wheel, the table's beams decide the spin, because the wheel cannot prove the number of
revolutions. A number that the wheel contradicts or does not report is not called.
"""

from collections.abc import Collection, Sequence

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import (
    BallBeam,
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    PocketBall,
    Reading,
    RotorIndex,
    Turning,
    WheelStatus,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel.devices import Sources
from controller.rules.wheel.judge import is_void, judge_and_learn, judge_trace
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.rotor import SLOWEST_TURN_US, PocketRead
from controller.rules.wheel.smart_wheel_game import BALL_IN_RIM, NO_MORE_BETS, RULES, SmartWheelGame
from controller.rules.wheel.story import Pass
from controller.rules.wheel.trace import SpinTrace

_EXTRA_TURNS = 4
"""Turns beyond those that the pocket readings need, in which a hopping ball might still come to rest."""
_MIN_DIRECTION_MARKS = 2
"""Minimum number of index passes in one run that show the rotor's direction; a single pass might be stray."""
_MIN_DIRECTION_TURNS = 2.0
"""Minimum number of turns of the ball before its direction can make a No Spin certain. By then, the silent
beams are known."""
_DETECTED_AGAIN_TURNS = 1.2
"""Number of turns within which a running ball passes every beam."""
_MIN_DROP_REV_PER_S = 0.25
"""Minimum drop speed, in rev/s. A slower ball can't stay in the track, whatever the wheel's file says."""
_MAX_TURN_GROWTH = 1.3
"""Assumed ratio of the duration of a further rotor turn to that of the last measured turn, while neither a
drop nor a pocket reading has been reported."""
_MIN_PULSES = 3
"""Minimum number of pulses for a prediction of the drop; two show one speed, but no loss of speed."""
_MAX_FIRST_LAP_US = 2_500_000
"""Duration of a first lap at 0.4 rev/s, slower than any launch. A ball would have been detected by then."""
_MAX_RUN_US = 30_000_000
"""Maximum duration of a run. A ball launched at 2.6 rev/s, faster than most hands launch it, leaves the track
within this time."""

_IN_OR_OUT = (ForeignObject, BallOut)
_JUDGED_IMMEDIATELY = (BallBeam, *_IN_OR_OUT)


class SpinWatch:
    """A watch on one spin, which receives the readings in time order.

    Create one for each spin. To begin, give `see_before` the `device_down` readings still in force and the
    last `INDEX_PASSES_KEPT` rotor index passes. Then give `receive` all readings, starting with the spin's
    first `ball_beam`. After each reading:

    - set the No More Bets timer to `no_more_bets_at_us()`, again at each `ball_beam` while bets are open;
    - set the give-up timer to `give_up_at_us()`, again at each reading;
    - when `decided_by` is set, or the give-up timer fires, call `verdict()`. The spin is decided or, if
      `is_spin` is False, there was no spin. Before calling a number, wait for its hold time, and keep giving
      `receive` readings until then. After an early No Spin (`no_spin_by`), the ball might still be running:
      do not give its readings to the next spin.
    """

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """`sources` lists the kinds of readings that each device sends, if the configuration lists them."""
        self._wheel = wheel
        self._rules = rules
        self.learned = learned
        """Values learned about the wheel before the launch."""
        self._sources = sources
        self._trace = SpinTrace(wheel, rules, learned, sources)
        self._readings: list[Reading] = []
        self._object_waits = False
        """Whether an object in the wheel, or the ball outside it, was seen before a launch was known."""
        self.no_spin_by: Reading | None = None
        """The reading that made a No Spin certain before a number was confirmed. The No Spin can be called
        from then on."""

    @property
    def readings(self) -> Sequence[Reading]:
        """All received readings, in the order that `judge_spin` expects."""
        return self._readings

    @property
    def direction(self) -> Turning | None:
        """Direction of the ball; None until its pulses clearly show it."""
        return self._trace.ball_direction

    @property
    def rotor_direction(self) -> Turning | None:
        """Direction of the rotor; None until an index pass within the spin confirms the direction."""
        return self._trace.rotor_direction

    @property
    def turn_us(self) -> float:
        """Duration of the rotor's last turn according to its index passes, in microseconds."""
        return self._trace.rotor.period_us()

    @property
    def is_spin(self) -> bool:
        """Whether a ball, and not a hand, interrupted the beams. If it is False when the spin is given up,
        there was no attempt."""
        return self._trace.is_spin

    @property
    def ball_runs(self) -> bool:
        """Whether a ball is in the track: its pulses make a run, and no drop was sensed."""
        return self._trace.drop is None and self._trace.chain.run is not None

    @property
    def turns(self) -> float:
        """Turns of the ball according to its pulses; 0 before they make a run."""
        story = self._trace.chain.run
        return 0.0 if story is None else story.last.turns

    @property
    def ran_since_us(self) -> int:
        """Time of the running ball's first pulse."""
        story = self._trace.chain.best
        assert story is not None
        return story.first.t

    @property
    def may_be_another_launch(self) -> bool:
        """Whether the pulses might include those of a further launch."""
        return self._trace.chain.may_be_another_launch

    def relaunched(self) -> Pass | None:
        """Return the first pass of a second ball, or of a relaunch of this ball; None if there is none."""
        return self._trace.relaunched()

    @property
    def dropped(self) -> bool:
        """Whether the drop was sensed and no later pulses showed a running ball."""
        return self._trace.drop is not None

    @property
    def devices_lost(self) -> Collection[str]:
        """The wheel's devices that were down at some time during the spin."""
        return self._trace.devices.down

    @property
    def left_track_us(self) -> int | None:
        """Time of the ball's exit from the track according to the drop sensor, which fires 120 ms later; None
        until then."""
        return self._trace.left_track_us

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin: it made a No Spin certain, or confirmed the number.

        In most spins it is the index pass that placed the last agreeing pocket reading. It can also be the
        pass that showed that a person had turned the rotor while the ball was at rest; no pocket reading
        counts after that.
        """
        return self.no_spin_by or self._trace.pockets.decided_by or self._trace.handled_by

    def see_before(self, readings: Sequence[Reading]) -> None:
        """Handle the readings before the spin's first pulse, in time order."""
        for reading in readings:
            if isinstance(reading, RotorIndex):
                self._readings.append(reading)
                self._trace.see_mark(reading)
            else:
                self.receive(reading)

    def receive(self, reading: Reading) -> None:
        """Handle the next reading. If it could make a No Spin certain, the judge rules immediately."""
        self._readings.append(reading)
        trace = self._trace
        if isinstance(reading, BallBeam):
            trace.see_pulse(reading)
            if not (self._object_waits and trace.is_spin):
                return
            self._object_waits = False
        elif isinstance(reading, RotorIndex):
            trace.see_mark(reading)
            if not trace.pulses:
                return
        elif isinstance(reading, _IN_OR_OUT) and not trace.is_spin:
            trace.receive(reading)
            self._object_waits = True
            return
        else:
            trace.receive(reading)
        must_judge = self.no_spin_by is None and self._must_judge_after(reading)
        if must_judge and is_void(trace, self._readings, reading.t):
            self.no_spin_by = reading

    def follow(self, reading: Reading) -> None:
        """Handle the next reading of a ball whose spin is over, without judging it."""
        self._readings.append(reading)
        self._trace.receive(reading)

    def speed_rev_per_s(self) -> float | None:
        """Return the ball's speed at its last pulse; None until its laps show it."""
        pulses = self._trace.pulses
        return self._trace.speed_at(pulses[-1].t) if pulses else None

    def predicted_drop_us(self) -> int | None:
        """Return the predicted time of the ball's exit from the track; None before its first lap.

        The time can be in the past if the launch was too slow.
        """
        return self._trace.predicted_drop_us()

    def no_more_bets_at_us(self) -> int | None:
        """Return the time of No More Bets (R-SPIN-3): the rule set's lead before the predicted drop.

        If the time is in the past, No More Bets is due immediately. If the pulses do not complete a lap
        within 2.5 s, the ball is slow or poorly detected, and No More Bets is due at the end of the 2.5 s.
        The result is None after the drop, and while there are fewer than three pulses, which a hand might
        have caused.
        """
        trace = self._trace
        if len(trace.pulses) < _MIN_PULSES or trace.drop is not None:
            return None
        predicted = self.predicted_drop_us()
        if predicted is None:
            return trace.pulses[0].t + _MAX_FIRST_LAP_US
        return predicted - round(self._rules.no_more_bets_lead_s * 1e6)

    def pocket(self) -> PocketRead | None:
        """Return the deciding pocket reading, with its `number`; None until enough turns agree."""
        return self._trace.pockets.confirmed

    def give_up_at_us(self) -> int | None:
        """Return the time at which the spin is decided without a confirmed pocket; None before its first
        pulse.

        The limit is `turns_without_read` rotor turns after the drop, or `pocket_reads` turns after the last
        pocket reading, because a ball that goes unread for that long has been removed. The limit is never
        later than the time by which a ball that hopped at first would have been read often enough. Without a
        sensed drop, the turns count from the time at which the drop became overdue, and the rotor is assumed
        to slow down. While a device of the wheel is down, no number can be confirmed automatically, so the
        limit is `pocket_reads` turns.
        """
        trace = self._trace
        if not trace.begun:
            return None
        since = trace.dropped_us()
        reads = trace.pockets.seen
        may_be_taken_out = bool(reads or trace.devices.still_down)
        silence = self._rules.pocket_reads if may_be_taken_out else self._rules.turns_without_read
        if trace.drop is None and not reads:
            if trace.devices.down and trace.predicted_drop_us() is None:
                since = max(since, trace.pulses[0].t + _MAX_RUN_US)
            return since + round(silence * min(_MAX_TURN_GROWTH * trace.rotor.period_us(), SLOWEST_TURN_US))
        last = max(since, reads[-1].t) if reads else since
        hopping = trace.rotor.after_turns_us(since, silence + self._rules.pocket_reads + _EXTRA_TURNS)
        return min(trace.rotor.after_turns_us(last, silence), hopping)

    def verdict(self, decided_at_us: int, called: Reason | None = None) -> tuple[SpinVerdict, Learned]:
        """Judge the readings up to this time; return the verdict and the updated learned values."""
        if self._readings and self._readings[-1].t <= decided_at_us:
            return judge_trace(self._trace, self._readings, decided_at_us, called)
        return judge_and_learn(
            self._readings,
            self._wheel,
            self._rules,
            decided_at_us=decided_at_us,
            learned=self.learned,
            called=called,
            sources=self._sources,
        )

    def _must_judge_after(self, reading: Reading) -> bool:
        if isinstance(reading, RotorIndex):
            return self._same_direction() or self._dropped_early(reading.t)
        if isinstance(reading, PocketBall):
            return self._dropped_early(reading.t)
        return isinstance(reading, _JUDGED_IMMEDIATELY)

    def _same_direction(self) -> bool:
        trace = self._trace
        story = trace.chain.run if trace.marks >= _MIN_DIRECTION_MARKS else None
        return (
            story is not None
            and story.last.turns >= _MIN_DIRECTION_TURNS
            and story.direction == trace.rotor.direction
            and trace.ball_direction == trace.rotor.direction
        )

    def _dropped_early(self, now_us: int) -> bool:
        """Return whether a short run has certainly ended. A ball that was still running would have been
        detected again by now."""
        trace = self._trace
        left_us = trace.left_track_us
        story = None if left_us is None else trace.chain.best
        if left_us is None or story is None or story.last.turns > self._rules.min_revolutions + 1:
            return False
        slowest = max(trace.drop_rev_per_s, _MIN_DROP_REV_PER_S)
        return now_us - left_us >= _DETECTED_AGAIN_TURNS * 1e6 / slowest


NUMBER_WAIT_US = 10_000_000
"""Time within which a wheel reports its number. A wheel shows the number within a few seconds of the ball
coming to rest, and for at least two rotor turns."""


class CheckedWatch(SpinWatch):
    """A `SpinWatch` that also checks the smart wheel's reports of the spin."""

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """Accept the same arguments as `SpinWatch`."""
        super().__init__(wheel, rules, learned, sources)
        self.wheel_game: SmartWheelGame | None = None
        """The wheel's reports of this spin; None until the wheel reports the ball in its rim or No More
        Bets."""
        self._last_status: WheelStatus | None = None
        self._down: dict[str, DeviceDown] = {}

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin. Unless a No Spin is certain, it is None until the smart wheel's
        game, if there is one, is also decided."""
        by, game = super().decided_by, self.wheel_game
        if game is None or self.no_spin_by is not None:
            return by
        if by is None:
            return game.decided_by if self._beams_silent else None
        return None if game.decided_by is None else max(by, game.decided_by, key=lambda reading: reading.t)

    def receive(self, reading: Reading) -> None:
        """Handle the next reading."""
        if isinstance(reading, DeviceDown):
            self._down[reading.dev] = reading
        elif isinstance(reading, DeviceUp):
            self._down.pop(reading.dev, None)
        if isinstance(reading, WheelStatus):
            if self.wheel_game is None and reading.state in (BALL_IN_RIM, NO_MORE_BETS):
                self.wheel_game = SmartWheelGame(
                    self._wheel.pockets_clockwise, self._rules, self._last_status
                )
                if reading.dev in self._down:
                    self.wheel_game.receive(self._down[reading.dev])
            self._last_status = reading
        if self.wheel_game is not None:
            self.wheel_game.receive(reading)
        super().receive(reading)

    def give_up_at_us(self) -> int | None:
        """Return the time at which the spin is decided without the wheel's number, or without any number."""
        by, game = super().decided_by, self.wheel_game
        if by is not None:
            return by.t + NUMBER_WAIT_US
        at_us = super().give_up_at_us()
        return game.give_up_at_us() if at_us is None and game is not None else at_us

    def verdict(self, decided_at_us: int, called: Reason | None = None) -> tuple[SpinVerdict, Learned]:
        """Judge by the beams; a number that the wheel does not confirm leads to a review."""
        verdict, learned = super().verdict(decided_at_us, called)
        if verdict.ruling is Ruling.VOID:
            return verdict, learned
        return _check_number(verdict, self.wheel_game, self._rules), learned

    @property
    def _beams_silent(self) -> bool:
        return super().give_up_at_us() is None


def _check_number(verdict: SpinVerdict, game: SmartWheelGame | None, rules: SpinRules) -> SpinVerdict:
    number, own = None if game is None else game.number, verdict.number
    reasons: list[Reason] = []
    if game is None or game.number_by is None:
        reasons.append(_reason(rules, "missing_reading", "the smart wheel reported no number for this spin"))
    elif own is not None and own != number:
        reasons.append(
            _reason(
                rules, "conflict", f"the pocket reader detected {own}, but the smart wheel reported {number}"
            )
        )
    if game is not None and game.number_by is not None and not game.observed:
        reasons += game.verdict().reasons
    evidence = (*verdict.evidence, *(game.readings if game is not None else ()))
    if not reasons:
        return msgspec.structs.replace(verdict, number=own or number, evidence=_in_order(evidence))
    reasons = [*verdict.reasons, *reasons]
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.REVIEW,
        sentence="Review: " + "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons),
        number=own or number,
        reasons=tuple(reasons),
        evidence=_in_order(evidence),
    )


def _in_order(evidence: tuple[Reading, ...]) -> tuple[Reading, ...]:
    once = {id(reading): reading for reading in evidence}
    return tuple(sorted(once.values(), key=lambda reading: reading.t))


def _reason(rules: SpinRules, code: str, seen: str) -> Reason:
    return Reason(code=code, rule=rules.causes.get(code, RULES[code]), seen=seen)
