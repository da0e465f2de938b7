"""Models of wheels, drawn by kind: beams, ball, track, rotor and sensors.

In `lap_house`, a table of lap times replaces the equation of motion. Real balls, timed from videos, lose
about 0.1 rev/s2 above 1.1 rev/s, 0.2 to 0.3 between 1.0 and 0.65, 0.05 at 0.55, and 0.015 to 0.025 at the
drop, which occurs at 0.43 to 0.48 rev/s. The table is built backwards from the drop, with losses drawn from
ranges around these values. Positions between two laps are interpolated.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

import msgspec

from controller.model.geometry import STANDARD_POCKETS, Wheel
from drivers.sim.croupier import House
from drivers.sim.wheel_motion import STEPS, Bearing, Bowl, LossLaw, Run, Stretch, draw_grain
from drivers.sim.wheel_sensors import Optics

EVEN = {2: (0, 120), 3: (0, 120, 240), 4: (0, 90, 180, 270), 8: (0, 45, 90, 135, 180, 225, 270, 315)}
"""Angles of equally spaced beams. Two beams are 120 degrees apart instead, which shows the ball's
direction."""

Draw = Callable[[Random], House]


def house(
    rng: Random,
    beams: int = 4,
    *,
    uneven: bool = False,
    law: LossLaw | None = None,
    tilt_deg: float | None = None,
    rough: float | None = None,
    stretches: tuple[Stretch, ...] = (),
    pockets: str | None = None,
    bearing: Bearing | None = None,
    rotor_speeds: tuple[float, float] = (0.25, 0.5),
    jitter_ms: float | None = None,
    knocked_up: float = 0.03,
) -> House:
    """Draw a wheel with this many beams; omitted parameters are drawn as for an ordinary wheel."""
    knee = law is not None and law.knee > 0
    drop = rng.uniform(0.43, 0.48) if knee else rng.uniform(0.46, 0.56)
    kind = pockets or rng.choice(("american", "american", "european"))
    angles = _draw_uneven_angles(rng, beams) if uneven else tuple(float(deg) for deg in EVEN[beams])
    wheel = Wheel(
        pockets=kind,
        pockets_clockwise=STANDARD_POCKETS[kind],
        beams_deg=angles,
        pocket_reader_deg=float(rng.choice((0, 90, 200, 300, rng.randrange(360)))),
        rotor_index_deg=float(rng.choice((0, 200, rng.randrange(360)))),
        # The drop speed in a table's file is correct to within 3 %.
        drop_rev_per_s=round(drop * rng.uniform(0.97, 1.03), 3),
    )
    jitter = rng.uniform(0.1, 0.6) if jitter_ms is None else jitter_ms
    misalignment = rng.uniform(0.05, 0.35)
    return House(
        wheel=wheel,
        law=law or LossLaw(friction=rng.uniform(0.02, 0.05), drag=rng.uniform(0.025, 0.04)),
        bowl=Bowl(
            drop_speed=drop,
            tilt_deg=rng.uniform(0.0, 0.06) if tilt_deg is None else tilt_deg,
            lowest=rng.random(),
            stretches=stretches,
            grain=draw_grain(rng.gauss, rng.uniform(0.0, 0.05) if rough is None else rough),
        ),
        optics=Optics(
            jitter_s=jitter / 1000, askew_deg=tuple(rng.uniform(-misalignment, misalignment) for _ in angles)
        ),
        bearing=bearing or Bearing(fraction=rng.uniform(0.0016, 0.005)),
        rotor_speeds=rotor_speeds,
        knocked_up=knocked_up,
    )


def _draw_uneven_angles(rng: Random, beams: int) -> tuple[float, ...]:
    """Draw beam angles, sometimes out of order, whose gaps show the ball's direction."""
    min_gap = {2: 60, 3: 45, 4: 35, 8: 20}[beams]
    while True:
        angles = sorted(rng.sample(range(360), beams))
        gaps = [(b - a) % 360 for a, b in zip(angles, [*angles[1:], angles[0]], strict=True)]
        if min(gaps) >= min_gap and max(gaps) - min(gaps) >= 30 and (beams > 2 or max(gaps) >= 215):
            break
    order = rng.sample(angles, beams) if beams < 8 and rng.random() < 0.3 else angles
    return tuple(float(deg) for deg in order)


