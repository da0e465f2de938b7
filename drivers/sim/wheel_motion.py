"""The motion of a ball in a wheel's track and during its fall into a pocket, and the motion of the rotor.

Angles are in turns (1 = 360 degrees, counter-clockwise positive as seen from above), times in seconds, speeds
in rev/s with the same sign convention. Balls on real wheels keep 0.4 to 0.65 of their speed at a deflector
and 0.3 to 0.7 at a fret. They come to rest 0.5 to 2.5 s after the drop, anywhere from a few to more than
15 pockets farther on.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

RIM_M = 0.39
"""Radius of a casino wheel's track."""
GRAVITY_M_S2 = 9.81
_ALONG = 5 / 7 * GRAVITY_M_S2 / (2 * math.pi * RIM_M)
"""Acceleration of a rolling ball along the track per radian of tilt (rev/s2); the factor 5/7 accounts for the
ball's rotation."""
_INWARD = GRAVITY_M_S2 / (4 * math.pi**2 * RIM_M)
"""Square of the minimum speed that keeps a ball in a track whose slope has a tangent of 1 (rev2/s2)."""
STEPS = 64
"""Integration steps per turn."""
_SPEEDS_PER_REV = 200
_MAX_SPEED = 5.0


@dataclass(frozen=True)
class LossLaw:
    """A ball's loss of speed: `friction` (rev/s2) + `drag` (1/rev) x speed squared, plus a real ball's knee.

    Near `knee_at` (rev/s), a real ball changes from sliding along the rim to rolling, and loses up to `knee`
    (rev/s2) more.
    """

    friction: float = 0.03
    drag: float = 0.03
    knee: float = 0.0
    knee_at: float = 0.86
    knee_width: float = 0.15

    def loss(self, speed: float) -> float:
        """Return the loss at a speed (rev/s2)."""
        bump = self.knee * math.exp(-(((speed - self.knee_at) / self.knee_width) ** 2)) if self.knee else 0.0
        return self.friction + self.drag * speed * speed + bump

    @cached_property
    def table(self) -> tuple[float, ...]:
        """Losses by speed, in steps of 1/200 rev/s."""
        count = round(_MAX_SPEED * _SPEEDS_PER_REV) + 1
        return tuple(self.loss((number + 0.5) / _SPEEDS_PER_REV) for number in range(count))


@dataclass(frozen=True)
class Stretch:
    """A worn, damp or dirty part of the track, with its start and length in turns."""

    begin: float
    length: float
    friction: float
    """Additional loss of speed (rev/s2)."""


@dataclass(frozen=True)
class Bowl:
    """A track: its drop speed, tilt, stretches and grain."""

    drop_speed: float = 0.5
    tilt_deg: float = 0.0
    lowest: float = 0.0
    """Angle of the track's lowest point."""
    stretches: tuple[Stretch, ...] = ()
    grain: tuple[float, ...] = ()
    """Relative deviation of the loss law in each part of the track; all parts have the same length."""

    @cached_property
    def profile(self) -> tuple[tuple[float, float, float, float], ...]:
        """For each step of the angle: pull of the tilt (rev/s2), additional friction, factor of the grain,
        and square of the drop speed."""
        return tuple(self._at((number + 0.5) / STEPS) for number in range(STEPS))

    def _at(self, angle: float) -> tuple[float, float, float, float]:
        tilt = math.radians(self.tilt_deg)
        slope = math.atan(self.drop_speed**2 / _INWARD)
        leaning = 2 * math.pi * (angle - self.lowest)
        extra_friction = sum(s.friction for s in self.stretches if (angle - s.begin) % 1.0 < s.length)
        grain = 1.0 + (self.grain[int(angle * len(self.grain))] if self.grain else 0.0)
        release_square = _INWARD * math.tan(slope - tilt * math.cos(leaning))
        return -_ALONG * tilt * math.sin(leaning), extra_friction, grain, release_square


