"""The curve of a ball that slows down on the rim, and its fit to what was seen.

A ball on the rim loses speed to friction, evenly, and to the air, with the square of its speed
(deceleration = friction + drag x speed^2; the terms of Small and Tse 2012 and of Thorp). Speeds are rev/s,
times seconds before the end of the run, places turns before it.
"""

from collections.abc import Callable, Sequence
from math import atan, cos, log, sqrt, tan
from typing import NamedTuple

_STEEPEST = 1.5
_STEP = 1e-4
_PER_STEP, _PER_STEP2 = 1e4, 1e8


class Curve(NamedTuple):
    """`speed` at the end of the run, and the two terms that slowed the ball down to it."""

    speed: float
    friction: float
    drag: float

    def turns_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the turns from then to the end."""
        _, start, rate = self.swing()
        whole, inverse = log(cos(start)), 1.0 / self.drag
        if _is_steep(start, rate, seconds):
            return [(whole - log(cos(angle))) * inverse for angle in _held(start, rate, seconds)]
        return [(whole - log(cos(start + rate * s))) * inverse for s in seconds]

    def speeds_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the speed then."""
        scale, start, rate = self.swing()
        if _is_steep(start, rate, seconds):
            return [tan(angle) / scale for angle in _held(start, rate, seconds)]
        return [tan(start + rate * s) / scale for s in seconds]

    def swing(self) -> tuple[float, float, float]:
        """Give its scale, and the angle and the rate by which the tangent tells its speeds before the end."""
        speed, friction, drag = self
        scale = sqrt(drag / friction)
        return scale, atan(scale * speed), sqrt(friction * drag)

    def deceleration(self) -> float:
        """Give the speed lost a second at the end."""
        return self.friction + self.drag * self.speed * self.speed


class Expected(NamedTuple):
    """What is known of the curve before it is seen: its likely values, and one standard deviation of each."""

    curve: Curve
    spread: Curve


Moved = list[tuple[float, float, float, float]]
"""What a curve gives, and by how much a small step of its speed, friction and drag moves that."""
Model = Callable[[Curve, Sequence[float]], Moved]
"""That for each of these times: `turns_moved` or `speeds_moved`."""


class Points(NamedTuple):
    """What was seen of a curve: at these seconds before the end these values, each with its weight.

    The weights are one over the values' variances. With `shifted` all values may be off by one and the same
    amount, which is not known.
    """

    model: Model
    seconds: Sequence[float]
    values: Sequence[float]
    weights: Sequence[float]
    shifted: bool = False


def turns_moved(curve: Curve, seconds: Sequence[float]) -> Moved:
    """Give `turns_before`, and by how much a step of each value moves it."""
    curves = _stepped(curve)
    swings = [each.swing() for each in curves]
    if _may_be_steep(swings, seconds):
        return _moved([each.turns_before(seconds) for each in curves])
    (_, a, w), (_, a1, w1), (_, a2, w2), (_, a3, w3) = swings
    b, b1, b2, b3 = log(cos(a)), log(cos(a1)), log(cos(a2)), log(cos(a3))
    per, per3 = 1.0 / curve.drag, 1.0 / curves[3].drag
    return [
        (
            (at := (b - log(cos(a + w * s))) * per),
            (b1 - log(cos(a1 + w1 * s))) * per - at,
            (b2 - log(cos(a2 + w2 * s))) * per - at,
            (b3 - log(cos(a3 + w3 * s))) * per3 - at,
        )
        for s in seconds
    ]


def speeds_moved(curve: Curve, seconds: Sequence[float]) -> Moved:
    """Give `speeds_before`, and by how much a step of each value moves it."""
    curves = _stepped(curve)
    swings = [each.swing() for each in curves]
    if _may_be_steep(swings, seconds):
        return _moved([each.speeds_before(seconds) for each in curves])
    (k, a, w), (k1, a1, w1), (k2, a2, w2), (k3, a3, w3) = swings
    return [
        (
            (at := tan(a + w * s) / k),
            tan(a1 + w1 * s) / k1 - at,
            tan(a2 + w2 * s) / k2 - at,
            tan(a3 + w3 * s) / k3 - at,
        )
        for s in seconds
    ]


