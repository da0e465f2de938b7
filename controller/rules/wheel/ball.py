"""The ball's run around the track: which pulses are its own, which way it ran, and how far.

One smooth curve goes through all of them. It is fitted backwards from the end of the run, where the ball has
the wheel's drop speed, so each pulse belongs to one lap or to none, and a pulse that was missed, doubled or
made by something else changes nothing.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import atan2, cos, floor, pi, sin, sqrt
from operator import mul, sub, truediv
from typing import NamedTuple, TypeVar

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import BallBeam, Turning
from controller.rules.wheel.curve import Curve, Expected, Points, improve, speeds_moved, turns_moved
from controller.rules.wheel.laps import Lap
from controller.rules.wheel.learned import NOMINAL_DRAG, Learned

_T = TypeVar("_T")


class _Own(NamedTuple):
    """The ball's pulses: their indices, turns before the end by their beams, speeds, turns off the curve."""

    which: Sequence[int]
    turns: Sequence[float]
    speeds: Sequence[float]
    offs: Sequence[float]

    def but_the_first(self) -> "_Own":
        return _Own(self.which[1:], self.turns[1:], self.speeds[1:], self.offs[1:])

    def at(self, chosen: Sequence[int]) -> "_Own":
        which, turns, speeds, offs = self
        return _Own(
            [which[i] for i in chosen],
            [turns[i] for i in chosen],
            [speeds[i] for i in chosen],
            [offs[i] for i in chosen],
        )


_DOUBLED_US = 30_000
"""A beam cut again within this time was cut once: contacts chatter for some milliseconds."""
_JITTER_S = 0.001
_LAP_ERROR = 0.003
_LIKELY_FRICTION = 0.045
_FRICTION_SPREAD, _DRAG_SPREAD = 0.02, 0.015
_UNKNOWN_END_SPREAD = 0.25
_FITTED_PULSES = 18
_FITTED_LAPS = 8
_ROUNDS = 3
_WIDE_GATE_TURNS = 0.12
_GATE_S, _GATE_TURNS = 0.025, 0.006
_LEAST_COHERENCE, _PLAIN_COHERENCE = 0.5, 0.9
_LEAST_PULSES = 3
_MOST_STRANGERS = 0.25
_MOST_MISSED = 0.45
_MOST_SCATTER_S = 0.010
_CLEARLY_WORSE = 3.0
_CLEARLY_OFF_S = 0.004
_CLEARLY_MORE_STRANGERS = 5
_FIT_ERROR_TURNS = 0.03


class BallRun(msgspec.Struct, frozen=True):
    """A ball that was followed.

    `direction` is None where the beams that heard it stand so that both directions fit. `turns` are those
    from the first pulse of `followed` to leaving the track at `end_us` (its last pulse where no drop was
    seen); `turns_from` and `turns_to` the interval that the ball's unseen start and the fit's error leave.
    `strangers` are pulses that were not the ball's, `missed` passes of working beams that made none.
    """

    direction: Turning | None
    curve: Curve
    end_us: int
    followed: tuple[BallBeam, ...]
    turns: float
    turns_from: float
    turns_to: float
    strangers: int
    missed: int
    scatter_s: float


def follow_ball(
    pulses: Sequence[BallBeam],
    laps: Sequence[Lap],
    wheel: Wheel,
    learned: Learned,
    left_us: int | None,
    *,
    directions: Sequence[Turning] = ("ccw", "cw"),
) -> BallRun | None:
    """Fit the run that explains the pulses; None where no smoothly slowing ball does.

    `left_us` is when the drop sensor says that the ball left the track, None while it has not. `directions`
    are those to try: the order of the pulses may have excluded one.
    """
    cuts = _undoubled(pulses, left_us)
    if len(cuts) < _LEAST_PULSES:
        return None
    end_us = cuts[-1].t if left_us is None else left_us
    expected = _expected(wheel, learned, laps, end_us, seen_drop=left_us is not None)
    for start in _starts(laps, expected, end_us):
        runs = [
            run
            for direction in directions
            if (run := _Fit(cuts, wheel, expected, end_us, direction).run(start)) is not None
        ]
        if len(runs) == 2:
            return _clearer(*runs)
        if runs:
            return runs[0]
    return None


