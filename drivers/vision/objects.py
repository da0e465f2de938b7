"""Keeps track of objects placed on the table between throws, such as chips, cards or a stick.

A thrown die is moving when it comes into view. An object that is stationary when first seen, while no throw
is in progress, is therefore not a die. It is excluded from throws until it is removed or moved.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from drivers.vision.arrivals import Sighting
from drivers.vision.moving import Spot

STATIONARY_EDGES = 0.1
"""Motion between two frames, in die edges, below which an object is stationary. A die rolling at 10 cm/s
moves farther."""
MAX_AREA_DIFFERENCE = 0.25
"""Maximum relative difference in area between two views of one object. Changes of light cause less."""
REMOVED_US = 1_000_000
"""Time without a sighting after which an object has been removed. A passing hand hides it for less."""


def is_stationary(path: Sequence[Sighting], die_px: float) -> bool:
    """Return whether a path has several sightings and does not move."""
    return len(path) > 1 and all(
        float(np.hypot(after.spot.x - before.spot.x, after.spot.y - before.spot.y))
        < max(1.0, STATIONARY_EDGES * die_px)
        for before, after in pairwise(path)
    )


class Objects:
    """Known objects on the table that are not dice of a throw."""

    def __init__(self) -> None:
        self._known: list[Sighting] = []

    def add(self, seen: Sighting) -> None:
        """Add an object that is not a die."""
        self._known.append(seen)

    def has(self, spot: Spot, die_px: float) -> bool:
        """Return whether a spot is a known object."""
        return any(_alike(spot, known.spot, die_px) for known in self._known)

    def see(self, t_us: int, spots: Sequence[Spot], die_px: float) -> None:
        """Record the objects that this frame shows, and discard those that were removed."""
        updated = [
            Sighting(t_us, known.spot) if any(_alike(spot, known.spot, die_px) for spot in spots) else known
            for known in self._known
        ]
        self._known = [known for known in updated if t_us - known.t_us < REMOVED_US]


def _alike(one: Spot, other: Spot, die_px: float) -> bool:
    max_distance = max(2.0, STATIONARY_EDGES * die_px)
    same_size = abs(one.area - other.area) < MAX_AREA_DIFFERENCE * other.area
    return same_size and float(np.hypot(one.x - other.x, one.y - other.y)) < max_distance
