"""The curve of a ball that slows down on the rim, and its fit to what was seen.

A ball on the rim loses speed to friction, evenly, and to the air, with the square of its speed
(deceleration = friction + drag x speed^2; the terms of Small and Tse 2012 and of Thorp). Speeds are rev/s,
times seconds before the end of the run, places turns before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan, cos, log, sqrt, tan

_STEEPEST = 1.5
_STEPS = (1e-4, 1e-4, 1e-4)
_LEAST = (0.05, 0.003, 0.0001)
_MOST = (3.0, 0.4, 0.2)

Residuals = Callable[["Curve"], list[float]]


@dataclass(frozen=True, slots=True)
class Curve:
    """`speed` at the end of the run, and the two terms that slowed the ball down to it."""

    speed: float
    friction: float
    drag: float

    def turns_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the turns from then to the end."""
        rate = sqrt(self.friction * self.drag)
        start = atan(sqrt(self.drag / self.friction) * self.speed)
        whole, inverse = log(cos(start)), 1.0 / self.drag
        longest = (_STEEPEST - start) / rate
        if seconds and max(seconds) > longest:
            seconds = [min(s, longest) for s in seconds]
        return [(whole - log(cos(start + rate * s))) * inverse for s in seconds]

    def speeds_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the speed then."""
        ratio = sqrt(self.drag / self.friction)
        rate = sqrt(self.friction * self.drag)
        start = atan(ratio * self.speed)
        longest = (_STEEPEST - start) / rate
        return [tan(start + rate * min(s, longest)) / ratio for s in seconds]

    def deceleration(self) -> float:
        """Give the speed lost a second at the end."""
        return self.friction + self.drag * self.speed * self.speed


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of the curve before it is seen: its likely values, and one standard deviation of each."""

    curve: Curve
    spread: Curve


def improve(curve: Curve, expected: Expected, residuals: Residuals, rounds: int) -> Curve:
    """Fit by Gauss-Newton; `residuals` count in standard deviations, as does leaving what is expected."""
    for _ in range(rounds):
        base = residuals(curve)
        slopes = [
            [
                (moved - still) / step
                for moved, still in zip(residuals(_nudged(curve, i, step)), base, strict=True)
            ]
            for i, step in enumerate(_STEPS)
        ]
        curve = _clamped(curve, _solve(*_normal_equations(curve, expected, base, slopes)))
    return curve


def _normal_equations(
    curve: Curve, expected: Expected, base: list[float], slopes: list[list[float]]
) -> tuple[list[list[float]], list[float]]:
    matrix = [[sum(map(float.__mul__, slopes[i], slopes[j])) for j in range(3)] for i in range(3)]
    right = [-sum(map(float.__mul__, slopes[i], base)) for i in range(3)]
    values, means = _values(curve), _values(expected.curve)
    for i, spread in enumerate(_values(expected.spread)):
        weight = 1.0 / (spread * spread)
        matrix[i][i] += weight
        right[i] -= (values[i] - means[i]) * weight
    return matrix, right


def _solve(matrix: list[list[float]], right: list[float]) -> tuple[float, float, float]:
    """Solve three linear equations (Cramer); the expectations keep the determinant from zero."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    p, q, r = right
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    x = p * (e * i - f * h) - b * (q * i - f * r) + c * (q * h - e * r)
    y = a * (q * i - f * r) - p * (d * i - f * g) + c * (d * r - q * g)
    z = a * (e * r - q * h) - b * (d * r - q * g) + p * (d * h - e * g)
    return x / determinant, y / determinant, z / determinant


def _nudged(curve: Curve, which: int, step: float) -> Curve:
    values = list(_values(curve))
    values[which] += step
    return Curve(*values)


def _values(curve: Curve) -> tuple[float, float, float]:
    return curve.speed, curve.friction, curve.drag


def _clamped(curve: Curve, move: tuple[float, float, float]) -> Curve:
    moved = [value + step for value, step in zip(_values(curve), move, strict=True)]
    return Curve(*(min(max(v, low), high) for v, low, high in zip(moved, _LEAST, _MOST, strict=True)))
