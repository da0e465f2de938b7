"""Combines two cameras over one end of a table, to measure the position and height of a die seen by both.

Each camera follows the dice independently and reports them as if they were on the felt. A die lies on the ray
from the camera through the reported position. Two rays to one die pass close to each other, and the
point between them is the die's position. Each die is reported under the first camera's number.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec
import numpy as np

from controller.model.readings import DeviceDown, DeviceUp, Die, DieAt, DieLost, DieReleased, DieRest, Reading
from drivers.vision.arrays import Array
from drivers.vision.following import REST_AGE_US
from drivers.vision.rig import UNKNOWN_HEIGHT_MM, Rig, RigError

DISTANCE_SIGMAS = 4.0
"""Maximum distance, in standard errors, between two rays to one die."""
MIN_DISTANCE_LIMIT_MM = 4.0
MAX_HEIGHT_MM = 600.0


@dataclass(frozen=True, slots=True)
class Intersection:
    """A die's centre computed from two rays. Lengths are in millimetres."""

    x: float
    y: float
    height: float
    error: float
    """Standard error of the centre."""
    distance: float
    """Distance at which the rays pass each other."""
    spread: float
    """Standard error of `distance`."""

    @property
    def one_die(self) -> bool:
        """Whether both rays belong to one die."""
        return self.relative_distance < 1.0 and 0.0 < self.height < MAX_HEIGHT_MM

    @property
    def relative_distance(self) -> float:
        """`distance` divided by the limit for one die."""
        return self.distance / max(MIN_DISTANCE_LIMIT_MM, DISTANCE_SIGMAS * self.spread)


def solve_rays(
    eyes: tuple[Array, Array], places: tuple[Array, Array], errors: tuple[float, float]
) -> Intersection:
    """Return the point nearest to two rays, weighted by the rays' errors.

    Args:
        eyes: The positions (x, y, height) of the two cameras.
        places: The positions (x, y, height) through which the rays pass.
        errors: The standard errors of `places`.
    """
    directions = [
        (place - eye) / np.linalg.norm(place - eye) for eye, place in zip(eyes, places, strict=True)
    ]
    projections = [np.eye(3) - np.outer(direction, direction) for direction in directions]
    weights = [flat / error**2 for flat, error in zip(projections, errors, strict=True)]
    inverse = np.linalg.inv(weights[0] + weights[1] + 1e-9 * np.eye(3))
    point = inverse @ (weights[0] @ eyes[0] + weights[1] @ eyes[1])
    misses = [flat @ (point - eye) for flat, eye in zip(projections, eyes, strict=True)]
    distance = float(np.linalg.norm(misses[0] - misses[1]))
    error = float(np.sqrt(max(inverse[0, 0], inverse[1, 1])))
    return Intersection(
        float(point[0]),
        float(point[1]),
        float(point[2]),
        # Motion blur shifts both rays alike, so a second ray does not reduce the error.
        float(np.hypot(max(error, *errors), distance / 2)),
        distance,
        float(np.hypot(*errors)),
    )


WAIT_US = 30_000
"""Maximum time for which a point waits for the other camera's next frame. By default, a table accepts a point
up to 120 ms after its timestamp."""
REST_WAIT_US = 60_000
"""Maximum time for which a resting position waits for the other camera's reading of the same die."""
POINT_AGE_US = 100_000
"""Maximum age of the second camera's points that are reported for a die lost by the first camera."""
MAX_GAP_US = 60_000
"""Maximum time between two points of one camera. After a longer gap, the die might have changed direction."""
HEIGHT_KNOWN_US = 60_000
"""Time for which a measured height remains usable."""
HEIGHT_MM_PER_US = 2.5e-3
"""Rate at which the error of a measured height increases: the speed at which dice fall and bounce."""
RECENT_POINTS, MIN_MATCHED_POINTS = 6, 3
"""Two tracks are compared only if both cameras saw at least MIN_MATCHED_POINTS of the latest RECENT_POINTS
points."""
STILL_POINTS, STILL_MM = 4, 1.0
"""A die is stationary if its latest STILL_POINTS points are within STILL_MM of the last point."""
MAX_REST_DISTANCE_MM = 12.0
"""Maximum distance between two cameras' positions of one die at rest."""


