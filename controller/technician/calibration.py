"""The result of every calibration, and the calibrations of a dice table's camera and walls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import dist, sqrt
from statistics import median

from controller.model.geometry import DiceTable
from controller.model.homography import CalibrationError, Homography, Pair, Point, fit
from controller.model.readings import AnyReading, DieAt, DieLost, DieRest, Wall, WallImpact
from controller.model.tables import KeyPath, Setting
from controller.technician.acts import NEAR_US, REACH_MM, SensorFinding, distance_mm, judged, unseen


class UnfitError(ValueError):
    """Readings from which nothing can be calibrated; the message says what was found and what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Values by their place in the table's file, and what they rest on, a line each."""

    values: Mapping[KeyPath, Setting]
    report: tuple[str, ...]
    figures: Mapping[str, object] = field(default_factory=dict)


MIN_POINTS = 4
NAMES_OUTLIER_FROM = 6
"""With one of five points left out, four fit anything: a wrong one can't be found."""
RMS_LIMIT_MM = 4.0
"""Twice the error of one track point: beyond it, a die was not at the place named."""
MIN_SHARE = 0.02
"""Of the table's area: three points whose triangle is smaller count as on a line."""
_PLAINLY = 3.0
LIES_S = 1.0
"""A die that has not moved for this long lies in its place."""
MOVED_MM = 50.0
"""In a log, a die at rest this far from its last place has been laid again."""


@dataclass(frozen=True, slots=True)
class DiePlacement:
    """A die laid at a named place: where it is on the table (mm), and where in the image it was seen."""

    name: str
    place: Point
    seen: Point


def named_places(table: DiceTable) -> Mapping[str, Point]:
    """Return the places: a die pushed into each corner, or against a rail at half the length."""
    half = table.die_mm / 2
    ends = {"left": half, "middle": table.length_mm / 2, "right": table.length_mm - half}
    sides = {"front": half, "back": table.width_mm - half}
    return {f"{end}-{side}": (x, y) for end, x in ends.items() for side, y in sides.items()}


def calibrate_camera(
    laid: Sequence[DiePlacement], table: DiceTable, device: str, before: Homography | None
) -> Calibrated:
    """Fit the plane by least squares.

    Raises:
        UnfitError: too few points, on a line, or one that does not fit the others, which is named.
    """
    if len(laid) < MIN_POINTS:
        raise UnfitError(f"found {len(laid)} points, expected at least {MIN_POINTS}: lay more dice")
    _check_spread(laid, table)
    plane, misses = _fitted(laid)
    rms = _rms(misses)
    if rms > RMS_LIMIT_MM:
        raise UnfitError(_why_off(laid, misses, rms))
    earlier = [] if before is None else before.misses([_pair(point) for point in laid])
    lines = [
        f"{point.name:<14} at {point.place[0]:7.1f}, {point.place[1]:7.1f} mm: off by {miss:5.2f} mm"
        + (f" (so far {earlier[n]:.1f})" if earlier else "")
        for n, (point, miss) in enumerate(zip(laid, misses, strict=True))
    ]
    lines.append(f"rms {rms:.2f} mm (limit {RMS_LIMIT_MM:g}), worst {max(misses):.2f} mm")
    if len(laid) == MIN_POINTS:
        lines.append("four points fit any camera: lay a fifth and a sixth to find out whether one is wrong")
    rows = tuple((*_rounded(point.seen, 3), *_rounded(point.place, 2)) for point in laid)
    return Calibrated(
        values={("devices", device, "calibration"): rows},
        report=tuple(lines),
        figures={
            "rms_mm": round(rms, 3),
            "limit_mm": RMS_LIMIT_MM,
            "residuals_mm": {p.name: round(miss, 3) for p, miss in zip(laid, misses, strict=True)},
            "matrix": plane.matrix,
        },
    )


def _fitted(laid: Sequence[DiePlacement]) -> tuple[Homography, list[float]]:
    pairs = [_pair(point) for point in laid]
    try:
        plane = fit(pairs)
    except CalibrationError as error:
        raise UnfitError(str(error)) from error
    return plane, plane.misses(pairs)


