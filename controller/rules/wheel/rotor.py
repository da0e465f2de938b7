"""The position of the rotor's mark, and from it the pocket in which the reader detects the ball.

Turns are counted from the passes at the index sensor. A missed pass leaves a gap of two turns. A doubled pass
is ignored. A stray pass is not counted, and the position between its neighbours is unknown. At any other
time, the passes just before and after determine the position, if the turn between them is about as long as
the turn before or after. If a person changed the rotor's speed in that turn, the position is unknown.

A quadratic fit to the last passes predicts the length of future turns, because a free rotor loses speed
evenly. The prediction is never used to place a pocket reading. A pocket reading is placed between the index
passes before and after it, so it waits for the next pass. The pocket is confirmed when the readings of
consecutive turns agree. The rule set determines the number of turns, typically three.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, sqrt
from operator import attrgetter
from typing import NamedTuple

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import PocketBall, Reading, RotorIndex, Turning

INDEX_PASSES_KEPT = 8
"""Number of index passes kept from before a spin: those that the fit needs, and two more."""
SLOWEST_TURN_US = 8_000_000
"""Duration of a turn at 0.125 rev/s; wheels in play run at 0.15 to 0.5 rev/s."""
_FITTED_PASSES = 6
"""Number of passes in the fit: twice the number of its coefficients. Over more passes, the bearing's friction
would change."""
_MAX_EXTRAPOLATION_TURNS = 2.5
"""Maximum extrapolation of the curve beyond its last pass: two missed passes, and half a turn to the
reader."""
_PASSES_TO_PLACE = 4
"""Minimum number of passes for a usable curve: one more than its number of coefficients. A curve with three
coefficients passes exactly through any three points."""
_MAX_FIT_ERROR_TURNS = 0.02
"""Maximum distance of a pass from the curve, in turns: three quarters of a pocket, so a fit is never off by a
complete pocket."""
_TOO_MANY_GAPS = 3
"""Number of gaps among six passes that is too high for missed passes to explain. With this many gaps, the
turns were counted at twice their rate."""
_OFF_PHASE_TURNS = 0.06
"""Maximum deviation of a pass from a complete turn, for each turn since the last pass, up to three. With a
worn bearing, a turn of 2 s is up to 2 % longer than the turn before, and the first curve, through two passes,
includes no loss of speed."""
_CLEARLY_ON_TIME_TURNS = 0.02
"""Maximum deviation, in turns, of a pass that is accepted without a fit. The fit allows three times as
much."""
_MAX_TURN_RATIO = 1.3
"""Maximum ratio of a turn to the turn before while the rotor's loss of speed is unknown."""
FASTEST_TURN_US = 400_000
"""Duration of a turn at 2.5 rev/s. No rotor is that fast, so two pulses closer together are not a turn
apart."""
_HANDLED_TURN_RATIO = 0.8
"""Ratio of a turn to the previous turn below which a person must have pushed the rotor."""
_MIN_NEXT_RATIO, _MAX_NEXT_RATIO = 0.985, 1.12
"""Range of the ratio of an untouched rotor's turn to the turn before. A turn takes 2 to 8 s. The rotor loses
0.16 to 0.3 % of its speed per second, or up to 2 % with a worn bearing. Passes scatter by a few milliseconds.
A push of less than 1.5 % shifts a reading by at most a tenth of a pocket."""
_SAME_PASS_FRACTION = 0.02
"""Fraction of a turn within which a second pulse belongs to the same pass, given the width of the mark."""
_STRAY_FRACTION = 0.25
"""Fraction of a turn within which a second pulse is a stray pass and not the next one. No rotor quadruples
its speed within a turn."""
_MARKS_KEPT = 64
"""Number of passes kept: more than two minutes at 0.15 to 0.5 rev/s. A spin is read within one minute."""


class Mark(NamedTuple):
    """A pass that counts, with the turns since the first pass of its run."""

    t: int
    turn: int
    run: int
    direction: Turning


class Place(NamedTuple):
    """Position of the mark: turns since the first pass of its run, and the duration of the turn."""

    turns: float
    run: int
    turn_us: float
    direction: Turning


_time = attrgetter("t")