@dataclass(slots=True)
class _Tracked:
    """One camera's readings of one die."""

    t_us: list[int] = field(default_factory=list)
    points: list[DieAt] = field(default_factory=list)
    waiting: list[DieAt] = field(default_factory=list)
    rest: DieRest | None = None
    lost: bool = False
    height: tuple[int, float] | None = None
    """The latest measured height of the die's centre, with its time: (t_us, mm)."""

    @property
    def stationary(self) -> bool:
        """Whether the die is stationary, and therefore on the felt."""
        last = self.points[-STILL_POINTS:]
        return len(last) == STILL_POINTS and all(
            float(np.hypot(*(_place(one) - _place(last[-1])))) < STILL_MM for one in last
        )

    def at(self, t_us: int) -> tuple[Array, float] | None:
        """Return the die's position at a time, and its error.

        Returns None before the first point, after the last point, and in any interval in which the die might
        have changed direction.
        """
        after = bisect_left(self.t_us, t_us)
        if after == len(self.t_us):
            return None
        if self.t_us[after] == t_us:
            return _place(self.points[after]), _error(self.points[after])
        if after == 0 or self.t_us[after] - self.t_us[after - 1] > MAX_GAP_US:
            return None
        one, two = self.points[after - 1], self.points[after]
        fraction = (t_us - one.t) / (two.t - one.t)
        error = max(_error(one), _error(two))
        step = _place(two) - _place(one)
        neighbours = self.points[max(0, after - 2) : after + 2]
        for before, later in pairwise(neighbours):
            if later.t == before.t or later is two:
                continue
            expected_step = (_place(later) - _place(before)) * (two.t - one.t) / (later.t - before.t)
            if float(np.hypot(*(expected_step - step))) > 3 * error + 0.3 * float(np.hypot(*step)):
                return None
        return _place(one) + fraction * step, error


