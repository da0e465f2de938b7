"""The homography from a camera's image to the table's plane, fitted to pairs of points by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import Protocol, runtime_checkable

Point = tuple[float, float]
Pair = tuple[Point, Point]
"""A point in the image, and the same point on the table in mm."""
Matrix = tuple[tuple[float, float, float], ...]

MIN_PAIRS = 4
DEFAULT_MAX_ERROR_MM = 10.0
"""The default maximum error at the points of a calibration."""
_SINGULAR = 1e-9
_VALUES_PER_ROW = 4


@runtime_checkable
class CalibratedSettings(Protocol):
    """The settings of a camera whose pixel positions are mapped to positions on the felt."""

    @property
    def calibration(self) -> tuple[tuple[float, ...], ...]:
        """One row per point: image x, y and table x, y in mm. Empty if the camera reports mm."""
        ...

    @property
    def error_mm(self) -> float:
        """The maximum error, in mm, of the calibration at any of its points."""
        ...


class CalibrationError(ValueError):
    """The pairs of points do not determine a homography, or contradict each other."""


@dataclass(frozen=True, slots=True)
class Homography:
    """A 3x3 matrix that maps image points to the table, and its maximum error, in mm, at the fitted pairs."""

    matrix: Matrix
    error_mm: float

    def to_table(self, x: float, y: float) -> Point | None:
        """Return the position on the table, in mm; None for a point on or beyond the horizon."""
        return _apply(self.matrix, (x, y))

    def to_image(self, x_mm: float, y_mm: float) -> Point | None:
        """Return the image position of a point on the table; None if the camera can't see the point."""
        return _apply(_inverse(self.matrix), (x_mm, y_mm))

    def errors_mm(self, pairs: Sequence[Pair]) -> list[float]:
        """Return, for each pair, the distance in mm between the mapped image point and the table point."""
        return [_distance(self.to_table(*seen), place) for seen, place in pairs]


def fit(pairs: Sequence[Pair]) -> Homography:
    """Return the homography that best fits four or more pairs.

    Raises:
        CalibrationError: there are fewer than four pairs, the points are on one line, or the plane's horizon
            runs between them.
    """
    if len(pairs) < MIN_PAIRS:
        raise CalibrationError(f"found {len(pairs)} pairs of points, expected at least {MIN_PAIRS}")
    image, table = _Scale.of([a for a, _ in pairs]), _Scale.of([b for _, b in pairs])
    rows, values = [], []
    for (u, v), (x, y) in ((image.to_unit(a), table.to_unit(b)) for a, b in pairs):
        rows += [[u, v, 1.0, 0.0, 0.0, 0.0, -u * x, -v * x], [0.0, 0.0, 0.0, u, v, 1.0, -u * y, -v * y]]
        values += [x, y]
    h = (*least_squares(rows, values), 1.0)
    unit: Matrix = (h[0:3], h[3:6], h[6:9])  # type: ignore[assignment]  # nine numbers make three rows of three
    matrix = _product(table.from_unit, _product(unit, image.into_unit))
    depths = [matrix[2][0] * u + matrix[2][1] * v + matrix[2][2] for (u, v), _ in pairs]
    if min(depths) <= 0.0 <= max(depths):
        raise CalibrationError(
            "found points on both sides of the horizon, expected all below it; check the order of the points"
        )
    if depths[0] < 0.0:
        matrix = tuple((-a, -b, -c) for a, b, c in matrix)
    found = Homography(matrix, 0.0)
    return replace(found, error_mm=max(found.errors_mm(pairs)))


def fit_rows(rows: Sequence[Sequence[float]], error_mm: float) -> Homography:
    """Return the homography for a table file's calibration rows (image x and y, table x and y).

    Raises:
        ValueError: a row does not have four values, the points determine no homography (CalibrationError), or
            the error of the fit is larger than `error_mm`.
    """
    for row in rows:
        if len(row) != _VALUES_PER_ROW:
            found = f"a row of {len(row)} values"
            raise ValueError(f"calibration: found {found}, expected four: image x, y and table x, y")
    plane = fit([((u, v), (x, y)) for u, v, x, y in rows])
    if plane.error_mm > error_mm:
        found = f"image points that miss their table points by up to {plane.error_mm:.1f} mm"
        raise ValueError(
            f"calibration: found {found}, expected at most {error_mm:g} mm; check the order of the points"
        )
    return plane


@dataclass(frozen=True, slots=True)
class _Scale:
    """Scales points to zero mean and a mean radius of sqrt(2), for well-conditioned equations."""

    x: float
    y: float
    size: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> "_Scale":
        x = sum(x for x, _ in points) / len(points)
        y = sum(y for _, y in points) / len(points)
        size = sum(hypot(px - x, py - y) for px, py in points) / len(points) / sqrt(2)
        if size <= 0.0:
            raise CalibrationError("found only one point, expected points spread over the whole table")
        return cls(x, y, size)

    def to_unit(self, point: Point) -> Point:
        return (point[0] - self.x) / self.size, (point[1] - self.y) / self.size

    @property
    def into_unit(self) -> Matrix:
        s = 1.0 / self.size
        return ((s, 0.0, -self.x * s), (0.0, s, -self.y * s), (0.0, 0.0, 1.0))

    @property
    def from_unit(self) -> Matrix:
        return ((self.size, 0.0, self.x), (0.0, self.size, self.y), (0.0, 0.0, 1.0))


def least_squares(rows: Sequence[Sequence[float]], values: Sequence[float]) -> tuple[float, ...]:
    """Return the least-squares solution of rows * x = values.

    The normal equations are solved by Gaussian elimination with partial pivoting.

    Raises:
        CalibrationError: the equations are singular.
    """
    n = len(rows[0])
    system = [
        [sum(row[i] * row[j] for row in rows) for j in range(n)]
        + [sum(row[i] * value for row, value in zip(rows, values, strict=True))]
        for i in range(n)
    ]
    for column in range(n):
        pivot = max(range(column, n), key=lambda row: abs(system[row][column]))
        if abs(system[pivot][column]) < _SINGULAR:
            raise CalibrationError("found points on one line, expected points spread over the whole table")
        system[column], system[pivot] = system[pivot], system[column]
        for row in range(n):
            if row != column:
                factor = system[row][column] / system[column][column]
                system[row] = [a - factor * b for a, b in zip(system[row], system[column], strict=True)]
    return tuple(system[i][n] / system[i][i] for i in range(n))


def _apply(matrix: Matrix, point: Point) -> Point | None:
    x, y, w = (row[0] * point[0] + row[1] * point[1] + row[2] for row in matrix)
    return (x / w, y / w) if w > 0.0 else None


def _inverse(m: Matrix) -> Matrix:
    """Return the inverse up to a positive factor, which keeps visible points in front of the camera."""
    (a, b, c), (d, e, f), (g, h, i) = m
    adjugate: Matrix = (
        (e * i - f * h, c * h - b * i, b * f - c * e),
        (f * g - d * i, a * i - c * g, c * d - a * f),
        (d * h - e * g, b * g - a * h, a * e - b * d),
    )
    determinant = a * adjugate[0][0] + b * adjugate[1][0] + c * adjugate[2][0]
    return adjugate if determinant > 0.0 else tuple((-x, -y, -z) for x, y, z in adjugate)


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = tuple(zip(*right, strict=True))
    return tuple((_dot(row, columns[0]), _dot(row, columns[1]), _dot(row, columns[2])) for row in left)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _distance(found: Point | None, place: Point) -> float:
    return float("inf") if found is None else hypot(found[0] - place[0], found[1] - place[1])