class Rotor:
    """One wheel's rotor, updated with each index pass in time order."""

    def __init__(self) -> None:
        """Start without passes."""
        self.direction: Turning | None = None
        self.run = 0
        """Number of the current run. A run begins at the first pass, after a person changes the rotor's
        motion, and after turns were counted at half or twice their rate. Turns of different runs cannot be
        compared."""
        self.run_before: tuple[int, Turning | None] = 0, None
        """Time of the last pass of the run before, and that run's direction."""
        self._turn_before_us: float | None = None
        self._times: list[int] = []
        self._turns: list[int] = []
        self._stray: RotorIndex | None = None
        self._crowded = 0
        self._curve: tuple[float, float, float] | None = None
        self._reliable: bool | None = None
        self.marks: list[Mark] = []
        """Passes that count, of this run and earlier runs."""
        self._strays: list[int] = []

    def place(self, t_us: int) -> Place | None:
        """Return the mark's position at a time between two passes; None if the passes do not determine it.

        `waits` returns whether a later pass might determine it.
        """
        at = bisect_right(self.marks, t_us, key=_time)
        if at == 0 or at == len(self.marks):
            return None
        before, after = self.marks[at - 1], self.marks[at]
        turns = after.turn - before.turn
        if before.run != after.run or turns > 2 or self._strays_between(before.t, after.t):
            return None
        turn_us = (after.t - before.t) / turns
        earlier_us, later_us = self._turn_at(at - 1), self._turn_at(at + 1)
        ratios = [
            ratio
            for ratio in (
                turn_us / earlier_us if earlier_us else 0.0,
                later_us / turn_us if later_us else 0.0,
            )
            if _MIN_NEXT_RATIO <= ratio <= _MAX_NEXT_RATIO
        ]
        if len(ratios) < turns:
            return None
        fraction = (t_us - before.t) / (after.t - before.t)
        bend = (sum(ratios) / len(ratios) - 1.0) * turns / 2
        turns_run = turns * (fraction + bend * fraction * (1.0 - fraction))
        return Place(before.turn + turns_run, before.run, turn_us, before.direction)

    def waits(self, t_us: int) -> bool:
        """Return whether one of the next two passes might determine the position at this time."""
        at = bisect_right(self.marks, t_us, key=_time)
        if at == 0:
            return False
        return at >= len(self.marks) - 1 and self.marks[at - 1].run == self.run

    def _turn_at(self, at: int) -> float | None:
        """Return the duration of the turn that pass number `at` ended; None if it ended none."""
        if not 1 <= at < len(self.marks):
            return None
        before, after = self.marks[at - 1], self.marks[at]
        if before.run != after.run or after.turn - before.turn != 1:
            return None
        return after.t - before.t

    def _strays_between(self, since_us: int, until_us: int) -> bool:
        near = _SAME_PASS_FRACTION * (until_us - since_us)
        return any(since_us + near < stray < until_us - near for stray in self._strays)

    @property
    def times_us(self) -> Sequence[int]:
        """Times of the last passes of this run."""
        return self._times

    def add_pass(self, mark: RotorIndex) -> bool:
        """Handle a pass; return whether its time and its direction are as expected."""
        if self._stray is None and self._is_clearly_next(mark):
            self._crowded = 0
            self._append(mark.t, self._turns[-1] + 1)
            return True
        if not self._times:
            self._begin_run(mark.direction, mark.t)
            return False
        since = mark.t - self._times[-1]
        if self._stray is not None and mark.t - self._stray.t < FASTEST_TURN_US:
            return False
        if since < FASTEST_TURN_US and since < _STRAY_FRACTION * self.period_us():
            self._strays.append(mark.t)
            return False
        turn = self._match_turn(mark.t)
        if turn is not None and mark.direction == self.direction:
            self._accept(mark.t, turn)
            return True
        if self._stray is not None and self._stray.direction == mark.direction:
            self._begin_run(mark.direction, self._stray.t, mark.t)
        else:
            self._stray = mark
            self._strays.append(mark.t)
        return False

    @property
    def was_accelerated(self) -> bool:
        """Whether the last turn is so much shorter than the last turn of the previous run that a person must
        have pushed the rotor."""
        return (
            self._turn_before_us is not None and self.period_us() < _HANDLED_TURN_RATIO * self._turn_before_us
        )

    def turns_at(self, t_us: int) -> float | None:
        """Return the number of turns since this run's first pass.

        The result is None if the passes are too few, too old or contradictory.
        """
        if not self._is_reliable() or self.has_stopped_by(t_us):
            return None
        turns = self._extrapolate(t_us)
        within = t_us >= self._times[0] and turns - self._turns[-1] <= _MAX_EXTRAPOLATION_TURNS
        return turns if within else None

    def after_turns_us(self, since_us: int, turns: float) -> int:
        """Return the predicted time at which the rotor completes this many turns after `since_us`."""
        period = self.period_us()
        if len(self._times) < _PASSES_TO_PLACE:
            return since_us + round(turns * period)
        since = (since_us - self._times[-1]) / 1e6
        _, speed, bend = self._get_curve()
        speed_at_start = speed + 2.0 * bend * since
        under_root = speed_at_start * speed_at_start + 4.0 * bend * turns
        if under_root <= 0.0 or speed_at_start <= 0.0:
            return since_us + round(turns * SLOWEST_TURN_US)
        seconds = 2.0 * turns / (speed_at_start + sqrt(under_root))
        return since_us + min(round(seconds * 1e6), round(turns * SLOWEST_TURN_US))

    def _accept(self, t_us: int, turn: int) -> None:
        """Add a pass that was on time, or begin a new run if turns were counted at half or twice their
        rate."""
        stray, last_us = self._stray, self._times[-1]
        crowded = stray is not None and stray.direction == self.direction
        self._stray = None
        self._crowded = self._crowded + 1 if crowded else 0
        if stray is not None and self._crowded > 1:
            self._begin_run(stray.direction, last_us, stray.t, t_us)
            return
        self._append(t_us, turn)
        if self._count_gaps() >= _TOO_MANY_GAPS:
            assert self.direction is not None
            self._begin_run(self.direction, last_us, t_us)

    def _is_clearly_next(self, mark: RotorIndex) -> bool:
        times, turns = self._times, self._turns
        if len(times) < 3 or turns[-1] - turns[0] >= len(turns) or mark.direction != self.direction:
            return False
        before, last_us = times[-2], times[-1]
        turn_us = last_us - before
        due_us = last_us + 2 * turn_us - (before - times[-3])
        return abs(mark.t - due_us) <= _CLEARLY_ON_TIME_TURNS * turn_us

    def _count_gaps(self) -> int:
        turns = self._turns
        if not turns or turns[-1] - turns[0] < len(turns):
            return 0
        return sum(turn - before > 1 for before, turn in pairwise(turns))

    def _is_reliable(self) -> bool:
        if self._reliable is None:
            self._reliable = self._check_reliable()
        return self._reliable

    def _check_reliable(self) -> bool:
        times, turns = self._times, self._turns
        # A stray pass that doubles the count of turns looks like many missed passes.
        if len(times) < _PASSES_TO_PLACE or self._count_gaps() > min(1, len(times) - _PASSES_TO_PLACE):
            return False
        constant, speed, bend = self._get_curve()
        last_t, last_turn = times[-1], turns[-1]
        for t, turn in zip(times, turns, strict=True):
            at = (t - last_t) / 1e6
            deviation = constant + at * (speed + at * bend) - (turn - last_turn)
            if not -_MAX_FIT_ERROR_TURNS <= deviation <= _MAX_FIT_ERROR_TURNS:
                return False
        return True

    def stops_us(self) -> int | None:
        """Return the time at which the rotor stops if it keeps losing speed at its current rate.

        The result is None if the rotor is not slowing down, or if there are too few passes.
        """
        if len(self._times) < _PASSES_TO_PLACE:
            return None
        _, speed, bend = self._get_curve()
        return self._times[-1] + ceil(1e6 * speed / (-2 * bend)) if bend < 0 else None

    def has_stopped_by(self, t_us: int) -> bool:
        """Return whether the rotor, losing speed at its current rate, has stopped by this time."""
        stops_us = self.stops_us()
        return stops_us is not None and t_us >= stops_us

    def _match_turn(self, t_us: int) -> int | None:
        if len(self._times) == 1:
            return 1 if FASTEST_TURN_US <= t_us - self._times[0] <= SLOWEST_TURN_US else None
        turns = self._extrapolate(t_us)
        if len(self._times) == 2 and 1.0 <= turns - self._turns[-1] <= _MAX_TURN_RATIO:
            return self._turns[-1] + 1
        whole = round(turns)
        ahead = whole - self._turns[-1]
        if ahead < 1 or abs(turns - whole) > _OFF_PHASE_TURNS * min(ahead, 3):
            return None
        return whole

    def period_us(self) -> float:
        """Return the duration of the last turn, or of the slowest possible turn while none is known."""
        if len(self._times) < 2:
            return SLOWEST_TURN_US
        return (self._times[-1] - self._times[-2]) / (self._turns[-1] - self._turns[-2])

    def _extrapolate(self, t_us: int) -> float:
        at = (t_us - self._times[-1]) / 1e6
        constant, speed, bend = self._get_curve()
        if bend < 0 and at > speed / (-2 * bend):
            at = speed / (-2 * bend)
        return self._turns[-1] + constant + at * (speed + at * bend)

    def _get_curve(self) -> tuple[float, float, float]:
        if self._curve is None:
            self._curve = self._fit()
        return self._curve

    def _fit(self) -> tuple[float, float, float]:
        """Fit turns = constant + speed x + bend x^2 by least squares, with x in seconds since the last
        pass."""
        last_t, last_turn = self._times[-1], self._turns[-1]
        if len(self._times) == 2:
            return 0.0, 1e6 * (last_turn - self._turns[0]) / (last_t - self._times[0]), 0.0
        n = float(len(self._times))
        s1 = s2 = s3 = s4 = y0 = y1 = y2 = 0.0
        for t, turn in zip(self._times, self._turns, strict=True):
            x, y = (t - last_t) / 1e6, turn - last_turn
            square = x * x
            s1 += x
            s2 += square
            s3 += x * square
            s4 += square * square
            y0 += y
            y1 += x * y
            y2 += square * y
        m1, m2, m3 = s2 - s1 * s1 / n, s3 - s1 * s2 / n, s4 - s2 * s2 / n
        b1, b2 = y1 - s1 * y0 / n, y2 - s2 * y0 / n
        determinant = m1 * m3 - m2 * m2
        speed = (b1 * m3 - b2 * m2) / determinant
        bend = (m1 * b2 - m2 * b1) / determinant
        return (y0 - speed * s1 - bend * s2) / n, speed, bend

    def _append(self, t_us: int, turn: int) -> None:
        assert self.direction is not None
        times, turns, marks = self._times, self._turns, self.marks
        times.append(t_us)
        turns.append(turn)
        marks.append(Mark(t_us, turn, self.run, self.direction))
        if len(marks) > _MARKS_KEPT:
            del marks[0]
        if len(times) > _FITTED_PASSES:
            del times[0], turns[0]
        self._curve = self._reliable = None

    def _begin_run(self, direction: Turning, *times_us: int) -> None:
        self.run += 1
        self.run_before = self._times[-1] if self._times else 0, self.direction
        self._turn_before_us = self.period_us() if self._is_reliable() and not self._count_gaps() else None
        self.direction = direction
        self._times, self._turns, self._stray, self._crowded, self._curve = [], [], None, 0, None
        while self.marks and self.marks[-1].t >= times_us[0]:
            self.marks.pop()
        self._strays = [stray for stray in self._strays if stray not in times_us]
        for turn, t_us in enumerate(times_us):
            self._append(t_us, turn)


