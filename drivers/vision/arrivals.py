"""Groups the spots of consecutive frames into dice that come into view, and excludes objects on the table.

A fast die moves five times the length of its edge between two frames, so the nearest spot in the next frame
is often the other die. Three frames distinguish the dice, because a die in the air moves at a nearly constant
velocity. A path must begin clear of the picture's border, where hands appear.

Objects placed on the table between throws, such as chips, cards or a stick, are not dice. A thrown die is
moving when it comes into view. An object that is stationary when first seen, while no throw is in progress,
is therefore excluded from throws until it is removed or moved.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.moving import Spot

MAX_HOLD_US = 80_000
"""Maximum time for which a spot waits to be assigned to a path. By default, a table accepts a point up to
120 ms after its timestamp (`max_lateness_ms`); the remaining time is for transmission."""
UNEVEN_EDGES = 0.6
UNEVEN_FRACTION = 0.25
"""Maximum deviation from a constant velocity: UNEVEN_EDGES die edges plus UNEVEN_FRACTION of the die's step.
A landing on the felt reduces the speed by a quarter, and a falling die appears to slow down as it moves away
from the lens."""
FIRST_REACH_EDGES = 5.0
"""Maximum distance, in die edges, from a die's first spot to its second if no path with nearly constant
velocity was found."""


class Sighting(NamedTuple):
    """One die as seen in one frame."""

    t_us: int
    spot: Spot


@dataclass(slots=True)
class _Frame:
    t_us: int
    spots: list[Spot]


class Arrivals:
    """The spots of the latest frames that have not been assigned to a die yet."""

    def __init__(self) -> None:
        self._frames: deque[_Frame] = deque()

    def clear(self) -> None:
        """Discard all spots."""
        self._frames.clear()

    def add(self, t_us: int, spots: Sequence[Spot], die_px: float) -> list[tuple[Sighting, ...]]:
        """Add a frame's spots; return the newly recognized dice, each with its sightings."""
        interval_us = t_us - self._frames[-1].t_us if self._frames else 0
        self._frames.append(_Frame(t_us, list(spots)))
        arrived = self._take_even_paths(die_px)
        while self._frames and t_us + interval_us - self._frames[0].t_us > MAX_HOLD_US:
            while _inside(self._frames[0]):
                arrived.append(self._take_nearest_path(die_px))
            self._frames.popleft()
        return arrived

    def _take_even_paths(self, die_px: float) -> list[tuple[Sighting, ...]]:
        """Remove and return the paths with nearly constant velocity through the latest three frames.

        The path whose velocity is most constant comes first.
        """
        arrived: list[tuple[Sighting, ...]] = []
        for _, path in sorted(self._paths(die_px), key=lambda path: path[0]):
            if all(_contains(frame, each.spot) for frame, each in zip(self._last_three(), path, strict=True)):
                self._remove(path)
                arrived.append(path)
        return arrived

    def _paths(self, die_px: float) -> Iterator[tuple[float, tuple[Sighting, ...]]]:
        if len(self._frames) < 3:
            return
        first, middle, last = self._last_three()
        ratio = (last.t_us - middle.t_us) / (middle.t_us - first.t_us)
        for a in _inside(first):
            for b in middle.spots:
                step = _place(b) - _place(a)
                for c in last.spots:
                    deviation = float(np.hypot(*(_place(c) - _place(b) - ratio * step)))
                    if deviation < UNEVEN_EDGES * die_px + UNEVEN_FRACTION * ratio * float(np.hypot(*step)):
                        yield (
                            deviation,
                            (Sighting(first.t_us, a), Sighting(middle.t_us, b), Sighting(last.t_us, c)),
                        )

    def _take_nearest_path(self, die_px: float) -> tuple[Sighting, ...]:
        """Remove and return the oldest spot and the spot nearest to the prediction in each later frame."""
        first = self._frames[0]
        path = [Sighting(first.t_us, _inside(first)[0])]
        for frame in list(self._frames)[1:]:
            predicted, reach = _place(path[-1].spot), FIRST_REACH_EDGES * die_px
            if len(path) > 1:
                step = _place(path[-1].spot) - _place(path[-2].spot)
                predicted = predicted + step
                reach = 1.2 * die_px + 1.1 * float(np.hypot(*step))
            distances = [float(np.hypot(*(_place(spot) - predicted))) for spot in frame.spots]
            if distances and min(distances) < reach:
                path.append(Sighting(frame.t_us, frame.spots[distances.index(min(distances))]))
        self._remove(path)
        return tuple(path)

    def _last_three(self) -> tuple[_Frame, ...]:
        return tuple(self._frames)[-3:]

    def _remove(self, path: Sequence[Sighting]) -> None:
        for t_us, taken in path:
            for frame in self._frames:
                if frame.t_us == t_us:
                    frame.spots = [spot for spot in frame.spots if spot is not taken]


def _inside(frame: _Frame) -> list[Spot]:
    return [spot for spot in frame.spots if not spot.at_border]


def _contains(frame: _Frame, one: Spot) -> bool:
    return any(spot is one for spot in frame.spots)


def _place(spot: Spot) -> Array:
    return np.array([spot.x, spot.y])


STATIONARY_EDGES = 0.1
"""Motion between two frames, in die edges, below which an object is stationary. At 60 frames a second,
a 19 mm die rolling at 12 cm/s moves farther."""
MAX_AREA_DIFFERENCE = 0.25
"""Maximum relative difference in area between two views of one object. Changes in the light cause a smaller
difference."""
REMOVED_US = 1_000_000
"""Time without a sighting after which an object is assumed to have been removed. A passing hand hides an
object for a shorter time."""


def is_stationary(path: Sequence[Sighting], die_px: float) -> bool:
    """Return whether a path has several sightings that show no motion."""
    return len(path) > 1 and all(
        float(np.hypot(after.spot.x - before.spot.x, after.spot.y - before.spot.y))
        < max(1.0, STATIONARY_EDGES * die_px)
        for before, after in pairwise(path)
    )


class KnownObjects:
    """Objects on the table that are known not to be dice of a throw."""

    def __init__(self) -> None:
        self._known: list[Sighting] = []

    def add(self, seen: Sighting) -> None:
        """Add an object that is not a die."""
        self._known.append(seen)

    def has(self, spot: Spot, die_px: float) -> bool:
        """Return whether a spot is a known object."""
        return any(_alike(spot, known.spot, die_px) for known in self._known)

    def see(self, t_us: int, spots: Sequence[Spot], die_px: float) -> None:
        """Record the objects that this frame shows, and discard those that have been removed."""
        updated = [
            Sighting(t_us, known.spot) if any(_alike(spot, known.spot, die_px) for spot in spots) else known
            for known in self._known
        ]
        self._known = [known for known in updated if t_us - known.t_us < REMOVED_US]


def _alike(one: Spot, other: Spot, die_px: float) -> bool:
    max_distance = max(2.0, STATIONARY_EDGES * die_px)
    same_size = abs(one.area - other.area) < MAX_AREA_DIFFERENCE * other.area
    return same_size and float(np.hypot(one.x - other.x, one.y - other.y)) < max_distance
