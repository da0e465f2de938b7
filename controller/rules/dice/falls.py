"""Whether a die can have fallen on the felt so hard that a wall's sensor hears it.

A die gets fast downwards only as it falls, and while it falls nothing turns or slows it: its track is
straight and even. One that slides, rolls or tumbles keeps touching the felt, which turns and slows it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import hypot, sqrt

from controller.rules.dice import bands
from controller.rules.dice.paths import LEAST_NOISE_MM, Path
from controller.rules.dice.scene import Scene

FALL_MS = 620.0
"""How long a die falls to be heard as one that a wall turns by a metre a second: felt passes a twelfth of the
blow, places a third more, and a die leaves felt at half the speed that it strikes at; so it strikes at 6 m/s.
One that bounced up from the felt falls for half of the time since then, so it strikes at half of that."""
HAND_POINTS = 2
"""The first points of a track may be in the hand."""
MET_MS = 12.0
"""A die that met the other turned within a frame of it: that does not slow its fall."""
LEAST_POINTS = 6
"""Fewer points tell nothing of how straight a way is."""
STRAIGHT_ERRORS = 4.5
"""A straight way misses its points by no more deviations than this: once in ten thousand."""


def can_have_fallen(scene: Scene, path: Path, other: Path, t: float, fall_ms: float) -> bool:
    """Return whether a die may have fallen for so long up to a moment, or from the hand.

    It has not where its way was bent or slowed meanwhile, other than by the other die.
    """
    since = max(t - fall_ms, path.times[min(HAND_POINTS, len(path.times) - 1)])
    first, end = bisect_left(path.times, since), bisect_left(path.times, t - bands.CLOCKS_MS)
    return all(_is_straight(scene, path, part) for part in _apart(scene, path, other, range(first, end)))


def _apart(scene: Scene, path: Path, other: Path, points: range) -> Iterator[range]:
    """Return the parts of some points in which the other die was out of reach."""
    reach_mm = 2.0 * bands.contact_most(scene.table) + 2.0 * scene.errors.track_noise_mm
    begin = points.start
    for i in points:
        if _distance_mm(path, other, i) <= reach_mm:
            yield range(begin, i)
            begin = i + 1
    yield range(begin, points.stop)


def _distance_mm(path: Path, other: Path, i: int) -> float:
    """Return how far the dice are apart at a point of the first, by the other's points within a frame.

    One that came to rest lies where it was seen last; one that was hidden then may have been anywhere.
    """
    t, x, y = path.times[i], path.xs[i], path.ys[i]
    near = range(bisect_left(other.times, t - MET_MS), bisect_left(other.times, t + MET_MS))
    if not near and other.rests and len(other.times) > 1 and t >= other.times[-2]:
        near = range(len(other.times) - 1, len(other.times))
    return min((hypot(x - other.xs[j], y - other.ys[j]) for j in near), default=0.0)


def _is_straight(scene: Scene, path: Path, points: range) -> bool:
    if len(points) < LEAST_POINTS:
        return True
    times = [path.times[i] for i in points]
    missed = bent = 0.0
    for places in ([path.xs[i] for i in points], [path.ys[i] for i in points]):
        axis_missed, axis_bent = _misses(times, places, _noise_mm(scene, places))
        missed, bent = missed + axis_missed, bent + axis_bent
    free = 2.0 * (len(points) - 2)
    return missed <= free + STRAIGHT_ERRORS * sqrt(2.0 * free) and bent <= STRAIGHT_ERRORS * STRAIGHT_ERRORS


def _noise_mm(scene: Scene, places: Sequence[float]) -> float:
    """Return the error of these points: the camera's, or more where they scatter more."""
    thirds = [
        places[i] - 3.0 * places[i + 1] + 3.0 * places[i + 2] - places[i + 3] for i in range(len(places) - 3)
    ]
    scatter = sqrt(sum(third * third for third in thirds) / (20.0 * len(thirds)))
    return max(scene.errors.track_noise_mm, LEAST_NOISE_MM, scatter)


def _misses(times: Sequence[float], places: Sequence[float], noise: float) -> tuple[float, float]:
    """Return by how many squared errors points miss a straight way, and by how many that way is bent."""
    n = len(times)
    middle, mean = sum(times) / n, sum(places) / n
    aways = [t - middle for t in times]
    spread = sum(away * away for away in aways)
    speed = sum(away * (place - mean) for away, place in zip(aways, places, strict=True)) / spread
    left = [place - mean - speed * away for away, place in zip(aways, places, strict=True)]
    # The part of a parabola that no straight way has.
    skew = sum(away**3 for away in aways) / spread
    curve = [away * away - spread / n - skew * away for away in aways]
    curved = sum(own * own for own in curve)
    bent = sum(own * miss for own, miss in zip(curve, left, strict=True))
    variance = noise * noise
    return sum(miss * miss for miss in left) / variance, bent * bent / (curved * variance)