BORDER_FRACTION = 0.35
"""Distance from a pocket's middle, as a fraction of its width, beyond which a reading belongs to no pocket.
Readings scatter by one or two tenths."""
_SAME_TURN = 0.5
"""Number of turns within which two readings belong to the same turn. A ball is read once a turn."""
_MAX_TURN_ERROR = 0.12
"""Maximum difference between one turn and the distance between readings of consecutive turns: three pockets,
plus a margin for errors of position."""


class PocketRead(msgspec.Struct, frozen=True):
    """One pocket reading, with the pocket (None if the rotor's position is not exact enough) and the position
    in it.

    `off_centre` is in pockets, clockwise positive, -0.5 to 0.5. `turns` is the number of turns in the rotor's
    run up to the reading, and `turn_us` the duration of one turn.
    """

    reading: PocketBall
    number: str | None
    off_centre: float = 0.0
    run: int = 0
    turns: float = 0.0
    turn_us: float = 0.0

    @property
    def at_border(self) -> bool:
        """Whether the reading lies between two pockets."""
        return abs(self.off_centre) > BORDER_FRACTION


def place_read(reading: PocketBall, rotor: Rotor, wheel: Wheel) -> PocketRead | None:
    """Return the reading with the pocket under the reader; None if a later pass might still determine it."""
    place = rotor.place(reading.t)
    if place is None:
        return None if rotor.waits(reading.t) else PocketRead(reading, None)
    return read_at(reading, place, wheel)


