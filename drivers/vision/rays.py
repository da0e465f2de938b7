"""The intersection of two rays: a die's centre and height, from two cameras that see it."""

from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array

APART_SIGMAS = 4.0
"""Two rays that pass each other at a larger distance than this, in standard errors, are not of one die."""
LEAST_APART_MM = 4.0
HIGHEST_MM = 600.0


@dataclass(frozen=True, slots=True)
class Solved:
    """A die's centre computed from two rays (mm), its standard error, and how closely the rays pass."""

    x: float
    y: float
    height: float
    error: float
    apart: float
    spread: float
    """Standard error of `apart`."""

    @property
    def one_die(self) -> bool:
        """Whether both rays belong to one die."""
        return self.off < 1.0 and 0.0 < self.height < HIGHEST_MM

    @property
    def off(self) -> float:
        """The distance at which the rays pass, divided by the limit for one die."""
        return self.apart / max(LEAST_APART_MM, APART_SIGMAS * self.spread)


def solved(eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]) -> Solved:
    """Return where two rays meet.

    Args:
        eyes: The positions of the two cameras.
        places: The positions (x, y, height) through which the rays pass.
        errors: The standard error of each position.
    """
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
        # Motion blur shifts both rays alike, so two are no more accurate than one.
        float(np.hypot(max(error, *errors), apart / 2)),
        apart,
        float(np.hypot(*errors)),
    )
