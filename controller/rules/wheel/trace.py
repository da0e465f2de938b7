"""One spin as its readings tell it, kept up to date reading by reading."""

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
from controller.rules.wheel.ball import BallRun, follow_ball
from controller.rules.wheel.devices import LOSSES, Sources, WheelDevices
from controller.rules.wheel.laps import LapClock
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.pockets import PocketCount, PocketRead, place_read
from controller.rules.wheel.rotor import Rotor

DROP_SENSOR_DELAY_US = 120_000
"""The drop sensor sits below the track and fires this long after the ball left it (the maker's figure)."""
LIES_AFTER_US = 8_000_000
"""So long after its drop a ball lies: 0.5 to 2.5 s to settle, and then it may hop for a turn or two."""
_LATE_FOR_A_DROP_US = 500_000
_SLOWEST_LAP_US = 3_000_000
_PULSES_OF_A_BALL = 4
_READS_WHILE_RUNNING = 2
_CLEAR_VOTES, _CLEAR_RATIO, _ENOUGH_VOTES = 4, 4, 24
_VOTE_TURNS = 0.06


@dataclass(frozen=True, slots=True)
class Reversal:
    """The rotor turned over: when it last passed turning as `before`, first the other way, and what told."""

    last_us: int
    before: Turning
    first_us: int
    told_by: RotorIndex


