"""The curve of a ball that slows down on the rim, and its fit to what was seen.

A ball on the rim loses speed to friction, evenly, and to the air, with the square of its speed
(deceleration = friction + drag x speed^2; the terms of Small and Tse 2012 and of Thorp). Speeds are rev/s,
times seconds before the end of the run, places turns before it.
"""

from collections.abc import Callable, Sequence
from math import atan, cos, log, sqrt, tan
from typing import NamedTuple

_STEEPEST = 1.5


class Curve(NamedTuple):
    """`speed` at the end of the run, and the two terms that slowed the ball down to it."""

    speed: float
    friction: float
    drag: float

    def turns_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the turns from then to the end."""
        _, start, rate = self.swing()
        whole, inverse = log(cos(start)), 1.0 / self.drag
        return [(whole - log(cos(start + rate * s))) * inverse for s in _held(start, rate, seconds)]

    def speeds_before(self, seconds: Sequence[float]) -> list[float]:
        """Give, for each time before the end, the speed then."""
        scale, start, rate = self.swing()
        return [tan(start + rate * s) / scale for s in _held(start, rate, seconds)]

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
"""What a curve gives, and its derivatives by the curve's speed, friction and drag."""
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
    """Give `turns_before` and its derivatives."""
    speed, friction, drag = curve
    scale, start, rate = curve.swing()
    at_end = scale * speed
    by_start = scale / (1.0 + at_end * at_end)
    whole, inverse = log(cos(start)), 1.0 / drag
    per_friction, per_drag = 0.5 / friction, 0.5 / drag
    moved = []
    for s in _held(start, rate, seconds):
        angle = start + rate * s
        slope = tan(angle)
        turns = (whole - log(cos(angle))) * inverse
        by_speed = (slope - at_end) * inverse * by_start
        by_rate, by_scale = rate * s * slope * inverse, speed * by_speed
        by_drag = (by_rate + by_scale - 2.0 * turns) * per_drag
        moved.append((turns, by_speed, (by_rate - by_scale) * per_friction, by_drag))
    return moved


def speeds_moved(curve: Curve, seconds: Sequence[float]) -> Moved:
    """Give `speeds_before` and its derivatives."""
    speed, friction, drag = curve
    scale, start, rate = curve.swing()
    by_start = 1.0 / (1.0 + (scale * speed) ** 2)
    inverse = 1.0 / scale
    per_friction, per_drag = 0.5 / friction, 0.5 / drag
    moved = []
    for s in _held(start, rate, seconds):
        slope = tan(start + rate * s)
        then, steepness = slope * inverse, 1.0 + slope * slope
        by_speed = steepness * by_start
        by_rate, by_scale = rate * s * steepness * inverse, speed * by_speed - then
        by_friction, by_drag = (by_rate - by_scale) * per_friction, (by_rate + by_scale) * per_drag
        moved.append((then, by_speed, by_friction, by_drag))
    return moved


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
    a += 1.0 / (s * s)
    d += 1.0 / (t * t)
    f += 1.0 / (u * u)
    p += (curve.speed - likely.speed) / (s * s)
    q += (curve.friction - likely.friction) / (t * t)
    r += (curve.drag - likely.drag) / (u * u)
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


def _held(start: float, rate: float, seconds: Sequence[float]) -> Sequence[float]:
    """Hold the seconds to those at which the tangent is not yet too steep to tell anything."""
    if start + rate * max(seconds, default=0.0) <= _STEEPEST:
        return seconds
    longest = (_STEEPEST - start) / rate
    return [min(s, longest) for s in seconds]