def _pair(point: DiePlacement) -> Pair:
    return point.seen, point.place


def _why_off(laid: Sequence[DiePlacement], misses: Sequence[float], rms: float) -> str:
    """Return a hint at the one point without which the others agree, if there is one."""
    said = f"found an rms of {rms:.1f} mm, expected at most {RMS_LIMIT_MM:g}"
    for number, point in enumerate(laid) if len(laid) >= NAMES_OUTLIER_FROM else ():
        others = [*laid[:number], *laid[number + 1 :]]
        try:
            plane, rest = _fitted(others)
        except UnfitError:
            continue
        own = plane.misses([_pair(point)])[0]
        if _rms(rest) <= RMS_LIMIT_MM and own > _PLAINLY * RMS_LIMIT_MM:
            return f"{said}; {point.name} is off by {own:.0f} mm from where the others put it: lay it again"
    worst = max(range(len(laid)), key=lambda number: misses[number])
    return (
        f"{said}; the worst is {laid[worst].name} ({misses[worst]:.0f} mm), but the others do not agree"
        " without it: lay six dice or more, each exactly at its place"
    )


def _check_spread(laid: Sequence[DiePlacement], table: DiceTable) -> None:
    least = MIN_SHARE * table.length_mm * table.width_mm
    widest = max(
        min(_area(*corners) for corners in combinations([point.place for point in four], 3))
        for four in combinations(laid, MIN_POINTS)
    )
    if widest < least:
        names = ", ".join(point.name for point in laid)
        raise UnfitError(
            f"found no four of {names} of which three are not on one line, expected points spread over the"
            " table: lay dice into all four corners"
        )


def _area(a: Point, b: Point, c: Point) -> float:
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2


def _rms(misses: Sequence[float]) -> float:
    return sqrt(sum(miss * miss for miss in misses) / len(misses))


def _rounded(point: Point, digits: int) -> Point:
    return round(point[0], digits), round(point[1], digits)


def laid_in(readings: Iterable[AnyReading], dev: str) -> list[Point]:
    """Return where one die after another was laid, in a recording's order, as the camera reported it (mm)."""
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
class LayAt:
    """One die laid at a named place: the place that was named."""

    dev: str
    name: str
    place: Point
    sensor: str = "die_rest"
    rests: dict[int, DieRest] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """The word that the lamp `test` shows."""
        return f"put_{self.place[0]:g}_{self.place[1]:g}"

    @property
    def ask(self) -> str:
        """What the technician is asked to do."""
        x, y = self.place
        return f"{self.name}: lay one die at x {x:g}, y {y:g} mm, no other on the table, hands away"

    def receive(self, reading: AnyReading) -> None:
        """Handle the die's place of rest; once it is moved, its new place."""
        if reading.dev != self.dev:
            return
        match reading:
            case DieRest():
                self.rests[reading.die] = reading
            case DieAt() | DieLost():
                self.rests.pop(reading.die, None)
            case _:
                pass

    def enough(self, quiet_s: float) -> bool:
        """Return whether one die rests and nothing has moved since."""
        return len(self.rests) == 1 and quiet_s > LIES_S

    def findings(self) -> Sequence[SensorFinding]:
        """Return where the camera sees the die so far."""
        if len(self.rests) != 1:
            return [unseen(self.name, f"one die at rest (found {len(self.rests)})")]
        rest = next(iter(self.rests.values()))
        return [judged(self.name, f"seen at {rest.x:.1f}, {rest.y:.1f} mm so far", x_mm=rest.x, y_mm=rest.y)]


MIN_THROWS = 5
MIN_MARGIN = 2.5
"""The weakest die must be this many times as loud as the loudest noise, or no threshold separates them."""
LISTEN_S = 3.0
"""The room counts as quiet after this long without a sound."""
AWAY_MM = 300.0
"""Without a die within this distance of the wall, a sound was not a die's."""
SAFETY = 0.5
"""At most this share of the weakest die: dice in play land softer than the few thrown here."""
_UNHEARD = 0.25
"""The share of the weakest die that the room is assumed to stay below if it was not heard."""