class SpinTrace:
    """What one spin's readings, in time order, say so far."""

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """Start before the spin: index passes and devices that are down may come before its first pulse."""
        self.wheel = wheel
        self.rules = rules
        self.learned = learned
        self.clock = LapClock(learned, wheel.drop_rev_per_s)
        self.rotor = Rotor()
        self.pockets = PocketCount(rules.pocket_reads)
        self.reads_while_running = PocketCount(_READS_WHILE_RUNNING)
        self.pulses: list[BallBeam] = []
        self.drop: BallDrop | None = None
        self.foreign: list[ForeignObject] = []
        self.out: list[BallOut] = []
        self.devices = WheelDevices(sources)
        self.marks = 0
        """Index passes of the rotor's present run within the spin."""
        self.odd_mark: RotorIndex | None = None
        """The last index pass, when it told another direction than the passes before it."""
        self.reversals: list[Reversal] = []
        self.handled_by: RotorIndex | None = None
        """The index pass that told of a hand on the rotor when the ball lay long since."""
        self._beams = len(wheel.beams_deg)
        self._index_lost = False
        self._laps_after_drop = 0
        self.ball_direction: Turning | None = None
        """Which way the ball runs by the order of its pulses so far; None while they do not clearly tell."""
        self._ccw = self._cw = 0
        self._last_step: tuple[int, int] | None = None
        self._followed: tuple[tuple[int, int | None], BallRun | None] | None = None

    @property
    def begun(self) -> bool:
        """Tell whether the ball has cut a beam."""
        return bool(self.pulses)

    @property
    def is_spin(self) -> bool:
        """Tell a ball from a hand that cuts a beam: it closes a lap, drops, or is read in a pocket."""
        return (
            bool(self.clock.laps or self.drop or self.pockets.reads) or len(self.pulses) >= _PULSES_OF_A_BALL
        )

    @property
    def left_track_us(self) -> int | None:
        """When the ball left the track by the drop sensor; None while it has not said so."""
        return None if self.drop is None else self.drop.t - DROP_SENSOR_DELAY_US

    @property
    def rotor_direction(self) -> Turning | None:
        """Which way the rotor turned in this spin; None until a pass in it agrees with the one before."""
        return self.rotor.direction if self.marks and len(self.rotor.times_us) > 1 else None

    def directions_left(self) -> tuple[Turning, ...]:
        """Give the directions that the order of the ball's pulses leaves open."""
        direction = self.ball_direction
        return ("ccw", "cw") if direction is None else (direction,)

    def ball(self) -> BallRun | None:
        """Give the run that explains the pulses so far; None where no smoothly slowing ball does."""
        evidence = len(self.pulses), self.left_track_us
        if self._followed is None or self._followed[0] != evidence:
            laps, directions = self.clock.laps, self.directions_left()
            run = follow_ball(
                self.pulses, laps, self.wheel, self.learned, self.left_track_us, directions=directions
            )
            self._followed = evidence, run
        return self._followed[1]

    def dropped_us(self) -> int:
        """When the drop was sensed, or by when it is overdue."""
        if self.drop is not None:
            return self.drop.t
        last = self.pulses[-1].t if self.pulses else 0
        predicted = self.clock.predicted_drop_us()
        if predicted is None:
            return last + _SLOWEST_LAP_US
        return max(last, predicted) + _LATE_FOR_A_DROP_US

    def in_play(self, at_us: int) -> bool:
        """Tell whether the ball was in play then for certain enough: it ran, or may still have hopped.

        Where its drop was not sensed, and a device of the wheel was lost before, nobody can tell.
        """
        laps = self.clock.laps
        if laps and at_us <= laps[-1].end_us:
            return True
        if self.drop is None and any(lost.t < at_us for lost in self.devices.down.values()):
            return False
        return at_us <= self.dropped_us() + LIES_AFTER_US

    def see(self, reading: Reading) -> None:
        """Take the next reading, in time order."""
        if isinstance(reading, BallBeam):
            self.see_pulse(reading)
        elif isinstance(reading, RotorIndex):
            self._see_mark(reading)
        elif isinstance(reading, PocketBall):
            self._see_read(reading)
        else:
            self._see_other(reading)

    def see_pulse(self, pulse: BallBeam) -> None:
        """Take the next reading, a pulse of a beam."""
        if pulse.beam >= self._beams:
            return
        self.pulses.append(pulse)
        lap = self.clock.see(pulse.t, pulse.beam)
        if lap is None:
            return
        if self.drop is not None:
            self._laps_after_drop += 1
            if self._laps_after_drop >= 2:
                self._withdraw_drop()
        if self._last_step is not None and self._ccw + self._cw < _ENOUGH_VOTES:
            self._vote(pulse, lap.length_us)
        self._last_step = (pulse.t, pulse.beam)

    def _vote(self, pulse: BallBeam, lap_us: int) -> None:
        """Let the time between two beams say which way round the ball went from one to the other."""
        assert self._last_step is not None
        since_us, beam = self._last_step
        beams = self.wheel.beams_deg
        ccw = (beams[pulse.beam] - beams[beam]) / 360.0
        ran = (pulse.t - since_us) / lap_us
        off_ccw, off_cw = ran - ccw, ran + ccw
        off_ccw, off_cw = abs(off_ccw - round(off_ccw)), abs(off_cw - round(off_cw))
        if abs(off_ccw - off_cw) > _VOTE_TURNS:
            self._ccw += off_ccw < off_cw
            self._cw += off_cw < off_ccw
            self.ball_direction = _clear(self._ccw, self._cw)

    def _withdraw_drop(self) -> None:
        self.drop = None
        self._laps_after_drop = 0
        self.pockets = PocketCount(self.pockets.needed)

    def _see_mark(self, mark: RotorIndex) -> None:
        run, direction = self.rotor.run, self.rotor.direction
        last_us = self.rotor.times_us[-1] if self.rotor.times_us else 0
        in_time = self.rotor.see(mark)
        if self._index_lost and (in_time or self.rotor.run != run):
            self._index_lost = False
            if not (in_time and self.rotor.next_turn):
                self.pockets = self.pockets.never_placed()
        if not self.begun:
            return
        if self.rotor.run != run:
            self.marks = sum(passed >= self.pulses[0].t for passed in self.rotor.times_us)
            first_us = self.rotor.times_us[0]
            turned_over = direction is not None and direction != self.rotor.direction
            if direction is not None and turned_over:
                self.reversals.append(Reversal(last_us, direction, first_us, mark))
            if (turned_over or self.rotor.made_faster) and self._lay_before(first_us, mark.t):
                self.handled_by = self.handled_by or mark
            self.odd_mark = None
        elif in_time:
            self.marks += 1
            self.odd_mark = None
        elif direction != mark.direction:
            self.odd_mark = mark
        if self.pockets.reads:
            self.pockets = self.pockets.placed_anew(mark, self.rotor, self.wheel)

    def _lay_before(self, at_us: int, now_us: int) -> bool:
        return self.is_spin and now_us > self.dropped_us() and not self.in_play(at_us)

    def _see_read(self, reading: PocketBall) -> None:
        if not self.begun:
            return
        count = self.pockets if reading.t >= self.dropped_us() else self.reads_while_running
        count.see(
            PocketRead(reading, None) if self._index_lost else place_read(reading, self.rotor, self.wheel)
        )

    def _see_other(self, reading: Reading) -> None:
        if isinstance(reading, DeviceDown | DeviceUp | DeviceFault):
            self.devices.see(reading, begun=self.begun)
            if isinstance(reading, DeviceFault):
                self._see_fault(reading)
        elif not self.begun:
            return
        elif isinstance(reading, BallDrop):
            if self.drop is None:
                self.drop = reading
        elif isinstance(reading, ForeignObject):
            self.foreign.append(reading)
        elif isinstance(reading, BallOut):
            self.out.append(reading)

    def _see_fault(self, fault: DeviceFault) -> None:
        """Place no read any more in a turn in which edges of the index sensor are known to be missing."""
        if fault.code not in LOSSES or not self.devices.serves(fault.dev, {"rotor_index"}):
            return
        since_us = max((at for at in self.rotor.times_us if at <= fault.t), default=0)
        self._index_lost = True
        self.pockets = self.pockets.unplaced_since(since_us)


def _clear(ccw: int, cw: int) -> Turning | None:
    if ccw >= _CLEAR_VOTES and ccw > _CLEAR_RATIO * cw:
        return "ccw"
    return "cw" if cw >= _CLEAR_VOTES and cw > _CLEAR_RATIO * ccw else None
