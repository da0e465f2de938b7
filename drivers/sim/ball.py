"""A ball in the track of a wheel, by its equation of motion.

Angles are turns (1 = 360 degrees, counter-clockwise positive seen from above), times seconds, speeds rev/s.
The motion is integrated over the angle: with E = w^2 / 2, dE is the sum of what friction, air and gravity do
along a step. That needs no small step in time, and it keeps each beam's place on the grid's scale.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

RIM_M = 0.39
"""Radius of a casino wheel's track."""
GRAVITY_M_S2 = 9.81
_ALONG = 5 / 7 * GRAVITY_M_S2 / (2 * math.pi * RIM_M)
"""What a tilt of 1 rad does to a rolling ball along the track (rev/s2); 5/7: a ball turns as it rolls."""
_INWARD = GRAVITY_M_S2 / (4 * math.pi**2 * RIM_M)
"""The square of the speed at which a slope of tangent 1 no longer holds a ball (rev2/s2)."""
STEPS = 64
"""Steps of the integration to a turn."""
_SPEEDS_TO_A_REV = 200
_FASTEST = 5.0


@dataclass(frozen=True)
class Law:
    """How a ball slows: `friction` (rev/s2) + `drag` (1/rev) x speed squared, and a real ball's knee.

    About `knee_at` (rev/s) a real ball stops spinning against the rim and rolls: there it loses up to `knee`
    (rev/s2) more.
    """

    friction: float = 0.03
    drag: float = 0.03
    knee: float = 0.0
    knee_at: float = 0.86
    knee_width: float = 0.15

    def loss(self, speed: float) -> float:
        """Return the speed lost in a second at this speed (rev/s2)."""
        bump = self.knee * math.exp(-(((speed - self.knee_at) / self.knee_width) ** 2)) if self.knee else 0.0
        return self.friction + self.drag * speed * speed + bump

    @cached_property
    def table(self) -> tuple[float, ...]:
        """The loss by speed, in steps of 1/200 rev/s."""
        count = round(_FASTEST * _SPEEDS_TO_A_REV) + 1
        return tuple(self.loss((number + 0.5) / _SPEEDS_TO_A_REV) for number in range(count))


@dataclass(frozen=True)
class Stretch:
    """A worn, damp or dirty part of the track: from an angle on, so long, its friction is stepped up."""

    begin: float
    length: float
    friction: float
    """What a ball loses there beside the law (rev/s2)."""


@dataclass(frozen=True)
class Bowl:
    """A track: the speed at which it lets go of a ball, its tilt, its stretches and its grain."""

    drop_speed: float = 0.5
    tilt_deg: float = 0.0
    lowest: float = 0.0
    """The angle towards which the bowl leans."""
    stretches: tuple[Stretch, ...] = ()
    grain: tuple[float, ...] = ()
    """By how much the friction of each of equal parts of the track departs from the law (a share)."""

    @cached_property
    def profile(self) -> tuple[tuple[float, float, float, float], ...]:
        """By steps of the angle: pull (rev/s2), friction beside the law, grain, square of the drop speed."""
        return tuple(self._at((number + 0.5) / STEPS) for number in range(STEPS))

    def _at(self, angle: float) -> tuple[float, float, float, float]:
        tilt = math.radians(self.tilt_deg)
        slope = math.atan(self.drop_speed**2 / _INWARD)
        leaning = 2 * math.pi * (angle - self.lowest)
        more = sum(s.friction for s in self.stretches if (angle - s.begin) % 1.0 < s.length)
        grain = 1.0 + (self.grain[int(angle * len(self.grain))] if self.grain else 0.0)
        lets_go = _INWARD * math.tan(slope - tilt * math.cos(leaning))
        return -_ALONG * tilt * math.sin(leaning), more, grain, lets_go


