"""A die's motion towards or away from a wall, as straight lines before and after a moment.

Each line is fitted to the few track points next to that moment. Between two touches a die flies or slides on
a nearly straight path, but it touches something every few frames, so more points would span several paths.
Times are in milliseconds, lengths in millimetres, and speeds in mm/ms (m/s).
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from controller.rules.dice.bands import BOUNCE_MM_PER_MS

FEW_POINTS, MANY_POINTS = 3, 5
"""Number of points to which a line is fitted: few for a fast die, whose motion changes with every frame, and
many for a slow one."""
KINK_ERRORS = 3.0 * sqrt(6.0)
"""Maximum difference between two successive speeds of a slow die at which its more distant points may be
included in a path. The unit is the position error divided by the shorter of the two durations. The maximum is
three standard deviations. Each speed spans two steps, and the point between them is part of both, so the
difference has a standard deviation of sqrt(6) errors."""
HIDDEN_POINTS = 8
"""Number of points to which a line is fitted beside a period in which the die was hidden. Extrapolation over
such a period requires a more precise speed."""
FAST_M_PER_S = 1.0
"""Speed, in m/s, below which a die is slow. A thrown die is faster. A slow die rolls to a stop, and spin and
felt bend its path."""
MAX_BOUNCE_MS = 11.0
"""Time, in ms, after which the position error of an unseen die no longer increases. By then, the die has
hit the felt more than once, from varying directions."""
SLOWING = 0.002
"""Loss of a die's speed on felt, in mm/ms per ms. It is 2 m/s2, the middle of the range observed in
throws."""
SLOWING_SD = 0.0025
"""Standard deviation of SLOWING, in the same unit. A die in the air loses almost no speed, and a rolling die
loses up to 5 m/s2."""
SLOW_M_PER_S = 0.1
"""Speed, in m/s, below which the expected slowing decreases to 0. The direction of motion is then
uncertain."""


class Line(NamedTuple):
    """A line through points, curved by the felt: position and speed at `origin`, with their variances.

    `origin` is the mean time of the points.
    """

    origin: float
    place: float
    speed: float
    place_var: float
    speed_var: float
    nearest: float
    """The time of the point nearest to the moment of interest."""
    spread: float
    """The mean squared difference between the points' times and `origin`."""
    bounce: float = BOUNCE_MM_PER_MS
    """Increase of the position error, in mm, per millisecond from the nearest point."""

    def at(self, t: float) -> float:
        """Return the position at this time."""
        elapsed = t - self.origin
        direction = min(max(self.speed / SLOW_M_PER_S, -1.0), 1.0)
        return (
            self.place + self.speed * elapsed - 0.5 * direction * SLOWING * (elapsed * elapsed - self.spread)
        )

    def variance_at(self, t: float) -> float:
        """Return the variance of the position at this time."""
        elapsed, unseen = t - self.origin, abs(t - self.nearest)
        bounced = self.bounce * min(unseen, MAX_BOUNCE_MS)
        slowed = 0.5 * SLOWING_SD * (elapsed * elapsed - self.spread)
        return self.place_var + elapsed * elapsed * self.speed_var + bounced * bounced + slowed * slowed


class Turn(NamedTuple):
    """A change of speed where the incoming path meets the outgoing one.

    `t` is its time, `place` the position, and `sd` the standard error of the position. `misfit` is the
    squared distance between the two paths at that time, in errors.
    """

    t: float
    place: float
    sd: float
    misfit: float
    speed_in: float
    speed_out: float
    change_sd: float

    @property
    def change(self) -> float:
        """Return the change of speed away from the wall, in m/s."""
        return self.speed_out - self.speed_in


def line(times: Sequence[float], places: Sequence[float], noise: float, nearest: float) -> Line:
    """Fit a line to points with the error `noise`.

    For a single point, the speed is 0 with an error of FAST_M_PER_S.
    """
    n = len(times)
    origin, place = sum(times) / n, sum(places) / n
    spread = speed = 0.0
    for t, x in zip(times, places, strict=True):
        spread += (t - origin) * (t - origin)
        speed += (t - origin) * (x - place)
    if not spread > 0.0:
        return Line(origin, place, 0.0, noise * noise / n, FAST_M_PER_S * FAST_M_PER_S, nearest, 0.0)
    return Line(origin, place, speed / spread, noise * noise / n, noise * noise / spread, nearest, spread / n)


def line_until(
    times: Sequence[float], places: Sequence[float], k: int, noise: float, *, hidden: bool = False
) -> Line:
    """Fit the incoming path to the points up to number k, after which the die may have been hidden."""
    i = max(k - (HIDDEN_POINTS if hidden else FEW_POINTS) + 1, 0)
    further = max(k - MANY_POINTS + 1, 0)
    if (
        further < i
        and not hidden
        and _slow_and_straight(times[further : k + 1], places[further : k + 1], noise)
    ):
        i = further
    return line(times[i : k + 1], places[i : k + 1], noise, times[k])


def line_from(
    times: Sequence[float], places: Sequence[float], k: int, noise: float, *, hidden: bool = False
) -> Line:
    """Fit the outgoing path to the points from number k on, before which the die may have been hidden."""
    j = min(k + (HIDDEN_POINTS if hidden else FEW_POINTS), len(times))
    further = min(k + MANY_POINTS, len(times))
    if further > j > k + 1 and not hidden and _slow_then_straight(times[k:further], places[k:further], noise):
        j = further
    return line(times[k:j], places[k:j], noise, times[k])


def _slow_and_straight(times: Sequence[float], places: Sequence[float], noise: float) -> bool:
    """Return whether a die was slow over the last few of these points and had the same speed before them."""
    bend = len(times) - FEW_POINTS
    duration, duration_before = times[-1] - times[bend], times[bend] - times[0]
    speed, before = (places[-1] - places[bend]) / duration, (places[bend] - places[0]) / duration_before
    return abs(speed) < FAST_M_PER_S and abs(speed - before) <= KINK_ERRORS * noise / min(
        duration, duration_before
    )


def _slow_then_straight(times: Sequence[float], places: Sequence[float], noise: float) -> bool:
    """Return whether a die was slow over the first few of these points and kept its speed after them."""
    bend = FEW_POINTS - 1
    duration, duration_after = times[bend] - times[0], times[-1] - times[bend]
    speed, after = (places[bend] - places[0]) / duration, (places[-1] - places[bend]) / duration_after
    return abs(speed) < FAST_M_PER_S and abs(speed - after) <= KINK_ERRORS * noise / min(
        duration, duration_after
    )


def turn_between(before: Line, after: Line, earliest: float, latest: float) -> Turn:
    """Return the turn where the incoming and outgoing paths come closest within a period."""
    change = after.speed - before.speed
    t = 0.5 * (earliest + latest)
    if abs(change) > 1e-6:
        t = min(max(t - (after.at(t) - before.at(t)) / change, earliest), latest)
    one, two = before.at(t), after.at(t)
    var_one, var_two = before.variance_at(t), after.variance_at(t)
    both = var_one + var_two
    return Turn(
        t=t,
        place=(one * var_two + two * var_one) / both,
        sd=sqrt(var_one * var_two / both),
        misfit=(one - two) * (one - two) / both,
        speed_in=before.speed,
        speed_out=after.speed,
        change_sd=sqrt(before.speed_var + after.speed_var),
    )
