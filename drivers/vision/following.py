"""Follow dice from the hand to rest, frame by frame, and report their faces once two still frames agree.

Each die in sight is a trail: a spot near where its motion led, of a die's size. If two dice make one
spot, it is split between the places where their motion led, and `error_mm` is larger. A spot at the
picture's border is not yet a die, since a hand reaches in and withdraws there; a die moves clear of it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from controller.model.readings import Die, DieAt, DieLost, DieReleased, DieRest, Face, Reading
from drivers.vision.arrays import Array
from drivers.vision.arrivals import Arrivals, Sighting
from drivers.vision.moving import HALF, Background, Spot
from drivers.vision.reading import MIN_PX, DieSeen, read_picture
from drivers.vision.rig import Rig

STILL_US = 60_000
"""A die that has not moved for this long is at rest; a die standing on an edge falls over sooner."""
STILL_PX = 1.0
NUDGED_SHARE = 0.12
"""A die reported at rest counts as moving again once its spot has moved by this share of an edge."""
LOST_US = 250_000
"""How long to search for a die where its motion led, before it is lost."""
BACK_US = 3_000_000
"""A lost die that reappears within this time is the same one, if only one is missing."""
PATIENCE_US = 1_500_000
"""Still dice are re-read for this long before their faces are reported unknown."""
LATEST_US = 100_000
"""A rest is reported with a timestamp no older than this, or the table rejects it as late (its
`max_lateness_ms` is 120)."""
NEAR_SHARE = 0.6
"""Maximum distance of the top face's centre from the spot's centre, in die edges: flanks and shadow shift the
spot."""
LOOK_EDGES = 1.25
"""So far around a spot's centre its die is looked for, in die edges: it lies within NEAR_SHARE, and its
farthest corner within 0.71 more. All that is looked at costs time."""
GONE_US = 120_000
"""If nothing is seen where a die lay for this long, it was taken away."""
SAME_HAND_US = 170_000
"""A die that separates from another's spot within this time of its release left the hand with it."""
TOGETHER_US = 150_000
"""A rule set's `simultaneous_ms`. Dice that parted in mid-view after a longer way as one spot left the hand
together, but a table takes no reading so old: the second one's release is not told, and a person rules."""
PARTS_EDGES = 3.0
"""Two dice that made one spot are so near each other when they first make two, in die edges."""
LEAST_SHARE, MAX_SHARE = 0.3, 5.0
"""Limits of a spot's area, in die faces: a die half hidden, and one blurred over three edges."""
TOGETHER_SHARE = 1.9
"""Two dice in one spot cover more than this many die faces, at rest or only slightly blurred."""


class Still(Protocol):
    """The picture that faces are read from: `zoom` times the frame's resolution."""

    zoom: float

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the part around a place of the frame, and where its left upper corner is in the still."""
        ...


@dataclass(slots=True)
class WholeStill:
    """A still that is one whole picture: the frame itself, or a larger one."""

    picture: Array
    zoom: float = 1.0

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the part around a place of the frame, and where its left upper corner is in the still."""
        low = np.maximum((place - margin) * self.zoom, 0).astype(int)
        limit = (self.picture.shape[1], self.picture.shape[0])
        high = np.minimum((place + margin) * self.zoom, limit).astype(int)
        return np.ascontiguousarray(self.picture[low[1] : high[1], low[0] : high[0]]), low


@dataclass(frozen=True, slots=True)
class Look:
    """What a face was read from, or not: the part of a still around a die that lies."""

    t_us: int
    part: Array


LOOKS = 2
"""A face rests on two still frames that agree."""


@dataclass(slots=True)
class Trail:
    """One die of a throw: where it was seen. Places in pixels."""

    die: int
    released_us: int
    hand: Array
    """Where it was first seen."""
    t_us: list[int] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    spot: Spot | None = None
    still_since_us: int = 0
    still_place: Array = field(default_factory=lambda: np.zeros(2))
    seen_us: int = 0
    read: DieSeen | None = None
    looks: tuple[Look, ...] = ()
    trying_since_us: int = 0
    lost: bool = False
    told_rest: bool = False

    def led_to(self, t_us: int) -> Array:
        """Return where its motion leads at a time, in pixels."""
        if len(self.places) < 2 or self.t_us[-1] == self.t_us[-2]:
            return self.places[-1]
        speed = (self.places[-1] - self.places[-2]) / (self.t_us[-1] - self.t_us[-2])
        ahead = min(t_us - self.t_us[-1], 70_000)
        led: Array = self.places[-1] + speed * ahead
        return led

    def reach(self, t_us: int, die_px: float) -> float:
        """Return how far from there it may be, in pixels: bounces turn it round."""
        if len(self.places) < 2:
            return 5.0 * die_px
        step = float(np.hypot(*(self.led_to(t_us) - self.places[-1])))
        return 1.2 * die_px + 1.1 * step


