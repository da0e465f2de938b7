"""What a table can tell about a running spin, from its own sensors alone or together with a smart wheel.

Even at a smart wheel, the spin is judged by the table's own beams, since the wheel can't prove the
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
"""Turns in addition to those that the pocket readings need, in which a ball that hopped may still come to
rest in one pocket."""
_MIN_DIRECTION_MARKS = 2
"""Index passes in one run that show the rotor's direction: a single one may be stray."""
_MIN_DIRECTION_TURNS = 2.0
"""A No Spin reports a direction once the ball has run this far: by then it is known which beams are
silent."""
_DETECTED_AGAIN_TURNS = 1.2
"""Within this many turns, a ball that had not dropped would have passed each beam."""
_MAX_TURN_GROWTH = 1.3
"""The assumed length of each further turn, as a multiple of the last one, while neither a drop nor a pocket
reading has been reported."""
_MIN_PULSES = 3
"""With fewer pulses no drop is predicted: two show one speed, and no slowing."""
_MAX_FIRST_LAP_US = 2_500_000
"""A first lap at 0.4 rev/s, slower than any launch: by then the ball is known, or there is none."""
_MAX_RUN_US = 30_000_000
"""A ball launched at 2.6 rev/s, faster than most hands, has left the track by then."""

_IN_OR_OUT = (ForeignObject, BallOut)
_JUDGED_IMMEDIATELY = (BallBeam, *_IN_OR_OUT)