def with_drop(wheel: Wheel, drop_rev_per_s: float) -> Wheel:
    """Return the wheel with a different nominal drop speed."""
    return msgspec.structs.replace(wheel, drop_rev_per_s=round(drop_rev_per_s, 3))


def knee(rng: Random) -> LossLaw:
    """Draw a real ball's law of motion, with its knee."""
    return LossLaw(
        friction=rng.uniform(0.009, 0.016),
        drag=rng.uniform(0.035, 0.05),
        knee=rng.uniform(0.1, 0.24),
        knee_at=rng.uniform(0.78, 0.92),
        knee_width=rng.uniform(0.12, 0.2),
    )


def _stretches(rng: Random, count: int, low: float, high: float) -> tuple[Stretch, ...]:
    return tuple(Stretch(rng.random(), rng.uniform(0.05, 0.3), rng.uniform(low, high)) for _ in range(count))


def clean(rng: Random) -> House:
    """A level, clean wheel with four beams."""
    return house(rng, tilt_deg=rng.uniform(0, 0.03), rough=0.01)


def double_zero(rng: Random) -> House:
    """An American wheel."""
    return house(rng, rng.choice((3, 4)), uneven=True, pockets="american")


def single_zero(rng: Random) -> House:
    """A European wheel."""
    return house(rng, rng.choice((3, 4)), uneven=True, pockets="european")


def light_ball(rng: Random) -> House:
    """A light ball, which is slowed more by friction than by the air."""
    return house(rng, law=LossLaw(friction=rng.uniform(0.04, 0.065), drag=rng.uniform(0.025, 0.035)))


def heavy_ball(rng: Random) -> House:
    """A heavy ball, which runs for a long time."""
    return house(rng, law=LossLaw(friction=rng.uniform(0.012, 0.02), drag=rng.uniform(0.015, 0.025)))


def with_knee(rng: Random) -> House:
    """A wheel with a real ball's law of motion and a slow, realistic rotor."""
    rotor = Bearing(fraction=rng.uniform(0.0016, 0.003))
    return house(rng, law=knee(rng), bearing=rotor, rotor_speeds=(0.14, 0.28))


def tilted(rng: Random) -> House:
    """A bowl tilted by 0.1 to 0.3 degrees, so that the ball always drops from the same part of the rim."""
    return house(rng, rng.choice((3, 4)), tilt_deg=rng.uniform(0.1, 0.3))


def tilted_much(rng: Random) -> House:
    """A bowl tilted by half a degree to one degree."""
    return house(rng, tilt_deg=rng.uniform(0.5, 1.0))


def tilted_knee(rng: Random) -> House:
    """A real ball in a tilted bowl."""
    return house(rng, law=knee(rng), tilt_deg=rng.uniform(0.2, 0.45))


def knee_beams(count: int) -> Draw:
    """Return a function that draws wheels with a real ball and this many beams."""
    return lambda rng: house(rng, count, uneven=True, law=knee(rng), rotor_speeds=(0.14, 0.28))


def rough(rng: Random) -> House:
    """A track whose friction varies along its length."""
    return house(rng, rough=rng.uniform(0.15, 0.4))


def worn(rng: Random) -> House:
    """A track with worn stretches that slow the ball."""
    return house(rng, stretches=_stretches(rng, rng.randint(1, 3), 0.02, 0.08))


def damp(rng: Random) -> House:
    """A track with one damp stretch that slows the ball considerably."""
    return house(rng, rng.choice((3, 4)), stretches=_stretches(rng, 1, 0.08, 0.2))


def polished(rng: Random) -> House:
    """A track with stretches on which the ball loses little speed."""
    return house(
        rng, law=LossLaw(friction=0.05, drag=0.03), stretches=_stretches(rng, rng.randint(1, 2), -0.04, -0.02)
    )


def deflected(rng: Random) -> House:
    """A wheel whose deflectors often knock the ball back up."""
    return house(rng, knocked_up=0.5)


