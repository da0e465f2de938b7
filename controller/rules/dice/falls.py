"""The test of whether a thump (the sound of a die's landing on the felt) explains an impact at a wall.

A die gains downward speed only while it falls. Its track is then straight and its horizontal speed constant.
A die that slides, rolls or tumbles keeps touching the felt, which turns and slows it. The package
`controller.rules.dice` defines the terms.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import hypot, log, sqrt

from controller.rules.dice import bands
from controller.rules.dice.contact import Contact
from controller.rules.dice.paths import MIN_NOISE_MM, Path, approach_to, spans_near
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import heard_place_cost, turn_after

FALL_MS = 620.0
"""Time, in ms, for which a die must fall for its thump to be as loud as a hit that changes a die's speed by 1
m/s. Felt transmits a twelfth of a blow, the position may make the thump a third louder, and a die leaves felt
at half its striking speed. The die must therefore strike at 6 m/s. After a bounce, a die falls for only half
of the time in the air, and strikes at half the speed that it would reach by falling for the whole of that
time."""
LANDING_HEARD_MM = 150.0
"""Distance from a wall, in mm, beyond which its sensor detects no landing. Sound in felt decays over 40 mm,
to a fortieth at this distance."""
DRIVEN_MS = 37.0
"""Time, in ms, that a die driven downwards by a wall's rubber takes from the rail to the felt, 220 mm below.
The die moves at 6 m/s, at which its thump is as loud as a hit that changes a die's speed by 1 m/s."""
RAIL_FALL_MS = 212.0
"""Time, in ms, in which a die falls freely from the rail to the felt. A driven die takes no longer."""
HAND_POINTS = 2
"""Number of points at the start of a track for which the die may still be in the hand."""
MEETING_MS = 12.0
"""A turn within this time, in ms, of a meeting of the dice may be due to the meeting. It does not prove that
the die was not falling. The time is about a frame."""
MIN_POINTS = 6
"""Minimum number of points for judging whether a path is straight."""
THIRD_DIFFERENCE_VARIANCE = 20.0
"""Variance of the third difference of points with independent errors of variance 1: 1 + 9 + 9 + 1. A smooth
path hardly contributes to the third difference."""
STRAIGHT_ERRORS = 4.5
"""Maximum deviation of the points of a straight path, in standard deviations. One path in ten thousand
exceeds it by chance."""


def may_have_fallen(scene: Scene, paths: tuple[Path, Path], impact: int, hit_m_per_s: float) -> bool:
    """Return whether a die near an impact may have fallen hard enough for a thump this loud.

    `hit_m_per_s` is the loudness: the change of speed, in m/s, of a hit with the same peak.
    """
    t = scene.ms(scene.impacts[impact].t) - 0.5 * sum(scene.errors.impact_delay_ms)
    for path, other in (paths, paths[::-1]):
        if len(path.times) < 2:
            return True
        near = _gap_mm(scene, path, impact, t) <= LANDING_HEARD_MM
        heard_near = near and heard_place_cost(scene, path, impact, t) is not None
        if not heard_near:
            continue
        driven_ms = DRIVEN_MS / max(hit_m_per_s, DRIVEN_MS / RAIL_FALL_MS)
        if _turned_in_corner(scene, path, impact, t, driven_ms):
            return True
        if _can_have_fallen(scene, path, other, t, FALL_MS * hit_m_per_s):
            return True
    return False


def _turned_in_corner(scene: Scene, path: Path, impact: int, t: float, before_ms: float) -> bool:
    """Return whether an adjacent wall turned the die at the time of an impact, or up to `before_ms` earlier.

    The rubber of that wall drives the die against the felt, so a short fall is enough for a loud landing.
    """
    beside = ("front", "back") if scene.impacts[impact].wall in {"left", "right"} else ("left", "right")
    at = bisect_right(path.times, t) - 1
    first = bisect_right(path.times, t - before_ms) - 1
    for wall in beside:
        approach = approach_to(scene, path, wall)
        for span in spans_near(approach):
            for k in range(max(first - 1, span.first), min(at + 2, span.last)):
                turn = turn_after(approach, k, path.times[k], path.times[k + 1])
                if turn.change > max(bands.OWN_TURN_M_PER_S, bands.OWN_TURN_ERRORS * turn.change_sd):
                    return True
    return False


def _gap_mm(scene: Scene, path: Path, impact: int, t: float) -> float:
    """Return a die's distance, in mm, from an impact's wall: the smaller of its distances at the two points
    around a time."""
    gaps = approach_to(scene, path, scene.impacts[impact].wall).gaps
    k = bisect_right(path.times, t)
    return min(gaps[max(k - 1, 0) : k + 1])


