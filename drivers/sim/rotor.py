"""A rotor that slows down and that a dealer pushes, stops and turns around.

Angles are turns (counter-clockwise positive seen from above), times seconds, speeds rev/s, signed alike.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Push:
    """A hand that brings the rotor evenly to a speed, or makes it so many times as fast as it is."""

    at_s: float
    over_s: float
    to: float | None = None
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Bearing:
    """How the rotor slows: `dry` (rev/s2), and `share` of its speed each second."""

    dry: float = 0.0
    share: float = 0.0023
    """Real rotors lose 0.16 to 0.3 % a second."""


class Rotor:
    """Where a rotor's mark is, from `begin_s` to `end_s`."""

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
        """Turn from a place of the mark and a speed on; the pushes come in order."""
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
                lost = (bearing.dry + bearing.share * abs(before)) * _STEP_S
                after = math.copysign(max(abs(before) - lost, 0.0), before)
            self._marks.append(self._marks[-1] + (before + after) / 2 * _STEP_S)
            self._speeds.append(after)

    def mark_at(self, t_s: float) -> float:
        """Return where in the bowl the mark is; turns beyond 1 count on."""
        step, share = self._step(t_s)
        before, after = self._speeds[step], self._speeds[step + 1]
        return self._marks[step] + (before + share * (after - before) / 2) * share * _STEP_S

    def speed_at(self, t_s: float) -> float:
        """Return how fast it turns, clockwise negative (rev/s)."""
        step, share = self._step(t_s)
        return self._speeds[step] + share * (self._speeds[step + 1] - self._speeds[step])

    def passes(self, place: float, behind: float = 0.0) -> list[tuple[float, int]]:
        """Return when, and which way, a point `behind` turns clockwise of the mark passes a place."""
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
