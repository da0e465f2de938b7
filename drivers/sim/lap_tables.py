"""Balls of another make: lap times by the published habits of real balls, with no equation of motion.

Real balls timed from films lose about 0.1 rev/s2 above 1.1 rev/s, 0.2 to 0.3 between 1.0 and 0.65, 0.05 at
0.55, and 0.015 to 0.025 at the drop, at 0.43 to 0.48 rev/s. A table of laps is built back from the drop by
those figures, each a little off, and the places between are read off a smooth curve through the laps.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from random import Random

from drivers.sim import houses
from drivers.sim.ball import STEPS, Run
from drivers.sim.croupier import House
from drivers.sim.rotor import Bearing

_LOST = (
    (0.42, 0.012, 0.018),
    (0.48, 0.018, 0.025),
    (0.54, 0.03, 0.05),
    (0.63, 0.075, 0.15),
    (0.8, 0.16, 0.25),
    (0.97, 0.19, 0.26),
)
"""Below the knee: speed (rev/s), and the least and most that a real ball loses in a second there (rev/s2)."""
_ONSET = (1.06, 1.22)
"""Where the knee begins (rev/s)."""
_FAST = ((1.5, 0.08, 0.13), (1.9, 0.1, 0.18), (2.4, 0.13, 0.28))
THUMB_S = 0.003
"""What is left of the error of a thumb's timing, once smoothed."""


def lap_house(rng: Random, count: int = 4, *, uneven: bool = False) -> House:
    """Draw a wheel with a ball of this make, and a real rotor: 0.14 to 0.28 rev/s, losing 0.16 to 0.3 %."""
    drawn = houses.house(rng, count, uneven=uneven)
    own = _law(rng)
    drop = rng.uniform(0.43, 0.48)

    def launch(rng: Random, launch_s: float, turns: float, way: int) -> Run:
        clock_s = _clock(rng, own, drop * rng.uniform(0.985, 1.015), turns)
        return Run(launch_s, rng.random(), way, tuple(launch_s + t for t in clock_s), turns)

    wheel = houses.with_drop(drawn.wheel, drop)
    bearing = Bearing(share=rng.uniform(0.0016, 0.003))
    return House(wheel, optics=drawn.optics, bearing=bearing, rotor_speeds=(0.14, 0.28), launch=launch)


def _law(rng: Random) -> list[tuple[float, float]]:
    """Draw a ball's habits: how hard its knee is, and where it begins."""
    hard = rng.random()
    low = [(speed, (least + hard * (most - least)) * rng.uniform(0.9, 1.1)) for speed, least, most in _LOST]
    fast = [(speed, rng.uniform(least, most)) for speed, least, most in _FAST]
    return [*low, (rng.uniform(*_ONSET), rng.uniform(0.08, 0.12)), *fast]


def _clock(rng: Random, law: Sequence[tuple[float, float]], drop: float, turns: float) -> list[float]:
    """Return when a ball has gone each step, by a table of laps."""
    speeds = [drop]
    laps: list[float] = []
    while len(laps) < turns + 1:
        before = speeds[-1]
        for _ in range(4):
            lap_s = 2 / (speeds[-1] + before)
            before = speeds[-1] + _lost(law, (speeds[-1] + before) / 2) * lap_s
        laps.append(lap_s * (1 + rng.gauss(0, THUMB_S)))
        speeds.append(before)
    speeds.reverse()
    times = [0.0]
    for lap_s in reversed(laps):
        times.append(times[-1] + lap_s)
    begin = len(laps) - turns
    steps = math.ceil(turns * STEPS) + 1
    curve = [_between(times, speeds, begin + step / STEPS) for step in range(steps + 1)]
    return [t - curve[0] for t in curve]


def _lost(law: Sequence[tuple[float, float]], speed: float) -> float:
    at = min(max(bisect_left(law, (speed, 0.0)), 1), len(law) - 1)
    (low, less), (high, more) = law[at - 1], law[at]
    share = min(max((speed - low) / (high - low), 0.0), 1.0)
    return less + share * (more - less)


def _between(times: Sequence[float], speeds: Sequence[float], laps: float) -> float:
    """Read the time of a place off the curve that has each lap's time and the speed at its ends."""
    lap = min(int(laps), len(times) - 2)
    share = laps - lap
    a, b = times[lap], times[lap + 1]
    # Hermite's cubic; beyond the last lap it goes on straight.
    if share > 1:
        return b + (share - 1) / speeds[lap + 1]
    slow, fast = 1 / speeds[lap], 1 / speeds[lap + 1]
    square, cube = share * share, share**3
    return (
        a * (2 * cube - 3 * square + 1)
        + slow * (cube - 2 * square + share)
        + b * (3 * square - 2 * cube)
        + fast * (cube - square)
    )
