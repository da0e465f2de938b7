"""Follows dice from the hand to their resting places, and reports a face once two successive readings agree.

Each die in view has a trail of spots near its predicted positions. If two dice form one spot, the spot is
split between the two predicted positions, and `error_mm` is larger. A trail starts only with a spot clear of
the picture's border, because hands reach into the picture there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from controller.model.readings import Die, DieAt, DieLost, DieReleased, DieRest, Face, Reading, Surface
from drivers.vision.arrays import Array
from drivers.vision.arrivals import Arrivals, KnownObjects, Sighting, is_stationary
from drivers.vision.moving import Background, Spot
from drivers.vision.outline import Outlines
from drivers.vision.reading import DieSeen
from drivers.vision.rig import Rig
from drivers.vision.stills import (
    AGREEING_STILLS,
    CROP_EDGES,
    NEAR_EDGES,
    SHARED_EDGES,
    Crop,
    Still,
    WholeStill,
    read_face_at,
)
from drivers.vision.trails import LOST_US, MAX_AREA_FACES, Trail, assign_spots, blur_error, locate_die

REST_US = 60_000
"""Time without motion after which a die is at rest. A die balanced on an edge falls over sooner."""
STATIONARY_PX = 1.0
FLICKER_EDGES = 0.75
"""Maximum shift of a resting die's spot, in edges, that is treated as flicker. In some frames, the spot of a
die that differs little from the cloth can lose a part or split in two."""
MAX_NOISE_GREYS, CHANGED_FRACTION = 18.0, 0.005
"""Maximum change of a smoothed pixel due to noise, in grey levels, and the maximum fraction of pixels that
change by more."""
NUDGED_EDGES = 0.12
"""Shift of a spot, in edges, above which a die reported at rest is treated as moving again."""
REAPPEAR_US = 3_000_000
"""If exactly one die is missing, a die that comes into view within this time after the last sighting is
assumed to be the missing die."""
REREAD_US = 1_500_000
"""Time for which the face of a die at rest is re-read before it is reported as unknown."""
REST_AGE_US = 1_000
"""Maximum age of a resting position, relative to the frame in which its face was read. Reading faces takes up
to 60 ms, a frame takes up to 35 ms to pass through the driver, and a table rejects readings older than its
`max_lateness_ms`. A millisecond is less than the time between two frames, so a resting position is always
newer than the die's point in the previous frame.
"""
RELEASE_AGE_US = 100_000
"""Maximum age of a release, relative to the frame in which the spot is recognized as a die. A release can be
older than a resting position, because no face has to be read for it."""
COLLECTED_US = 120_000
"""Time without a sighting after which a die is assumed to have been collected."""
SAME_HAND_US = 170_000
"""Two dice are assumed to have left the hand together if the second die comes into view within this time of
the first release and near the first die's release position."""
MAX_TOGETHER_US = 150_000
"""The rule sets' `simultaneous_ms`. Dice that have formed one spot for a long time left the hand together,
but by the time they separate, the table would reject the second die's release as too old. If the
second release would have to be timestamped more than this time after the first, it is not reported, and a
person rules."""
SEPARATION_EDGES = 3.0
"""Maximum distance, in die edges, between two dice in the first frame after their common spot split."""
MIN_AREA_FACES = 0.3
"""Minimum area of a spot, in die faces: the area of a half-hidden die."""


@dataclass(frozen=True, slots=True)
class Track:
    """The track of a followed die, for display. Positions are in pixels."""

    die: int
    places: tuple[tuple[float, float], ...]
    rests: bool
    lost: bool
    up: int | None