@dataclass(frozen=True)
class Run:
    """A ball's run from its launch until it leaves the track or is caught."""

    launch_s: float
    start: float
    direction: int
    """+1 counter-clockwise, -1 clockwise."""
    clock_s: tuple[float, ...] = field(repr=False)
    """Time at each step of 1/64 turn, starting with the launch."""
    turns: float = 0.0
    """Length of the run, which ends within the last step of `clock_s`."""
    dropped: bool = True
    """Whether the ball dropped from the track; False if it was caught."""

    @property
    def end_s(self) -> float:
        """Time at which the ball left the track or was caught."""
        return self.at(self.turns)

    @property
    def end(self) -> float:
        """Angle at which the ball left the track or was caught."""
        return (self.start + self.direction * self.turns) % 1.0

    @property
    def end_speed(self) -> float:
        """Speed at the end of the run (rev/s)."""
        back = max(0.0, self.turns - 2 / STEPS)
        took_s = self.at(self.turns) - self.at(back)
        return (self.turns - back) / took_s if took_s else 0.0

    def at(self, turns: float) -> float:
        """Return the time at which the ball completes this many turns."""
        step = min(int(turns * STEPS), len(self.clock_s) - 2)
        fraction = turns * STEPS - step
        a, b = self.clock_s[step], self.clock_s[step + 1]
        if 0 < step < len(self.clock_s) - 2:
            # Constant deceleration within the step, estimated from the adjacent steps.
            bend = (self.clock_s[step + 2] - b - (a - self.clock_s[step - 1])) / 4
            return a + fraction * (b - a) - bend * fraction * (1 - fraction)
        return a + fraction * (b - a)

    def turns_at(self, t_s: float) -> float:
        """Return the number of turns that the ball has made by this time."""
        step = min(max(bisect_left(self.clock_s, t_s) - 1, 0), len(self.clock_s) - 2)
        a, b = self.clock_s[step], self.clock_s[step + 1]
        return (step + (t_s - a) / (b - a)) / STEPS

    def passes(self, place: float) -> list[float]:
        """Return the times at which the ball passes an angle of the bowl."""
        first = ((place - self.start) * self.direction) % 1.0
        laps = math.ceil(self.turns - first)
        return [self.at(first + lap) for lap in range(laps) if first + lap < self.turns]

    def caught(self, turns: float) -> "Run":
        """Return this run, stopped by a person's hand after at most this many turns."""
        kept = self.clock_s[: math.ceil(turns * STEPS) + 2]
        return Run(self.launch_s, self.start, self.direction, kept, min(turns, self.turns), dropped=False)


def run(law: LossLaw, bowl: Bowl, *, launch_s: float, start: float, direction: int, speed: float) -> Run:
    """Return the run of a ball that is launched at this speed and drops."""
    losses, profile = law.table, bowl.profile
    clock, t, square = [launch_s], launch_s, speed * speed
    angle, step = (start * STEPS) % STEPS, 1.0 / STEPS
    gone = 0
    while True:
        pull, extra_friction, grain, release_square = profile[int(angle) % STEPS]
        if square <= release_square:
            return Run(launch_s, start, direction, (*clock, t + step / max(speed, 0.1)), gone * step)
        loss = losses[int(speed * _SPEEDS_PER_REV)] * grain + extra_friction - direction * pull
        square = max(square - 2 * loss * step, 0.01)
        after = math.sqrt(square)
        t += 2 * step / (speed + after)
        clock.append(t)
        speed, angle, gone = after, (angle + direction) % STEPS, gone + 1


def launch_speed(law: LossLaw, bowl: Bowl, turns: float) -> float:
    """Return the launch speed for this many turns; the speed is exact for a level, clean track."""
    square = bowl.drop_speed**2
    for _ in range(round(turns * STEPS)):
        square += 2 * law.table[int(math.sqrt(square) * _SPEEDS_PER_REV)] / STEPS
    return math.sqrt(square)


def draw_grain(gauss: Callable[[float, float], float], rough: float, cells: int = 32) -> tuple[float, ...]:
    """Draw a track's random deviations from the loss law; `rough` is their standard deviation."""
    return tuple(max(-0.9, gauss(0.0, rough)) for _ in range(cells))


_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Push:
    """A push that changes the rotor's speed at a constant rate, to a given speed or by a factor."""

    at_s: float
    over_s: float
    to: float | None = None
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Bearing:
    """A rotor's loss of speed: `dry` (rev/s2), plus `fraction` of the speed per second."""

    dry: float = 0.0
    fraction: float = 0.0023
    """Real rotors lose 0.16 to 0.3 % per second."""