def read_at(reading: PocketBall, place: Place, wheel: Wheel) -> PocketRead:
    """Return the pocket reading at this position of the mark."""
    sense = 1.0 if place.direction == "ccw" else -1.0
    mark_deg = wheel.rotor_index_deg + sense * 360.0 * place.turns
    count = len(wheel.pockets_clockwise)
    pockets = ((mark_deg - wheel.pocket_reader_deg) % 360.0) / (360.0 / count)
    nearest = round(pockets)
    return PocketRead(
        reading,
        wheel.pockets_clockwise[nearest % count],
        pockets - nearest,
        place.run,
        place.turns,
        place.turn_us,
    )


class PocketCount:
    """Count of agreeing pocket readings on consecutive rotor turns."""

    def __init__(self, needed: int) -> None:
        """Start without readings; `needed` is the rule set's `pocket_reads`."""
        self.needed = needed
        self.seen: list[PocketBall] = []
        self.placed: list[PocketRead] = []
        """Readings for which the rotor's position is known, or can no longer become known."""
        self.agreeing: list[PocketRead] = []
        self.confirmed: PocketRead | None = None
        self.contradicting: PocketRead | None = None
        """The first reading of a different pocket after the pocket was confirmed."""
        self.decided_by: Reading | None = None
        """The index pass that confirmed the pocket by placing the last reading needed."""
        self.reader_missed = False
        """Whether the reader is known to have missed readings. A turn without a reading then proves
        nothing."""

    @property
    def reads(self) -> list[PocketRead]:
        """All readings; those that are waiting for a pass have no number."""
        return [*self.placed, *(PocketRead(reading, None) for reading in self.waiting)]

    @property
    def waiting(self) -> Sequence[PocketBall]:
        """Readings that no pass has placed."""
        return self.seen[len(self.placed) :]

    @property
    def waits(self) -> bool:
        """Whether a reading is waiting for a pass to place it."""
        return len(self.seen) > len(self.placed)

    @property
    def missed(self) -> bool:
        """Whether the reader missed the ball on a turn between two detections in the same pocket."""
        return any(
            read.run == before.run
            and read.number == before.number is not None
            and round(read.turns - before.turns) > 1
            for before, read in pairwise(self.placed)
        )

    def receive(self, reading: PocketBall) -> None:
        """Handle the next pocket reading, in time order."""
        self.seen.append(reading)

    def place(self, by: Reading, placed: Callable[[PocketBall], PocketRead | None]) -> None:
        """Place the readings that the index pass `by` determines; a reading that must wait holds up later
        ones."""
        for reading in self.waiting:
            read = placed(reading)
            if read is None:
                return
            self.placed.append(read)
            self._count(read, by)

    def note_contradiction(self, read: PocketRead) -> None:
        """Handle a reading of a different pocket after the number was confirmed."""
        self.contradicting = self.contradicting or read

    def _count(self, read: PocketRead, by: Reading) -> None:
        if self.confirmed is not None:
            if read.number not in (None, self.confirmed.number):
                self.note_contradiction(read)
            return
        if read.number is None or read.at_border:
            self.agreeing = []
            return
        last = self.agreeing[-1] if self.agreeing else None
        if last is None or last.number != read.number or last.run != read.run:
            self.agreeing = [read]
            return
        turns = read.turns - last.turns
        if turns < _SAME_TURN:
            return
        if abs(turns - round(turns)) > _MAX_TURN_ERROR or (round(turns) != 1 and not self.reader_missed):
            self.agreeing = [read]
            return
        self.agreeing.append(read)
        if len(self.agreeing) >= self.needed:
            self.confirmed = read
            self.decided_by = by
