"""The test of whether the dice seem to occupy the same position (C34-PT-3).

Unless one die is above the other, their centres are at least an edge apart. A camera that mistakes one die
for two, or two for one, reports smaller distances. Its readings of both dice are then unreliable.
"""

from bisect import bisect_left
from math import hypot, sqrt

from controller.model.readings import DieAt, DieRest
from controller.rules.dice.findings import Findings
from controller.rules.dice.scene import Scene

CERTAIN = 3.0
"""Number of standard deviations by which a distance must be below the length of an edge to exclude a
measurement error."""
REST_ERROR_FACTOR = 0.5
"""Position error of a die at rest, as a fraction of the error in flight. The camera averages a resting
position over many frames."""
ABOVE_MS = 800.0
"""Maximum time, in ms, for which one die can be above the other. To stay up that long, a die would have
to rise 80 cm. After that, both dice are on the felt."""
COARSE_STEP = 8
"""Step between the points that are checked first. They suffice to show that the dice were apart at some
time."""
APART_EDGES = 2.0
"""Distance between the centres, in edges, above which the dice are certainly two. With errors of a few
millimetres, one die seen as two never seems so large."""
MIN_SEEN_FRACTION = 0.5
"""Minimum fraction of the frames in which both dice were seen, for their mean distance to count."""


def judge_solid(scene: Scene, found: Findings) -> None:
    """Add a review if both dice were seen where there is room for only one."""
    one, two = (die.rest for die in scene.dice)
    if any(die.offs for die in scene.dice):
        return
    if one is not None and two is not None and _overlap_at_rest(scene, one, two):
        distance = hypot(one.x - two.x, one.y - two.y)
        found.add_review(
            "conflict",
            f"both dice were seen at rest where there is room for only one, {distance:.0f} mm apart",
        )
        return
    mean = _mean_distance_if_close(scene)
    if mean is not None:
        edge = scene.table.die_mm
        found.add_review(
            "conflict",
            f"the dice's tracks were {mean:.1f} mm apart on average, less than a die's edge of {edge:g} mm",
        )


def _overlap_at_rest(scene: Scene, one: DieRest, two: DieRest) -> bool:
    if "die" in {one.on, two.on}:
        return False
    error = sqrt(2.0) * REST_ERROR_FACTOR * scene.errors.track_noise_mm
    distance = hypot(one.x - two.x, one.y - two.y)
    return distance < scene.table.die_mm - CERTAIN * error


def _mean_distance_if_close(scene: Scene) -> float | None:
    """Return the mean distance, in mm, between the tracks if it is too small for two dice, or None."""
    one, two = (die.track for die in scene.dice)
    edge = scene.table.die_mm
    coarse = list(_distances(one[::COARSE_STEP], two, scene.errors.frame_ms))
    if not coarse or max(coarse) > APART_EDGES * edge:
        return None
    distances = list(_distances(one, two, scene.errors.frame_ms))
    watched_ms = (min(one[-1].t, two[-1].t) - max(one[0].t, two[0].t)) / 1000.0
    if watched_ms < ABOVE_MS or len(distances) < MIN_SEEN_FRACTION * ABOVE_MS / scene.errors.frame_ms:
        return None
    noise = scene.errors.track_noise_mm
    # The errors of two points, each in both directions, add to the mean square.
    mean = sqrt(max(sum(d * d for d in distances) / len(distances) - 4.0 * noise * noise, 0.0))
    return mean if mean < edge - CERTAIN * sqrt(2.0 / len(distances)) * noise else None


def _distances(one: list[DieAt], two: list[DieAt], frame_ms: float) -> list[float]:
    """Return the distance, in mm, from each point to the other die's point in the same frame."""
    times = [point.t for point in two]
    near_us = 0.5 * frame_ms * 1000.0
    distances = []
    for point in one:
        j = bisect_left(times, point.t)
        other = min(two[max(j - 1, 0) : j + 1], key=lambda p: abs(p.t - point.t), default=None)
        if other is not None and abs(other.t - point.t) <= near_us:
            distances.append(hypot(point.x - other.x, point.y - other.y))
    return distances
