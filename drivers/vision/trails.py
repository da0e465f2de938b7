"""Assigns the spots of each frame to the dice of a throw, based on each die's previous positions."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.arrivals import Sighting
from drivers.vision.moving import HALF, Spot
from drivers.vision.reading import DieSeen
from drivers.vision.stills import Crop

LOST_US = 250_000
"""Time without a sighting after which a die is lost."""
MAX_AREA_FACES = 5.0
"""Maximum area of a die's spot, in die faces: the area of a die blurred over three edges."""
TOGETHER_FACES = 1.9
"""Minimum area of a spot of two dice, at rest or slightly blurred, in die faces."""
BOTH_FRACTION = 0.8
"""Minimum area of a spot of two dice, as a fraction of the sum of their areas in the previous frame."""
SCRAP_FRACTION = 0.5
"""Minimum area of a die, as a fraction of the dice's mean area in the previous frame. A smaller spot next to
a spot that contains both dice is a shadow or glare."""
JOINED_FACTOR = 1.4
"""Minimum factor by which a spot's area increases when a second die joins it."""
MAX_EDGES_PER_US = 8.0 / 19_000
"""Maximum speed of a die. Thrown 19 mm dice move at 1 to 7 m/s, and a die near the camera appears faster."""
PACE_FRAMES = 5
"""Number of recent frames from which a die's maximum speed is taken. A bounce does not accelerate a die."""
CUT_MAX_EDGES = 2.5
"""Maximum distance, in die edges, of a die at the border from its predicted position. The border cuts off a
part of the die and its blur."""
MAX_AHEAD_US = 70_000
"""Maximum time for which a die's motion is extrapolated."""


@dataclass(slots=True)
class Trail:
    """One die of a throw and the positions at which it was seen, in pixels."""

    die: int
    released_us: int
    release_place: Array
    """The position of the first sighting. For a die that separates from another die, it is the position of
    their common spot at `released_us`."""
    t_us: list[int] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    spot: Spot | None = None
    last_moved_us: int = 0
    stopped_place: Array = field(default_factory=lambda: np.zeros(2))
    stopped_view: Array | None = None
    """The part of the frame around `stopped_place`."""
    seen_us: int = 0
    read: DieSeen | None = None
    crops: tuple[Crop, ...] = ()
    unread_reason: str = ""
    """Why the latest reading of the face failed; empty if it succeeded."""
    reading_since_us: int = 0
    lost: bool = False
    rest_reported: bool = False
    at_border: bool = False
    """Whether the latest sighting was at the picture's border, where the die might have left the picture."""

    def predicted_at(self, t_us: int) -> Array:
        """Return the die's predicted position at a time, in pixels."""
        if len(self.places) < 2 or self.t_us[-1] == self.t_us[-2]:
            return self.places[-1]
        speed = (self.places[-1] - self.places[-2]) / (self.t_us[-1] - self.t_us[-2])
        ahead_us = min(t_us - self.t_us[-1], MAX_AHEAD_US)
        predicted: Array = self.places[-1] + speed * ahead_us
        return predicted

    def place_at(self, t_us: int) -> Array:
        """Return the die's latest position up to a time, or else its first position, in pixels."""
        return self.places[max(0, bisect_right(self.t_us, t_us) - 1)]

    def may_be_sighting(self, one: Sighting, die_px: float) -> bool:
        """Return whether a single, unassigned sighting is probably this die.

        Before the trail's first sighting, the border might have cut off part of the die. Between two
        sightings, the die might have been part of a spot too large for one die.
        """
        after = bisect_right(self.t_us, one.t_us)
        was_elsewhere = after > 0 and self.t_us[after - 1] == one.t_us
        if len(self.places) < 2 or was_elsewhere or after == len(self.t_us):
            return False
        if self.t_us[0] - one.t_us >= LOST_US:
            return False
        next_index = max(after, 1)
        speed = (self.places[next_index] - self.places[next_index - 1]) / (
            self.t_us[next_index] - self.t_us[next_index - 1]
        )
        predicted = self.places[next_index] + speed * (one.t_us - self.t_us[next_index])
        return float(np.hypot(one.spot.x - predicted[0], one.spot.y - predicted[1])) < CUT_MAX_EDGES * die_px

    def reach(self, t_us: int, die_px: float) -> float:
        """Return the maximum distance of the die from its predicted position, in pixels.

        A bounce can reverse the die's motion. A die that hits a wall between two frames might appear
        stationary, so the speed before the hit is also considered.
        """
        ahead_us = t_us - self.t_us[-1]
        if len(self.places) < 2:
            return die_px * (1.2 + MAX_EDGES_PER_US * ahead_us)
        steps = zip(self.t_us[-PACE_FRAMES:], self.places[-PACE_FRAMES:], strict=True)
        max_speed = max(
            float(np.hypot(*(after - before))) / max(then - t, 1)
            for (t, before), (then, after) in pairwise(steps)
        )
        return 1.2 * die_px + 1.1 * max_speed * min(ahead_us, MAX_AHEAD_US)


