"""Where the rotor's mark is, and therefore which pocket the ball is in when the pocket reader detects it.

Turns are counted along the passes at the index sensor: a missed one leaves a gap of two turns; a doubled or
stray one fits nothing and is ignored. The mark's position at a given time follows only from the passes on
both sides of that time, and only if that turn is about as long as its neighbour: if a hand changed the length
of the turn, the position is unknown. The length of coming turns is predicted by a quadratic fitted to the
last passes, since a rotor that is left alone loses speed evenly; this prediction never places a pocket.

A read of a pocket is placed between the index passes on both sides of it, so it waits for the next one. It
counts if the reads of three consecutive turns agree.
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
"""How many index passes from before a spin are kept: what the fit uses, and two to spare."""
SLOWEST_TURN_US = 8_000_000
"""A turn at 0.125 rev/s; wheels in play run at 0.15 to 0.5 rev/s."""
_FITTED_PASSES = 6
"""The number of passes that the curve is fitted to, twice its unknowns; over more passes a bearing's friction
changes."""
_FARTHEST_TURNS = 2.5
"""How far beyond its last pass the curve is used: two missed passes, and half a turn to the reader."""
_PASSES_TO_PLACE = 4
"""One more than the curve's unknowns: it fits any three passes, right or wrong."""
_WORST_FIT_TURNS = 0.02
"""How far a pass may be off the curve: three quarters of a pocket, so that no fit hides a neighbouring
pocket."""
_GAPS_TO_DOUBT = 3
"""This many gaps among six passes are not missed passes: the turns were counted at twice their real rate."""
_OFF_PHASE_TURNS = 0.06
"""How far off a whole turn a pass may be, for each turn since the last: with a worn bearing, a turn of 2 s
lasts up to 2 % longer than the one before, and a first curve through two or three passes contains no
slowing."""
_PLAINLY_ON_TIME = 0.02
"""A deviation, in turns, well within the fit's tolerance, so that not every pass needs a fit."""
_SLOWER_TURN = 1.3
"""Longest turn as a multiple of the one before, while it is unknown how fast the rotor slows."""
FASTEST_TURN_US = 400_000
"""A turn at 2.5 rev/s: no rotor is that fast, so an earlier pulse belongs to the same pass."""
_FASTER_TURN = 0.8
"""A turn this much shorter than the one before was caused by a hand."""
_SHORTEST_NEXT, _LONGEST_NEXT = 0.985, 1.12
"""Range of a turn's length relative to the one before for an untouched rotor: it loses 0.16 to 0.3 % per
second, up to 2 % with a worn bearing, over turns of 2 to 8 s; and passes scatter by some milliseconds. A push
of less than 1.5 % shifts a read by a tenth of a pocket."""
_STRAY_NEAR = 0.02
"""Share of a turn within which a second pulse belongs to the same pass: the mark is that wide."""
_MARKS_KEPT = 64
"""Number of passes kept, those of more than two minutes at the usual 0.15 to 0.5 rev/s: a spin is read within
one minute."""


class Mark(NamedTuple):
    """A pass that counts, with the turns since the first pass of its run."""

    t: int
    turn: int
    run: int
    direction: Turning


class Place(NamedTuple):
    """Where the mark was: turns since the first pass of its run, and how long the turn took."""

    turns: float
    run: int
    turn_us: float
    direction: Turning


_time = attrgetter("t")