class Pair:
    """Combines the readings of two cameras into those of one device."""

    def __init__(self, first: Rig, second: Rig) -> None:
        """Pair two rigs.

        Raises:
            RigError: If the position of either camera is unknown.
        """
        for rig in (first, second):
            if not rig.has_position:
                raise RigError(
                    f"camera {rig.file.camera}: the rig file has no `lens`, or its `points` do not determine"
                    " the camera's position, which a pair needs; `tablectl camera calibrate` measures the"
                    " lens from pictures of the board held in the air, and the points from boards on the felt"
                )
        self._rigs = (first, second)
        self._device = first.file.camera
        self._dice: tuple[dict[int, _Tracked], dict[int, _Tracked]] = ({}, {})
        self._partners: dict[int, int] = {}
        """The second camera's number for a die, by the first camera's number."""
        self._rests: dict[int, tuple[int, DieRest]] = {}
        self._reported: dict[int, DieRest] = {}
        self._down: set[int] = set()

    def take(self, camera: int, t_us: int, readings: Sequence[Reading]) -> list[Reading]:
        """Handle the readings of the latest frame of camera 0 or 1; return the readings to report."""
        due: list[Reading] = []
        for reading in readings:
            if isinstance(reading, DieReleased):
                due += self._handle_release(camera, reading)
            elif isinstance(reading, DieAt):
                self._add_point(camera, reading)
            elif isinstance(reading, DieRest):
                due += self._handle_rest(camera, t_us, reading)
            elif isinstance(reading, DieLost):
                due += self._handle_loss(camera, reading)
            else:
                due += self._handle_health(camera, reading)
        self._match()
        due += self._due_points(t_us)
        due += self._report_after_wait(t_us)
        return due

    def _handle_health(self, camera: int, reading: Reading) -> list[Reading]:
        """Return a camera's fault immediately, and a fault's end only when both cameras are up."""
        if isinstance(reading, DeviceDown):
            self._down.add(camera)
        elif isinstance(reading, DeviceUp):
            self._down.discard(camera)
            if self._down:
                return []
        return [msgspec.structs.replace(reading, dev=self._device)]

    def _handle_release(self, camera: int, reading: DieReleased) -> list[Reading]:
        dice = self._dice[camera]
        if all(seen.rest is not None or seen.lost for seen in dice.values()):
            dice.clear()
            self._partners.clear()
            if camera == 0:
                self._reported.clear()
                self._rests.clear()
        dice[reading.die] = _Tracked()
        return [reading] if camera == 0 else []

    def _add_point(self, camera: int, reading: DieAt) -> None:
        seen = self._dice[camera].setdefault(reading.die, _Tracked())
        seen.t_us.append(reading.t)
        seen.points.append(reading)
        seen.waiting.append(reading)
        seen.rest, seen.lost = None, False

    def _match(self) -> None:
        """Pair two tracks whose rays meet repeatedly, if neither track's rays meet those of a third.

        Tracks whose rays no longer meet are unpaired, because a camera might have confused two dice that
        formed one spot.
        """
        first, second = self._dice
        misses = {
            (one, two): miss
            for one, seen in first.items()
            for two, other in second.items()
            if (miss := self._ray_distance(seen, other)) is not None
        }
        for one, two in list(self._partners.items()):
            if misses.get((one, two), 0.0) > 1.0:
                del self._partners[one]
        for one, two in sorted(misses, key=lambda pair: misses[pair]):
            if one in self._partners or two in self._partners.values():
                continue
            rivals = [miss for pair, miss in misses.items() if (pair[0] == one) != (pair[1] == two)]
            if misses[one, two] < 1.0 and all(miss > 2.0 for miss in rivals):
                self._partners[one] = two

    def _ray_distance(self, seen: _Tracked, other: _Tracked) -> float | None:
        """Return the median distance between two tracks' rays, divided by the limit for one die.

        Returns None if too few points match.
        """
        distances = [
            found.relative_distance if found.one_die else max(found.relative_distance, 1.5)
            for point in seen.points[-RECENT_POINTS:]
            if (found := self._solve(point, other)) is not None
        ]
        return float(np.median(distances)) if len(distances) >= MIN_MATCHED_POINTS else None

    def _solve(self, point: DieAt, other: _Tracked) -> Intersection | None:
        other_place = other.at(point.t)
        if other_place is None:
            return None
        half = self._rigs[0].die_mm / 2
        places = (np.array([point.x, point.y, half]), np.array([*other_place[0], half]))
        return solve_rays((self._rigs[0].eye, self._rigs[1].eye), places, (_error(point), other_place[1]))

    def _due_points(self, t_us: int) -> list[Reading]:
        """Return the points whose waiting time is over, combined if both cameras saw the die."""
        due: list[Reading] = []
        for die, seen in self._dice[0].items():
            other = self._dice[1].get(self._partners.get(die, 0))
            while seen.waiting:
                point = seen.waiting[0]
                later = other is not None and bool(other.t_us) and other.t_us[-1] >= point.t
                if not later and t_us - point.t < WAIT_US:
                    break
                due.append(self._combine_point(seen, seen.waiting.pop(0), other))
        for die, two in self._partners.items():
            if self._dice[0][die].lost and two in self._dice[1]:
                other = self._dice[1][two]
                fresh = [point for point in other.waiting if t_us - point.t < POINT_AGE_US]
                due += [self._single_camera_point(1, point, other, die) for point in fresh]
            if two in self._dice[1]:
                self._dice[1][two].waiting.clear()
        return due

    def _combine_point(self, seen: _Tracked, point: DieAt, other: _Tracked | None) -> DieAt:
        found = None if other is None else self._solve(point, other)
        if found is None or not found.one_die:
            return self._single_camera_point(0, point, seen, point.die)
        seen.height = (point.t, found.height)
        return _point_at(point, np.array([found.x, found.y]), found.error, self._device, point.die)

    def _single_camera_point(self, camera: int, point: DieAt, seen: _Tracked, die: int) -> DieAt:
        """Return a point that only one camera saw, at the last measured height or with a larger error."""
        rig = self._rigs[camera]
        if seen.stationary:
            height, height_error_mm = rig.die_mm / 2, 0.0
        elif seen.height is not None and 0 <= point.t - seen.height[0] < HEIGHT_KNOWN_US:
            height, height_error_mm = seen.height[1], 3.0 + HEIGHT_MM_PER_US * (point.t - seen.height[0])
        else:
            height, height_error_mm = rig.die_mm / 2, UNKNOWN_HEIGHT_MM
        place, eye = _place(point), rig.eye
        place = place + (eye[:2] - place) * ((height - rig.die_mm / 2) / (eye[2] - rig.die_mm / 2))
        error = float(np.hypot(_error(point), rig.height_error_mm(place, height_error_mm)))
        return _point_at(point, place, error, self._device, die)

    def _handle_rest(self, camera: int, t_us: int, reading: DieRest) -> list[Reading]:
        """Return a resting position if only one camera sees the die or both have reported it at rest.

        Otherwise the first report waits in `_rests`.
        """
        self._dice[camera].setdefault(reading.die, _Tracked()).rest = reading
        self._match_by_place(camera, reading)
        die = self._reported_number(camera, reading.die)
        if die is None:
            return []
        other = self._dice[1].get(self._partners.get(die, 0)) if camera == 0 else self._dice[0].get(die)
        if other is None or other.lost:
            return self._report_rest(t_us, die, reading)
        if other.rest is None:
            self._rests.setdefault(die, (t_us, reading))
            return []
        return self._report_rest(t_us, die, _combine_rests(reading, other.rest))

    def _match_by_place(self, camera: int, reading: DieRest) -> None:
        """Pair the cameras' resting dice at the same position, and unpair those at different positions."""
        for number, other in self._dice[1 - camera].items():
            if other.rest is None:
                continue
            one, two = (reading.die, number) if camera == 0 else (number, reading.die)
            if _are_near(reading, other.rest):
                for name in [
                    name for name, partner in self._partners.items() if name == one or partner == two
                ]:
                    del self._partners[name]
                self._partners[one] = two
            elif self._partners.get(one) == two:
                del self._partners[one]

    def _report_after_wait(self, t_us: int) -> list[Reading]:
        """Return the resting positions that have waited for REST_WAIT_US.

        Also return the resting positions and losses of dice that only camera 1 saw.
        """
        due: list[Reading] = []
        for die, (since_us, reading) in list(self._rests.items()):
            if t_us - since_us >= REST_WAIT_US:
                due += self._report_rest(t_us, die, reading)
        for two, seen in self._dice[1].items():
            free = [die for die in (1, 2) if die not in self._dice[0]]
            if free and two not in self._partners.values() and (seen.rest is not None or seen.lost):
                self._partners[free[0]] = two
                self._dice[0][free[0]] = _Tracked(lost=True)
                if seen.rest is not None:
                    due += self._report_rest(t_us, free[0], seen.rest)
                else:
                    due.append(DieLost(t=t_us, dev=self._device, die=_die(free[0])))
        return due

    def _report_rest(self, t_us: int, die: int, reading: DieRest) -> list[Reading]:
        self._rests.pop(die, None)
        before = self._reported.get(die)
        if before is not None and before.up == reading.up and _are_near(before, reading):
            return []
        if (
            before is not None
            and before.up is not None
            and reading.up is not None
            and _are_near(before, reading)
        ):
            reading = msgspec.structs.replace(reading, up=None, confidence=0.0, on="unknown")
        self._reported[die] = reading
        t = max(reading.t, t_us - REST_AGE_US)
        return [msgspec.structs.replace(reading, t=t, dev=self._device, die=_die(die))]

    def _handle_loss(self, camera: int, reading: DieLost) -> list[Reading]:
        """Return the loss of a die that neither camera sees, or the other camera's resting position."""
        self._dice[camera].setdefault(reading.die, _Tracked()).lost = True
        die = self._reported_number(camera, reading.die)
        if die is None:
            return []
        other = self._dice[1].get(self._partners.get(die, 0)) if camera == 0 else self._dice[0].get(die)
        if other is not None and not other.lost:
            return [] if other.rest is None else self._report_rest(reading.t, die, other.rest)
        return [msgspec.structs.replace(reading, dev=self._device, die=_die(die))]

    def _reported_number(self, camera: int, die: int) -> int | None:
        """Return the number under which a camera's die is reported; None for camera 1's unpaired dice."""
        if camera == 0:
            return die
        return next((one for one, two in self._partners.items() if two == die), None)