@dataclass(frozen=True)
class Run:
    """One run of a ball: when it had gone each step, until it left the track or was caught."""

    launch_s: float
    start: float
    way: int
    """+1 counter-clockwise, -1 clockwise."""
    clock_s: tuple[float, ...] = field(repr=False)
    """When each step of 1/64 turn was gone, the first at the launch."""
    turns: float = 0.0
    """How far it ran; within the last step of the clock."""
    dropped: bool = True
    """It left the track by itself; else it was caught there."""

    @property
    def end_s(self) -> float:
        """When it left the track or was caught."""
        return self.at(self.turns)

    @property
    def end(self) -> float:
        """Where in the bowl that was."""
        return (self.start + self.way * self.turns) % 1.0

    @property
    def end_speed(self) -> float:
        """How fast it was then (rev/s)."""
        back = max(0.0, self.turns - 2 / STEPS)
        took_s = self.at(self.turns) - self.at(back)
        return (self.turns - back) / took_s if took_s else 0.0

    def at(self, turns: float) -> float:
        """Return when the ball has gone this far (s)."""
        step = min(int(turns * STEPS), len(self.clock_s) - 2)
        share = turns * STEPS - step
        a, b = self.clock_s[step], self.clock_s[step + 1]
        if 0 < step < len(self.clock_s) - 2:
            # Steady loss within the step: the step before and the one after tell how its speed falls.
            bend = (self.clock_s[step + 2] - b - (a - self.clock_s[step - 1])) / 4
            return a + share * (b - a) - bend * share * (1 - share)
        return a + share * (b - a)

    def gone(self, t_s: float) -> float:
        """Return how far the ball has gone at a time."""
        step = min(max(bisect_left(self.clock_s, t_s) - 1, 0), len(self.clock_s) - 2)
        a, b = self.clock_s[step], self.clock_s[step + 1]
        return (step + (t_s - a) / (b - a)) / STEPS

    def passes(self, place: float) -> list[float]:
        """Return when the ball passes a place of the bowl, from launch to end."""
        first = ((place - self.start) * self.way) % 1.0
        laps = math.ceil(self.turns - first)
        return [self.at(first + lap) for lap in range(laps) if first + lap < self.turns]

    def caught(self, turns: float) -> "Run":
        """Return the same run, ended by a hand after so many turns."""
        kept = self.clock_s[: math.ceil(turns * STEPS) + 2]
        return Run(self.launch_s, self.start, self.way, kept, min(turns, self.turns), dropped=False)


def run(law: Law, bowl: Bowl, *, launch_s: float, start: float, way: int, speed: float) -> Run:
    """Launch a ball with a speed, and let it run until the track no longer holds it."""
    losses, profile = law.table, bowl.profile
    clock, t, square = [launch_s], launch_s, speed * speed
    angle, step = (start * STEPS) % STEPS, 1.0 / STEPS
    gone = 0
    while True:
        pull, more, grain, lets_go = profile[int(angle) % STEPS]
        if square <= lets_go:
            return Run(launch_s, start, way, (*clock, t + step / max(speed, 0.1)), gone * step)
        loss = losses[int(speed * _SPEEDS_TO_A_REV)] * grain + more - way * pull
        square = max(square - 2 * loss * step, 0.01)
        after = math.sqrt(square)
        t += 2 * step / (speed + after)
        clock.append(t)
        speed, angle, gone = after, (angle + way) % STEPS, gone + 1


def launch_speed(law: Law, bowl: Bowl, turns: float) -> float:
    """Return the speed that carries a ball about so many turns: exactly, were the track level and clean."""
    square = bowl.drop_speed**2
    for _ in range(round(turns * STEPS)):
        square += 2 * law.table[int(math.sqrt(square) * _SPEEDS_TO_A_REV)] / STEPS
    return math.sqrt(square)


def grain_of(gauss: Callable[[float, float], float], rough: float, cells: int = 32) -> tuple[float, ...]:
    """Draw a grain: each part of the track departs from the law by about this share."""
    return tuple(max(-0.9, gauss(0.0, rough)) for _ in range(cells))
