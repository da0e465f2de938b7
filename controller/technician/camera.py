"""A camera above a dice table: its image's plane from dice laid at named places of the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import dist, sqrt

from controller.model.geometry import DiceTable
from controller.model.readings import AnyReading, DieAt, DieLost, DieRest
from controller.technician.acts import Finding, judged, unseen
from controller.technician.calibration import Calibrated, UnfitError
from drivers.cameras.homography import CalibrationError, Homography, Pair, Point, fit

LEAST_POINTS = 4
NAMES_OUTLIER_FROM = 6
"""With one point left out of five, four fit anything: none could be told to be wrong."""
RMS_LIMIT_MM = 4.0
"""Twice the error of one track point: more, and a die's place was not what was said."""
LEAST_SHARE = 0.02
"""Of the table's area: three points whose triangle is smaller lie on a line, as far as one can see."""
_PLAINLY = 3.0
LIES_S = 1.0
"""A die that was not touched for so long lies where it was meant to."""
MOVED_MM = 50.0
"""In a log, a die that rests this far from where it rested before was laid anew."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A die laid at a named place: where it is on the table (mm), and where in the image it was seen."""

    name: str
    place: Point
    seen: Point


def named_places(table: DiceTable) -> Mapping[str, Point]:
    """Give the places: a die pushed into each corner, or against a rail at half the length."""
    half = table.die_mm / 2
    ends = {"left": half, "middle": table.length_mm / 2, "right": table.length_mm - half}
    sides = {"front": half, "back": table.width_mm - half}
    return {f"{end}-{side}": (x, y) for end, x in ends.items() for side, y in sides.items()}


def calibrate_camera(
    laid: Sequence[Laid], table: DiceTable, device: str, before: Homography | None
) -> Calibrated:
    """Fit the plane by least squares.

    Raises:
        UnfitError: too few points, on a line, or one that does not fit the others, which is named.
    """
    if len(laid) < LEAST_POINTS:
        raise UnfitError(f"found {len(laid)} points, expected at least {LEAST_POINTS}: lay more dice")
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
    if len(laid) == LEAST_POINTS:
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


def _fitted(laid: Sequence[Laid]) -> tuple[Homography, list[float]]:
    pairs = [_pair(point) for point in laid]
    try:
        plane = fit(pairs)
    except CalibrationError as error:
        raise UnfitError(str(error)) from error
    return plane, plane.misses(pairs)


def _pair(point: Laid) -> Pair:
    return point.seen, point.place


def _why_off(laid: Sequence[Laid], misses: Sequence[float], rms: float) -> str:
    """Name the one point without which the others agree, where there is one."""
    said = f"found an rms of {rms:.1f} mm, expected at most {RMS_LIMIT_MM:g}"
    for number, point in enumerate(laid) if len(laid) >= NAMES_OUTLIER_FROM else ():
        others = [*laid[:number], *laid[number + 1 :]]
        try:
            plane, rest = _fitted(others)
        except UnfitError:
            continue
        own = plane.misses([_pair(point)])[0]
        if _rms(rest) <= RMS_LIMIT_MM and own > _PLAINLY * RMS_LIMIT_MM:
            return f"{said}; {point.name} is off by {own:.0f} mm from where the others put it: lay it anew"
    worst = max(range(len(laid)), key=lambda number: misses[number])
    return (
        f"{said}; the worst is {laid[worst].name} ({misses[worst]:.0f} mm), but the others do not agree"
        " without it: lay six dice or more, each exactly at its place"
    )


def _check_spread(laid: Sequence[Laid], table: DiceTable) -> None:
    least = LEAST_SHARE * table.length_mm * table.width_mm
    widest = max(
        min(_area(*corners) for corners in combinations([point.place for point in four], 3))
        for four in combinations(laid, LEAST_POINTS)
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
    """Give where one die after another was laid, in a recording's order, as the camera told it (mm)."""
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
    """One die laid at a named place: where it is said to be."""

    dev: str
    name: str
    place: Point
    sensor: str = "die_rest"
    rests: dict[int, DieRest] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """Give the lamp's word."""
        return f"put_{self.place[0]:g}_{self.place[1]:g}"

    @property
    def ask(self) -> str:
        """Say what to do."""
        x, y = self.place
        return f"{self.name}: lay one die at x {x:g}, y {y:g} mm, no other on the table, hands away"

    def hear(self, reading: AnyReading) -> None:
        """Take where it rests, anew when it is moved."""
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
        """One die rests, and nothing has moved since."""
        return len(self.rests) == 1 and quiet_s > LIES_S

    def findings(self) -> Sequence[Finding]:
        """Tell where the camera sees it so far."""
        if len(self.rests) != 1:
            return [unseen(self.name, f"one die at rest (found {len(self.rests)})")]
        rest = next(iter(self.rests.values()))
        return [judged(self.name, f"seen at {rest.x:.1f}, {rest.y:.1f} mm so far", x_mm=rest.x, y_mm=rest.y)]
