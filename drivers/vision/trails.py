"""The trail of one die through a film: where it was, its predicted place, and which spot belongs to it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.arrivals import Sighting
from drivers.vision.moving import HALF, Spot
from drivers.vision.reading import DieSeen
from drivers.vision.stills import Look

LOST_US = 250_000
"""How long to search for a die at its predicted place before it is lost."""
MAX_SHARE = 5.0
"""Limit of a spot's area, in die faces: a die blurred over three edges."""
TOGETHER_SHARE = 1.9
"""Two dice in one spot cover more than this many die faces, at rest or only slightly blurred."""
BOTH_SHARE = 0.8
"""Two dice that became one spot cover at least this share of their areas a frame before."""
SCRAP_SHARE = 0.5
"""A spot of less than this share of a die's area, beside a spot of both dice, is a shadow or glare."""
JOINED_SHARE = 1.4
"""A spot that a second die joins grows at least by this factor."""
FASTEST_EDGES_PER_US = 8.0 / 19_000
"""Throws of 19 mm dice have 1 to 7 m/s; high up, near the camera, a die appears faster still."""
PACE_FRAMES = 5
"""After a bounce a die is no faster than within this many frames before it."""
CUT_EDGES = 2.5
"""How far from its predicted place a die is seen, at most, just after it left the border, which cut off a
part of it and of its blur."""
AHEAD_US = 70_000
"""How far ahead a die's motion is predicted from its path."""


@dataclass(slots=True)
class Trail:
    """One die of a throw and where it was seen. Positions in pixels."""

    die: int
    released_us: int
    hand: Array
    """Where it was first seen."""
    t_us: list[int] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    spot: Spot | None = None
    still_since_us: int = 0
    still_place: Array = field(default_factory=lambda: np.zeros(2))
    still_look: Array | None = None
    """The part of the frame around that place."""
    seen_us: int = 0
    read: DieSeen | None = None
    looks: tuple[Look, ...] = ()
    trying_since_us: int = 0
    lost: bool = False
    rest_reported: bool = False
    at_border: bool = False
    """Whether it was last seen at the picture's border and so may have left the picture."""

    def led_to(self, t_us: int) -> Array:
        """Return its predicted place at a time, in pixels."""
        if len(self.places) < 2 or self.t_us[-1] == self.t_us[-2]:
            return self.places[-1]
        speed = (self.places[-1] - self.places[-2]) / (self.t_us[-1] - self.t_us[-2])
        ahead = min(t_us - self.t_us[-1], AHEAD_US)
        led: Array = self.places[-1] + speed * ahead
        return led

    def place_at(self, t_us: int) -> Array:
        """Return where it was last seen by a time, in pixels; its first place for an earlier time."""
        return self.places[max(0, bisect_right(self.t_us, t_us) - 1)]

    def came_by(self, one: Sighting, die_px: float) -> bool:
        """Return whether a lone sighting is probably this die: cut by the border, or between two others.

        Before its first sighting the border cut it. Between two it was in a spot too large for one die.
        """
        after = bisect_right(self.t_us, one.t_us)
        elsewhere = after > 0 and self.t_us[after - 1] == one.t_us
        if len(self.places) < 2 or elsewhere or after == len(self.t_us):
            return False
        if self.t_us[0] - one.t_us >= LOST_US:
            return False
        then = max(after, 1)
        speed = (self.places[then] - self.places[then - 1]) / (self.t_us[then] - self.t_us[then - 1])
        led = self.places[then] + speed * (one.t_us - self.t_us[then])
        return float(np.hypot(one.spot.x - led[0], one.spot.y - led[1])) < CUT_EDGES * die_px

    def reach(self, t_us: int, die_px: float) -> float:
        """Return how far from its predicted place it may be, in pixels, as a bounce may turn it round.

        A die that hit a wall between two frames may be seen where it was, as if it lay; it keeps its speed.
        """
        ahead_us = t_us - self.t_us[-1]
        if len(self.places) < 2:
            return die_px * (1.2 + FASTEST_EDGES_PER_US * ahead_us)
        steps = zip(self.t_us[-PACE_FRAMES:], self.places[-PACE_FRAMES:], strict=True)
        pace = max(
            float(np.hypot(*(after - before))) / max(then - t, 1)
            for (t, before), (then, after) in pairwise(steps)
        )
        return 1.2 * die_px + 1.1 * pace * min(ahead_us, AHEAD_US)