class Rotor:
    """Follows one wheel's rotor as its index passes come, in time order."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.direction: Turning | None = None
        self.run = 0
        """Increases whenever a hand has touched the rotor: turns of different runs are different turns."""
        self.run_before: tuple[int, Turning | None] = 0, None
        """The time of the last pass of the run before this one, and the direction of that run."""
        self._turn_before_us: float | None = None
        self._times: list[int] = []
        self._turns: list[int] = []
        self._stray: RotorIndex | None = None
        self._crowded = 0
        self._curve: tuple[float, float, float] | None = None
        self._is_sure: bool | None = None
        self.marks: list[Mark] = []
        """The passes that count, of this run and those before it."""
        self._strays: list[int] = []

    def place(self, t_us: int) -> Place | None:
        """Return where the mark was at a time between two passes; None if they do not determine it.

        `waits` returns whether a later pass could.
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
        slower = [
            ratio
            for ratio in (
                turn_us / earlier_us if earlier_us else 0.0,
                later_us / turn_us if later_us else 0.0,
            )
            if _SHORTEST_NEXT <= ratio <= _LONGEST_NEXT
        ]
        if len(slower) < turns:
            return None
        share = (t_us - before.t) / (after.t - before.t)
        bend = (sum(slower) / len(slower) - 1.0) * turns / 2
        ran = turns * (share + bend * share * (1.0 - share))
        return Place(before.turn + ran, before.run, turn_us, before.direction)

    def waits(self, t_us: int) -> bool:
        """Return whether one of the next two passes may still place a time that has no place yet."""
        at = bisect_right(self.marks, t_us, key=_time)
        if at == 0:
            return False
        return at >= len(self.marks) - 1 and self.marks[at - 1].run == self.run

    def _turn_at(self, at: int) -> float | None:
        """Return the length of the turn that pass number `at` ended; None if it ended none."""
        if not 1 <= at < len(self.marks):
            return None
        before, after = self.marks[at - 1], self.marks[at]
        if before.run != after.run or after.turn - before.turn != 1:
            return None
        return after.t - before.t

    def _strays_between(self, since_us: int, until_us: int) -> bool:
        near = _STRAY_NEAR * (until_us - since_us)
        return any(since_us + near < stray < until_us - near for stray in self._strays)

    @property
    def times_us(self) -> Sequence[int]:
        """The last passes of this run."""
        return self._times

    def add_pass(self, mark: RotorIndex) -> bool:
        """Handle one pass; return whether it was on time after the passes before it, in the same
        direction."""
        if self._stray is None and self._is_clearly_next(mark):
            self._crowded = 0
            self._append(mark.t, self._turns[-1] + 1)
            return True
        if not self._times:
            self._begin(mark.direction, mark.t)
            return False
        since = mark.t - self._times[-1]
        if self._stray is not None and mark.t - self._stray.t < FASTEST_TURN_US:
            return False
        if since < FASTEST_TURN_US and since < 0.25 * self.period_us():
            self._strays.append(mark.t)
            return False
        turn = self._turn_of(mark.t)
        if turn is not None and mark.direction == self.direction:
            self._accept(mark.t, turn)
            return True
        if self._stray is not None and self._stray.direction == mark.direction:
            self._begin(mark.direction, self._stray.t, mark.t)
        else:
            self._stray = mark
            self._strays.append(mark.t)
        return False

    @property
    def was_accelerated(self) -> bool:
        """Whether its turns are so much shorter than those of the run before that a hand caused it."""
        return self._turn_before_us is not None and self.period_us() < _FASTER_TURN * self._turn_before_us

    def turns_at(self, t_us: int) -> float | None:
        """Return how many turns the mark has made since this run's first pass.

        None while the passes do not determine it: too few, too old, or contradictory.
        """
        if not self._sure() or self.stopped_by(t_us):
            return None
        turns = self._extrapolate(t_us)
        within = t_us >= self._times[0] and turns - self._turns[-1] <= _FARTHEST_TURNS
        return turns if within else None

    def after_turns_us(self, since_us: int, turns: float) -> int:
        """Return when the rotor completes this many turns, as far as its passes show."""
        period = self.period_us()
        if len(self._times) < _PASSES_TO_PLACE:
            return since_us + round(turns * period)
        since = (since_us - self._times[-1]) / 1e6
        _, speed, bend = self._fitted()
        then = speed + 2.0 * bend * since
        under_root = then * then + 4.0 * bend * turns
        if under_root <= 0.0 or then <= 0.0:
            return since_us + round(turns * SLOWEST_TURN_US)
        seconds = 2.0 * turns / (then + sqrt(under_root))
        return since_us + min(round(seconds * 1e6), round(turns * SLOWEST_TURN_US))

    def _accept(self, t_us: int, turn: int) -> None:
        """Add a pass that was on time, unless the turns were counted at half or twice their rate."""
        stray, last_us = self._stray, self._times[-1]
        crowded = stray is not None and stray.direction == self.direction
        self._stray = None
        self._crowded = self._crowded + 1 if crowded else 0
        if stray is not None and self._crowded > 1:
            self._begin(stray.direction, last_us, stray.t, t_us)
            return
        self._append(t_us, turn)
        if self._gaps() >= _GAPS_TO_DOUBT:
            assert self.direction is not None
            self._begin(self.direction, last_us, t_us)

    def _is_clearly_next(self, mark: RotorIndex) -> bool:
        """Return whether this is certainly the next turn: as long after the last pass as that was after its
        own predecessor."""
        times, turns = self._times, self._turns
        if len(times) < 3 or turns[-1] - turns[0] >= len(turns) or mark.direction != self.direction:
            return False
        before, last_us = times[-2], times[-1]
        turn_us = last_us - before
        due_us = last_us + 2 * turn_us - (before - times[-3])
        return abs(mark.t - due_us) <= _PLAINLY_ON_TIME * turn_us

    def _gaps(self) -> int:
        turns = self._turns
        if not turns or turns[-1] - turns[0] < len(turns):
            return 0
        return sum(turn - before > 1 for before, turn in pairwise(turns))

    def _sure(self) -> bool:
        if self._is_sure is None:
            self._is_sure = self._find_whether_sure()
        return self._is_sure

    def _find_whether_sure(self) -> bool:
        times, turns = self._times, self._turns
        # If a stray pass doubles the count of turns, it looks as if passes were missed again and again.
        if len(times) < _PASSES_TO_PLACE or self._gaps() > min(1, len(times) - _PASSES_TO_PLACE):
            return False
        constant, speed, bend = self._fitted()
        last_t, last_turn = times[-1], turns[-1]
        for t, turn in zip(times, turns, strict=True):
            at = (t - last_t) / 1e6
            off = constant + at * (speed + at * bend) - (turn - last_turn)
            if not -_WORST_FIT_TURNS <= off <= _WORST_FIT_TURNS:
                return False
        return True

    def stops_us(self) -> int | None:
        """Return when the rotor stops if it keeps losing speed as its passes show; None if it does not
        stop."""
        if len(self._times) < _PASSES_TO_PLACE:
            return None
        _, speed, bend = self._fitted()
        return self._times[-1] + ceil(1e6 * speed / (-2 * bend)) if bend < 0 else None

    def stopped_by(self, t_us: int) -> bool:
        """Return whether the rotor has come to a stop by then."""
        stops_us = self.stops_us()
        return stops_us is not None and t_us >= stops_us

    def _turn_of(self, t_us: int) -> int | None:
        if len(self._times) == 1:
            return 1 if FASTEST_TURN_US <= t_us - self._times[0] <= SLOWEST_TURN_US else None
        turns = self._extrapolate(t_us)
        if len(self._times) == 2 and 1.0 <= turns - self._turns[-1] <= _SLOWER_TURN:
            return self._turns[-1] + 1
        whole = round(turns)
        ahead = whole - self._turns[-1]
        if ahead < 1 or abs(turns - whole) > _OFF_PHASE_TURNS * min(ahead, 3):
            return None
        return whole

    def period_us(self) -> float:
        """Return the length of the last turn; the slowest turn's while none is known."""
        if len(self._times) < 2:
            return SLOWEST_TURN_US
        return (self._times[-1] - self._times[-2]) / (self._turns[-1] - self._turns[-2])

    def _extrapolate(self, t_us: int) -> float:
        at = (t_us - self._times[-1]) / 1e6
        constant, speed, bend = self._fitted()
        if bend < 0 and at > speed / (-2 * bend):
            at = speed / (-2 * bend)
        return self._turns[-1] + constant + at * (speed + at * bend)

    def _fitted(self) -> tuple[float, float, float]:
        if self._curve is None:
            self._curve = self._fit()
        return self._curve

    def _fit(self) -> tuple[float, float, float]:
        """Least squares over the last passes: turns = constant + speed x + bend x^2, x in s from the last."""
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
        self._curve = self._is_sure = None

    def _begin(self, direction: Turning, *times_us: int) -> None:
        self.run += 1
        self.run_before = self._times[-1] if self._times else 0, self.direction
        self._turn_before_us = self.period_us() if self._sure() and not self._gaps() else None
        self.direction = direction
        self._times, self._turns, self._stray, self._crowded, self._curve = [], [], None, 0, None
        while self.marks and self.marks[-1].t >= times_us[0]:
            self.marks.pop()
        self._strays = [stray for stray in self._strays if stray not in times_us]
        for turn, t_us in enumerate(times_us):
            self._append(t_us, turn)