class Rotor:
    """The motion of a rotor from `begin_s` to `end_s`."""

    def __init__(
        self,
        begin_s: float,
        end_s: float,
        *,
        mark: float,
        speed: float,
        bearing: Bearing,
        pushes: Iterable[Push] = (),
    ) -> None:
        """Start with the mark's angle and a speed; `pushes` are in order of time."""
        self.begin_s, self.end_s = begin_s, end_s
        self._marks, self._speeds = [mark], [speed]
        left, goal = list(pushes), None
        for number in range(math.ceil((end_s - begin_s) / _STEP_S) + 1):
            t_s = begin_s + number * _STEP_S
            before = self._speeds[-1]
            while left and t_s >= left[0].at_s + left[0].over_s:
                left.pop(0)
                goal = None
            if left and t_s >= left[0].at_s:
                if goal is None:
                    goal = before * left[0].times if left[0].to is None else left[0].to
                rest = max(left[0].at_s + left[0].over_s - t_s, _STEP_S)
                after = before + (goal - before) * min(1.0, _STEP_S / rest)
            else:
                lost = (bearing.dry + bearing.fraction * abs(before)) * _STEP_S
                after = math.copysign(max(abs(before) - lost, 0.0), before)
            self._marks.append(self._marks[-1] + (before + after) / 2 * _STEP_S)
            self._speeds.append(after)

    def mark_at(self, t_s: float) -> float:
        """Return the mark's angle in the bowl, including complete turns."""
        step, fraction = self._step(t_s)
        before, after = self._speeds[step], self._speeds[step + 1]
        return self._marks[step] + (before + fraction * (after - before) / 2) * fraction * _STEP_S

    def speed_at(self, t_s: float) -> float:
        """Return the rotor's speed (rev/s, clockwise negative)."""
        step, fraction = self._step(t_s)
        return self._speeds[step] + fraction * (self._speeds[step + 1] - self._speeds[step])

    def passes(self, place: float, behind: float = 0.0) -> list[tuple[float, int]]:
        """Return each time at which a point of the rotor passes an angle of the bowl, with the direction.

        The point is `behind` turns clockwise from the mark.
        """
        wanted = place + behind
        found: list[tuple[float, int]] = []
        last = math.floor(self._marks[0] - wanted)
        for step, mark in enumerate(self._marks[1:]):
            turn = math.floor(mark - wanted)
            if turn != last:
                goal = max(turn, last) + wanted
                t_s = self._reached(step, goal)
                if t_s > self.end_s:
                    return found
                found.append((t_s, 1 if turn > last else -1))
                last = turn
        return found

    def _step(self, t_s: float) -> tuple[int, float]:
        steps = (t_s - self.begin_s) / _STEP_S
        step = min(max(int(steps), 0), len(self._marks) - 2)
        return step, steps - step

    def _reached(self, step: int, goal: float) -> float:
        low, high = self.begin_s + step * _STEP_S, self.begin_s + (step + 1) * _STEP_S
        rising = self._marks[step + 1] > self._marks[step]
        for _ in range(24):
            middle = (low + high) / 2
            if (self.mark_at(middle) < goal) is rising:
                low = middle
            else:
                high = middle
        return low


_STILL_REV_PER_S = 0.09
"""Speed relative to the frets (three pockets per second) below which a ball stays in its pocket."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of the ball's fall, at constant speed between two angles of the bowl."""

    begin_s: float
    end_s: float
    begin: float
    end: float
    where: str
    """bowl, track (knocked back up) or rotor."""

    def passes(self, place: float) -> list[float]:
        """Return the times at which the ball passes an angle of the bowl."""
        low, high = sorted((self.begin, self.end))
        if high == low:
            return []
        times = []
        for lap in range(math.ceil(low - place), math.floor(high - place) + 1):
            fraction = (place + lap - self.begin) / (self.end - self.begin)
            times.append(self.begin_s + fraction * (self.end_s - self.begin_s))
        return sorted(times)


@dataclass(frozen=True, slots=True)
class Fall:
    """The legs of a ball's fall, and the time and place at which the ball comes to rest in the rotor."""

    legs: tuple[Leg, ...]
    settle_s: float
    behind: float
    """Resting position, in turns clockwise from the rotor's mark."""

    def pocket(self, count: int) -> int:
        """Return the index of the ball's pocket, clockwise from the mark, in a rotor with `count` pockets."""
        return round(self.behind * count) % count


def fall(rng: Random, ball: Run, rotor: Rotor, *, knocked_up: float, pockets: int) -> Fall:
    """Return a ball's fall after its run.

    `knocked_up` is the probability that a deflector knocks the ball back up to the track.
    """
    t_s, angle, speed = ball.end_s, ball.end, ball.direction * ball.end_speed
    legs: list[Leg] = []

    def go(seconds: float, over: float, where: str) -> None:
        nonlocal t_s, angle
        legs.append(Leg(t_s, t_s + seconds, angle, angle + over, where))
        t_s, angle = t_s + seconds, angle + over

    slides_s = rng.uniform(0.3, 0.8)
    go(slides_s, slides_s * speed * 0.95, "bowl")
    if rng.random() < 0.7:
        speed *= rng.uniform(0.4, 0.65) * (-1 if rng.random() < 0.06 else 1)
        back_up = rng.random() < knocked_up
        seconds = rng.uniform(0.35, 0.9) if back_up else rng.uniform(0.05, 0.25)
        go(seconds, seconds * speed, "track" if back_up else "bowl")
    over_frets = speed - rotor.speed_at(t_s)
    while abs(over_frets) > _STILL_REV_PER_S:
        seconds = rng.uniform(0.06, 0.24)
        go(seconds, seconds * (over_frets + rotor.speed_at(t_s)), "rotor")
        over_frets *= rng.uniform(0.3, 0.7) * (-1 if rng.random() < 0.15 else 1)
    go(0.02, 0.02 * rotor.speed_at(t_s), "rotor")
    pocket = round((rotor.mark_at(t_s) - angle) * pockets)
    # A ball comes to rest slightly off the middle of its pocket and stays there.
    off_middle = rng.uniform(-0.2, 0.2)
    return Fall(tuple(legs), t_s, ((pocket + off_middle) / pockets) % 1.0)
