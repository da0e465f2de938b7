"""The ball's speed while it runs, from the time between two cuts of the same beam.

One beam's own laps need neither the beams' angles nor the ball's direction, so a beam that is dead, set
askew or double-firing costs laps and never makes false ones.
"""

from controller.rules.wheel.learned import Learned

DOUBLED_US = 30_000
"""A beam cut again within this time was cut once: no ball laps in it, and contacts chatter for some ms."""
_FASTEST_LAP_US = 200_000
"""5 rev/s: twice what a dealer's hand reaches (launches run at 1.3 to 2.6 rev/s)."""
_SLOWEST_LAP_US = 5_000_000
_STEP_TOLERANCE = 0.08
_LOST_AFTER = 6
_DRAG = 0.022
"""rev/s2 lost for each (rev/s)2 of speed to the air; only shapes the last seconds before the drop."""


class Lap:
    """One lap that a beam timed: its end, its length, and the speed lost a second by then."""

    __slots__ = ("beam", "deceleration", "end_us", "length_us")

    def __init__(self, beam: int, end_us: int, length_us: int, deceleration: float | None) -> None:
        """Times in microseconds, `deceleration` in rev/s2 or None when the lap before was not timed."""
        self.beam = beam
        self.end_us = end_us
        self.length_us = length_us
        self.deceleration = deceleration


class LapClock:
    """Times the ball's laps as its pulses come, in time order.

    A pulse that closes a lap of about the expected length is *in step*. Before the first such lap any two
    cuts of one beam make a candidate when no other beam was cut twice between them; after `_LOST_AFTER`
    pulses out of step it starts again.
    """

    def __init__(self, learned: Learned, nominal_drop_rev_per_s: float) -> None:
        """Start with what is known of the wheel; speeds in rev/s."""
        self.drop_rev_per_s = learned.drop_speed(nominal_drop_rev_per_s)[0]
        self.laps: list[Lap] = []
        self._learned_deceleration = learned.deceleration()
        self._deceleration: float | None = None
        self._cuts: dict[int, list[int]] = {}
        self._lengths: dict[int, tuple[int, int]] = {}
        self._out_of_step = 0

    @property
    def deceleration(self) -> float:
        """Speed lost a second over the last laps, in rev/s2; what is usual while they can't tell."""
        return self._learned_deceleration if self._deceleration is None else self._deceleration

    def see(self, t_us: int, beam: int) -> Lap | None:
        """Take one cut; give the lap it closed when it is in step."""
        cuts = self._cuts.get(beam)
        if cuts is None:
            self._cuts[beam] = [t_us]
            return None
        if t_us - cuts[-1] < DOUBLED_US:
            return None
        started = self._find_start(t_us, beam, cuts)
        cuts.append(t_us)
        if len(cuts) > 4:
            del cuts[0]
        if started is None:
            self._out_of_step += 1
            if self._out_of_step > _LOST_AFTER:
                self._start_again()
            return None
        self._out_of_step = 0
        return self._close(t_us, beam, t_us - started)

    def expected_length_us(self, t_us: int) -> float | None:
        """Give how long a lap that ends at this time should take; None while no lap is known."""
        if not self.laps:
            return None
        last = self.laps[-1]
        seconds = (t_us - last.end_us) / 1e6
        speed = 1e6 / last.length_us - self.deceleration * seconds
        return 1e6 / max(speed, 1e6 / _SLOWEST_LAP_US)

    def speed_at(self, t_us: int) -> float | None:
        """Give the ball's speed now in rev/s, carried on from its last lap; None while no lap is known."""
        if not self.laps:
            return None
        last = self.laps[-1]
        return 1e6 / last.length_us - self.deceleration * (t_us - last.end_us + last.length_us / 2) / 1e6

    def predicted_drop_us(self) -> int | None:
        """Give when the ball should leave the track; None while no lap is known."""
        if not self.laps:
            return None
        end_us = self.laps[-1].end_us
        speed = self.speed_at(end_us)
        assert speed is not None
        return end_us + round(1e6 * self._seconds_to_drop(speed))

    def _seconds_to_drop(self, speed: float) -> float:
        slowest = self.drop_rev_per_s
        if speed <= slowest:
            return (speed - slowest) / self._learned_deceleration
        # The rate was measured about a lap ago: carry it on along deceleration = friction + drag x speed^2.
        measured_at = speed + self.deceleration * self.laps[-1].length_us / 2e6
        friction = max(self.deceleration - _DRAG * measured_at * measured_at, 0.4 * self.deceleration)
        middle = (speed + slowest) / 2
        rates = [friction + _DRAG * v * v for v in (speed, middle, slowest)]
        return (speed - slowest) / 6 * (1 / rates[0] + 4 / rates[1] + 1 / rates[2])

    def _find_start(self, t_us: int, beam: int, cuts: list[int]) -> int | None:
        expected = self.expected_length_us(t_us)
        if expected is None:
            length = t_us - cuts[-1]
            if not _FASTEST_LAP_US <= length <= _SLOWEST_LAP_US:
                return None
            return cuts[-1] if self._nobody_cut_twice_since(cuts[-1], beam) else None
        tolerance = _STEP_TOLERANCE * expected
        for cut in reversed(cuts):
            off = t_us - cut - expected
            if off > tolerance:
                return None
            if off >= -tolerance:
                return cut
        return None

    def _nobody_cut_twice_since(self, since_us: int, beam: int) -> bool:
        return all(
            len(cuts) < 2 or cuts[-2] < since_us for other, cuts in self._cuts.items() if other != beam
        )

    def _close(self, t_us: int, beam: int, length_us: int) -> Lap:
        before = self._lengths.get(beam)
        rate: float | None = None
        if before is not None and abs(before[0] - (t_us - length_us)) < DOUBLED_US:
            rate = (1e6 / before[1] - 1e6 / length_us) / ((before[1] + length_us) / 2e6)
            known = self._deceleration
            self._deceleration = max(rate if known is None else known + 0.4 * (rate - known), 0.005)
        lap = Lap(beam, t_us, length_us, rate)
        self._lengths[beam] = (t_us, length_us)
        self.laps.append(lap)
        return lap

    def _start_again(self) -> None:
        self.laps.clear()
        self._lengths.clear()
        self._deceleration = None
        self._out_of_step = 0