BORDER = 0.35
"""Distance from a pocket's middle, as a share of the pocket, beyond which a read belongs to none: reads
scatter by a tenth or two."""
_SAME_TURN = 0.5
"""Two reads within this many turns belong to the same turn: a ball is read once per turn."""
_APART = 0.12
"""Largest difference between one turn and the distance between the reads of consecutive turns: three pockets,
and a margin for the errors of placing them."""


class PocketRead(msgspec.Struct, frozen=True):
    """One read: the pocket (None if the rotor's position is not known well enough) and where in it.

    `off_centre` is in pockets, clockwise positive, -0.5 to 0.5; `turns` the number of turns in the rotor's
    run until then, `turn_us` the length of one turn.
    """

    reading: PocketBall
    number: str | None
    off_centre: float = 0.0
    run: int = 0
    turns: float = 0.0
    turn_us: float = 0.0

    @property
    def at_border(self) -> bool:
        """Whether the read lies between two pockets."""
        return abs(self.off_centre) > BORDER


def place_read(reading: PocketBall, rotor: Rotor, wheel: Wheel) -> PocketRead | None:
    """Return the pocket that was under the reader; None while a coming pass may still show it."""
    place = rotor.place(reading.t)
    if place is None:
        return None if rotor.waits(reading.t) else PocketRead(reading, None)
    return read_at(reading, place, wheel)


