"""One spin as its readings show it, updated with each reading."""

from collections.abc import Sequence
from dataclasses import dataclass

from controller.model.geometry import Wheel
from controller.model.readings import (
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    ForeignObject,
    PocketBall,
    Reading,
    RotorIndex,
    Turning,
)
from controller.model.rulesets import SpinRules
from controller.rules.wheel.ball import BallRun, find_ball_run
from controller.rules.wheel.chain import Chain
from controller.rules.wheel.devices import LOSSES, Sources, WheelDevices
from controller.rules.wheel.learned import KNEE_SLOWING, KNEE_SPEEDS, MAX_LOSS_WITHOUT_KNEE, Learned, Slowing
from controller.rules.wheel.rotor import Place, PocketCount, PocketRead, Rotor, place_read, read_at
from controller.rules.wheel.story import NOT_COMPUTED, Lap, Pass, Story

DROP_SENSOR_DELAY_US = 120_000
"""Delay of the drop sensor, which is below the track, after the ball's exit from the track (manufacturer's
value)."""
AT_REST_AFTER_US = 8_000_000
"""Time after a ball's drop by which it is at rest. The ball reaches the pockets in 0.5 to 2.5 s, and can then
hop for one or two turns."""
_DROP_OVERDUE_US = 500_000
"""Maximum delay of a drop after its predicted time. After that, the ball is assumed to have dropped
undetected."""
_MAX_LAP_US = 3_000_000
"""Duration of a lap at 0.33 rev/s, a speed at which every ball has left the track."""
_MIN_BALL_PULSES = 4
"""Number of pulses that are treated as a spin even without a run. Dust interrupts only one or two beams."""
_READS_WHILE_RUNNING = 2
"""Number of readings of one pocket, while a ball is running, that show a second ball in the rotor. A single
reading might be a flash of light."""
_KEPT_RUNNING_PASSES, _KEPT_RUNNING_TURNS = 3, 0.9
"""Passes and turns after a sensed drop that show that the ball had not dropped. A ball that is knocked back
up makes one or two passes and does not complete a lap."""
_REPEATED_DROP_PASSES = 1
"""Minimum number of passes between two sensed drops for the later drop to count."""
_RELAUNCH_SPEED_RATIO = 1.1
"""Ratio of a ball's speed to its earlier speed above which the ball is treated as launched again. A tilted
bowl speeds a ball up by only a twentieth. A ball that is knocked back up after its drop is slower than before
the drop."""
_LAP_DISTANCE_TURNS = 1.0
"""Turns between the two laps that show a ball's loss of speed: far enough apart for jitter not to matter."""
_MIN_RELATIVE_LOSS, _MAX_RELATIVE_LOSS = 0.5, 1.6
"""Range of a ball's loss of speed relative to that of other balls on the same wheel. Values outside this
range are measurement errors."""
_LOSS_PERSISTENCE, _PERSISTENCE_REV_PER_S = 1.0, 0.6
"""How much of a ball's deviation from the typical loss of speed persists until the drop: the fraction for a
deviation measured at the drop speed, and the excess over the drop speed (rev/s) at which this fraction
reaches 0."""
_LAP_TURNS = 0.99
"""One lap, less the possible error in the beams' angles."""
_MAX_LAP_TURNS = 2.0
"""Maximum number of turns for a measurement of speed. A lap includes every beam and every part of a tilted
bowl; missed passes can extend the measurement to two laps."""

_DEVICE_READINGS = (DeviceDown, DeviceUp, DeviceFault)


@dataclass(frozen=True, slots=True)
class Reversal:
    """A reversal of the rotor: the last pass in direction `before`, the first pass in the other direction,
    and the pass that proved the reversal."""

    last_us: int
    before: Turning
    first_us: int
    shown_by: RotorIndex


