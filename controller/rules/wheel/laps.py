"""The ball's speed while it runs, from the time between two cuts of the same beam.

One beam's own laps need neither the beams' angles nor the ball's direction, so a beam that is dead, set
askew or double-firing costs laps and never makes false ones.
"""

from collections import deque

import msgspec

from controller.rules.wheel.learned import NOMINAL_DRAG, Learned

_FASTEST_LAP_US = 200_000
"""5 rev/s: twice what a dealer's hand reaches (launches run at 1.3 to 2.6 rev/s). A beam cut again within
this time was doubled, or chatters."""
_SLOWEST_LAP = 1.3
"""The longest lap, in laps at the drop speed."""
_PLAIN_US = _FASTEST_LAP_US // 2
"""Of one beam's cuts no two can both lie this near to the same time."""
_STEP_TOLERANCE, _STEP_DRIFT, _MOST_TOLERANCE = 0.05, 0.02, 0.2
_CUTS_KEPT = 4
_CROWDED_LAPS = 2
_LOST_AFTER = 6
_SEVERAL_TOLERANCE = 0.15
_LEAST_LAPS = 2
_LEAST_APART = 0.2
_FIRST_WEIGHT, _NEXT_WEIGHT = 0.8, 0.4
_LEAST_DECELERATION = 0.005


class Lap(msgspec.Struct, frozen=True, gc=False):
    """One lap that a beam timed, and the speed lost a second by then (None when no lap before told it)."""

    end_us: int
    length_us: int
    deceleration: float | None