def assigned(trails: Sequence[Trail], spots: Sequence[Spot], t_us: int, die_px: float) -> dict[int, Spot]:
    """Return each trail's spot by the pairing with the least distance; two share one if there is no other."""
    costs: dict[tuple[int, int], float] = {}
    scraps = _scraps(trails, spots)
    for trail in trails:
        led = trail.led_to(t_us)
        for at, spot in enumerate(spots):
            if spot.area > 2 * MAX_SHARE * die_px**2 or at in scraps:
                continue
            # A bounce may turn a die round within a frame: its last place counts as well as the predicted
            # one.
            away = min(
                float(np.hypot(spot.x - led[0], spot.y - led[1])),
                0.6 * die_px + float(np.hypot(*(np.array([spot.x, spot.y]) - trail.places[-1]))),
            )
            inside = (
                spot.left - die_px / 2 < led[0] < spot.right + die_px / 2
                and spot.top - die_px / 2 < led[1] < spot.bottom + die_px / 2
            )
            if away < trail.reach(t_us, die_px) or inside:
                costs[trail.die, at] = away
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
        own = [(cost, at) for (die, at), cost in costs.items() if die == trail.die]
        if own:
            chosen[trail.die] = spots[min(own)[1]]
    if len(chosen) == 2 and chosen[trails[0].die] is chosen[trails[1].die]:
        spot = chosen[trails[0].die]
        far = max(trails, key=lambda trail: costs[trail.die, spots.index(spot)])
        outside = far if spot.area < TOGETHER_SHARE * die_px**2 else _not_joined(spot, trails)
        if outside is not None:
            del chosen[outside.die]
    return chosen


def _not_joined(spot: Spot, trails: Sequence[Trail]) -> Trail | None:
    """Return the die that left the picture and so is not in the other die's spot, which has not grown."""
    left = [trail for trail in trails if trail.spot is None and trail.at_border]
    before = sum(trail.spot.area for trail in trails if trail.spot is not None)
    return left[0] if len(left) == 1 and spot.area < JOINED_SHARE * before else None


def _scraps(trails: Sequence[Trail], spots: Sequence[Spot]) -> list[int]:
    """Return the spots that are not dice, beside a spot that both dice became."""
    before = {id(trail.spot): trail.spot.area for trail in trails if trail.spot is not None}
    both = sum(before.values())
    seen = len(trails) == 2 and all(trail.spot is not None for trail in trails)
    if not seen or not any(spot.area > BOTH_SHARE * both for spot in spots):
        return []
    return [at for at, spot in enumerate(spots) if spot.area < SCRAP_SHARE * both / 2]


def place_in(
    spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int, die_px: float
) -> tuple[Array, float]:
    """Return a die's centre in a spot and its standard error, in pixels."""
    middle = np.array([spot.x, spot.y])
    if len(sharers) > 1:
        return _split(spot, trail, sharers, t_us), 0.35 * die_px
    error = blur_error(spot, die_px)
    if spot.at_border:
        # The part beyond the border is not seen: the centre lies half an edge behind the visible edge.
        width, height = spot.size
        size = np.array([width, height])
        short = np.maximum(0.0, 1.15 * die_px - size)
        middle = middle + np.where(middle > trail.places[0], 1, -1) * short / 2
        error += 0.15 * die_px
    return middle, error


def blur_error(spot: Spot, die_px: float) -> float:
    """Return the error of a spot's centre in pixels, which grows with motion blur."""
    dragged = max(0.0, max(spot.size) - 1.45 * die_px)
    return 0.5 + 0.03 * die_px + 0.12 * dragged


def _split(spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int) -> Array:
    """Return the centre of this trail's part of a spot, split between the dice's predicted places."""
    ys, xs = np.nonzero(spot.mask)
    points = np.column_stack([xs, ys]) * HALF + (spot.left, spot.top)
    low, high = (spot.left, spot.top), (spot.right, spot.bottom)
    middles = np.array([np.clip(other.led_to(t_us), low, high) for other in sharers])
    if float(np.hypot(*(middles[0] - middles[1]))) < 2.0:
        middles = middles + np.array([[-2.0, 0.0], [2.0, 0.0]])
    for _ in range(4):
        own = np.hypot(*(points[:, None] - middles[None]).transpose(2, 0, 1)).argmin(axis=1)
        for at in range(len(sharers)):
            if (own == at).any():
                middles[at] = points[own == at].mean(axis=0)
    part: Array = middles[[other.die for other in sharers].index(trail.die)]
    return part