class SpinWatch:
    """Follows one spin reading by reading, in time order.

    Create one for each spin. First pass the `device_down` readings still in force and the last
    `INDEX_PASSES_KEPT` rotor index passes to `see_before`; then pass every reading from the spin's first
    `ball_beam` on to `receive`. After each reading:

    - set the No More Bets timer to `no_more_bets_at_us()`, again at each `ball_beam` while bets are open;
    - set the give-up timer to `give_up_at_us()`, again at each reading;
    - when `decided_by` is set, or the give-up timer fires, call `verdict()`: the spin is decided (or, if
      `is_spin` is false, there was none). Before calling a number, wait for its hold time, and keep passing
      readings until then. After an early No Spin (`no_spin_by`) the ball may still be running: do not pass
      its readings to the next spin.
    """

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """`sources` are the kinds of readings that each device sends, if the configuration lists them."""
        self._wheel = wheel
        self._rules = rules
        self.learned = learned
        """What had been learned about the wheel when its ball was launched."""
        self._sources = sources
        self._trace = SpinTrace(wheel, rules, learned, sources)
        self._readings: list[Reading] = []
        self._object_waits = False
        """Whether something was seen in the wheel before a launch was known."""
        self.no_spin_by: Reading | None = None
        """The reading that made a No Spin certain before any number: the earliest moment to call it."""

    @property
    def readings(self) -> Sequence[Reading]:
        """All readings received, in the order in which `judge_spin` expects them."""
        return self._readings

    @property
    def direction(self) -> Turning | None:
        """The ball's direction; None while its pulses do not clearly show it."""
        return self._trace.ball_direction

    @property
    def rotor_direction(self) -> Turning | None:
        """The rotor's direction; None before an index pass within the spin."""
        return self._trace.rotor_direction

    @property
    def turn_us(self) -> float:
        """How long the rotor's last turn took according to its index passes, in microseconds."""
        return self._trace.rotor.period_us()

    @property
    def is_spin(self) -> bool:
        """Whether a ball, and not a hand, interrupted the beams. If this is False when the spin is given up,
        there was no attempt."""
        return self._trace.is_spin

    @property
    def ball_runs(self) -> bool:
        """Whether a ball is in the track: its pulses make a run, and no drop was sensed."""
        return self._trace.drop is None and self._trace.chain.run is not None

    @property
    def turns(self) -> float:
        """The turns that the ball has run according to its pulses; 0 before they make a run."""
        story = self._trace.chain.run
        return 0.0 if story is None else story.last.turns

    @property
    def ran_since_us(self) -> int:
        """When the running ball made its first pulse."""
        story = self._trace.chain.best
        assert story is not None
        return story.first.t

    @property
    def may_be_another_launch(self) -> bool:
        """Whether the pulses may include those of another launch."""
        return self._trace.chain.may_be_another_launch

    def relaunched(self) -> Pass | None:
        """Return the first pass of another ball, or of a relaunch of this ball; None while there is none."""
        return self._trace.relaunched()

    @property
    def dropped(self) -> bool:
        """Whether the drop was sensed, and the ball was not seen to keep running."""
        return self._trace.drop is not None

    @property
    def devices_lost(self) -> Collection[str]:
        """The wheel's devices that were down at some time during the spin."""
        return self._trace.devices.down

    @property
    def left_track_us(self) -> int | None:
        """When the ball left the track according to the drop sensor (which fires 120 ms later); None
        before."""
        return self._trace.left_track_us

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin: it made a No Spin certain, or confirmed the number.

        Usually it is the index pass that placed the last agreeing pocket reading needed. It may also be the
        pass which showed that somebody had turned the rotor after the ball had come to rest: after that, no
        pocket reading can count.
        """
        return self.no_spin_by or self._trace.pockets.decided_by or self._trace.handled_by

    def see_before(self, readings: Sequence[Reading]) -> None:
        """Handle what was reported before the spin's first pulse, in time order."""
        for reading in readings:
            if isinstance(reading, RotorIndex):
                self._readings.append(reading)
                self._trace.see_mark(reading)
            else:
                self.receive(reading)

    def receive(self, reading: Reading) -> None:
        """Handle the next reading. If a No Spin is suspected, the judge rules immediately."""
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
        """Handle the next reading of a ball whose spin is over: the ball is followed, but no longer
        judged."""
        self._readings.append(reading)
        self._trace.receive(reading)

    def speed_rev_per_s(self) -> float | None:
        """Return the ball's speed at its last pulse; None while its laps do not show it."""
        pulses = self._trace.pulses
        return self._trace.speed_at(pulses[-1].t) if pulses else None

    def predicted_drop_us(self) -> int | None:
        """Return when the ball should leave the track; None before its first lap.

        It may be in the past if a ball was launched too slowly.
        """
        return self._trace.predicted_drop_us()

    def no_more_bets_at_us(self) -> int | None:
        """Return when No More Bets is due (R-SPIN-3): the rule set's lead before the predicted drop.

        If the time is in the past, No More Bets is due immediately. If the pulses do not make a lap within
        2.5 s, it is due then, because the ball is slow or poorly detected. The result is None while there are
        fewer than three pulses, which may come from a hand, and once the ball has dropped.
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
        """Return when the spin is decided if no pocket is confirmed by then; None before its first pulse.

        It is `turns_without_read` rotor turns after the drop, but only `pocket_reads` turns after the last
        pocket reading, because a ball that is then not read for so long has been taken out. It is in any case
        no later than when even a ball that hopped at first would have been read often enough. If no drop was
        sensed, the turns are counted from the time when the drop was overdue, and the rotor is assumed to
        slow down. While a device of the wheel is down, no number can be confirmed automatically, so
        `pocket_reads` turns are enough: a person need not wait longer than it takes to read the ball.
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
        """Judge what was seen up to this time; return the verdict and what has been learned about the
        wheel."""
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
        """Return whether a short run has certainly ended: a ball that kept running would have been detected
        again by now."""
        trace = self._trace
        left_us = trace.left_track_us
        story = None if left_us is None else trace.chain.best
        if left_us is None or story is None or story.last.turns > self._rules.min_revolutions + 1:
            return False
        return now_us - left_us >= _DETECTED_AGAIN_TURNS * 1e6 / max(trace.drop_rev_per_s, 0.25)


NUMBER_WAIT_US = 10_000_000
"""A wheel shows its number within a few seconds of the ball coming to rest, and for at least two rotor
turns."""


class CheckedWatch(SpinWatch):
    """Follows one spin as `SpinWatch` does, together with what the smart wheel reports of it."""

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """Accept the same arguments as `SpinWatch`."""
        super().__init__(wheel, rules, learned, sources)
        self.wheel_game: SmartWheelGame | None = None
        """What the wheel reports of this spin; None until it reports the ball in its rim."""
        self._last_status: WheelStatus | None = None
        self._down: dict[str, DeviceDown] = {}

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin, once the wheel's game is decided too."""
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
        """Return when the spin is decided without the wheel's number, or without any number."""
        by, game = super().decided_by, self.wheel_game
        if by is not None:
            return by.t + NUMBER_WAIT_US
        at_us = super().give_up_at_us()
        return game.give_up_at_us() if at_us is None and game is not None else at_us

    def verdict(self, decided_at_us: int, called: Reason | None = None) -> tuple[SpinVerdict, Learned]:
        """Judge by the beams; a number that the wheel does not confirm is a review."""
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
            _reason(rules, "conflict", f"the pocket reader saw {own}, but the smart wheel reported {number}")
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
