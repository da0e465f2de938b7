"""The curve of a ball that slows down on the rim, and its fit to what was seen.

A ball on the rim loses speed to friction, evenly, and to the air, with the square of its speed
(deceleration = friction + drag x speed^2; the terms of Small and Tse 2012 and of Thorp). Speeds are rev/s,
times seconds before the end of the run, places turns before it.
"""

from collections.abc import Callable, Sequence
from math import atan, cos, log, sqrt, tan
from operator import add, mul, sub
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
        rate = sqrt(friction * drag)
        start = atan(sqrt(drag / friction) * speed)
        whole, inverse = log(cos(start)), 1.0 / drag
        angles = _angles(start, rate, seconds)
        return [(whole - turned) * inverse for turned in map(log, map(cos, angles))]

    def speeds_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the speed then."""
        speed, friction, drag = self
        ratio = sqrt(drag / friction)
        angles = _angles(atan(ratio * speed), sqrt(friction * drag), seconds)
        return [steep / ratio for steep in map(tan, angles)]

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


def improve(curve: Curve, expected: Expected, points: Points, modelled: list[float] | None = None) -> Curve:
    """Fit by one step of Gauss-Newton, to the points and to what is expected.

    `modelled` is what the curve itself gives at the points, where that is known already.
    """
    model, seconds, values, weights, shifted = points
    speed, friction, drag = curve
    at = model(curve, seconds) if modelled is None else modelled
    offs = list(map(sub, at, values))
    moved = [
        list(map(sub, model(Curve(speed + _STEP, friction, drag), seconds), at)),
        list(map(sub, model(Curve(speed, friction + _STEP, drag), seconds), at)),
        list(map(sub, model(Curve(speed, friction, drag + _STEP), seconds), at)),
    ]
    weighted = [list(map(mul, weights, part)) for part in moved]
    if shifted:
        weighted = [_centred(part, weights) for part in weighted]
    return _clamped(curve, _solve(weighted, moved, offs, curve, expected))


def _centred(weighted: list[float], weights: Sequence[float]) -> list[float]:
    mean = sum(weighted) / sum(weights)
    return [part - mean * weight for part, weight in zip(weighted, weights, strict=True)]


def _solve(
    weighted: list[list[float]],
    moved: list[list[float]],
    offs: list[float],
    curve: Curve,
    expected: Expected,
) -> tuple[float, float, float]:
    """Solve the normal equations (Cramer); the expectations keep the determinant from zero.

    `moved` is by how much a step of each value moves what is modelled, `weighted` the same by the weights.
    """
    one, two, three = moved
    by_one, by_two, by_three = weighted
    likely, (s, t, u) = expected
    a = sum(map(mul, by_one, one)) * _PER_STEP2 + 1.0 / (s * s)
    b = sum(map(mul, by_one, two)) * _PER_STEP2
    c = sum(map(mul, by_one, three)) * _PER_STEP2
    d = sum(map(mul, by_two, two)) * _PER_STEP2 + 1.0 / (t * t)
    e = sum(map(mul, by_two, three)) * _PER_STEP2
    f = sum(map(mul, by_three, three)) * _PER_STEP2 + 1.0 / (u * u)
    p = sum(map(mul, by_one, offs)) * _PER_STEP + (curve.speed - likely.speed) / (s * s)
    q = sum(map(mul, by_two, offs)) * _PER_STEP + (curve.friction - likely.friction) / (t * t)
    r = sum(map(mul, by_three, offs)) * _PER_STEP + (curve.drag - likely.drag) / (u * u)
    df_ee, ce_bf, be_cd = d * f - e * e, c * e - b * f, b * e - c * d
    af_cc, bc_ae, ad_bb = a * f - c * c, b * c - a * e, a * d - b * b
    determinant = a * df_ee + b * ce_bf + c * be_cd
    return (
        -(p * df_ee + q * ce_bf + r * be_cd) / determinant,
        -(p * ce_bf + q * af_cc + r * bc_ae) / determinant,
        -(p * be_cd + q * bc_ae + r * ad_bb) / determinant,
    )


def _clamped(curve: Curve, move: tuple[float, float, float]) -> Curve:
    speed, friction, drag = map(add, curve, move)
    return Curve(
        min(max(speed, _LEAST.speed), _MOST.speed),
        min(max(friction, _LEAST.friction), _MOST.friction),
        min(max(drag, _LEAST.drag), _MOST.drag),
    )


_LEAST, _MOST = Curve(0.05, 0.003, 0.0001), Curve(3.0, 0.4, 0.2)


def _angles(start: float, rate: float, seconds: Sequence[float]) -> list[float]:
    angles = [start + rate * s for s in seconds]
    if angles and max(angles) > _STEEPEST:
        return [min(angle, _STEEPEST) for angle in angles]
    return angles
