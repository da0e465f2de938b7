"""Intersection of two rays: a die's centre and height, from two cameras that see it."""

from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array

APART_SIGMAS = 4.0
"""Two rays that pass each other at more than this, in standard errors, do not belong to one die."""
LEAST_APART_MM = 4.0
HIGHEST_MM = 600.0


@dataclass(frozen=True, slots=True)
class Solved:
    """A die's centre from two rays (mm), its standard error, and the distance at which the rays pass."""

    x: float
    y: float
    height: float
    error: float
    apart: float
    spread: float
    """Standard error of the distance at which they pass."""

    @property
    def one_die(self) -> bool:
        """Return whether both rays belong to one die."""
        return self.off < 1.0 and 0.0 < self.height < HIGHEST_MM

    @property
    def off(self) -> float:
        """Return the distance at which they pass, over the limit for one die."""
        return self.apart / max(LEAST_APART_MM, APART_SIGMAS * self.spread)


def solved(eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]) -> Solved:
    """Return where two rays meet: from the eyes through places (x, y, height), each with its error there."""
    ways = [(place - eye) / np.linalg.norm(place - eye) for eye, place in zip(eyes, places, strict=True)]
    across = [np.eye(3) - np.outer(way, way) for way in ways]
    weights = [flat / error**2 for flat, error in zip(across, errors, strict=True)]
    inverse = np.linalg.inv(weights[0] + weights[1] + 1e-9 * np.eye(3))
    point = inverse @ (weights[0] @ eyes[0] + weights[1] @ eyes[1])
    misses = [flat @ (point - eye) for flat, eye in zip(across, eyes, strict=True)]
    apart = float(np.linalg.norm(misses[0] - misses[1]))
    error = float(np.sqrt(max(inverse[0, 0], inverse[1, 1])))
    return Solved(
        float(point[0]),
        float(point[1]),
        float(point[2]),
        # Motion blur shifts both alike: two are no better than one.
        float(np.hypot(max(error, *errors), apart / 2)),
        apart,
        float(np.hypot(*errors)),
    )