class SpinTrace:
    """The state of one spin, updated with each reading in time order."""

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """Start before the spin. Index passes and lost devices can be reported before its first pulse."""
        self.wheel = wheel
        self.rules = rules
        self.learned = learned
        self.slowing = learned.slowing()
        self.drop_rev_per_s = learned.drop_speed(wheel.drop_rev_per_s)[0]
        self.chain = Chain(wheel.beams_deg, self.drop_rev_per_s)
        self.rotor = Rotor()
        self.pockets = PocketCount(rules.pocket_reads)
        self.reads_while_running = PocketCount(_READS_WHILE_RUNNING)
        self.pulses: list[BallBeam] = []
        self.drop: BallDrop | None = None
        self.foreign: list[ForeignObject] = []
        self.out: list[BallOut] = []
        self.devices = WheelDevices(sources)
        self.index_passes: list[RotorIndex] = []
        self.marks = 0
        """Number of index passes of the rotor's current run within the spin."""
        self.contrary_mark: RotorIndex | None = None
        """The last index pass, if its direction differs from that of the preceding passes."""
        self.reversals: list[Reversal] = []
        self.handled_by: RotorIndex | None = None
        """Index pass that showed that a person had turned the rotor while the ball was at rest."""
        self._beams = len(wheel.beams_deg)
        self._reads_wait = False
        """Whether the location of a pocket reading might depend on the next index pass."""
        self._followed: tuple[tuple[int, int | None], BallRun | None] | None = None
        self._predicted: tuple[Pass, int] | None = None
        """The last pass on which the prediction of the drop is based, and the predicted time."""

    @property
    def begun(self) -> bool:
        """Whether the ball has interrupted a beam."""
        return bool(self.pulses)

    @property
    def is_spin(self) -> bool:
        """Whether a ball, and not a hand, interrupted the beams.

        The evidence of a ball is a run, a drop, a pocket reading, or at least `_MIN_BALL_PULSES` pulses.
        """
        return bool(self.chain.run or self.drop or self.pockets.seen) or len(self.pulses) >= _MIN_BALL_PULSES

    @property
    def ball_direction(self) -> Turning | None:
        """Direction of the ball; None until its pulses clearly show it."""
        return self.chain.direction

    @property
    def left_track_us(self) -> int | None:
        """Time of the ball's exit from the track according to the drop sensor; None until the sensor
        fires."""
        return None if self.drop is None else self.drop.t - DROP_SENSOR_DELAY_US

    @property
    def rotor_direction(self) -> Turning | None:
        """Direction of the rotor in this spin; None until an index pass within the spin confirms the
        direction."""
        return self.rotor.direction if self.marks and len(self.rotor.times_us) > 1 else None

    def ball(self) -> BallRun | None:
        """Return the run that explains the pulses; None if there is none."""
        evidence = len(self.pulses), self.left_track_us
        if self._followed is None or self._followed[0] != evidence:
            ball = find_ball_run(self.chain, self.slowing, self.left_track_us, self.pulses)
            self._followed = evidence, ball
        return self._followed[1]

    def speed_at(self, t_us: int) -> float | None:
        """Return the ball's speed at a time (rev/s), extrapolated from its last lap; None before its first
        lap."""
        lap = self._last_lap()
        if lap is None:
            return None
        middle_us, speed = lap
        return self.slowing.speed_after(speed, max(t_us - middle_us, 0) / 1e6)

    def predicted_drop_us(self) -> int | None:
        """Return the predicted time of the ball's exit from the track; None before its first lap."""
        story = self.chain.run
        if story is None:
            return None
        if self._predicted is None or self._predicted[0] is not story.last:
            middle_us, speed = lap = last_lap(story)
            slowing = self._choose_slowing(story.last)
            seconds = slowing.seconds_left(speed, self.drop_rev_per_s)
            seconds /= self._relative_loss(slowing, story.last, lap)
            self._predicted = story.last, round(middle_us + 1e6 * seconds)
        return self._predicted[1]

    def drop_speed(self, ball: BallRun) -> float | None:
        """Return the drop speed (rev/s) that would have predicted this ball's drop correctly; None if its
        last lap is unknown."""
        lap = lap_before(ball.passes[-1])
        if lap is None:
            return None
        middle_us, speed = lap
        seconds = (ball.end_us - middle_us) / 1e6
        return self.slowing.speed_after(
            speed, seconds * self._relative_loss(self.slowing, ball.passes[-1], lap)
        )

    def _choose_slowing(self, last: Pass) -> Slowing:
        """Return the loss of speed learned from earlier balls, or a loss with a knee if no earlier ball was
        timed and this ball's laps show a knee."""
        if self.learned.left_s:
            return self.slowing
        slowest, fastest = KNEE_SPEEDS
        later: tuple[float, float] | None = None
        due, at = last.turns, last
        while at.before is not None and (later is None or later[1] < fastest):
            if at.turns <= due and (lap := lap_before(at)) is not None:
                if later is not None and slowest <= (lap[1] + later[1]) / 2 <= fastest:
                    loss = (lap[1] - later[1]) * 1e6 / (later[0] - lap[0])
                    if loss > MAX_LOSS_WITHOUT_KNEE:
                        return KNEE_SLOWING
                later, due = lap, at.turns - _LAP_DISTANCE_TURNS
            at = at.before
        return self.slowing

    def _relative_loss(self, slowing: Slowing, last: Pass, lap: tuple[float, float]) -> float:
        """Return this ball's expected loss of speed until its drop, relative to others on the same wheel.

        The estimate is based on the ball's last laps.
        """
        middle_us, speed = lap
        at, since = last, last.turns - _LAP_DISTANCE_TURNS
        while at.before is not None and at.turns > since:
            at = at.before
        before = lap_before(at)
        if before is None or before[0] >= middle_us:
            return 1.0
        loss = (before[1] - speed) * 1e6 / (middle_us - before[0])
        ratio = loss / slowing.loss((speed + before[1]) / 2)
        persistence = _LOSS_PERSISTENCE * max(
            1.0 - (speed - self.drop_rev_per_s) / _PERSISTENCE_REV_PER_S, 0.0
        )
        known: float = min(max(ratio, _MIN_RELATIVE_LOSS), _MAX_RELATIVE_LOSS) ** min(persistence, 1.0)
        return known

    def _last_lap(self) -> tuple[float, float] | None:
        story = self.chain.run
        if story is None:
            return None
        return last_lap(story)

    def relaunched(self) -> Pass | None:
        """Return the first pass of a second ball, or of a relaunch of this ball; None if there is none.

        A launch is certain only if the new run is clearly faster than this ball was (after a drop, faster
        than the wheel's drop speed), or if it runs in the other direction before a drop. Otherwise the run
        belongs to this spin: a ball that runs on after a drop was knocked back up, and a ball that is
        detected again after a silence might be the same ball.
        """
        story = self.chain.second_run()
        if story is None or story.before is None:
            return None
        before, left_us = story.before, self.left_track_us
        after_drop = left_us is not None and story.first.t > left_us
        if story.sense != before.sense and not after_drop:
            return story.first
        lap = lap_before(story.last)
        slowest = self.drop_rev_per_s if after_drop else before.last.speed
        return story.first if lap is not None and lap[1] > _RELAUNCH_SPEED_RATIO * slowest else None

    def dropped_us(self) -> int:
        """Return the time of the sensed drop or, without one, the time from which the drop is overdue."""
        if self.drop is not None:
            return self.drop.t
        last = self.pulses[-1].t if self.pulses else 0
        predicted = self.predicted_drop_us()
        if predicted is None:
            return last + _MAX_LAP_US
        return max(last, predicted) + _DROP_OVERDUE_US

    def in_play(self, at_us: int) -> bool:
        """Return whether the ball was in play at this time: running, or in the rotor for too short a time to
        have come to rest.

        After its last pass, a ball without a sensed drop is not treated as in play if a device of the wheel
        was lost before this time.
        """
        run = self.chain.run
        while (
            run is not None and run.before is not None and self.drop is not None and run.first.t > self.drop.t
        ):
            run = run.before  # the later run is the next launch
        if run is not None and at_us <= run.last.t:
            return True
        if self.drop is None and any(lost.t < at_us for lost in self.devices.down.values()):
            return False
        return at_us <= self.dropped_us() + AT_REST_AFTER_US

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        if isinstance(reading, BallBeam):
            self.see_pulse(reading)
        elif isinstance(reading, RotorIndex):
            self.see_mark(reading)
        elif isinstance(reading, PocketBall):
            self._see_read(reading)
        else:
            self._see_other(reading)

    def see_pulse(self, pulse: BallBeam) -> None:
        """Handle the next reading, which is a pulse of a beam."""
        if pulse.beam >= self._beams:
            return
        self.pulses.append(pulse)
        self.chain.receive(pulse.t, pulse.beam)
        if self.drop is not None and self._kept_running(_KEPT_RUNNING_PASSES, _KEPT_RUNNING_TURNS):
            self.drop = None
            self.pockets = PocketCount(self.pockets.needed)

    def _kept_running(self, passes: int, turns: float) -> bool:
        """Return whether the ball ran on long enough after the sensed drop to prove the drop false."""
        story, left_us = self.chain.best, self.left_track_us
        assert left_us is not None
        if story is None or (story.first.t > left_us and story.before is not None):
            return False
        after, at = 0, story.last
        while at.t > left_us and at.before is not None:
            after, at = after + 1, at.before
        return after >= passes and story.last.turns - at.turns >= turns

    def see_mark(self, mark: RotorIndex) -> None:
        """Handle the next reading, which is an index pass."""
        self.index_passes.append(mark)
        rotor = self.rotor
        run = rotor.run
        in_time = rotor.add_pass(mark)
        if not self.pulses:
            return
        if rotor.run != run:
            self._note_new_run(mark)
        elif in_time:
            self.marks += 1
            self.contrary_mark = None
        elif rotor.direction != mark.direction:
            self.contrary_mark = mark
        if self._reads_wait:
            for count in (self.reads_while_running, self.pockets):
                count.place(mark, self._place)
            self._reads_wait = self.reads_while_running.waits or self.pockets.waits

    def _note_new_run(self, mark: RotorIndex) -> None:
        """Handle a new run of the rotor, which this index pass revealed and a person might have caused."""
        rotor = self.rotor
        last_us, direction = rotor.run_before
        self.marks = sum(passed >= self.pulses[0].t for passed in rotor.times_us)
        first_us = rotor.times_us[0]
        direction_changed = direction is not None and direction != rotor.direction
        if direction is not None and direction_changed:
            self.reversals.append(Reversal(last_us, direction, first_us, mark))
        if (direction_changed or rotor.was_accelerated) and self._was_at_rest(first_us, mark.t):
            self.handled_by = self.handled_by or mark
        self.contrary_mark = None

    def _place(self, reading: PocketBall) -> PocketRead | None:
        return place_read(reading, self.rotor, self.wheel)

    def _was_at_rest(self, at_us: int, now_us: int) -> bool:
        return self.is_spin and now_us > self.dropped_us() and not self.in_play(at_us)

    def _see_read(self, reading: PocketBall) -> None:
        if not self.begun:
            return
        self._reads_wait = True
        if reading.t < self.dropped_us():
            self.reads_while_running.receive(reading)
            return
        pockets = self.pockets
        pockets.receive(reading)
        if pockets.confirmed is not None:
            self._compare_with_confirmed(reading, pockets.confirmed)

    def _compare_with_confirmed(self, reading: PocketBall, confirmed: PocketRead) -> None:
        """Compare a pocket reading with the confirmed number before the next index pass places the
        reading."""
        last = self.rotor.marks[-1]
        turn_us = self.rotor.period_us()
        since = (reading.t - last.t) / turn_us
        if last.run != confirmed.run or not 0.0 <= since <= 1.0:
            return
        read = read_at(reading, Place(last.turn + since, last.run, turn_us, last.direction), self.wheel)
        if read.number != confirmed.number and not read.at_border:
            self.pockets.note_contradiction(read)

    def _see_other(self, reading: Reading) -> None:
        if isinstance(reading, _DEVICE_READINGS):
            self.devices.receive(reading, begun=self.begun)
            if (
                isinstance(reading, DeviceUp)
                and self.begun
                and self.devices.serves(reading.dev, {"ball_beam"})
            ):
                self.chain.interrupt()
            if (
                isinstance(reading, DeviceFault)
                and reading.code in LOSSES
                and self.devices.serves(reading.dev, {"pocket_ball"})
            ):
                self.pockets.reader_missed = True
        elif isinstance(reading, ForeignObject):
            self.foreign.append(reading)
        elif not self.begun:
            return
        elif isinstance(reading, BallDrop):
            if self.drop is None or self._kept_running(_REPEATED_DROP_PASSES, 0.0):
                self.drop = reading
                self.pockets = PocketCount(self.pockets.needed)
        elif isinstance(reading, BallOut):
            self.out.append(reading)


