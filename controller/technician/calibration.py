"""Calibration of a dice table's camera and wall sensors, and the result type of all calibrations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import dist, sqrt
from statistics import median

from controller.model.geometry import DiceTable
from controller.model.homography import CalibrationError, Homography, Pair, Point, fit
from controller.model.readings import AnyReading, DieAt, DieLost, DieRest, Wall, WallImpact
from controller.model.tables import KeyPath, Setting
from controller.technician.steps import (
    AT_WALL_MM,
    SAME_TIME_US,
    SensorFinding,
    distance_to_wall_mm,
    finding,
)


class UnfitError(ValueError):
    """Raised for readings that a calibration cannot use; the message contains the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedValues:
    """A calibration's values by their keys in the table's file, and its report, line by line."""

    values: Mapping[KeyPath, Setting]
    report: tuple[str, ...]
    figures: Mapping[str, object] = field(default_factory=dict)


MIN_POINTS = 4
NAMES_OUTLIER_FROM = 6
"""Minimum number of points at which a misplaced point can be identified. With five points, any four
of them match exactly."""
RMS_LIMIT_MM = 4.0
"""Twice the error of one track point. A larger error means that at least one die was not at its named
place."""
MIN_TRIANGLE_FRACTION = 0.02
"""Minimum area of a triangle of three points, as a fraction of the table's area. With a smaller area, the
points are treated as lying on one line."""
_OUTLIER_FACTOR = 3.0
"""Minimum distance of a named outlier from the fit to the other points, as a multiple of `RMS_LIMIT_MM`."""
RESTING_S = 1.0
"""Time without movement after which a die is treated as placed."""
MOVED_MM = 50.0
"""Minimum distance between two successive dice in a log. A closer position is treated as that of the same
die after a movement."""


@dataclass(frozen=True, slots=True)
class DiePlacement:
    """A die at a named place: its centre on the table (mm) and in the camera's image (pixels)."""

    name: str
    place: Point
    seen: Point


def named_places(table: DiceTable) -> Mapping[str, Point]:
    """Return a die's centre (mm) in each corner and at the middle of the front and back rails."""
    half = table.die_mm / 2
    ends = {"left": half, "middle": table.length_mm / 2, "right": table.length_mm - half}
    sides = {"front": half, "back": table.width_mm - half}
    return {f"{end}-{side}": (x, y) for end, x in ends.items() for side, y in sides.items()}


def calibrate_camera(
    laid: Sequence[DiePlacement], table: DiceTable, device: str, before: Homography | None
) -> CalibratedValues:
    """Fit the camera's homography to the laid dice by least squares; `before` is the current calibration.

    Raises:
        UnfitError: There are too few points, the points lie on one line, or they do not agree.
    """
    if len(laid) < MIN_POINTS:
        raise UnfitError(f"found {len(laid)} points, expected at least {MIN_POINTS}; lay more dice")
    _check_spread(laid, table)
    plane, misses = _fit(laid)
    rms = _rms(misses)
    if rms > RMS_LIMIT_MM:
        raise UnfitError(_misfit_message(laid, misses, rms))
    earlier = [] if before is None else before.errors_mm([_pair(point) for point in laid])
    lines = [
        f"{point.name:<14} at {point.place[0]:7.1f}, {point.place[1]:7.1f} mm: off by {miss:5.2f} mm"
        + (f" (before {earlier[n]:.1f})" if earlier else "")
        for n, (point, miss) in enumerate(zip(laid, misses, strict=True))
    ]
    lines.append(f"RMS error {rms:.2f} mm (limit {RMS_LIMIT_MM:g}), worst {max(misses):.2f} mm")
    if len(laid) == MIN_POINTS:
        lines.append("any four points match exactly; lay a fifth and a sixth die to detect an error")
    rows = tuple((*_rounded(point.seen, 3), *_rounded(point.place, 2)) for point in laid)
    return CalibratedValues(
        values={("devices", device, "calibration"): rows},
        report=tuple(lines),
        figures={
            "rms_mm": round(rms, 3),
            "limit_mm": RMS_LIMIT_MM,
            "residuals_mm": {p.name: round(miss, 3) for p, miss in zip(laid, misses, strict=True)},
            "matrix": plane.matrix,
        },
    )


def _fit(laid: Sequence[DiePlacement]) -> tuple[Homography, list[float]]:
    pairs = [_pair(point) for point in laid]
    try:
        plane = fit(pairs)
    except CalibrationError as error:
        raise UnfitError(str(error)) from error
    return plane, plane.errors_mm(pairs)


def _pair(point: DiePlacement) -> Pair:
    return point.seen, point.place