@dataclass(frozen=True, slots=True)
class Track:
    """A die as it is followed, for people to see. Places in pixels."""

    die: int
    places: tuple[tuple[float, float], ...]
    rests: bool
    lost: bool
    up: int | None


class Follower:
    """Turns frames, in order of time, into readings."""

    def __init__(self, rig: Rig, empty: Array) -> None:
        """Begin with a picture of the empty table."""
        self.rig = rig
        self.device = rig.file.camera
        self._background = Background(empty)
        self._trails: list[Trail] = []
        self._arrivals = Arrivals()
        self.why = ""
        """The last reason why a face could not be read."""

    def frame(self, t_us: int, picture: Array, still: Still | None = None) -> list[Reading]:
        """Return the readings of this frame (height, width, 3); times rise from frame to frame.

        `still` is the same moment at a higher resolution, for the faces: a die of 16 pixels in the frame has
        64 in a still that reads every pixel of the sensor.
        """
        middle = (picture.shape[1] / 2, picture.shape[0] / 2)
        die_px = self.rig.die_px(*middle)
        spots = self._background.spots(picture, LEAST_SHARE * die_px**2)
        self._forget_collected(t_us, spots)
        told = self._follow(t_us, spots, die_px)
        told += self._begin(t_us, spots, die_px)
        told += self._lose(t_us)
        told += self._rest(t_us, still or WholeStill(picture), die_px)
        return told

    def looks(self, die: int) -> tuple[Look, ...]:
        """Return the two looks at a die that lies from which its face was read; none at a moving one."""
        return next((trail.looks for trail in self._trails if trail.die == die), ())

    def abandoned(self, t_us: int) -> list[Reading]:
        """Return that each die which does not yet lie for certain is lost: nothing more is seen of it."""
        told: list[Reading] = []
        for trail in self._trails:
            if not trail.lost and not trail.told_rest:
                trail.lost = True
                told.append(DieLost(t=t_us, dev=self.device, die=cast("Die", trail.die)))
        return told

    def tracks(self) -> tuple[Track, ...]:
        """Return the dice that are followed now, or lie."""
        return tuple(
            Track(
                trail.die,
                tuple((float(place[0]), float(place[1])) for place in trail.places),
                trail.told_rest,
                trail.lost,
                trail.read.up if trail.told_rest and trail.read is not None else None,
            )
            for trail in self._trails
            if trail.places
        )

    def _follow(self, t_us: int, spots: Sequence[Spot], die_px: float) -> list[Reading]:
        moving = [trail for trail in self._trails if not trail.lost]
        claimed = _assigned(moving, spots, t_us, die_px)
        told: list[Reading] = []
        for trail in moving:
            spot = claimed.get(trail.die)
            if spot is None:
                trail.spot = None
                continue
            sharers = [other for other in moving if claimed.get(other.die) is spot]
            place, error_px = _place(spot, trail, sharers, t_us, die_px)
            told += self._seen(trail, t_us, spot, place, error_px)
        return told

    def _seen(self, trail: Trail, t_us: int, spot: Spot, place: Array, error_px: float) -> list[Reading]:
        trail.spot = spot
        trail.seen_us = t_us
        trail.t_us.append(t_us)
        trail.places.append(place)
        moved_px = float(np.hypot(*(place - trail.still_place)))
        if moved_px > (NUDGED_SHARE * self.rig.die_px(*map(float, place)) if trail.told_rest else STILL_PX):
            trail.still_since_us, trail.still_place = t_us, place
            trail.told_rest = False
        if trail.told_rest:
            return []
        x, y = self.rig.to_table(*map(float, place))
        error = error_px / self.rig.px_per_mm(*map(float, place))
        if t_us - trail.still_since_us < STILL_US:
            error = float(np.hypot(error, self.rig.height_error_mm(*map(float, place))))
        return [
            DieAt(
                t=t_us,
                dev=self.device,
                die=cast("Die", trail.die),
                x=round(x, 1),
                y=round(y, 1),
                error_mm=round(min(max(error, 0.1), 1000.0), 1),
            )
        ]

    def _begin(self, t_us: int, spots: Sequence[Spot], die_px: float) -> list[Reading]:
        """Return the releases of dice that have come into sight, and where they were seen until now."""
        told: list[Reading] = []
        owned = {id(trail.spot) for trail in self._trails if trail.spot is not None}
        free = []
        for spot in spots:
            if id(spot) in owned:
                continue
            if not LEAST_SHARE * 1.6 * die_px**2 < spot.area < MAX_SHARE * die_px**2:
                continue
            missing = [trail for trail in self._trails if trail.lost and not trail.told_rest]
            lately = len(missing) == 1 and t_us - missing[0].seen_us < BACK_US
            if lately and not spot.at_border:
                told += self._found_again(missing[0], t_us, spot, die_px)
            else:
                free.append(spot)
        for way in self._arrivals.add(t_us, free, die_px):
            if len(self._trails) >= self.rig.file.dice:
                if not all(trail.told_rest or trail.lost for trail in self._trails):
                    continue
                self._trails = []
            told += self._released(way, t_us, die_px)
        return told

    def _released(self, way: Sequence[Sighting], now_us: int, die_px: float) -> list[Reading]:
        """Follow one more die, and return its release and where it was seen until now."""
        first = way[0]
        place = np.array([first.spot.x, first.spot.y])
        trail = Trail(len(self._trails) + 1, first.t_us, place)
        together = [other for other in self._trails if _came_as_one(other, first.t_us, place, die_px)]
        for other in self._trails:
            if other in together:
                trail.released_us = max(other.released_us, now_us - LATEST_US)
                trail.hand = other.hand
            elif _left_together(other, first.t_us, place, die_px):
                trail.released_us = max(other.released_us, now_us - LATEST_US)
        self._trails.append(trail)
        told: list[Reading] = []
        # Where the hand is out of sight, dice come into sight one after the other that left it together.
        unproven = self._trails[:-1] if not self.rig.file.hand_in_sight else together
        if not any(trail.released_us - other.released_us > TOGETHER_US for other in unproven):
            x, y = self.rig.to_table(*map(float, trail.hand))
            told.append(
                DieReleased(
                    t=trail.released_us,
                    dev=self.device,
                    die=cast("Die", trail.die),
                    x=round(x, 1),
                    y=round(y, 1),
                    in_flight=not self.rig.file.hand_in_sight,
                )
            )
        for t_us, spot in way:
            told += self._seen(trail, t_us, spot, *_place(spot, trail, (trail,), t_us, die_px))
        if trail.seen_us != now_us:
            trail.spot = None
        return told

    def _found_again(self, trail: Trail, t_us: int, spot: Spot, die_px: float) -> list[Reading]:
        """Return the readings of a lost die that reappears as this spot."""
        trail.lost = False
        trail.t_us, trail.places = [], []
        return self._seen(trail, t_us, spot, np.array([spot.x, spot.y]), _blur_error(spot, die_px))

    def _lose(self, t_us: int) -> list[Reading]:
        told: list[Reading] = []
        for trail in self._trails:
            if trail.lost or trail.told_rest or t_us - trail.seen_us < LOST_US:
                continue
            trail.lost = True
            told.append(DieLost(t=t_us, dev=self.device, die=cast("Die", trail.die)))
        return told

    def _forget_collected(self, t_us: int, spots: Sequence[Spot]) -> None:
        """Forget a throw once nothing is seen where its dice lay."""
        if not self._trails or not all(trail.told_rest or trail.lost for trail in self._trails):
            return
        if any(t_us - trail.seen_us < GONE_US for trail in self._trails):
            return
        if not any(not spot.at_border for spot in spots):
            self._trails = []

    def _rest(self, t_us: int, still: Still, die_px: float) -> list[Reading]:
        """Return the rests of dice whose faces two frames agree on, or that stayed unclear for too long."""
        told: list[Reading] = []
        for trail in self._trails:
            if trail.lost or trail.told_rest:
                continue
            if trail.spot is None or t_us - trail.still_since_us < STILL_US:
                trail.read, trail.looks, trail.trying_since_us = None, (), t_us
                continue
            place = trail.places[-1]
            part, low = still.around(place, LOOK_EDGES * die_px)
            trail.looks = (*trail.looks, Look(t_us, part))[-LOOKS:]
            seen, self.why = face_in(part, low, still.zoom, place, die_px)
            agreed = seen is not None and trail.read is not None and _agree(seen, trail.read)
            trail.read = seen
            if not agreed and t_us - trail.trying_since_us < PATIENCE_US:
                continue
            trail.told_rest = True
            told.append(self._at_rest(trail, t_us, seen if agreed else None))
        return told

    def _at_rest(self, trail: Trail, t_us: int, seen: DieSeen | None) -> DieRest:
        place = trail.places[-1] if seen is None else np.array([seen.x, seen.y])
        height = self.rig.die_mm * (0.5 if seen is None else 1.0)
        x, y = self.rig.to_table(float(place[0]), float(place[1]), height)
        return DieRest(
            t=max(trail.still_since_us, t_us - LATEST_US),
            dev=self.device,
            die=cast("Die", trail.die),
            x=round(x, 1),
            y=round(y, 1),
            up=None if seen is None else cast("Face | None", seen.up),
            confidence=0.0 if seen is None else seen.confidence,
            on="felt" if seen is not None else "unknown",
        )


