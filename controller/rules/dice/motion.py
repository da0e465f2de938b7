"""A die's motion along one line: smooth curves through track points, and where two of them meet.

Times are milliseconds, lengths millimetres, speeds millimetres per millisecond (which is metres per second).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

Sample = tuple[float, float]
"""Time and place along one line."""

SLOWING = 0.002
"""What felt takes from a die's speed, in mm/ms per ms: 2 m/s2, the middle of what throws show."""
SLOWING_SD = 0.0025
"""Its spread: a die in the air hardly slows, a rolling one loses up to 5 m/s2."""
WIDTHS = (8, 5, 3)
"""Points on each side of a turn that the curves are drawn through: fewer where the motion soon changes."""
RIVAL = 9.0
"""How much worse, in squared standard deviations, another reading of a turn may fit and still be possible."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A parabola around `origin`: `place + speed * s + half_bend * s * s`, with its covariance."""

    origin: float
    place: float
    speed: float
    half_bend: float
    cov: tuple[float, float, float, float, float, float]
    """Upper triangle, row by row, of place, speed and bend."""
    misfit: float
    """Sum of squared errors over the points, each in standard deviations."""
    points: int

    def at(self, t: float) -> float:
        """Give the place at this time."""
        s = t - self.origin
        return self.place + s * (self.speed + s * self.half_bend)

    def speed_at(self, t: float) -> float:
        """Give the speed at this time."""
        return self.speed + 2.0 * (t - self.origin) * self.half_bend

    def variance_at(self, t: float) -> float:
        """Give the variance of the place at this time."""
        s = t - self.origin
        pp, pv, pb, vv, vb, bb = self.cov
        return max(pp + s * (2.0 * pv + s * (2.0 * pb + vv + s * (2.0 * vb + s * bb))), 0.0)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the way in meets the way out: the time, the place, and the errors of both."""

    t: float
    place: float
    t_sd: float
    place_sd: float
    speed_in: float
    speed_out: float
    misfit: float
    """Sum of squared errors of the points around it, in standard deviations."""


def curve(samples: Sequence[Sample], noise: float, *, slowing: bool = True) -> Curve | None:
    """Draw the best parabola through samples of one motion; None when they don't make one.

    With `slowing` the bend is held near what felt does to a die moving that way, so that a few points are
    enough and extrapolation stays sane.
    """
    n = len(samples)
    if n < 2:
        return None
    origin = _origin(samples)
    s1 = s2 = s3 = s4 = y0 = y1 = y2 = 0.0
    for t, x in samples:
        s = t - origin
        ss = s * s
        s1 += s
        s2 += ss
        s3 += ss * s
        s4 += ss * ss
        y0 += x
        y1 += x * s
        y2 += x * ss
    first, last = samples[0], samples[-1]
    span = last[0] - first[0]
    if span == 0.0:
        return None
    pull = bend = 0.0
    if slowing:
        drift = (last[1] - first[1]) / span
        pull = (noise / (SLOWING_SD / 2.0)) * (noise / (SLOWING_SD / 2.0))
        # a die that hardly moves is as likely to bend either way
        toward = min(max(drift / 0.1, -1.0), 1.0)
        bend = -toward * SLOWING / 2.0
    powers = (float(n), s1, s2, s3, s4 + pull)
    return _solved(samples, noise, powers, (y0, y1, y2 + pull * bend), (bend, pull))


def _origin(samples: Sequence[Sample]) -> float:
    return max(samples[0][0], samples[-1][0])


def _solved(
    samples: Sequence[Sample],
    noise: float,
    powers: tuple[float, ...],
    sums: tuple[float, ...],
    usual: tuple[float, float],
) -> Curve | None:
    n, s1, s2, s3, s4 = powers
    y0, y1, y2 = sums
    usual_bend, pull = usual
    origin = _origin(samples)
    c00 = s2 * s4 - s3 * s3
    c01 = s2 * s3 - s1 * s4
    c02 = s1 * s3 - s2 * s2
    det = n * c00 + s1 * c01 + s2 * c02
    if not det > 1e-9:
        return None
    c11 = n * s4 - s2 * s2
    c12 = s1 * s2 - n * s3
    c22 = n * s2 - s1 * s1
    place = (c00 * y0 + c01 * y1 + c02 * y2) / det
    speed = (c01 * y0 + c11 * y1 + c12 * y2) / det
    half_bend = (c02 * y0 + c12 * y1 + c22 * y2) / det
    scale = noise * noise / det
    misfit = pull * (half_bend - usual_bend) * (half_bend - usual_bend)
    for t, x in samples:
        s = t - origin
        error = x - place - s * (speed + s * half_bend)
        misfit += error * error
    cov = (c00 * scale, c01 * scale, c02 * scale, c11 * scale, c12 * scale, c22 * scale)
    return Curve(origin, place, speed, half_bend, cov, misfit / (noise * noise), len(samples))


def turns_near(samples: Sequence[Sample], first: int, last: int, noise: float) -> list[Turn]:
    """Find where the motion turned, if it did so after one of the samples `first` to `last`.

    All readings of the same points that fit about as well as the best one, the best first: a point beside
    the turn may belong to the way in or to the way out.
    """
    for width in WIDTHS:
        lowest = max(first - width + 1, 0)
        highest = min(last + width + 1, len(samples))
        found = []
        for k in range(max(first, lowest + 1), min(last + 1, highest - 2)):
            turn = _turn_after(samples, lowest, k, highest, noise)
            if turn is not None:
                found.append(turn)
        if found:
            found.sort(key=_misfit)
            best = found[0].misfit
            points = highest - lowest
            if best <= points + 3.5 * sqrt(2.0 * points) or width == WIDTHS[-1]:
                return [turn for turn in found if turn.misfit <= best + RIVAL]
    return []


def _misfit(turn: Turn) -> float:
    return turn.misfit


def _turn_after(samples: Sequence[Sample], lowest: int, k: int, highest: int, noise: float) -> Turn | None:
    before = curve(samples[lowest : k + 1][::-1], noise)
    after = curve(samples[k + 1 : highest], noise)
    if before is None or after is None:
        return None
    earliest, latest = samples[k][0], samples[k + 1][0]
    t = _meeting(before, after, earliest, latest)
    speed_in = before.speed_at(t)
    speed_out = after.speed_at(t)
    closing = speed_out - speed_in
    if not closing > 0.05:
        return None
    var_in = before.variance_at(t)
    var_out = after.variance_at(t)
    place = (speed_out * before.at(t) - speed_in * after.at(t)) / closing
    spread = speed_in * speed_in * var_out + speed_out * speed_out * var_in
    t_sd = sqrt(var_in + var_out) / closing
    outside = max(earliest - t, t - latest, 0.0) / (t_sd + 0.1)
    return Turn(
        t=t,
        place=place,
        t_sd=t_sd,
        place_sd=sqrt(spread) / closing,
        speed_in=speed_in,
        speed_out=speed_out,
        misfit=before.misfit + after.misfit + outside * outside,
    )


def _meeting(before: Curve, after: Curve, earliest: float, latest: float) -> float:
    """Find the time at which both curves are in one place, kept within a frame of the gap between them."""
    slack = 0.5 * (latest - earliest)
    t = 0.5 * (earliest + latest)
    for _ in range(4):
        apart = before.at(t) - after.at(t)
        closing = after.speed_at(t) - before.speed_at(t)
        if not closing > 0.02:
            break
        t = min(max(t + apart / closing, earliest - slack), latest + slack)
    return t