def _misfit_message(laid: Sequence[DiePlacement], misses: Sequence[float], rms: float) -> str:
    """Return the reason for a poor fit. It names a point as misplaced if all the other points agree."""
    message = f"found an RMS error of {rms:.1f} mm, expected at most {RMS_LIMIT_MM:g}"
    for number, point in enumerate(laid) if len(laid) >= NAMES_OUTLIER_FROM else ():
        others = [*laid[:number], *laid[number + 1 :]]
        try:
            plane, rest = _fit(others)
        except UnfitError:
            continue
        own = plane.errors_mm([_pair(point)])[0]
        if _rms(rest) <= RMS_LIMIT_MM and own > _OUTLIER_FACTOR * RMS_LIMIT_MM:
            return (
                f"{message}; according to the other points, {point.name} is {own:.0f} mm from its place;"
                " lay this die again"
            )
    worst = max(range(len(laid)), key=lambda number: misses[number])
    found = f"{message}; the largest error is at {laid[worst].name} ({misses[worst]:.0f} mm)"
    if len(laid) >= NAMES_OUTLIER_FROM:
        found += ", and the other points do not agree with each other either"
    return f"{found}; lay six dice or more, each exactly in its place"


def _check_spread(laid: Sequence[DiePlacement], table: DiceTable) -> None:
    min_area_mm2 = MIN_TRIANGLE_FRACTION * table.length_mm * table.width_mm
    widest_mm2 = max(
        min(_area(*corners) for corners in combinations([point.place for point in four], 3))
        for four in combinations(laid, MIN_POINTS)
    )
    if widest_mm2 < min_area_mm2:
        names = ", ".join(point.name for point in laid)
        raise UnfitError(
            f"any four of the points {names} include three on one line; lay dice in all four corners"
        )


def _area(a: Point, b: Point, c: Point) -> float:
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2


def _rms(misses: Sequence[float]) -> float:
    return sqrt(sum(miss * miss for miss in misses) / len(misses))


def _rounded(point: Point, digits: int) -> Point:
    return round(point[0], digits), round(point[1], digits)


def find_laid_dice(readings: Iterable[AnyReading], dev: str) -> list[Point]:
    """Return the positions (mm) that a camera reported for dice laid one after another in a recording."""
    places: list[Point] = []
    for reading in readings:
        if not isinstance(reading, DieRest) or reading.dev != dev:
            continue
        place = (reading.x, reading.y)
        if places and dist(places[-1], place) < MOVED_MM:
            places[-1] = place
        else:
            places.append(place)
    return places


@dataclass(slots=True)
class LayDieAt:
    """The step in which the technician lays one die at a named place on the table."""

    dev: str
    name: str
    place: Point
    sensor: str = "die_rest"
    rests: dict[int, DieRest] = field(default_factory=dict)

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""
        return f"put_{self.place[0]:g}_{self.place[1]:g}"

    @property
    def request(self) -> str:
        """Instruction for the technician."""
        x, y = self.place
        return (
            f"{self.name}: lay one die at x {x:g}, y {y:g} mm, with no other die on the table, and take your"
            " hands away"
        )

    def receive(self, reading: AnyReading) -> None:
        """Record the resting place of each die; forget a die that moves or is lost."""
        if reading.dev != self.dev:
            return
        match reading:
            case DieRest():
                self.rests[reading.die] = reading
            case DieAt() | DieLost():
                self.rests.pop(reading.die, None)
            case _:
                pass

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether exactly one die has been at rest for `RESTING_S`."""
        return len(self.rests) == 1 and quiet_s > RESTING_S

    def findings(self) -> Sequence[SensorFinding]:
        """Return the die's position according to the current calibration."""
        if len(self.rests) != 1:
            found = f"found {len(self.rests)} dice at rest, expected one"
            return [SensorFinding(sensor=self.name, status="fail", says=found)]
        rest = next(iter(self.rests.values()))
        return [finding(self.name, f"seen at {rest.x:.1f}, {rest.y:.1f} mm", x_mm=rest.x, y_mm=rest.y)]


MIN_THROWS = 5
MIN_MARGIN = 2.5
"""Minimum ratio of the softest die's peak to the loudest noise."""
LISTEN_S = 3.0
"""Time without an impact after which the room is treated as quiet."""
AWAY_FROM_WALL_MM = 300.0
"""Distance from the wall. An impact while all dice are farther away is treated as noise."""
MAX_THRESHOLD_FRACTION = 0.5
"""Maximum threshold as a fraction of the softest die's peak. It allows for dice in play that strike the wall
more softly."""
_QUIET_ROOM_FRACTION = 0.25
"""Threshold as a fraction of the softest die's peak if there is no noise."""


