"""A ball that still runs after its spin was declared void: its pulses are not the next spin's."""

from collections.abc import Iterable

from controller.model.readings import BallBeam, BallDrop, DeviceDown, DeviceUp, Reading
from controller.rules.wheel import SURELY_SEEN_US

QUIET_LAPS = 2.5
"""Nor for so many of its laps, unless every beam missed it twice running."""
FASTER = 0.92
"""A ball in the track only slows down; a lap in so much less time than the ones before is a new launch."""
FASTER_LAPS = 2
"""So many such pulses in a row, of different beams: one alone may be spurious."""
DOUBLE_US = 150_000
"""Two pulses of one beam this close are one ball seen twice; no ball laps so fast."""


LONGEST_RUN_US = 40_000_000
"""No ball runs for so long, so what is seen then is another one."""


class RunningOut:
    """Follows a void spin's ball until it has dropped, fell silent, or was launched anew."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        """Take up from the void spin's own readings."""
        self.over = False
        """Whether the old ball is done with."""
        self._first_us = self._last_us = 0
        self._seen_us: dict[int, int] = {}
        self._laps_us: dict[int, tuple[int, int]] = {}
        self._faster: list[BallBeam] = []
        self._lost: set[str] = set()
        for reading in readings:
            if isinstance(reading, BallBeam):
                self._lap(reading)
            else:
                self._see_device(reading)

    def see(self, reading: Reading) -> list[BallBeam]:
        """Take a reading; give the pulses that turn out to be a new launch's, usually none."""
        if isinstance(reading, BallDrop):
            self.over = True
        if not isinstance(reading, BallBeam):
            self._see_device(reading)
            return []
        if reading.t - self._last_us > self._quiet_us():
            self.over = True
            return [reading]
        if self._lap(reading):
            self._faster = [pulse for pulse in self._faster if pulse.beam != reading.beam]
            self._faster.append(reading)
            if len(self._faster) >= FASTER_LAPS:
                self.over = True
                return self._faster
        else:
            self._faster.clear()
        return []

    def _see_device(self, reading: Reading) -> None:
        """A device that was away heard nothing: only from its return on does its silence tell anything."""
        if isinstance(reading, DeviceDown):
            self._lost.add(reading.dev)
        elif isinstance(reading, DeviceUp) and reading.dev in self._lost:
            self._lost.discard(reading.dev)
            if reading.t - self._first_us <= LONGEST_RUN_US:
                self._last_us = reading.t

    def _quiet_us(self) -> float:
        laps = [last for _, last in self._laps_us.values()]
        return min(SURELY_SEEN_US, QUIET_LAPS * max(laps)) if laps else SURELY_SEEN_US

    def _lap(self, pulse: BallBeam) -> bool:
        before_us = self._seen_us.get(pulse.beam)
        self._last_us = pulse.t
        self._first_us = self._first_us or pulse.t
        if before_us is None:
            self._seen_us[pulse.beam] = pulse.t
            return False
        lap_us = pulse.t - before_us
        if lap_us < DOUBLE_US:
            return False
        self._seen_us[pulse.beam] = pulse.t
        last_two = self._laps_us.get(pulse.beam)
        self._laps_us[pulse.beam] = (last_two[1] if last_two else lap_us, lap_us)
        return last_two is not None and lap_us < FASTER * min(last_two)