def last_lap(story: Story) -> tuple[float, float]:
    """Return the middle of a run's last lap (us) and the speed at that time (rev/s).

    If the lap is unknown, return the time of the last pass and the speed of the step to it.
    """
    last = story.last
    return lap_before(last) or (float(last.t), last.speed)


def laps(passes: Sequence[Pass]) -> list[tuple[float, float]]:
    """Return the middle (us) and the speed (rev/s) of each lap that ends at one of the passes."""
    if len(passes) > 1 and passes[0].before is None:
        _find_laps(passes)
    return [lap for at in passes if (lap := lap_before(at)) is not None]


def _find_laps(passes: Sequence[Pass]) -> None:
    """Compute all laps of a run; `passes` must begin with its first pass."""
    since = 0
    for at in passes:
        turns = at.turns
        while turns - passes[since + 1].turns >= _LAP_TURNS:
            since += 1
        if at.lap is NOT_COMPUTED:
            at.lap = _lap(passes[since], at)


def lap_before(last: Pass) -> Lap | None:
    """Return the middle (us) and the speed (rev/s) of the lap that ends at a pass; None if none does."""
    if last.lap is NOT_COMPUTED:
        last.lap = _lap_before(last)
    return last.lap


def _lap_before(last: Pass) -> Lap | None:
    turns, at = last.turns, last.before
    while at is not None and turns - at.turns < _LAP_TURNS:
        at = at.before
    return None if at is None else _lap(at, last)


def _lap(first: Pass, last: Pass) -> Lap | None:
    turns = last.turns - first.turns
    if not _LAP_TURNS <= turns <= _MAX_LAP_TURNS:
        return None
    return (last.t + first.t) / 2, turns * 1e6 / (last.t - first.t)
