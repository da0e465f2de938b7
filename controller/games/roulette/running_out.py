"""A ball that still runs after its spin was declared void: its pulses are not the next spin's."""

from controller.model.readings import BallBeam, BallDrop, DeviceDown, DeviceUp, Reading
from controller.rules.wheel import SURELY_SEEN_US, SpinWatch

LONGEST_RUN_US = 40_000_000
"""No ball runs for so long, so what is seen then is another one."""


class RunningOut:
    """Follows a void spin's ball until it fell silent or was launched anew."""

    def __init__(self, watch: SpinWatch) -> None:
        """Take up from the void spin's own watch."""
        self.watch = watch
        pulses = [r.t for r in watch.readings if isinstance(r, BallBeam)]
        self._first_us, self._last_us = (pulses[0], pulses[-1]) if pulses else (0, 0)
        self._lost: set[str] = set()
        for reading in watch.readings:
            self._see_device(reading)

    def is_over(self, t: int) -> bool:
        """Tell whether a pulse then is another ball's: this one was not heard for so long."""
        return t - self._last_us > SURELY_SEEN_US

    def see(self, reading: Reading) -> None:
        """Take a reading, in time order."""
        if isinstance(reading, BallBeam):
            self._last_us = reading.t
            self.watch.follow(reading)
        elif isinstance(reading, BallDrop | DeviceDown | DeviceUp):
            self.watch.follow(reading)
            self._see_device(reading)

    def _see_device(self, reading: Reading) -> None:
        """A device that was away heard nothing: only from its return on does its silence tell anything."""
        if isinstance(reading, DeviceDown):
            self._lost.add(reading.dev)
        elif isinstance(reading, DeviceUp) and reading.dev in self._lost:
            self._lost.discard(reading.dev)
            if reading.t - self._first_us <= LONGEST_RUN_US:
                self._last_us = reading.t