def slow_rotor(rng: Random) -> House:
    """A rotor at the lowest speeds found in practice."""
    return house(rng, rotor_speeds=(0.14, 0.18), bearing=Bearing(fraction=rng.uniform(0.0016, 0.003)))


def fast_rotor(rng: Random) -> House:
    """A rotor at the highest speeds that dealers use."""
    return house(rng, rotor_speeds=(0.45, 0.6))


def dragging_rotor(rng: Random) -> House:
    """A rotor with a worn bearing."""
    bearing = Bearing(dry=rng.uniform(0.0005, 0.0012), fraction=rng.uniform(0.004, 0.008))
    return house(rng, bearing=bearing, rotor_speeds=(0.3, 0.5))


def jittery(rng: Random) -> House:
    """Sensors with a jitter of 1 to 2 ms, and beams up to a degree off their stated angles."""
    drawn = house(rng, rng.choice((3, 4)), jitter_ms=rng.uniform(1.0, 2.0))
    misalignment = tuple(rng.uniform(-1.0, 1.0) for _ in drawn.wheel.beams_deg)
    return replace(drawn, optics=replace(drawn.optics, askew_deg=misalignment, reader_jitter_s=0.006))


def marginal_beam(rng: Random) -> House:
    """A wheel with a beam whose threshold is too high for fast balls."""
    drawn = house(rng, 4)
    weak = rng.randrange(4)
    thresholds = tuple(rng.uniform(0.7, 1.0) if beam == weak else 0.0 for beam in range(4))
    return replace(drawn, optics=replace(drawn.optics, marginal=thresholds))


def beams(count: int, *, uneven: bool) -> Draw:
    """Return a function that draws wheels with this many beams."""
    return lambda rng: house(rng, count, uneven=uneven)


def two_beams(rng: Random) -> House:
    """A wheel with two beams."""
    return house(rng, 2, uneven=rng.random() < 0.5)


def ordinary(rng: Random) -> House:
    """A wheel in working order with three, four or eight beams, an ordinary or a real ball, and little
    tilt."""
    real = rng.random() < 0.4
    return house(
        rng,
        rng.choice((3, 4, 4, 8)),
        uneven=rng.random() < 0.5,
        law=knee(rng) if real else None,
        tilt_deg=rng.uniform(0, 0.25) if rng.random() < 0.3 else None,
        rotor_speeds=(0.16, 0.3) if real else (0.22, 0.5),
    )


def three_or_four(rng: Random) -> House:
    """An ordinary wheel with three or four beams."""
    return house(rng, rng.choice((3, 4)), uneven=rng.random() < 0.5)


HOUSES: Mapping[str, Draw] = {
    "clean": clean,
    "double_zero": double_zero,
    "single_zero": single_zero,
    "light_ball": light_ball,
    "heavy_ball": heavy_ball,
    "knee": with_knee,
    "knee_beams_2": knee_beams(2),
    "knee_beams_3": knee_beams(3),
    "tilted": tilted,
    "tilted_much": tilted_much,
    "tilted_knee": tilted_knee,
    "rough": rough,
    "worn": worn,
    "damp": damp,
    "polished": polished,
    "deflected": deflected,
    "slow_rotor": slow_rotor,
    "fast_rotor": fast_rotor,
    "dragging_rotor": dragging_rotor,
    "jittery": jittery,
    "marginal_beam": marginal_beam,
    "beams_2": beams(2, uneven=False),
    "beams_2_uneven": beams(2, uneven=True),
    "beams_3": beams(3, uneven=False),
    "beams_3_uneven": beams(3, uneven=True),
    "beams_4_uneven": beams(4, uneven=True),
    "beams_8": beams(8, uneven=False),
    "beams_8_uneven": beams(8, uneven=True),
}
"""Wheels without a failed sensor, by name; croupiers launch the balls."""


