"""The intersection of two rays: a die's centre and height, from two cameras that see it."""

from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array

DISTANCE_SIGMAS = 4.0
"""Two rays that pass each other at a larger distance than this, in standard errors, do not belong to one
die."""
MIN_DISTANCE_LIMIT_MM = 4.0
MAX_HEIGHT_MM = 600.0


@dataclass(frozen=True, slots=True)
class Intersection:
    """A die's centre computed from two rays, its standard error, and the distance between the rays (mm)."""

    x: float
    y: float
    height: float
    error: float
    distance: float
    spread: float
    """Standard error of `distance`."""

    @property
    def one_die(self) -> bool:
        """Whether both rays belong to one die."""
        return self.relative_distance < 1.0 and 0.0 < self.height < MAX_HEIGHT_MM

    @property
    def relative_distance(self) -> float:
        """The distance at which the rays pass, divided by the limit for one die."""
        return self.distance / max(MIN_DISTANCE_LIMIT_MM, DISTANCE_SIGMAS * self.spread)


def solve_rays(
    eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]
) -> Intersection:
    """Return the point nearest to two rays, weighted by their errors.

    Args:
        eyes: The positions of the two cameras.
        places: The positions (x, y, height) through which the rays pass.
        errors: The standard error of each position.
    """
    directions = [
        (place - eye) / np.linalg.norm(place - eye) for eye, place in zip(eyes, places, strict=True)
    ]
    projections = [np.eye(3) - np.outer(direction, direction) for direction in directions]
    weights = [flat / error**2 for flat, error in zip(projections, errors, strict=True)]
    inverse = np.linalg.inv(weights[0] + weights[1] + 1e-9 * np.eye(3))
    point = inverse @ (weights[0] @ eyes[0] + weights[1] @ eyes[1])
    misses = [flat @ (point - eye) for flat, eye in zip(projections, eyes, strict=True)]
    distance = float(np.linalg.norm(misses[0] - misses[1]))
    error = float(np.sqrt(max(inverse[0, 0], inverse[1, 1])))
    return Intersection(
        float(point[0]),
        float(point[1]),
        float(point[2]),
        # Motion blur shifts both rays alike, so two are no more accurate than one.
        float(np.hypot(max(error, *errors), distance / 2)),
        distance,
        float(np.hypot(*errors)),
    )
