"""What the track alone says of a die near a wall: it stopped or turned short of it, or nobody knows."""

from bisect import bisect_right
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.heard import SLOWEST_HIT, TIME_MARGIN_MS, may_be_at
from controller.rules.dice.motion import Curve, Sample, Turn, curve, turns_near
from controller.rules.dice.paths import Approach, Span, points_around

SURE = 4.0
"""Standard deviations beyond which a turn short of the wall is certain."""
SURE_AT_REST = 3.0
"""The same for a die that rests: it neither came back nor was heard, which a hit would have shown."""
TURNED = "turned back"
TAIL = 60
"""Points before a rest that its place is fitted from, besides the rest itself."""


class Nearest(NamedTuple):
    """How near a die came to a wall, what it did there, and how certain that is."""

    did: str
    t: float
    gap: float
    sd: float
    sure: float


def unclear(way: Approach, span: Span, seen: str, code: str) -> Encounter:
    """Say that nobody can tell whether the die hit the wall within a span."""
    t = 0.5 * (way.samples[span.first][0] + way.samples[span.last][0])
    points = points_around(way, span)
    return Encounter(wall=way.wall, hit=Hit.UNCLEAR, t=t, seen=seen, code=code, points=points)


def rest_near(way: Approach, span: Span) -> Encounter | None:
    """Judge a die at rest near the wall by its last motion and its rest; None if they tell nothing."""
    moving = way.samples[:-1]
    tail = _last_motion(moving, way.noise)
    if tail is None or span.first < len(moving) - tail.points:
        return None
    t = t_last = moving[-1][0]
    if tail.half_bend > 0.0:
        t = min(max(tail.origin - tail.speed / (2.0 * tail.half_bend), moving[-tail.points][0]), t_last)
    gap, sd = _agreed(tail.at(t), sqrt(tail.variance_at(t)), way.samples[-1][1], 0.5 * way.noise)
    return _short_or_unclear(way, span, Nearest("stopped", t, gap, sd, SURE_AT_REST))


def _last_motion(moving: Sequence[Sample], noise: float) -> Curve | None:
    for points in (TAIL, 25, 12, 6):
        tail = curve(moving[-points:][::-1], noise, slowing=False)
        if tail is not None and tail.misfit <= tail.points + 3.5 * sqrt(2.0 * tail.points):
            return tail
    return None


def _agreed(gap: float, sd: float, rest_gap: float, rest_sd: float) -> tuple[float, float]:
    """Join what motion and rest say of one gap; where they disagree, the nearer and the less certain."""
    variance, rest_variance = sd * sd, rest_sd * rest_sd
    both = variance + rest_variance
    if abs(gap - rest_gap) > 4.0 * sqrt(both):
        return min(gap, rest_gap), max(sd, rest_sd)
    return (rest_variance * gap + variance * rest_gap) / both, sqrt(variance * rest_variance / both)


def turn_near(way: Approach, span: Span, m: int) -> Encounter:
    """Judge a turn near the wall, at point m, that no impact belongs to."""
    number = way.path.die.number
    turns = [turn for turn in turns_near(way.samples, m - 1, m, way.noise) if turn.speed_in < 0.0]
    if not turns:
        t, gap = way.samples[m]
        if m == 0:
            seen = f"die {number} was thrown from the {way.wall} wall"
            return Encounter(wall=way.wall, hit=Hit.NO, t=t, gap_mm=gap, seen=seen)
        seen = f"die {number} was seen {max(gap, 0.0):.0f} mm from the {way.wall} wall but not how it turned"
        return unclear(way, span, seen, "wall_unclear")
    nearest = min(turns, key=_reach)
    if _lingers(way, span, m):
        seen = f"die {number} lingered at the {way.wall} wall and no hit was heard"
        return unclear(way, span, seen, _unheard(way, nearest.t))
    place = Nearest(TURNED, nearest.t, nearest.place, nearest.place_sd, SURE)
    return _short_or_unclear(way, span, place)


def _reach(turn: Turn) -> float:
    return turn.place - SURE * turn.place_sd


def _lingers(way: Approach, span: Span, m: int) -> bool:
    """Tell whether the die was about as near to the wall at another time of the span."""
    samples = way.samples
    return any(
        samples[i - 1][1] + samples[i][1] + samples[i + 1][1] < 3.0 * 4.0 * way.noise
        for i in range(max(span.first, 1), min(span.last, len(samples) - 1))
        if abs(i - m) > 4
    )


def _short_or_unclear(way: Approach, span: Span, nearest: Nearest) -> Encounter:
    number = way.path.die.number
    error = nearest.sure * nearest.sd
    if nearest.gap <= error:
        code = _unheard(way, nearest.t)
        heard = "no impact belongs to it" if code == "wall_unclear" else "no working sensor listened there"
        seen = f"die {number} {nearest.did} at the {way.wall} wall (within {error:.0f} mm), and {heard}"
        return unclear(way, span, seen, code)
    return Encounter(
        wall=way.wall,
        hit=Hit.NO,
        t=nearest.t,
        gap_mm=nearest.gap,
        seen=f"die {number} {nearest.did} {nearest.gap:.0f} mm short of the {way.wall} wall",
        doubts=_doubts(way, span, nearest),
        sharp=nearest.did == TURNED,
        points=points_around(way, Span(max(span.first, span.last - 8), span.last)),
    )


def _unheard(way: Approach, t: float) -> str:
    """Name the cause of a review where a turn at the wall was not heard: was there an ear that works?"""
    at_us = way.scene.start_us + int(t * 1000.0)
    return "wall_unclear" if way.scene.hears(way.wall, at_us) else "missing_reading"


def _doubts(way: Approach, span: Span, nearest: Nearest) -> tuple[int, ...]:
    """Find impacts that this die may have made although its track says that it stayed short.

    Either it was all but touching, or it turned so fast between two points that it may have hit the wall
    and something else before it was seen again.
    """
    times = way.path.times
    touching = nearest.gap <= 5.0 * nearest.sd + way.noise
    doubts = []
    for i in way.heard:
        impact = way.scene.impacts[i]
        at = way.scene.ms(impact.t)
        k = min(max(bisect_right(times, at - 1.0) - 1, 0), len(times) - 2)
        if not span.first <= k <= span.last or not may_be_at(way, impact, k):
            continue
        if touching or _may_have_struck(way, k, at):
            doubts.append(i)
    return tuple(doubts)


def _may_have_struck(way: Approach, k: int, at: float) -> bool:
    """Tell whether the way in, carried on, reaches the wall before the next point and when it was heard."""
    samples = way.samples
    before = curve(samples[max(k - 4, 0) : k + 1][::-1], way.noise)
    if before is None:
        return False
    t = samples[k][0]
    speed = before.speed_at(t)
    if speed > -SLOWEST_HIT:
        return False
    reaches = t - before.at(t) / speed
    least, most = way.scene.errors.impact_delay_ms
    spare = 2.5 * TIME_MARGIN_MS
    return reaches <= samples[k + 1][0] + TIME_MARGIN_MS and least - spare <= at - reaches <= most + spare