def face_in(part: Array, low: Array, zoom: float, place: Array, die_px: float) -> tuple[DieSeen | None, str]:
    """Return the die at a place of the frame, or None and why: one must lie there, its face certain.

    `part` is what a still `zoom` times as fine shows around it, `low` its left upper corner in that still.
    """
    fine_px = die_px * zoom
    middle = (place + 0.5) * zoom - 0.5 - low
    reading = read_picture(part, fine_px)
    near = [
        die for die in reading.dice if np.hypot(die.x - middle[0], die.y - middle[1]) < NEAR_SHARE * fine_px
    ]
    if len(near) != 1:
        return (
            None,
            f"{len(near)} dice found where one lies" if fine_px >= MIN_PX else reading.refused or "",
        )
    die = near[0]
    if die.up is None:
        return None, die.doubts[0]
    x, y = (np.array([die.x, die.y]) + low + 0.5) / zoom - 0.5
    return DieSeen(float(x), float(y), die.up, die.confidence), ""


def _left_together(other: Trail, t_us: int, place: Array, die_px: float) -> bool:
    """Return whether a die that comes into sight at a place left the hand with one just before it."""
    soon = t_us - other.released_us < SAME_HAND_US
    return soon and float(np.hypot(*(other.hand - place))) < 6 * die_px