class Follower:
    """Converts frames, in order of time, to readings of the dice."""

    def __init__(self, rig: Rig, empty: Array, *, alone: bool = True) -> None:
        """Start with a picture of the empty table.

        If another camera sees the same dice (not `alone`), the points' errors do not include the shift caused
        by a die's unknown height, because two cameras can measure the height.
        """
        self.rig = rig
        self._alone = alone
        self.device = rig.file.camera
        self._background = Background(empty)
        self._trails: list[Trail] = []
        self._arrivals = Arrivals()
        self._objects = KnownObjects()
        self._picture, self._picture_us = empty, -1

    def frame(self, t_us: int, picture: Array, still: Still | None = None) -> list[Reading]:
        """Return the readings of a frame (height, width, 3); times must increase from frame to frame.

        Faces are read from `still`, a picture of the same moment at a higher resolution. A die that is 16
        pixels wide in the frame is 64 pixels wide in a still that uses every pixel of the sensor.
        """
        middle = (picture.shape[1] / 2, picture.shape[0] / 2)
        die_px = self.rig.die_px(*middle)
        spots = self._background.spots(picture, MIN_AREA_FACES * die_px**2)
        self._picture, self._picture_us = picture, t_us
        self._objects.see(t_us, spots, die_px)
        spots = [spot for spot in spots if not self._objects.has(spot, die_px)]
        self._forget_collected(t_us, spots)
        readings = self._follow(t_us, spots, die_px)
        readings += self._begin(t_us, spots, die_px)
        readings += self._report_lost(t_us)
        readings += self._report_rests(t_us, still or WholeStill(picture), die_px)
        return readings

    def crops(self, die: int) -> tuple[Crop, ...]:
        """Return the latest crops from which a resting die's face was read; none for a moving die."""
        return next((trail.crops for trail in self._trails if trail.die == die), ())

    def unread_reason(self, die: int) -> str:
        """Return the reason why the latest reading of a resting die's face failed; empty if it succeeded."""
        return next((trail.unread_reason for trail in self._trails if trail.die == die), "")

    def lose_remaining(self, t_us: int) -> list[Reading]:
        """Report as lost each die that has not been reported at rest.

        Call this when the frames end or a fault of the view begins.
        """
        readings: list[Reading] = []
        for trail in self._trails:
            if not trail.lost and not trail.rest_reported:
                trail.lost = True
                readings.append(DieLost(t=t_us, dev=self.device, die=cast("Die", trail.die)))
        return readings

    def tracks(self) -> tuple[Track, ...]:
        """Return the tracks of a throw's dice, including lost dice."""
        return tuple(
            Track(
                trail.die,
                tuple((float(place[0]), float(place[1])) for place in trail.places),
                trail.rest_reported,
                trail.lost,
                trail.read.up if trail.rest_reported and trail.read is not None else None,
            )
            for trail in self._trails
            if trail.places
        )

    def _follow(self, t_us: int, spots: Sequence[Spot], die_px: float) -> list[Reading]:
        moving = [trail for trail in self._trails if not trail.lost]
        claimed = assign_spots(moving, spots, t_us, die_px)
        readings: list[Reading] = []
        for trail in moving:
            spot = claimed.get(trail.die)
            if spot is None:
                trail.spot = None
                continue
            sharers = [other for other in moving if claimed.get(other.die) is spot]
            place, error_px = locate_die(spot, trail, sharers, t_us, die_px)
            readings += self._record_sighting(trail, t_us, spot, place, error_px)
        return readings

    def _record_sighting(
        self, trail: Trail, t_us: int, spot: Spot, place: Array, error_px: float
    ) -> list[Reading]:
        trail.spot, trail.at_border = spot, spot.at_border
        trail.seen_us = t_us
        trail.t_us.append(t_us)
        trail.places.append(place)
        moved_px = float(np.hypot(*(place - trail.stopped_place)))
        die_px = self.rig.die_px(*map(float, place))
        allowed_px = NUDGED_EDGES * die_px if trail.rest_reported else STATIONARY_PX
        if moved_px > allowed_px and not self._only_flickers(trail, moved_px, die_px):
            trail.last_moved_us, trail.stopped_place = t_us, place
            # A die's first frames are no longer available when it is recognized.
            trail.stopped_view = self._around(place) if t_us == self._picture_us else None
            trail.rest_reported = False
        if trail.rest_reported:
            return []
        x, y = self.rig.to_table(*map(float, place))
        error = error_px / self.rig.px_per_mm(*map(float, place))
        if self._alone and t_us - trail.last_moved_us < REST_US:
            error = float(np.hypot(error, self.rig.height_error_mm(np.array([x, y]))))
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

    def _around(self, place: Array) -> Array:
        die_px = self.rig.die_px(*map(float, place))
        low = np.maximum(np.round(place - die_px), 0).astype(int)
        high = np.round(place + die_px).astype(int) + 1
        part = np.ascontiguousarray(self._picture[low[1] : high[1], low[0] : high[0]])
        smooth: Array = cv2.GaussianBlur(part, (0, 0), 1.0) if part.size else part
        return smooth

    def _only_flickers(self, trail: Trail, moved_px: float, die_px: float) -> bool:
        """Return whether a spot's centre has moved while the picture of its die has not changed."""
        before = trail.stopped_view
        if before is None or not before.size or moved_px > FLICKER_EDGES * die_px:
            return False
        changed = cv2.absdiff(before, self._around(trail.stopped_place)).max(axis=2) > MAX_NOISE_GREYS
        return float(changed.mean()) < CHANGED_FRACTION

    def _begin(self, t_us: int, spots: Sequence[Spot], die_px: float) -> list[Reading]:
        """Return the releases and first points of dice that have come into view."""
        readings: list[Reading] = []
        owned = {id(trail.spot) for trail in self._trails if trail.spot is not None}
        free = []
        for spot in spots:
            if id(spot) in owned:
                continue
            if not MIN_AREA_FACES * 1.6 * die_px**2 < spot.area < MAX_AREA_FACES * die_px**2:
                continue
            missing = [trail for trail in self._trails if trail.lost and not trail.rest_reported]
            recently_lost = len(missing) == 1 and t_us - missing[0].seen_us < REAPPEAR_US
            if recently_lost and not spot.at_border:
                readings += self._resume_trail(missing[0], t_us, spot, die_px)
            else:
                free.append(spot)
        for path in self._arrivals.add(t_us, free, die_px):
            if not self._is_throw_in_flight(t_us) and is_stationary(path, die_px):
                self._objects.add(path[-1])
                continue
            if len(path) == 1 and any(trail.may_be_sighting(path[0], die_px) for trail in self._trails):
                continue
            if len(self._trails) >= self.rig.file.dice:
                if not all(trail.rest_reported or trail.lost for trail in self._trails):
                    continue
                self._trails = []
            readings += self._start_trail(path, t_us, die_px)
        return readings

    def _is_throw_in_flight(self, t_us: int) -> bool:
        """Return whether a die is moving or missing; a stationary object might then be that die."""
        return any(
            not trail.rest_reported and not (trail.lost and t_us - trail.seen_us > REAPPEAR_US)
            for trail in self._trails
        )

    def _start_trail(self, path: Sequence[Sighting], now_us: int, die_px: float) -> list[Reading]:
        first = path[0]
        place = np.array([first.spot.x, first.spot.y])
        trail = Trail(len(self._trails) + 1, first.t_us, place)
        together = [other for other in self._trails if _came_as_one(other, first.t_us, place, die_px)]
        for other in self._trails:
            if other in together:
                trail.released_us = max(other.released_us, now_us - RELEASE_AGE_US)
                # The timestamp might be later than the actual release. Report the position at the timestamp.
                trail.release_place = other.place_at(trail.released_us)
            elif _left_together(other, first.t_us, place, die_px):
                trail.released_us = max(other.released_us, now_us - RELEASE_AGE_US)
        self._trails.append(trail)
        readings: list[Reading] = []
        # If the camera does not see the hand, dice released together can come into view one after the other.
        unproven = self._trails[:-1] if not self.rig.file.hand_in_sight else together
        if not any(trail.released_us - other.released_us > MAX_TOGETHER_US for other in unproven):
            x, y = self.rig.to_table(*map(float, trail.release_place))
            readings.append(
                DieReleased(
                    t=trail.released_us,
                    dev=self.device,
                    die=cast("Die", trail.die),
                    x=round(x, 1),
                    y=round(y, 1),
                    in_flight=not self.rig.file.hand_in_sight,
                )
            )
        for t_us, spot in path:
            readings += self._record_sighting(
                trail, t_us, spot, *locate_die(spot, trail, (trail,), t_us, die_px)
            )
        if trail.seen_us != now_us:
            trail.spot = None
        return readings

    def _resume_trail(self, trail: Trail, t_us: int, spot: Spot, die_px: float) -> list[Reading]:
        trail.lost = False
        trail.t_us, trail.places = [], []
        return self._record_sighting(trail, t_us, spot, np.array([spot.x, spot.y]), blur_error(spot, die_px))

    def _report_lost(self, t_us: int) -> list[Reading]:
        readings: list[Reading] = []
        for trail in self._trails:
            if trail.lost or trail.rest_reported or t_us - trail.seen_us < LOST_US:
                continue
            trail.lost = True
            readings.append(DieLost(t=t_us, dev=self.device, die=cast("Die", trail.die)))
        return readings

    def _forget_collected(self, t_us: int, spots: Sequence[Spot]) -> None:
        """Discard a finished throw once its dice have been collected and no spot is clear of the border."""
        if not self._trails or not all(trail.rest_reported or trail.lost for trail in self._trails):
            return
        if any(t_us - trail.seen_us < COLLECTED_US for trail in self._trails):
            return
        if not any(not spot.at_border for spot in spots):
            self._trails = []

    def _report_rests(self, t_us: int, still: Still, die_px: float) -> list[Reading]:
        """Return the resting positions of dice whose readings agree, or still disagree after REREAD_US."""
        readings: list[Reading] = []
        lying = [trail for trail in self._trails if self._is_lying(trail, t_us)]
        parts = {trail.die: still.around(trail.places[-1], CROP_EDGES * die_px) for trail in lying}
        faces: dict[int, DieSeen] = {}
        for trail in self._trails:
            if trail.rest_reported and trail.read is not None:
                faces[trail.die] = trail.read
        for trail in lying:
            part, low = parts[trail.die]
            trail.crops = (*trail.crops, Crop(t_us, part))[-AGREEING_STILLS:]
            shared = any(other.spot is trail.spot for other in self._trails if other is not trail)
            near = SHARED_EDGES if shared else NEAR_EDGES
            seen, trail.unread_reason = read_face_at(
                part, low, still.zoom, trail.places[-1], die_px, near_edges=near
            )
            if seen is not None:
                faces[trail.die] = seen
        for trail in lying:
            part, low = parts[trail.die]
            seen = faces.get(trail.die)
            outlines = Outlines(self.rig, still.zoom, low, die_px * still.zoom)
            shape = None
            if seen is not None:
                neighbours = [other for die, other in faces.items() if die != trail.die]
                shape = outlines.shape(self._background.classify(part, low, still.zoom), seen, neighbours)
                difference = outlines.difference_from_flat(shape)
                if difference:
                    trail.unread_reason = (
                        f"its outline differs from that of a flat die by {difference:.0%} of a face"
                    )
                    seen = None
            agreed = seen is not None and trail.read is not None and _are_same(seen, trail.read)
            trail.read = seen
            if not agreed and t_us - trail.reading_since_us < REREAD_US:
                continue
            trail.rest_reported = True
            tilt_deg = outlines.tilt_deg(shape) if seen is None and shape is not None else None
            on: Surface = "unknown"
            if agreed and shape is not None and self.rig.has_position and outlines.is_felt_plain(shape):
                on = "felt"
            readings.append(self._build_rest(trail, t_us, seen if agreed else None, on, tilt_deg or 0.0))
        return readings

    def _is_lying(self, trail: Trail, t_us: int) -> bool:
        if trail.lost or trail.rest_reported:
            return False
        if trail.spot is None or t_us - trail.last_moved_us < REST_US:
            trail.read, trail.crops, trail.reading_since_us = None, (), t_us
            return False
        return True

    def _build_rest(
        self, trail: Trail, t_us: int, seen: DieSeen | None, on: Surface, tilt_deg: float
    ) -> DieRest:
        place = trail.places[-1] if seen is None else np.array([seen.x, seen.y])
        height = self.rig.die_mm * (0.5 if seen is None else 1.0)
        x, y = self.rig.to_table(float(place[0]), float(place[1]), height)
        return DieRest(
            t=max(trail.last_moved_us, t_us - REST_AGE_US),
            dev=self.device,
            die=cast("Die", trail.die),
            x=round(x, 1),
            y=round(y, 1),
            up=None if seen is None else cast("Face | None", seen.up),
            confidence=0.0 if seen is None else seen.confidence,
            tilt_deg=tilt_deg,
            on=on,
        )


def _left_together(other: Trail, t_us: int, place: Array, die_px: float) -> bool:
    """Return whether a die first seen at this position left the hand together with another die."""
    in_time = t_us - other.released_us < SAME_HAND_US
    return in_time and float(np.hypot(*(other.release_place - place))) < 6 * die_px


def _came_as_one(other: Trail, t_us: int, place: Array, die_px: float) -> bool:
    """Return whether a die first seen at this position was previously part of another die's spot."""
    index = bisect_right(other.t_us, t_us) - 1
    if index < 1 or t_us - other.t_us[index] > LOST_US:
        return False
    return float(np.hypot(*(other.places[index] - place))) < SEPARATION_EDGES * die_px


def _are_same(one: DieSeen, other: DieSeen) -> bool:
    return one.up == other.up and float(np.hypot(one.x - other.x, one.y - other.y)) < 2.0
