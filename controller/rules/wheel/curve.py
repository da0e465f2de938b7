"""The curve of a ball that slows down on the rim, and its fit to what was seen.

A ball on the rim loses speed to friction, evenly, and to the air, with the square of its speed
(deceleration = friction + drag x speed^2; the terms of Small and Tse 2012 and of Thorp). Speeds are rev/s,
times seconds before the end of the run, places turns before it.
"""

from collections.abc import Callable, Sequence
from math import atan, cos, log, sqrt, tan
from operator import mul, sub
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
        speed, friction, drag = self
        start, rate = atan(sqrt(drag / friction) * speed), sqrt(friction * drag)
        whole, inverse = log(cos(start)), 1.0 / drag
        if _is_steep(start, rate, seconds):
            return [(whole - log(cos(angle))) * inverse for angle in _held(start, rate, seconds)]
        return [(whole - log(cos(start + rate * s))) * inverse for s in seconds]

    def speeds_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the speed then."""
        speed, friction, drag = self
        ratio = sqrt(drag / friction)
        start, rate = atan(ratio * speed), sqrt(friction * drag)
        if _is_steep(start, rate, seconds):
            return [tan(angle) / ratio for angle in _held(start, rate, seconds)]
        return [tan(start + rate * s) / ratio for s in seconds]

    def deceleration(self) -> float:
        """Give the speed lost a second at the end."""
        return self.friction + self.drag * self.speed * self.speed


class Expected(NamedTuple):
    """What is known of the curve before it is seen: its likely values, and one standard deviation of each."""

    curve: Curve
    spread: Curve


Model = Callable[[Curve, Sequence[float]], list[float]]
"""What a curve gives at each of these times: `Curve.turns_before` or `Curve.speeds_before`."""


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


_Moved = tuple[list[float], list[float], list[float]]


def improve(curve: Curve, expected: Expected, points: Points, modelled: list[float] | None = None) -> Curve:
    """Fit by one step of Gauss-Newton, to the points and to what is expected.

    `modelled` is what the curve itself gives at the points, where that is known already.
    """
    model, seconds, values = points.model, points.seconds, points.values
    speed, friction, drag = curve
    at = model(curve, seconds) if modelled is None else modelled
    offs = list(map(sub, at, values))
    moved = (
        list(map(sub, model(Curve(speed + _STEP, friction, drag), seconds), at)),
        list(map(sub, model(Curve(speed, friction + _STEP, drag), seconds), at)),
        list(map(sub, model(Curve(speed, friction, drag + _STEP), seconds), at)),
    )
    return _clamped(curve, _solve(moved, offs, points, curve, expected))


def _means(moved: _Moved, weights: Sequence[float]) -> tuple[float, float, float]:
    whole = sum(weights)
    one, two, three = moved
    return (
        sum(map(mul, weights, one)) / whole,
        sum(map(mul, weights, two)) / whole,
        sum(map(mul, weights, three)) / whole,
    )


def _solve(
    moved: _Moved,
    offs: list[float],
    points: Points,
    curve: Curve,
    expected: Expected,
) -> tuple[float, float, float]:
    """Solve the normal equations (Cramer); the expectations keep the determinant from zero.

    `moved` is by how much a step of each value moves what is modelled; of values that may all be off by the
    same amount, only how that differs from its mean tells.
    """
    a = b = c = d = e = f = p = q = r = 0.0
    mean_one, mean_two, mean_three = _means(moved, points.weights) if points.shifted else (0.0, 0.0, 0.0)
    for one, two, three, off, weight in zip(*moved, offs, points.weights, strict=True):
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