_LOSSES = (
    (0.42, 0.012, 0.018),
    (0.48, 0.018, 0.025),
    (0.54, 0.03, 0.05),
    (0.63, 0.075, 0.15),
    (0.8, 0.16, 0.25),
    (0.97, 0.19, 0.26),
)
"""Speed (rev/s), and the range of a real ball's loss at that speed (rev/s2), up to the knee."""
_ONSET = (1.06, 1.22)
"""Range of speeds at which the knee begins (rev/s)."""
_FAST_LOSSES = ((1.5, 0.08, 0.13), (1.9, 0.1, 0.18), (2.4, 0.13, 0.28))
LAP_ERROR = 0.003
"""Relative standard deviation of manually measured lap times after smoothing."""


def lap_house(rng: Random, count: int = 4, *, uneven: bool = False) -> House:
    """Draw a wheel whose ball follows a table of lap times and whose rotor turns at 0.14 to 0.28 rev/s."""
    drawn = house(rng, count, uneven=uneven)
    loss_by_speed = _draw_loss_law(rng)
    drop = rng.uniform(0.43, 0.48)

    def launch(rng: Random, launch_s: float, turns: float, direction: int) -> Run:
        clock_s = _clock(rng, loss_by_speed, drop * rng.uniform(0.985, 1.015), turns)
        return Run(launch_s, rng.random(), direction, tuple(launch_s + t for t in clock_s), turns)

    wheel = with_drop(drawn.wheel, drop)
    bearing = Bearing(fraction=rng.uniform(0.0016, 0.003))
    return House(wheel, optics=drawn.optics, bearing=bearing, rotor_speeds=(0.14, 0.28), launch=launch)


def _draw_loss_law(rng: Random) -> list[tuple[float, float]]:
    """Draw a ball's loss of speed (rev/s2) by speed (rev/s)."""
    hardness = rng.random()
    low = [
        (speed, (lowest + hardness * (highest - lowest)) * rng.uniform(0.9, 1.1))
        for speed, lowest, highest in _LOSSES
    ]
    fast = [(speed, rng.uniform(lowest, highest)) for speed, lowest, highest in _FAST_LOSSES]
    return [*low, (rng.uniform(*_ONSET), rng.uniform(0.08, 0.12)), *fast]


def _clock(rng: Random, law: Sequence[tuple[float, float]], drop: float, turns: float) -> list[float]:
    """Return the time (s) of each step of a ball's run, interpolated from a table of lap times."""
    speeds = [drop]
    laps: list[float] = []
    while len(laps) < turns + 1:
        before = speeds[-1]
        for _ in range(4):
            lap_s = 2 / (speeds[-1] + before)
            before = speeds[-1] + _loss_at(law, (speeds[-1] + before) / 2) * lap_s
        laps.append(lap_s * (1 + rng.gauss(0, LAP_ERROR)))
        speeds.append(before)
    speeds.reverse()
    times = [0.0]
    for lap_s in reversed(laps):
        times.append(times[-1] + lap_s)
    begin = len(laps) - turns
    steps = math.ceil(turns * STEPS) + 1
    curve = [_interpolate(times, speeds, begin + step / STEPS) for step in range(steps + 1)]
    return [t - curve[0] for t in curve]


def _loss_at(law: Sequence[tuple[float, float]], speed: float) -> float:
    at = min(max(bisect_left(law, (speed, 0.0)), 1), len(law) - 1)
    (low, less), (high, more) = law[at - 1], law[at]
    fraction = min(max((speed - low) / (high - low), 0.0), 1.0)
    return less + fraction * (more - less)


def _interpolate(times: Sequence[float], speeds: Sequence[float], laps: float) -> float:
    """Return the time at which the ball completes a number of laps."""
    lap = min(int(laps), len(times) - 2)
    fraction = laps - lap
    a, b = times[lap], times[lap + 1]
    # Cubic Hermite interpolation; linear beyond the last lap.
    if fraction > 1:
        return b + (fraction - 1) / speeds[lap + 1]
    slow, fast = 1 / speeds[lap], 1 / speeds[lap + 1]
    square, cube = fraction * fraction, fraction**3
    return (
        a * (2 * cube - 3 * square + 1)
        + slow * (cube - 2 * square + fraction)
        + b * (3 * square - 2 * cube)
        + fast * (cube - square)
    )
