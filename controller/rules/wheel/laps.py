"""The ball's speed while it runs, from the time between two cuts of the same beam.

One beam's own laps need neither the beams' angles nor the ball's direction, so a beam that is dead, set
askew or double-firing costs laps and never makes false ones.
"""

from dataclasses import dataclass

from controller.rules.wheel.learned import NOMINAL_DRAG, Learned

_FASTEST_LAP_US = 200_000
"""5 rev/s: twice what a dealer's hand reaches (launches run at 1.3 to 2.6 rev/s). A beam cut again within
this time was doubled, or chatters."""
_SLOWEST_LAP = 1.3
"""The longest lap, in laps at the drop speed."""
_STEP_TOLERANCE, _STEP_DRIFT, _MOST_TOLERANCE = 0.05, 0.02, 0.2
_CROWDED_LAPS = 2
_LOST_AFTER = 6
_SEVERAL_TOLERANCE = 0.15
_LEAST_LAPS = 2
_LEAST_APART = 0.2
_FIRST_WEIGHT, _NEXT_WEIGHT = 0.8, 0.4
_LEAST_DECELERATION = 0.005


@dataclass(slots=True)
class Lap:
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
        self._cuts: dict[int, list[int]] = {}
        self._out_of_step = 0
        self._crowded = 0

    def see(self, t_us: int, beam: int) -> Lap | None:
        """Take one cut; give the lap it closed when it is in step."""
        if self.looking_since_us is None:
            self.looking_since_us = t_us
        cuts = self._cuts.get(beam)
        if cuts is None:
            self._cuts[beam] = [t_us]
            return None
        if t_us - cuts[-1] < _FASTEST_LAP_US:
            return None
        started = self._find_start(t_us, cuts)
        cuts.append(t_us)
        if len(cuts) > 4:
            del cuts[0]
        if started is None:
            self._out_of_step += 1
            if self._out_of_step > _LOST_AFTER:
                self._start_again(t_us)
            return None
        self._out_of_step = 0
        return self._close(t_us, t_us - started)

    def expected_length_us(self, t_us: int) -> float | None:
        """Give how long a lap that ends at this time should take; None while no lap is known."""
        if not self.laps:
            return None
        last = self.laps[-1]
        seconds = (t_us - last.end_us) / 1e6
        speed = 1e6 / last.length_us - self.deceleration * seconds
        return 1e6 / max(speed, 1e6 / self._slowest_lap_us)

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

    def _find_start(self, t_us: int, cuts: list[int]) -> int | None:
        expected = self.expected_length_us(t_us)
        if expected is None:
            return cuts[-1] if t_us - cuts[-1] <= self._slowest_lap_us else None
        unseen_s = (t_us - self.laps[-1].end_us) / 1e6
        tolerance = min(_STEP_TOLERANCE + _STEP_DRIFT * unseen_s, _MOST_TOLERANCE) * expected
        wanted = t_us - expected
        start = cuts[-1]
        for cut in cuts:
            if abs(cut - wanted) < abs(start - wanted):
                start = cut
        if abs(start - wanted) > tolerance:
            return None
        cut_within = start != cuts[-1] and _is_several(expected, t_us - cuts[-1])
        self._crowded = self._crowded + 1 if cut_within else 0
        if self._crowded < _CROWDED_LAPS:
            return start
        self._start_again(t_us)
        return cuts[-1]

    def _close(self, t_us: int, length_us: int) -> Lap:
        rate = self._measure(t_us, length_us)
        speed = 1e6 / length_us
        if rate is not None:
            speed = (1e6 / self.laps[self._compared].length_us + speed) / 2
            weight = _NEXT_WEIGHT if self._measured else _FIRST_WEIGHT
            self.deceleration = max(
                self.deceleration + weight * (rate - self.deceleration), _LEAST_DECELERATION
            )
            self._measured_at += weight * (speed - self._measured_at)
            self._measured = True
        elif not self._measured:
            usual = self._learned_deceleration - NOMINAL_DRAG * self.drop_rev_per_s**2
            self.deceleration = max(usual + NOMINAL_DRAG * speed * speed, _LEAST_DECELERATION)
            self._measured_at = speed
        lap = Lap(t_us, length_us, rate)
        self.laps.append(lap)
        self._predicted_us = None
        return lap

    def _measure(self, t_us: int, length_us: int) -> float | None:
        """Compare this lap with the one that ended about a lap before it, by any beam, for the speed lost."""
        laps = self.laps
        if not laps:
            return None
        earliest = t_us - 1.15 * length_us
        while self._compared < len(laps) and laps[self._compared].end_us < earliest:
            self._compared += 1
        if self._compared == len(laps):
            return None
        before = laps[self._compared]
        apart_us = t_us - length_us / 2 - (before.end_us - before.length_us / 2)
        if apart_us < _LEAST_APART * length_us:
            return None
        return (1e6 / before.length_us - 1e6 / length_us) / (apart_us / 1e6)

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
