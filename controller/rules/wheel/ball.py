"""The ball's run around the track: which pulses are its own, which way it ran, and how far.

One smooth curve goes through all of them. It is fitted backwards from the end of the run, where the ball has
the wheel's drop speed, so each pulse belongs to one lap or to none, and a pulse that was missed, doubled or
made by something else changes nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import atan2, cos, pi, sin
from operator import mul
from typing import TypeVar

from controller.model.geometry import Wheel
from controller.model.readings import BallBeam, Turning
from controller.rules.wheel.curve import Curve, Expected, improve
from controller.rules.wheel.laps import Lap
from controller.rules.wheel.learned import NOMINAL_DRAG, Learned

_T = TypeVar("_T")
_Own = tuple[int, float, float, float]
"""A pulse of the ball's: its index, turns before the end by its beam, speed, and turns off the curve."""

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
_LEAST_COHERENCE = 0.5
_LEAST_PULSES = 3
_MOST_STRANGERS = 0.25
_MOST_MISSED = 0.45
_MOST_SCATTER_S = 0.010
_CLEARLY_WORSE = 3.0
_CLEARLY_OFF_S = 0.004
_CLEARLY_MORE_STRANGERS = 5
_FIT_ERROR_TURNS = 0.03


@dataclass(frozen=True, slots=True)
class BallRun:
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


def _undoubled(pulses: Sequence[BallBeam], left_us: int | None) -> list[BallBeam]:
    last: dict[int, int] = {}
    cuts: list[BallBeam] = []
    for pulse in pulses:
        if left_us is not None and pulse.t > left_us + _DOUBLED_US:
            break
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

    def residuals(curve: Curve) -> list[float]:
        fitted = curve.speeds_before(seconds)
        return [(f / v - 1.0) / _LAP_ERROR for f, v in zip(fitted, speeds, strict=True)]

    return improve(expected.curve, expected, residuals, _ROUNDS)


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
        self._speeds: list[float] = []

    def run(self, curve: Curve) -> BallRun | None:
        if not self._lock_on(curve):
            return None
        self._speeds = curve.speeds_before(self._seconds)
        mine = self._own(curve, wide=True)
        if len(mine) < _LEAST_PULSES:
            return None
        curve = self._refit(curve, mine)
        mine = self._own(curve, wide=False)
        if _LEAST_PULSES <= len(mine) < len(self._cuts):
            curve = self._refit(curve, mine)
            mine = self._own(curve, wide=False)
        return self._judged(curve, mine)

    def _lock_on(self, curve: Curve) -> bool:
        phases = [
            2 * pi * (place + turns)
            for place, turns in zip(self._places, curve.turns_before(self._seconds), strict=True)
        ]
        east, north = sum(map(cos, phases)), sum(map(sin, phases))
        self._end_place = atan2(north, east) / (2 * pi)
        return bool(phases) and (east * east + north * north) ** 0.5 >= _LEAST_COHERENCE * len(phases)

    def _own(self, curve: Curve, *, wide: bool) -> list[_Own]:
        """Give the pulses that lie near enough to the curve to be the ball's."""
        end = self._end_place
        mine = []
        for i, ran in enumerate(curve.turns_before(self._seconds)):
            off = self._places[i] + ran - end
            off -= round(off)
            if -_WIDE_GATE_TURNS <= off <= _WIDE_GATE_TURNS:
                speed = self._speeds[i]
                if wide or abs(off) <= _GATE_S * speed + _GATE_TURNS:
                    mine.append((i, ran - off, speed, off))
        return mine

    def _refit(self, curve: Curve, pulses: Sequence[_Own]) -> Curve:
        mine = _spaced(pulses, _FITTED_PULSES)
        seconds = [self._seconds[i] for i, _, _, _ in mine]
        wanted = [turns for _, turns, _, _ in mine]
        weights = [1.0 / (_JITTER_S * speed + 1e-4) for _, _, speed, _ in mine]
        squares = [w * w for w in weights]
        whole = sum(squares)
        shift = 0.0

        def residuals(tried: Curve) -> list[float]:
            nonlocal shift
            offs = [ran - turns for ran, turns in zip(tried.turns_before(seconds), wanted, strict=True)]
            shift = sum(map(mul, squares, offs)) / whole
            return [w * (off - shift) for w, off in zip(weights, offs, strict=True)]

        fitted = improve(curve, self._expected, residuals, 1)
        residuals(fitted)
        self._end_place += shift
        return fitted

    def _judged(self, curve: Curve, mine: Sequence[_Own]) -> BallRun | None:
        if len(mine) < _LEAST_PULSES:
            return None
        all_mine = mine
        while len(mine) > _LEAST_PULSES and self._stands_alone(mine):
            mine = mine[1:]
        scatter = (sum([(off / speed) ** 2 for _, _, speed, off in mine]) / len(mine)) ** 0.5
        followed = tuple(self._cuts[i] for i, _, _, _ in mine)
        strangers = len(self._cuts) - len(mine)
        passes = self._passes(mine)
        heard = [beam for beam, (_, own) in enumerate(passes) if own]
        missed = sum(passes[beam][0] - passes[beam][1] for beam in heard)
        if (
            strangers > _MOST_STRANGERS * len(self._cuts)
            or missed > _MOST_MISSED * (missed + len(mine))
            or scatter > _MOST_SCATTER_S
        ):
            return None
        first_turns = mine[0][1]
        skipped = missed or len(mine) < len(all_mine)
        earliest_turns = all_mine[0][1] + self._working_gaps(all_mine, -1.0)[2 if skipped else 1]
        return BallRun(
            direction=self._direction,
            curve=curve,
            end_us=self._end_us,
            followed=followed,
            turns=first_turns,
            turns_from=first_turns - _FIT_ERROR_TURNS,
            turns_to=earliest_turns + _FIT_ERROR_TURNS,
            strangers=strangers,
            missed=missed,
            scatter_s=scatter,
        )

    def _stands_alone(self, mine: Sequence[_Own]) -> bool:
        """Tell whether the first pulse is so far ahead of the others that it may be none of the ball's."""
        return mine[0][1] - mine[1][1] > self._working_gaps(mine, 1.0)[1] + _FIT_ERROR_TURNS

    def _passes(self, mine: Sequence[_Own]) -> list[tuple[int, int]]:
        """Give for each beam how often the ball passed it in the followed run, and how often it was heard."""
        first, last = mine[0][1] + 0.01, mine[-1][1] - 0.01
        heard = [0] * len(self._beams)
        for i, _, _, _ in mine:
            heard[self._cuts[i].beam] += 1
        passed = [
            int((first - self._before_end(beam)) // 1) - int((last - self._before_end(beam)) // 1)
            for beam in range(len(self._beams))
        ]
        return list(zip(passed, heard, strict=True))

    def _before_end(self, beam: int) -> float:
        return (self._end_place - self._beams[beam]) % 1.0

    def _working_gaps(self, mine: Sequence[_Own], ahead: float) -> list[float]:
        """Give how far from its first pulse the ball passed the next working beams (-1: the ones before).

        It was launched after the nearest one before, unless that missed it; that two in a row missed it is
        likely only where beams are seen to miss. A beam works when it was heard in one of the first two laps.
        """
        first_turns = mine[0][1]
        working = {self._cuts[i].beam for i, turns, _, _ in mine if first_turns - turns < 2.0}
        here = self._beams[self._cuts[mine[0][0]].beam]
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