def _undoubled(pulses: Sequence[BallBeam], left_us: int | None) -> Sequence[BallBeam]:
    times = [pulse.t for pulse in pulses]
    if left_us is not None and times and times[-1] > left_us + _DOUBLED_US:
        pulses = pulses[: bisect_right(times, left_us + _DOUBLED_US)]
    if min(map(sub, times[1:], times), default=_DOUBLED_US) >= _DOUBLED_US:
        return pulses
    last: dict[int, int] = {}
    cuts: list[BallBeam] = []
    for pulse in pulses:
        if pulse.t - last.get(pulse.beam, -_DOUBLED_US) >= _DOUBLED_US:
            cuts.append(pulse)
            last[pulse.beam] = pulse.t
    return cuts


def _expected(
    wheel: Wheel, learned: Learned, laps: Sequence[Lap], end_us: int, *, seen_drop: bool
) -> Expected:
    speed, spread = learned.drop_speed(wheel.drop_rev_per_s)
    if not seen_drop and laps:
        last = laps[-1]
        rate = learned.deceleration() if last.deceleration is None else last.deceleration
        speed = 1e6 / last.length_us - rate * (end_us - last.end_us + last.length_us / 2) / 1e6
        spread = _UNKNOWN_END_SPREAD * max(speed, wheel.drop_rev_per_s)
    friction = learned.deceleration() - NOMINAL_DRAG * wheel.drop_rev_per_s**2
    return Expected(
        Curve(max(speed, 0.1), friction if friction > 0.01 else _LIKELY_FRICTION, NOMINAL_DRAG),
        Curve(spread, _FRICTION_SPREAD, _DRAG_SPREAD),
    )


