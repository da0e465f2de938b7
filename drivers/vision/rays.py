"""Where two rays meet: a die's centre and height, from two cameras that see it."""

from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array

APART_SIGMAS = 4.0
"""Two rays that pass each other farther off, in their errors, are not of one die."""
LEAST_APART_MM = 4.0
HIGHEST_MM = 600.0


@dataclass(frozen=True, slots=True)
class Solved:
    """A die's centre by two rays (mm), its place's standard error, and how far off they pass each other."""

    x: float
    y: float
    height: float
    error: float
    apart: float
    spread: float
    """Standard error of how far off they pass."""

    @property
    def one_die(self) -> bool:
        """Return whether both rays are of one die."""
        return self.off < 1.0 and 0.0 < self.height < HIGHEST_MM

    @property
    def off(self) -> float:
        """Return how far off they pass, in what those of one die may."""
        return self.apart / max(LEAST_APART_MM, APART_SIGMAS * self.spread)


def solved(eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]) -> Solved:
    """Return where two rays meet: from eyes through places (x, y, height), each with its error there."""
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
        # Both are dragged alike by the shutter's time: two are no better than one.
        float(np.hypot(max(error, *errors), apart / 2)),
        apart,
        float(np.hypot(*errors)),
    )