@dataclass(slots=True)
class Listen:
    """The impacts at a wall's sensor for a while, in quiet or while a person knocks."""

    dev: str
    wall: Wall
    word: str
    ask: str
    most: int | None = None
    """Stop after this many impacts; None: listen in silence until the time is over."""
    sensor: str = "wall_impact"
    peaks: list[float] = field(default_factory=list)

    def receive(self, reading: AnyReading) -> None:
        """Handle this wall's impacts."""
        if isinstance(reading, WallImpact) and reading.dev == self.dev and reading.wall == self.wall:
            self.peaks.append(reading.peak)

    def enough(self, quiet_s: float) -> bool:
        """Return whether as many came as asked for, or it was quiet for long."""
        return quiet_s > LISTEN_S if self.most is None else len(self.peaks) >= self.most

    def findings(self) -> Sequence[SensorFinding]:
        """Return the impacts."""
        return [judged(self.sensor, _line("heard", self.peaks), heard=len(self.peaks))]


def sorted_out(
    readings: Sequence[AnyReading], dev: str, wall: Wall, table: DiceTable, ringing_us: int
) -> tuple[list[float], list[float]]:
    """Return the peaks of dice and those of the room, separated by the tracks; ringing is left out."""
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
        while at < len(track) and track[at].t < impact.t - NEAR_US:
            at += 1
        near: list[float] = []
        for point in track[at:]:
            if point.t > impact.t + NEAR_US:
                break
            near.append(distance_mm(wall, table, point.x, point.y))
        if near and min(near) <= REACH_MM:
            dice.append(impact.peak)
        elif not near or min(near) > AWAY_MM:
            room.append(impact.peak)
    return dice, room


def calibrate_wall(
    at: KeyPath,
    dice: Sequence[float],
    noise: Sequence[float],
    knocks: Sequence[float],
    before: float,
) -> Calibrated:
    """Choose the threshold between the loudest noise and the weakest die, for this place in the table's file.

    `before` is the threshold so far: noise below it is unreported. Knocks on the rail are as loud as dice and
    are told apart by the track: they are reported, and have no say.

    Raises:
        UnfitError: too few throws, or noise as loud as dice.
    """
    if len(dice) < MIN_THROWS:
        raise UnfitError(f"found {len(dice)} throws heard, expected at least {MIN_THROWS}: throw more")
    weakest, loudest = min(dice), max(noise, default=before)
    if loudest * MIN_MARGIN > weakest:
        raise UnfitError(
            f"found noise of peak {loudest:g} and a die of peak {weakest:g}, expected the die"
            f" {MIN_MARGIN:g} times as loud: remount the sensor, or find what makes the noise"
        )
    between = sqrt(loudest * weakest) if loudest else _UNHEARD * weakest
    threshold = round(min(between, SAFETY * weakest), 1)
    above = weakest / threshold
    below = threshold / loudest if loudest else None
    report = [_line("dice", dice), _line("noise", noise), _line("knocks", knocks)]
    report.append(
        f"threshold {threshold:g}: the weakest die is {above:.1f} times as loud"
        + ("" if below is None else f", the loudest noise {below:.1f} times weaker")
    )
    passing = sum(peak >= threshold for peak in knocks)
    if passing:
        report.append(f"{passing} of {len(knocks)} knocks are above it: the dice's tracks tell these apart")
    figures: Mapping[str, object] = {
        "threshold": threshold,
        "dice": sorted(dice),
        "noise": sorted(noise),
        "knocks": sorted(knocks),
        "margin_to_dice": round(above, 2),
        "margin_to_noise": None if below is None else round(below, 2),
    }
    return Calibrated(values={at: threshold}, report=tuple(report), figures=figures)


def _line(what: str, peaks: Sequence[float]) -> str:
    if not peaks:
        return f"{what:<7} none heard"
    low, middle, high = min(peaks), median(peaks), max(peaks)
    return f"{what:<7} {len(peaks):>3} heard: weakest {low:g}, median {middle:g}, loudest {high:g}"
