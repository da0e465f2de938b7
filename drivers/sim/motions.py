"""How a ball runs in its track and a rotor turns under it, in closed form.

Angles are turns (1 = 360 degrees, counter-clockwise positive seen from above), times seconds.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BallRun:
    """A ball slowed by rolling friction and by the air: speed falls by `friction` + `drag` x speed squared.

    `friction` is in turns/s2, `drag` in 1/turn. A tilted bowl makes it run a hair ahead and behind once a
    turn (`wobble` turns). `way` is +1 counter-clockwise, -1 clockwise.
    """

    launch_s: float
    start: float
    way: int
    turns: float
    drop_speed: float
    friction: float
    drag: float
    wobble: float = 0.0

    @property
    def drop_s(self) -> float:
        """When the ball leaves the track."""
        return self._at_even(self.turns)

    def at(self, turns: float) -> float:
        """Give when the ball has run this many turns (s)."""
        even = turns
        for _ in range(8):
            even = turns - self.wobble * math.sin(2 * math.pi * even)
        return self._at_even(even)

    def passes(self, place: float) -> list[float]:
        """Give when the ball passes a place of the bowl, from launch to drop."""
        first = ((place - self.start) * self.way) % 1.0
        return [
            self.at(first + lap) for lap in range(math.ceil(self.turns - first)) if first + lap < self.turns
        ]

    @property
    def _scale(self) -> float:
        return math.sqrt(self.friction / self.drag)

    @property
    def _phase(self) -> float:
        return math.acos(
            math.cos(math.atan(self.drop_speed / self._scale)) * math.exp(-self.drag * self.turns)
        )

    def _at_even(self, turns: float) -> float:
        now = math.acos(min(1.0, math.cos(self._phase) * math.exp(self.drag * turns)))
        return self.launch_s + (self._phase - now) / math.sqrt(self.friction * self.drag)


@dataclass(frozen=True, slots=True)
class RotorRun:
    """A rotor that slows evenly (`slowing` turns/s2) from `speed`, its mark at `mark` when it begins."""

    begin_s: float
    end_s: float
    mark: float
    way: int
    speed: float
    slowing: float

    def mark_at(self, t_s: float) -> float:
        """Give where in the bowl the rotor's mark is."""
        gone = t_s - self.begin_s
        return self.mark + self.way * (self.speed * gone - self.slowing * gone**2 / 2)

    def passes(self, place: float, behind: float = 0.0) -> list[float]:
        """Give when a point of the rotor, `behind` turns clockwise of its mark, passes a place."""
        first = ((place + behind - self.mark) * self.way) % 1.0
        times: list[float] = []
        lap = 0
        while True:
            rest = self.speed**2 - 2 * self.slowing * (first + lap)
            if rest <= 0:
                return times
            t_s = self.begin_s + (self.speed - math.sqrt(rest)) / self.slowing
            if t_s > self.end_s:
                return times
            times.append(t_s)
            lap += 1