def _starts(laps: Sequence[Lap], expected: Expected, end_us: int) -> Iterator[Curve]:
    """Give curves to start from: by all laps, by the later ones (early ones may be false), by none."""
    timed = [lap for lap in laps if lap.end_us <= end_us]
    yield _fit_laps(timed, expected, end_us)
    yield _fit_laps(timed[len(timed) // 2 :], expected, end_us)
    yield expected.curve


def _fit_laps(laps: Sequence[Lap], expected: Expected, end_us: int) -> Curve:
    chosen = _spaced(laps, _FITTED_LAPS)
    seconds = [(end_us - lap.end_us + lap.length_us / 2) / 1e6 for lap in chosen]
    speeds = [1e6 / lap.length_us for lap in chosen]

    weights = [1.0 / (_LAP_ERROR * speed) ** 2 for speed in speeds]
    points = Points(speeds_moved, seconds, speeds, weights)
    curve = expected.curve
    for _ in range(_ROUNDS):
        curve = improve(curve, expected, points)
    return curve


class _Fit:
    """One direction's try at the pulses."""

    def __init__(
        self, cuts: Sequence[BallBeam], wheel: Wheel, expected: Expected, end_us: int, direction: Turning
    ) -> None:
        sense = 1.0 if direction == "ccw" else -1.0
        angles = [sense * deg / 360.0 for deg in wheel.beams_deg]
        self._beams = angles
        self._cuts = [cut for cut in cuts if cut.beam < len(angles)]
        self._places = [angles[cut.beam] for cut in self._cuts]
        self._seconds = [(end_us - cut.t) / 1e6 for cut in self._cuts]
        self._expected = expected
        self._end_us = end_us
        self._direction = direction
        self._end_place = 0.0
        self._speeds: Sequence[float] = ()

    def run(self, curve: Curve) -> BallRun | None:
        if len(self._cuts) < _LEAST_PULSES:
            return None
        self._speeds = curve.speeds_before(self._seconds)
        return self._plain_run(curve) or self._doubtful_run(curve)

    def _plain_run(self, curve: Curve) -> BallRun | None:
        """Try a few pulses for all; None where not every pulse then turns out to be the ball's."""
        whole = range(len(self._cuts))
        few = _spaced(whole, _FITTED_PULSES)
        places, seconds = [self._places[i] for i in few], [self._seconds[i] for i in few]
        ran = curve.turns_before(seconds)
        if self._lock_on(places, ran) < _PLAIN_COHERENCE:
            return None
        offs = self._offs(places, ran)
        if max(map(abs, offs)) > _WIDE_GATE_TURNS:
            return None
        near = _Own(few, list(map(sub, ran, offs)), [self._speeds[i] for i in few], offs)
        fitted = self._refit(curve, near)
        mine = self._own(fitted, wide=False)
        return self._judged(fitted, mine) if len(mine.which) == len(whole) else None

    def _doubtful_run(self, curve: Curve) -> BallRun | None:
        """Find the ball's pulses among all of them."""
        coherence = self._lock_on(self._places, curve.turns_before(self._seconds))
        if coherence < _LEAST_COHERENCE:
            return None
        mine = self._own(curve, wide=True)
        if len(mine.which) < _LEAST_PULSES:
            return None
        curve = self._refit(curve, mine)
        mine = self._own(curve, wide=False)
        if _LEAST_PULSES <= len(mine.which) < len(self._cuts):
            curve = self._refit(curve, mine)
            mine = self._own(curve, wide=False)
        return self._judged(curve, mine) if len(mine.which) >= _LEAST_PULSES else None

    def _lock_on(self, places: Sequence[float], ran: Sequence[float]) -> float:
        """Find where on the track the run ended; give how well the pulses agree on it, from 0 to 1."""
        phases = [2 * pi * (place + turns) for place, turns in zip(places, ran, strict=True)]
        east, north = sum(map(cos, phases)), sum(map(sin, phases))
        self._end_place = atan2(north, east) / (2 * pi)
        return sqrt(east * east + north * north) / len(phases)

    def _offs(self, places: Sequence[float], ran: Sequence[float]) -> list[float]:
        """Give how far off the curve each pulse's beam stands, in turns, from -0.5 to 0.5."""
        end = self._end_place
        return [(off := place + turns - end) - round(off) for place, turns in zip(places, ran, strict=True)]

    def _own(self, curve: Curve, *, wide: bool) -> _Own:
        """Give the pulses that lie near enough to the curve to be the ball's."""
        ran = curve.turns_before(self._seconds)
        offs = self._offs(self._places, ran)
        every = _Own(range(len(offs)), list(map(sub, ran, offs)), self._speeds, offs)
        farthest = max(map(abs, offs))
        if farthest <= _WIDE_GATE_TURNS and farthest <= _GATE_S * min(self._speeds) + _GATE_TURNS:
            return every
        return every.at(
            [
                i
                for i, (off, speed) in enumerate(zip(offs, self._speeds, strict=True))
                if abs(off) <= _WIDE_GATE_TURNS and (wide or abs(off) <= _GATE_S * speed + _GATE_TURNS)
            ]
        )

    def _refit(self, curve: Curve, pulses: _Own) -> Curve:
        """Fit the curve and the place of its end."""
        mine = pulses.at(_spaced(range(len(pulses.which)), _FITTED_PULSES))
        seconds = [self._seconds[i] for i in mine.which]
        weights = [1.0 / (_JITTER_S * speed + 1e-4) ** 2 for speed in mine.speeds]
        points = Points(turns_moved, seconds, mine.turns, weights, shifted=True)
        fitted = improve(curve, self._expected, points)
        moved = map(sub, fitted.turns_before(seconds), mine.turns)
        self._end_place += sum(map(mul, weights, moved)) / sum(weights)
        return fitted

    def _judged(self, curve: Curve, all_mine: _Own) -> BallRun | None:
        mine = all_mine
        while len(mine.which) > _LEAST_PULSES and self._stands_alone(mine):
            mine = mine.but_the_first()
        owned = len(mine.which)
        late = map(truediv, mine.offs, mine.speeds)
        scatter = sqrt(sum([seconds * seconds for seconds in late]) / owned)
        strangers = len(self._cuts) - owned
        missed = self._missed(mine)
        if (
            strangers > _MOST_STRANGERS * len(self._cuts)
            or missed > _MOST_MISSED * (missed + owned)
            or scatter > _MOST_SCATTER_S
        ):
            return None
        first_turns = mine.turns[0]
        skipped = missed or mine is not all_mine
        earliest_turns = all_mine.turns[0] + self._working_gaps(all_mine, -1.0)[2 if skipped else 1]
        return BallRun(
            direction=self._direction,
            curve=curve,
            end_us=self._end_us,
            followed=tuple(self._cuts[i] for i in mine.which) if strangers else tuple(self._cuts),
            turns=first_turns,
            turns_from=first_turns - _FIT_ERROR_TURNS,
            turns_to=earliest_turns + _FIT_ERROR_TURNS,
            strangers=strangers,
            missed=missed,
            scatter_s=scatter,
        )

    def _stands_alone(self, mine: _Own) -> bool:
        """Tell whether the first pulse is so far ahead of the others that it may be none of the ball's."""
        return mine.turns[0] - mine.turns[1] > self._working_gaps(mine, 1.0)[1] + _FIT_ERROR_TURNS

    def _missed(self, mine: _Own) -> int:
        """Count the passes of the followed run that a beam missed which heard others."""
        first, last = mine.turns[0] + 0.01, mine.turns[-1] - 0.01
        heard = [self._cuts[i].beam for i in mine.which]
        missed = 0
        for beam in set(heard):
            before_end = (self._end_place - self._beams[beam]) % 1.0
            missed += floor(first - before_end) - floor(last - before_end) - heard.count(beam)
        return missed

    def _working_gaps(self, mine: _Own, ahead: float) -> list[float]:
        """Give how far from its first pulse the ball passed the next working beams (-1: the ones before).

        It was launched after the nearest one before, unless that missed it; that two in a row missed it is
        likely only where beams are seen to miss. A beam works when it was heard in one of the first two laps.
        """
        until = mine.turns[0] - 2.0
        early = [i for i, turns in zip(mine.which, mine.turns, strict=True) if turns > until]
        working = {self._cuts[i].beam for i in early}
        here = self._beams[self._cuts[mine.which[0]].beam]
        gaps = sorted((ahead * (self._beams[beam] - here) - 1e-6) % 1.0 + 1e-6 for beam in working)
        return [*gaps, *(gap + 1.0 for gap in gaps), gaps[0] + 2.0]


def _clearer(one: BallRun, other: BallRun) -> BallRun:
    """Both directions fit: take the clearly better one, or leave the direction open."""
    better, worse = sorted((one, other), key=lambda run: (-len(run.followed), run.scatter_s))
    if worse.scatter_s > max(_CLEARLY_WORSE * better.scatter_s, _CLEARLY_OFF_S):
        return better
    if worse.strangers - better.strangers >= _CLEARLY_MORE_STRANGERS:
        return better
    return BallRun(
        direction=None,
        curve=better.curve,
        end_us=better.end_us,
        followed=better.followed,
        turns=better.turns,
        turns_from=min(one.turns_from, other.turns_from),
        turns_to=max(one.turns_to, other.turns_to),
        strangers=better.strangers,
        missed=better.missed,
        scatter_s=better.scatter_s,
    )


def _spaced(items: Sequence[_T], most: int) -> list[_T]:
    """Pick at most so many, evenly spread."""
    if len(items) <= most:
        return list(items)
    return [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]