def _came_as_one(other: Trail, t_us: int, place: Array, die_px: float) -> bool:
    """Return whether a die that is first seen at a place had made one spot with another until then."""
    then = bisect_right(other.t_us, t_us) - 1
    if then < 1 or t_us - other.t_us[then] > LOST_US:
        return False
    return float(np.hypot(*(other.places[then] - place))) < PARTS_EDGES * die_px


def _agree(one: DieSeen, other: DieSeen) -> bool:
    return one.up == other.up and float(np.hypot(one.x - other.x, one.y - other.y)) < 2.0


def _assigned(trails: Sequence[Trail], spots: Sequence[Spot], t_us: int, die_px: float) -> dict[int, Spot]:
    """Return each trail's spot: the pairing with the least distance; two share one if there is no other."""
    costs: dict[tuple[int, int], float] = {}
    for trail in trails:
        led = trail.led_to(t_us)
        for at, spot in enumerate(spots):
            if spot.area > 2 * MAX_SHARE * die_px**2:
                continue
            # A bounce turns a die round within a frame: where it was counts as well as where it was led.
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
    if len(trails) == 2 and len(chosen) == 2 and chosen[trails[0].die] is chosen[trails[1].die]:
        spot = chosen[trails[0].die]
        if spot.area < TOGETHER_SHARE * die_px**2:
            far = max(trails, key=lambda trail: costs[trail.die, spots.index(spot)])
            del chosen[far.die]
    return chosen


def _place(
    spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int, die_px: float
) -> tuple[Array, float]:
    """Return a die's centre in a spot and its standard error, in pixels."""
    middle = np.array([spot.x, spot.y])
    if len(sharers) > 1:
        return _split(spot, trail, sharers, t_us), 0.35 * die_px
    error = _blur_error(spot, die_px)
    if spot.at_border:
        # The part beyond the border is not seen: the centre lies half an edge behind the visible edge.
        width, height = spot.size
        size = np.array([width, height])
        short = np.maximum(0.0, 1.15 * die_px - size)
        middle = middle + np.where(middle > trail.places[0], 1, -1) * short / 2
        error += 0.15 * die_px
    return middle, error


def _blur_error(spot: Spot, die_px: float) -> float:
    """Return the error of a spot's centre, in pixels: it grows with the motion blur."""
    dragged = max(0.0, max(spot.size) - 1.45 * die_px)
    return 0.5 + 0.03 * die_px + 0.12 * dragged


def _split(spot: Spot, trail: Trail, sharers: Sequence[Trail], t_us: int) -> Array:
    """Return the centre of this trail's part of a spot, split between the places where their motion led."""
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
