"""What is laid on the table between throws: chips, cards, a stick. It lies where a hand left it.

A die of a throw comes into sight moving. So what first shows lying still, while no throw is under way, is no
die, and stays out of the throws until it is taken away or moved.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from drivers.vision.arrivals import Sighting
from drivers.vision.moving import Spot

STAYS_EDGES = 0.1
"""What moves less from frame to frame lies still; a die that rolls by a hand's breadth a second does not."""
ALIKE_SHARE = 0.25
"""A spot of the same place is the same object, whose area the light changes by less than this."""
TAKEN_US = 1_000_000
"""An object that nothing is seen of for so long was taken away; a hand that passes hides it for less."""


def stays(way: Sequence[Sighting], die_px: float) -> bool:
    """Return whether something that was seen in several frames lay still in them."""
    return len(way) > 1 and all(
        float(np.hypot(after.spot.x - before.spot.x, after.spot.y - before.spot.y))
        < max(1.0, STAYS_EDGES * die_px)
        for before, after in pairwise(way)
    )


class Objects:
    """What lies on the table and is no die of a throw."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: list[Sighting] = []

    def add(self, seen: Sighting) -> None:
        """Remember one from where it was seen lying."""
        self._known.append(seen)

    def has(self, spot: Spot, die_px: float) -> bool:
        """Return whether a spot is one of them."""
        return any(_alike(spot, known.spot, die_px) for known in self._known)

    def see(self, t_us: int, spots: Sequence[Spot], die_px: float) -> None:
        """Note which are there in this frame, and forget those that were taken away."""
        there = [
            Sighting(t_us, known.spot) if any(_alike(spot, known.spot, die_px) for spot in spots) else known
            for known in self._known
        ]
        self._known = [known for known in there if t_us - known.t_us < TAKEN_US]


def _alike(one: Spot, other: Spot, die_px: float) -> bool:
    near = max(2.0, STAYS_EDGES * die_px)
    sized = abs(one.area - other.area) < ALIKE_SHARE * other.area
    return sized and float(np.hypot(one.x - other.x, one.y - other.y)) < near