def read_at(reading: PocketBall, place: Place, wheel: Wheel) -> PocketRead:
    """Return the read with the mark at this place."""
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
    """Counts agreeing reads on consecutive rotor turns."""

    def __init__(self, needed: int) -> None:
        """Start empty; `needed` is the rule set's `pocket_reads`."""
        self.needed = needed
        self.seen: list[PocketBall] = []
        """Every read, placed or not."""
        self.placed: list[PocketRead] = []
        """The reads for which the rotor's position is known, or can no longer become known."""
        self.agreeing: list[PocketRead] = []
        self.confirmed: PocketRead | None = None
        """The read that made the pocket certain."""
        self.against: PocketRead | None = None
        """A read of another pocket after that."""
        self.decided_by: Reading | None = None
        """The reading that confirmed the pocket: the index pass that placed its last read."""
        self.reader_missed = False
        """Whether the reader is known to have missed reads, so that a turn without one proves nothing."""

    @property
    def reads(self) -> list[PocketRead]:
        """Every read; those still waiting for a pass have no number."""
        return [*self.placed, *(PocketRead(reading, None) for reading in self.waiting)]

    @property
    def waiting(self) -> Sequence[PocketBall]:
        """The reads that no pass has placed yet."""
        return self.seen[len(self.placed) :]

    @property
    def waits(self) -> bool:
        """Whether a read waits for a pass that places it."""
        return len(self.seen) > len(self.placed)

    @property
    def missed(self) -> bool:
        """Whether the reader missed the ball on a turn between two on which it saw it in the same pocket."""
        return any(
            read.run == before.run
            and read.number == before.number is not None
            and round(read.turns - before.turns) > 1
            for before, read in pairwise(self.placed)
        )

    def receive(self, reading: PocketBall) -> None:
        """Handle the next read, in time order."""
        self.seen.append(reading)

    def place(self, by: Reading, placed: Callable[[PocketBall], PocketRead | None]) -> None:
        """Place the waiting reads after the reading `by`; a read that must still wait holds up those after
        it."""
        for reading in self.waiting:
            read = placed(reading)
            if read is None:
                return
            self.placed.append(read)
            self._count(read, by)

    def contradicted_by(self, read: PocketRead) -> None:
        """Handle a read of another pocket after the number was confirmed."""
        self.against = self.against or read

    def _count(self, read: PocketRead, by: Reading) -> None:
        if self.confirmed is not None:
            if read.number not in (None, self.confirmed.number):
                self.contradicted_by(read)
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
        if abs(turns - round(turns)) > _APART or (round(turns) != 1 and not self.reader_missed):
            self.agreeing = [read]
            return
        self.agreeing.append(read)
        if len(self.agreeing) >= self.needed:
            self.confirmed = read
            self.decided_by = by
