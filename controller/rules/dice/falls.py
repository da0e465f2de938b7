"""Whether a die can have fallen on the felt so hard that a wall's sensor hears it.

A die gets fast downwards only as it falls, and while it falls nothing turns or slows it: its track is
straight and even. One that slides, rolls or tumbles keeps touching the felt, which turns and slows it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import hypot, log, sqrt

from controller.rules.dice import bands
from controller.rules.dice.contacts import Contact
from controller.rules.dice.paths import LEAST_NOISE_MM, Path, approach_to
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import heard_there

FALL_MS = 620.0
"""How long a die falls to be heard as one that a wall turns by a metre a second: felt passes a twelfth of the
blow, places a third more, and a die leaves felt at half the speed that it strikes at; so it strikes at 6 m/s.
One that bounced up from the felt falls for half of the time since then, so it strikes at half of that."""
LANDING_HEARD_MM = 150.0
"""A landing further from a wall is not heard there: felt passes it on for 40 mm, and a hundredth this far."""
HAND_POINTS = 2
"""The first points of a track may be in the hand."""
MET_MS = 12.0
"""A die that met the other turned within a frame of it: that does not slow its fall."""
LEAST_POINTS = 6
"""Fewer points tell nothing of how straight a way is."""
STRAIGHT_ERRORS = 4.5
"""A straight way misses its points by no more deviations than this: once in ten thousand."""


def may_have_fallen(scene: Scene, paths: tuple[Path, Path], impact: int, as_of_m_per_s: float) -> bool:
    """Return whether a die near an impact's place may have fallen so hard that its landing was this loud."""
    t = scene.ms(scene.impacts[impact].t) - 0.5 * sum(scene.errors.impact_delay_ms)
    for path, other in (paths, paths[::-1]):
        if len(path.times) < 2:
            return True
        near = _gap_mm(scene, path, impact, t) <= LANDING_HEARD_MM
        there = near and heard_there(scene, path, impact, t) is not None
        if there and _can_have_fallen(scene, path, other, t, FALL_MS * as_of_m_per_s):
            return True
    return False


def _gap_mm(scene: Scene, path: Path, impact: int, t: float) -> float:
    """Return how near a die was to an impact's wall at the points beside a moment, in mm."""
    gaps = approach_to(scene, path, scene.impacts[impact].wall).gaps
    k = bisect_right(path.times, t)
    return min(gaps[max(k - 1, 0) : k + 1])


def thump_price(scene: Scene, turned: Contact, as_of_m_per_s: float) -> float:
    """Return the price of a landing's having turned a die and sounded as loud as a hit at this speed."""
    far = _far(scene, turned)
    share = bands.SOFT_SHARE + far * (bands.SOFT_SHARE_FAR - bands.SOFT_SHARE)
    softer = max(turned.change, bands.CAUSELESS_M_PER_S) * share
    louder = log(as_of_m_per_s / softer) / bands.SOFT_SPREAD if as_of_m_per_s > softer else 0.0
    return bands.THUMPS + louder * louder


def _far(scene: Scene, turned: Contact) -> float:
    """Return how surely a die turned further off than the mean reach of a cube, from 0 to 1."""
    table, unsure_mm = scene.table, bands.SOFT_ERRORS * scene.errors.track_noise_mm
    past_mean_mm = turned.gap_mm + (bands.LEAST_EDGES - bands.MEAN_EDGES) * table.die_mm
    return min(max(1.0 + past_mean_mm / unsure_mm, 0.0), 1.0) if unsure_mm else float(past_mean_mm > 0.0)


def _can_have_fallen(scene: Scene, path: Path, other: Path, t: float, fall_ms: float) -> bool:
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