def assign_spots(trails: Sequence[Trail], spots: Sequence[Spot], t_us: int, die_px: float) -> dict[int, Spot]:
    """Assign spots to trails with minimal total distance; two trails may share a spot if necessary."""
    costs: dict[tuple[int, int], float] = {}
    scraps = _small_remnants(trails, spots)
    for trail in trails:
        predicted = trail.predicted_at(t_us)
        for index, spot in enumerate(spots):
            if spot.area > 2 * MAX_AREA_FACES * die_px**2 or index in scraps:
                continue
            # A bounce can reverse a die's motion between two frames, so the last position is also tried.
            distance = min(
                float(np.hypot(spot.x - predicted[0], spot.y - predicted[1])),
                0.6 * die_px + float(np.hypot(*(np.array([spot.x, spot.y]) - trail.places[-1]))),
            )
            inside = (
                spot.left - die_px / 2 < predicted[0] < spot.right + die_px / 2
                and spot.top - die_px / 2 < predicted[1] < spot.bottom + die_px / 2
            )
            if distance < trail.reach(t_us, die_px) or inside:
                costs[trail.die, index] = distance
    chosen: dict[int, Spot] = {}
    if len(trails) == 2:
        one, two = trails
        pairs = [
            (costs[one.die, a] + costs[two.die, b], a, b)
            for a in range(len(spots))
            for b in range(len(spots))
            if a != b and (one.die, a) in costs and (two.die, b) in costs
        ]
        if pairs:
            _, a, b = min(pairs)
            return {one.die: spots[a], two.die: spots[b]}
    for trail in trails:
        options = [(cost, index) for (die, index), cost in costs.items() if die == trail.die]
        if options:
            chosen[trail.die] = spots[min(options)[1]]
    if len(chosen) == 2 and chosen[trails[0].die] is chosen[trails[1].die]:
        spot = chosen[trails[0].die]
        far = max(trails, key=lambda trail: costs[trail.die, spots.index(spot)])
        outside = far if spot.area < TOGETHER_FACES * die_px**2 else _not_joined(spot, trails)
        if outside is not None:
            del chosen[outside.die]
    return chosen


def _not_joined(spot: Spot, trails: Sequence[Trail]) -> Trail | None:
    """Return the die that left the picture, if the other die's spot has not become larger."""
    left = [trail for trail in trails if trail.spot is None and trail.at_border]
    before = sum(trail.spot.area for trail in trails if trail.spot is not None)
    return left[0] if len(left) == 1 and spot.area < JOINED_FACTOR * before else None


def _small_remnants(trails: Sequence[Trail], spots: Sequence[Spot]) -> list[int]:
    """Return the indices of small spots next to a spot that contains both dice."""
    before = {id(trail.spot): trail.spot.area for trail in trails if trail.spot is not None}
    both = sum(before.values())
    seen = len(trails) == 2 and all(trail.spot is not None for trail in trails)
    if not seen or not any(spot.area > BOTH_FRACTION * both for spot in spots):
        return []
    return [at for at, spot in enumerate(spots) if spot.area < SCRAP_FRACTION * both / 2]


def locate_die(
    spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int, die_px: float
) -> tuple[Array, float]:
    """Return a die's centre within a spot and its standard error, in pixels."""
    middle = np.array([spot.x, spot.y])
    if len(sharers) > 1:
        return _split_spot(spot, trail, sharers, t_us), 0.35 * die_px
    error = blur_error(spot, die_px)
    if spot.at_border:
        # The die's centre is half the hidden part's length beyond the visible part's centre.
        width, height = spot.size
        size = np.array([width, height])
        missing_px = np.maximum(0.0, 1.15 * die_px - size)
        middle = middle + np.where(middle > trail.places[0], 1, -1) * missing_px / 2
        error += 0.15 * die_px
    return middle, error


def blur_error(spot: Spot, die_px: float) -> float:
    """Return the error of a spot's centre, in pixels, including the effect of motion blur."""
    blur_px = max(0.0, max(spot.size) - 1.45 * die_px)
    return 0.5 + 0.03 * die_px + 0.12 * blur_px


def _split_spot(spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int) -> Array:
    """Split a spot between the predicted positions of its dice; return the centre of this trail's part."""
    ys, xs = np.nonzero(spot.mask)
    points = np.column_stack([xs, ys]) * HALF + (spot.left, spot.top)
    low, high = (spot.left, spot.top), (spot.right, spot.bottom)
    middles = np.array([np.clip(other.predicted_at(t_us), low, high) for other in sharers])
    if float(np.hypot(*(middles[0] - middles[1]))) < 2.0:
        middles = middles + np.array([[-2.0, 0.0], [2.0, 0.0]])
    for _ in range(4):
        own = np.hypot(*(points[:, None] - middles[None]).transpose(2, 0, 1)).argmin(axis=1)
        for at in range(len(sharers)):
            if (own == at).any():
                middles[at] = points[own == at].mean(axis=0)
    part: Array = middles[[other.die for other in sharers].index(trail.die)]
    return part