def _stepped(curve: Curve) -> tuple[Curve, Curve, Curve, Curve]:
    speed, friction, drag = curve
    return (
        curve,
        Curve(speed + _STEP, friction, drag),
        Curve(speed, friction + _STEP, drag),
        Curve(speed, friction, drag + _STEP),
    )


def _may_be_steep(swings: Sequence[tuple[float, float, float]], seconds: Sequence[float]) -> bool:
    _, start, rate = map(max, zip(*swings, strict=True))
    return _is_steep(start, rate, seconds)


def _moved(given: Sequence[Sequence[float]]) -> Moved:
    return [(at, one - at, two - at, three - at) for at, one, two, three in zip(*given, strict=True)]


def improve(curve: Curve, expected: Expected, points: Points) -> Curve:
    """Fit by one step of Gauss-Newton, to the points and to what is expected."""
    moved = points.model(curve, points.seconds)
    return _clamped(curve, _solve(moved, points, curve, expected))


def _means(moved: Moved, weights: Sequence[float]) -> tuple[float, float, float]:
    one = two = three = 0.0
    for (_, by_one, by_two, by_three), weight in zip(moved, weights, strict=True):
        one += weight * by_one
        two += weight * by_two
        three += weight * by_three
    whole = sum(weights)
    return one / whole, two / whole, three / whole


def _solve(moved: Moved, points: Points, curve: Curve, expected: Expected) -> tuple[float, float, float]:
    """Solve the normal equations (Cramer); the expectations keep the determinant from zero.

    Of values that may all be off by the same amount, only how they differ from their mean tells.
    """
    a = b = c = d = e = f = p = q = r = 0.0
    mean_one, mean_two, mean_three = _means(moved, points.weights) if points.shifted else (0.0, 0.0, 0.0)
    for (at, one, two, three), value, weight in zip(moved, points.values, points.weights, strict=True):
        off = at - value
        by_one = weight * one - mean_one * weight
        by_two = weight * two - mean_two * weight
        by_three = weight * three - mean_three * weight
        a += by_one * one
        b += by_one * two
        c += by_one * three
        d += by_two * two
        e += by_two * three
        f += by_three * three
        p += by_one * off
        q += by_two * off
        r += by_three * off
    likely, (s, t, u) = expected
    a = a * _PER_STEP2 + 1.0 / (s * s)
    b *= _PER_STEP2
    c *= _PER_STEP2
    d = d * _PER_STEP2 + 1.0 / (t * t)
    e *= _PER_STEP2
    f = f * _PER_STEP2 + 1.0 / (u * u)
    p = p * _PER_STEP + (curve.speed - likely.speed) / (s * s)
    q = q * _PER_STEP + (curve.friction - likely.friction) / (t * t)
    r = r * _PER_STEP + (curve.drag - likely.drag) / (u * u)
    df_ee, ce_bf, be_cd = d * f - e * e, c * e - b * f, b * e - c * d
    af_cc, bc_ae, ad_bb = a * f - c * c, b * c - a * e, a * d - b * b
    determinant = a * df_ee + b * ce_bf + c * be_cd
    return (
        -(p * df_ee + q * ce_bf + r * be_cd) / determinant,
        -(p * ce_bf + q * af_cc + r * bc_ae) / determinant,
        -(p * be_cd + q * bc_ae + r * ad_bb) / determinant,
    )


def _clamped(curve: Curve, move: tuple[float, float, float]) -> Curve:
    moved = Curve(curve.speed + move[0], curve.friction + move[1], curve.drag + move[2])
    if (
        _LEAST.speed <= moved.speed <= _MOST.speed
        and _LEAST.friction <= moved.friction <= _MOST.friction
        and _LEAST.drag <= moved.drag <= _MOST.drag
    ):
        return moved
    return Curve(
        min(max(moved.speed, _LEAST.speed), _MOST.speed),
        min(max(moved.friction, _LEAST.friction), _MOST.friction),
        min(max(moved.drag, _LEAST.drag), _MOST.drag),
    )


_LEAST, _MOST = Curve(0.05, 0.003, 0.0001), Curve(3.0, 0.4, 0.2)


def _is_steep(start: float, rate: float, seconds: Sequence[float]) -> bool:
    return start + rate * max(seconds, default=0.0) > _STEEPEST


def _held(start: float, rate: float, seconds: Sequence[float]) -> list[float]:
    return [min(start + rate * s, _STEEPEST) for s in seconds]