def thump_cost(scene: Scene, turned: Contact, hit_m_per_s: float) -> float:
    """Return the cost of explaining an impact as the thump of a landing that caused a turn.

    `hit_m_per_s` is the impact's loudness, as in `may_have_fallen`.
    """
    certainty = _far_certainty(scene, turned)
    fraction = bands.SOFT_FRACTION + certainty * (bands.SOFT_FRACTION_FAR - bands.SOFT_FRACTION)
    softer = max(turned.change, bands.MAX_CAUSELESS_M_PER_S) * fraction
    louder = log(hit_m_per_s / softer) / bands.SOFT_SPREAD if hit_m_per_s > softer else 0.0
    return bands.THUMP + louder * louder


def _far_certainty(scene: Scene, turned: Contact) -> float:
    """Return the certainty, from 0 to 1, that a die turned farther from the wall than a cube's mean reach."""
    table, unsure_mm = scene.table, bands.SOFT_ERRORS * scene.errors.track_noise_mm
    past_mean_mm = turned.gap_mm + (bands.MIN_CONTACT_EDGES - bands.MEAN_EDGES) * table.die_mm
    return min(max(1.0 + past_mean_mm / unsure_mm, 0.0), 1.0) if unsure_mm else float(past_mean_mm > 0.0)


def _can_have_fallen(scene: Scene, path: Path, other: Path, t: float, fall_ms: float) -> bool:
    """Return whether a die may have fallen for `fall_ms` before a time, or from its release until then.

    It cannot have fallen if something other than the other die bent its path or slowed it in that period.
    """
    since = max(t - fall_ms, path.times[min(HAND_POINTS, len(path.times) - 1)])
    first, end = bisect_left(path.times, since), bisect_left(path.times, t - bands.CLOCK_MARGIN_MS)
    return all(
        _is_straight(scene, path, part) for part in _parts_apart(scene, path, other, range(first, end))
    )


def _parts_apart(scene: Scene, path: Path, other: Path, points: range) -> Iterator[range]:
    """Yield the parts of a range of points in which the other die was out of reach."""
    reach_mm = 2.0 * bands.max_contact_mm(scene.table)
    reach_mm += bands.DICE_REACH_ERRORS * scene.errors.track_noise_mm
    begin = points.start
    for i in points:
        if _distance_mm(path, other, i) <= reach_mm:
            yield range(begin, i)
            begin = i + 1
    yield range(begin, points.stop)


def _distance_mm(path: Path, other: Path, i: int) -> float:
    """Return the distance, in mm, from a die at one of its points to the nearest point of the other die.

    Only points within MEETING_MS count. A die at rest stays at its last position. The distance is 0 if the
    other die was hidden, because that die may have been anywhere.
    """
    t, x, y = path.times[i], path.xs[i], path.ys[i]
    near = range(bisect_left(other.times, t - MEETING_MS), bisect_left(other.times, t + MEETING_MS))
    if not near and other.rests and len(other.times) > 1 and t >= other.times[-2]:
        near = range(len(other.times) - 1, len(other.times))
    return min((hypot(x - other.xs[j], y - other.ys[j]) for j in near), default=0.0)


def _is_straight(scene: Scene, path: Path, points: range) -> bool:
    if len(points) < MIN_POINTS:
        return True
    times = [path.times[i] for i in points]
    missed = bent = 0.0
    for places in ([path.xs[i] for i in points], [path.ys[i] for i in points]):
        axis_missed, axis_bent = _misses(times, places, _noise_mm(scene, places))
        missed, bent = missed + axis_missed, bent + axis_bent
    free = 2.0 * (len(points) - 2)
    return missed <= free + STRAIGHT_ERRORS * sqrt(2.0 * free) and bent <= STRAIGHT_ERRORS * STRAIGHT_ERRORS


def _noise_mm(scene: Scene, places: Sequence[float]) -> float:
    """Return the error of these points, in mm: the larger of the camera's error and their scatter."""
    thirds = [
        places[i] - 3.0 * places[i + 1] + 3.0 * places[i + 2] - places[i + 3] for i in range(len(places) - 3)
    ]
    scatter = sqrt(sum(third * third for third in thirds) / (THIRD_DIFFERENCE_VARIANCE * len(thirds)))
    return max(scene.errors.track_noise_mm, MIN_NOISE_MM, scatter)


def _misses(times: Sequence[float], places: Sequence[float], noise: float) -> tuple[float, float]:
    """Return the deviation of points from a straight line, and their curvature, both in squared errors."""
    n = len(times)
    middle, mean = sum(times) / n, sum(places) / n
    offsets = [t - middle for t in times]
    spread = sum(offset * offset for offset in offsets)
    speed = sum(offset * (place - mean) for offset, place in zip(offsets, places, strict=True)) / spread
    residuals = [place - mean - speed * offset for offset, place in zip(offsets, places, strict=True)]
    # This is the part of a parabola that is orthogonal to every straight line.
    skew = sum(offset**3 for offset in offsets) / spread
    curve = [offset * offset - spread / n - skew * offset for offset in offsets]
    curved = sum(basis * basis for basis in curve)
    bent = sum(basis * residual for basis, residual in zip(curve, residuals, strict=True))
    variance = noise * noise
    return sum(residual * residual for residual in residuals) / variance, bent * bent / (curved * variance)