def _combine_rests(one: DieRest, other: DieRest) -> DieRest:
    """Combine two cameras' resting positions of one die.

    The face is kept unless the cameras disagree or the die leans.
    """
    leans = max(one, other, key=lambda rest: abs(rest.tilt_deg))
    if leans.tilt_deg or (one.up is not None and other.up is not None and one.up != other.up):
        return msgspec.structs.replace(leans, up=None, confidence=0.0, on="unknown")
    if one.up is not None and other.up is not None and not _are_near(one, other):
        return msgspec.structs.replace(one, up=None, confidence=0.0, on="unknown")
    return one if one.up is not None else other


def _are_near(one: DieRest, other: DieRest) -> bool:
    return float(np.hypot(one.x - other.x, one.y - other.y)) < MAX_REST_DISTANCE_MM


def _place(point: DieAt) -> Array:
    return np.array([point.x, point.y])


def _error(point: DieAt) -> float:
    return point.error_mm or 1.0


def _die(number: int) -> Die:
    return 1 if number == 1 else 2


def _point_at(point: DieAt, place: Array, error: float, dev: str, die: int) -> DieAt:
    return msgspec.structs.replace(
        point,
        x=round(float(place[0]), 1),
        y=round(float(place[1]), 1),
        error_mm=round(min(max(error, 0.1), 1000.0), 1),
        dev=dev,
        die=_die(die),
    )
