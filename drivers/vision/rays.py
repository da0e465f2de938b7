"""Computes a die's centre and height from the rays of two cameras."""

from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array

DISTANCE_SIGMAS = 4.0
"""Maximum distance, in standard errors, between two rays to one die."""
MIN_DISTANCE_LIMIT_MM = 4.0
MAX_HEIGHT_MM = 600.0


@dataclass(frozen=True, slots=True)
class Intersection:
    """A die's centre computed from two rays. Lengths are in millimetres."""

    x: float
    y: float
    height: float
    error: float
    """Standard error of the centre."""
    distance: float
    """Distance at which the rays pass each other."""
    spread: float
    """Standard error of `distance`."""

    @property
    def one_die(self) -> bool:
        """Whether both rays belong to one die."""
        return self.relative_distance < 1.0 and 0.0 < self.height < MAX_HEIGHT_MM

    @property
    def relative_distance(self) -> float:
        """`distance` divided by the limit for one die."""
        return self.distance / max(MIN_DISTANCE_LIMIT_MM, DISTANCE_SIGMAS * self.spread)


def solve_rays(
    eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]
) -> Intersection:
    """Return the point nearest to two rays, weighted by the rays' errors.

    Args:
        eyes: The positions (x, y, height) of the two cameras.
        places: The positions (x, y, height) through which the rays pass.
        errors: The standard errors of `places`.
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
        # Motion blur shifts both rays alike, so a second ray does not reduce the error.
        float(np.hypot(max(error, *errors), distance / 2)),
        distance,
        float(np.hypot(*errors)),
    )