class LapClock:
    """Times the ball's laps as its pulses come, in time order.

    A pulse that closes a lap of about the expected length is *in step*. The first two cuts of one beam make
    the first lap. After several pulses out of step it starts again, and so it does when laps turn out to be
    two or three, between which pulses had been missed: their beams were cut within them, one after the other.
    """

    def __init__(self, learned: Learned, nominal_drop_rev_per_s: float) -> None:
        """Start with what is known of the wheel; speeds in rev/s."""
        self.drop_rev_per_s = learned.drop_speed(nominal_drop_rev_per_s)[0]
        self.laps: list[Lap] = []
        self._slowest_lap_us = round(1e6 * _SLOWEST_LAP / self.drop_rev_per_s)
        self._slowest_speed = 1e6 / self._slowest_lap_us
        self._longest_lap_us = 1e6 / self._slowest_speed
        self.looking_since_us: int | None = None
        """Since when the clock looks for a first lap: the first cut, or where it started again."""
        self._learned_deceleration = learned.deceleration()
        self.deceleration = self._learned_deceleration
        """Speed lost a second over the last laps, in rev/s2; what is usual while they can't tell."""
        self._measured = False
        self._measured_at = self.drop_rev_per_s
        """The speed at which the ball lost that much."""
        self._compared = 0
        self._predicted_us: int | None = None
        self._cuts: dict[int, deque[int]] = {}
        self._out_of_step = 0
        self._crowded = 0

    def see(self, t_us: int, beam: int) -> Lap | None:
        """Take one cut; give the lap it closed when it is in step."""
        cuts = self._cuts.get(beam)
        if cuts is None:
            if self.looking_since_us is None:
                self.looking_since_us = t_us
            self._cuts[beam] = deque((t_us,), maxlen=_CUTS_KEPT)
            return None
        since_us = t_us - cuts[-1]
        if since_us < _FASTEST_LAP_US:
            return None
        length_us = self._lap_length(t_us, since_us, cuts)
        cuts.append(t_us)
        if length_us is None:
            self._out_of_step += 1
            if self._out_of_step > _LOST_AFTER:
                self._start_again(t_us)
            return None
        self._out_of_step = 0
        return self._close(t_us, length_us)

    def speed_at(self, t_us: int) -> float | None:
        """Give the ball's speed now in rev/s, carried on from its last lap; None while no lap is known."""
        return self._speed_at(t_us) if self.laps else None

    def predicted_drop_us(self) -> int | None:
        """Give when the ball should leave the track; None before its second lap."""
        if self._predicted_us is None and len(self.laps) >= _LEAST_LAPS:
            end_us = self.laps[-1].end_us
            self._predicted_us = end_us + round(1e6 * self._seconds_to_drop(self._speed_at(end_us)))
        return self._predicted_us

    def _speed_at(self, t_us: int) -> float:
        last = self.laps[-1]
        return 1e6 / last.length_us - self.deceleration * (t_us - last.end_us + last.length_us / 2) / 1e6

    def _seconds_to_drop(self, speed: float) -> float:
        slowest = self.drop_rev_per_s
        if speed <= slowest:
            return (speed - slowest) / self._learned_deceleration
        # The rate was measured at a higher speed: carry it on along deceleration = friction + drag x speed^2.
        friction = max(self.deceleration - NOMINAL_DRAG * self._measured_at**2, 0.4 * self.deceleration)
        middle = (speed + slowest) / 2
        rates = [friction + NOMINAL_DRAG * v * v for v in (speed, middle, slowest)]
        return (speed - slowest) / 6 * (1 / rates[0] + 4 / rates[1] + 1 / rates[2])

    def _lap_length(self, t_us: int, since_us: int, cuts: deque[int]) -> int | None:
        """Give how long the lap took that this cut closes; None where it closes none in step."""
        if not self.laps:
            return since_us if since_us <= self._slowest_lap_us else None
        last = self.laps[-1]
        unseen_s = (t_us - last.end_us) / 1e6
        speed = 1e6 / last.length_us - self.deceleration * unseen_s
        expected = 1e6 / speed if speed > self._slowest_speed else self._longest_lap_us
        tolerance = min(_STEP_TOLERANCE + _STEP_DRIFT * unseen_s, _MOST_TOLERANCE) * expected
        off = abs(since_us - expected)
        if off <= tolerance and off < _PLAIN_US:
            self._crowded = 0
            return since_us
        return self._length_in_step(t_us, cuts, expected, tolerance)

    def _length_in_step(
        self, t_us: int, cuts: deque[int], expected_us: float, tolerance_us: float
    ) -> int | None:
        wanted = t_us - expected_us
        start = cuts[-1]
        for cut in cuts:
            if abs(cut - wanted) < abs(start - wanted):
                start = cut
        if abs(start - wanted) > tolerance_us:
            return None
        cut_within = start != cuts[-1] and _is_several(expected_us, t_us - cuts[-1])
        self._crowded = self._crowded + 1 if cut_within else 0
        if self._crowded < _CROWDED_LAPS:
            return t_us - start
        self._start_again(t_us)
        return t_us - cuts[-1]

    def _close(self, t_us: int, length_us: int) -> Lap:
        speed = 1e6 / length_us
        laps, at = self.laps, self._compared
        # The speed lost is told by the lap, by any beam, that ended about a lap before this one.
        earliest = t_us - 1.15 * length_us
        while at < len(laps) and laps[at].end_us < earliest:
            at += 1
        self._compared = at
        rate = None
        if at < len(laps):
            before = laps[at]
            apart_us = t_us - length_us / 2 - (before.end_us - before.length_us / 2)
            if apart_us >= _LEAST_APART * length_us:
                speed_before = 1e6 / before.length_us
                rate = (speed_before - speed) / (apart_us / 1e6)
                weight = _NEXT_WEIGHT if self._measured else _FIRST_WEIGHT
                deceleration = self.deceleration + weight * (rate - self.deceleration)
                self.deceleration = max(deceleration, _LEAST_DECELERATION)
                self._measured_at += weight * ((speed_before + speed) / 2 - self._measured_at)
                self._measured = True
        if not self._measured:
            usual = self._learned_deceleration - NOMINAL_DRAG * self.drop_rev_per_s**2
            self.deceleration = max(usual + NOMINAL_DRAG * speed * speed, _LEAST_DECELERATION)
            self._measured_at = speed
        lap = Lap(t_us, length_us, rate)
        laps.append(lap)
        self._predicted_us = None
        return lap

    def _start_again(self, t_us: int) -> None:
        self.looking_since_us = t_us
        self.laps.clear()
        self.deceleration = self._learned_deceleration
        self._measured = False
        self._compared = 0
        self._predicted_us = None
        self._out_of_step = 0
        self._crowded = 0


def _is_several(expected_us: float, length_us: int) -> bool:
    """Tell whether so long is two or three laps of this length."""
    laps = expected_us / length_us
    return any(abs(laps - several) < _SEVERAL_TOLERANCE * several for several in (2, 3))