@dataclass(slots=True)
class ListenToWall:
    """The step that records impacts at a wall's sensor, in a quiet room or during knocks."""

    dev: str
    wall: Wall
    lamp_text: str
    request: str
    max_impacts: int | None = None
    """Number of impacts that complete the step; with None, `LISTEN_S` without an impact completes it."""
    sensor: str = "wall_impact"
    peaks: list[float] = field(default_factory=list)

    def receive(self, reading: AnyReading) -> None:
        """Record the peaks of this wall's impacts."""
        if isinstance(reading, WallImpact) and reading.dev == self.dev and reading.wall == self.wall:
            self.peaks.append(reading.peak)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether all impacts were recorded, or the room was quiet long enough."""
        return quiet_s > LISTEN_S if self.max_impacts is None else len(self.peaks) >= self.max_impacts

    def findings(self) -> Sequence[SensorFinding]:
        """Return the number of impacts and their peaks."""
        return [finding(self.sensor, _line("wall", self.peaks), heard=len(self.peaks))]


def separate_peaks(
    readings: Sequence[AnyReading], dev: str, wall: Wall, table: DiceTable, ringing_us: int
) -> tuple[list[float], list[float]]:
    """Return the peaks caused by dice and those caused by noise; the dice's tracks tell them apart.

    Ringing is omitted, and so are impacts while a die was near the wall but not at it.
    """
    track = [reading for reading in readings if isinstance(reading, DieAt)]
    impacts = sorted(
        (r for r in readings if isinstance(r, WallImpact) and r.dev == dev and r.wall == wall),
        key=lambda impact: impact.t,
    )
    dice: list[float] = []
    room: list[float] = []
    rang_until_us = -1
    at = 0
    track.sort(key=lambda point: point.t)
    for impact in impacts:
        if impact.t <= rang_until_us:
            continue
        rang_until_us = impact.t + ringing_us
        while at < len(track) and track[at].t < impact.t - SAME_TIME_US:
            at += 1
        near: list[float] = []
        for point in track[at:]:
            if point.t > impact.t + SAME_TIME_US:
                break
            near.append(distance_to_wall_mm(wall, table, point.x, point.y))
        if near and min(near) <= AT_WALL_MM:
            dice.append(impact.peak)
        elif not near or min(near) > AWAY_FROM_WALL_MM:
            room.append(impact.peak)
    return dice, room


def calibrate_wall(
    at: KeyPath,
    dice: Sequence[float],
    noise: Sequence[float],
    knocks: Sequence[float],
    before: float,
) -> CalibratedValues:
    """Choose a threshold between the loudest noise and the softest die; `at` is its key in the file.

    `before` is the current threshold, below which the sensor reports no noise. Knocks on the rail are listed,
    but do not affect the threshold: they can be as loud as dice, and only the dice's tracks tell the two
    apart.

    Raises:
        UnfitError: There are too few throws, or the noise is nearly as loud as the dice.
    """
    if len(dice) < MIN_THROWS:
        raise UnfitError(f"found {len(dice)} throws, expected at least {MIN_THROWS}; throw the die again")
    softest, loudest = min(dice), max(noise, default=before)
    if loudest * MIN_MARGIN > softest:
        found = (
            f"noise with a peak of {loudest:g}"
            if noise
            else f"a current threshold of {loudest:g}, below which no noise is reported,"
        )
        raise UnfitError(
            f"found {found} and a die with a peak of {softest:g}, expected the die's peak to be at least"
            f" {MIN_MARGIN:g} times as high; remount the sensor, or"
            f" {'remove the source of the noise' if noise else 'lower the current threshold'}"
        )
    between = sqrt(loudest * softest) if loudest else _QUIET_ROOM_FRACTION * softest
    threshold = round(min(between, MAX_THRESHOLD_FRACTION * softest), 1)
    above = softest / threshold
    below = threshold / loudest if loudest else None
    report = [_line("dice", dice), _line("noise", noise), _line("knocks", knocks)]
    report.append(
        f"threshold {threshold:g}: the softest die is {above:.1f} times the threshold"
        + ("" if below is None else f", and the threshold is {below:.1f} times the loudest noise")
    )
    passing = sum(peak >= threshold for peak in knocks)
    if passing:
        report.append(
            f"{passing} of {len(knocks)} knocks reach the threshold; only tracks distinguish them from dice"
        )
    figures: Mapping[str, object] = {
        "threshold": threshold,
        "dice": sorted(dice),
        "noise": sorted(noise),
        "knocks": sorted(knocks),
        "margin_to_dice": round(above, 2),
        "margin_to_noise": None if below is None else round(below, 2),
    }
    return CalibratedValues(values={at: threshold}, report=tuple(report), figures=figures)


def _line(what: str, peaks: Sequence[float]) -> str:
    if not peaks:
        return f"{what:<7} no impacts"
    low, middle, high = min(peaks), median(peaks), max(peaks)
    return f"{what:<7} {len(peaks):>3} impacts: softest {low:g}, median {middle:g}, loudest {high:g}"
