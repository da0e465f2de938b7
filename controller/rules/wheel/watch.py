"""What a table can know of a spin while it runs."""

from collections.abc import Collection, Sequence

from controller.model.geometry import Wheel
from controller.model.readings import (
    BallBeam,
    BallDrop,
    BallOut,
    ForeignObject,
    Reading,
    RotorIndex,
    Turning,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel.devices import Sources
from controller.rules.wheel.judge import judge_and_learn, judge_trace
from controller.rules.wheel.laps import Lap
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.pockets import PocketRead
from controller.rules.wheel.rotor import SLOWEST_TURN_US
from controller.rules.wheel.trace import SpinTrace

_TURNS_TO_AGREE = 4
_SURE_MARKS = 2
_SLOWER = 1.3
_PULSES_OF_A_BALL = 3
_LONGEST_FIRST_LAP_US = 2_500_000
_LONGEST_RUN_US = 30_000_000
"""A ball sent off at 2.6 rev/s, faster than most hands, has left the track by then."""


class SpinWatch:
    """Follows one spin reading by reading, in time order.

    Make one for each spin. First give it, with `see`, the `device_down` readings that still stand and the
    last `INDEX_PASSES_KEPT` rotor index passes; then every reading from the spin's first `ball_beam` on.
    After each:

    - set the No More Bets timer to `no_more_bets_at_us()`, anew at each `ball_beam` while bets are open;
    - set the give-up timer to `give_up_at_us()`, anew at each reading;
    - when `decided_by` is set, or the give-up timer fires, take `verdict()`: the spin is decided (or, where
      `is_spin` is false, there was none). A number is held for the call's hold first, and readings go on
      being seen until then. After an early No Spin (`no_spin_by`) the ball may still run: keep its readings
      out of the next spin.
    """

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """`sources` tells which reading kinds each device sends, where the configuration does."""
        self._wheel = wheel
        self._rules = rules
        self.learned = learned
        """What was known of the wheel when its ball was launched."""
        self._sources = sources
        self._trace = SpinTrace(wheel, rules, learned, sources)
        self._readings: list[Reading] = []
        self._ask_again_at = 0
        self.no_spin_by: Reading | None = None
        """The reading that made a No Spin certain before any number: the earliest moment to call it."""

    @property
    def readings(self) -> Sequence[Reading]:
        """Everything seen, in order: what `judge_spin` takes."""
        return self._readings

    @property
    def direction(self) -> Turning | None:
        """Which way the ball runs; None while its pulses do not clearly tell."""
        return self._trace.ball_direction

    @property
    def rotor_direction(self) -> Turning | None:
        """Which way the rotor turns; None before an index pass within the spin."""
        return self._trace.rotor_direction

    @property
    def is_spin(self) -> bool:
        """Tell a ball from a hand that cut a beam. What is no spin when it is given up is no attempt."""
        return self._trace.is_spin

    @property
    def ball_runs(self) -> bool:
        """Tell whether a ball is in the track: it has closed a lap, and no drop was sensed."""
        return bool(self._trace.clock.laps) and self._trace.drop is None

    @property
    def laps(self) -> Sequence[Lap]:
        """The laps that were timed, by any beam, since they have been in step."""
        return self._trace.clock.laps

    @property
    def devices_lost(self) -> Collection[str]:
        """The wheel's devices that were down at some time of the spin."""
        return self._trace.devices.down

    @property
    def left_track_us(self) -> int | None:
        """When the ball left the track by the drop sensor (which fires 120 ms later); None before."""
        return self._trace.left_track_us

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin: it made a No Spin certain, or the number stand.

        Most often the third agreeing pocket read; an index pass where that read could not be placed before,
        or where it tells that a hand turned the rotor on when the ball lay, so that no read can follow.
        """
        return self.no_spin_by or self._trace.pockets.decided_by or self._trace.handled_by

    def see(self, reading: Reading) -> None:
        """Take the next reading. A suspicion of a No Spin asks the judge at once."""
        self._readings.append(reading)
        trace = self._trace
        if isinstance(reading, BallBeam):
            trace.see_pulse(reading)
            if trace.ball_direction is None or trace.ball_direction != trace.rotor.direction:
                return
        else:
            trace.see(reading)
        if self.no_spin_by is None and self._suspicious(reading):
            verdict, _ = self.verdict(reading.t)
            if verdict.ruling is Ruling.VOID:
                self.no_spin_by = reading

    def speed_rev_per_s(self) -> float | None:
        """Give the ball's speed at its last pulse; None while its laps do not tell."""
        pulses = self._trace.pulses
        return self._trace.clock.speed_at(pulses[-1].t) if pulses else None

    def predicted_drop_us(self) -> int | None:
        """Give when the ball should leave the track; None before its second lap.

        Within 0.6 s (one standard deviation) 3 s ahead with only the wheel's nominal drop speed, within 0.3 s
        once spins were learned from. May lie in the past for a ball launched too slowly.
        """
        return self._trace.clock.predicted_drop_us()

    def no_more_bets_at_us(self) -> int | None:
        """Give when No More Bets is due (R-SPIN-3): the rule set's lead before the predicted drop.

        A time that is past is due at once. A ball whose pulses make no lap within 2.5 s is slow, or ill seen:
        then it is due. None for fewer than three pulses (a hand), and where the ball has dropped.
        """
        trace = self._trace
        if len(trace.pulses) < _PULSES_OF_A_BALL or trace.drop is not None:
            return None
        predicted = self.predicted_drop_us()
        if predicted is None:
            since_us = trace.clock.looking_since_us
            return None if trace.clock.laps or since_us is None else since_us + _LONGEST_FIRST_LAP_US
        return predicted - round(self._rules.no_more_bets_lead_s * 1e6)

    def pocket(self) -> PocketRead | None:
        """Give the deciding pocket read, with its `number`; None until enough turns agree."""
        return self._trace.pockets.stands

    def give_up_at_us(self) -> int | None:
        """Give when the spin is decided if no pocket stands by then; None before its first pulse.

        `turns_without_read` rotor turns after the drop or the last pocket read, whichever is later, and at
        most the turns in which a resting ball would have been read often enough. Before a drop was sensed it
        is the time by which a slowing rotor makes them after an overdue one. While a device of the wheel is
        down no number can stand by itself, and a person need not wait longer than for it to be read.
        """
        trace = self._trace
        if not trace.begun:
            return None
        since = trace.dropped_us()
        silence = self._rules.pocket_reads if trace.devices.still_down else self._rules.turns_without_read
        reads = trace.pockets.reads
        if trace.drop is None and not reads:
            if trace.devices.down and trace.clock.predicted_drop_us() is None:
                since = max(since, trace.pulses[0].t + _LONGEST_RUN_US)
            return since + round(silence * min(_SLOWER * trace.rotor.period_us(), SLOWEST_TURN_US))
        last = max(since, reads[-1].reading.t) if reads else since
        hopping = trace.rotor.after_turns_us(since, silence + self._rules.pocket_reads + _TURNS_TO_AGREE)
        return min(trace.rotor.after_turns_us(last, silence), hopping)

    def verdict(self, decided_at_us: int, called: Reason | None = None) -> tuple[SpinVerdict, Learned]:
        """Judge what was seen up to that time, and give what is known of the wheel after it."""
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

    def _suspicious(self, reading: Reading) -> bool:
        trace = self._trace
        if isinstance(reading, (BallBeam, RotorIndex)):
            return trace.ball_direction is not None and self._same_direction()
        if isinstance(reading, BallDrop):
            return len(trace.pulses) <= (self._rules.min_revolutions + 1) * len(self._wheel.beams_deg)
        return isinstance(reading, ForeignObject | BallOut)

    def _same_direction(self) -> bool:
        trace = self._trace
        if trace.ball_direction != trace.rotor.direction:
            return False
        return trace.marks >= _SURE_MARKS and self._is_time_to_ask()

    def _is_time_to_ask(self) -> bool:
        """Ask the judge at ever longer intervals, so that an odd spin stays cheap."""
        seen = len(self._readings)
        if seen < self._ask_again_at:
            return False
        self._ask_again_at = 2 * seen
        return True
