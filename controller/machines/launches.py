"""Launches: when pulses in the track are a ball sent off, and when a hand or the last spin's ball."""

from collections.abc import Callable, Iterable

from controller.machines.running_out import RunningOut
from controller.model.readings import BallBeam, BallDrop, DeviceDown, Reading, WheelStatus
from controller.rules.wheel import SpinWatch

NO_BALL_US = 6_000_000
"""A pulse without a lap closed for this long was a hand or a cloth, not a ball."""


class Launches:
    """Watches for the next launch: a ball that closes a lap in the track, or drops from it."""

    def __init__(self, new_watch: Callable[[], SpinWatch]) -> None:
        """`new_watch` gives a watch that knows the wheel and what stood before the launch."""
        self._new_watch = new_watch
        self._candidate: SpinWatch | None = None
        self._running_out: RunningOut | None = None
        self._last_pulse_us = 0
        self._pulse_dev = ""
        self.first_pulse_us = 0
        """When the launch that was seen last began."""

    @property
    def old_ball_runs(self) -> bool:
        """Whether a void spin's ball still runs in the track."""
        return self._running_out is not None

    @property
    def pending(self) -> bool:
        """Whether a pulse was seen that may be a launch's."""
        return self._candidate is not None

    def let_run_out(self, readings: Iterable[Reading]) -> None:
        """Leave the pulses of this void spin's ball to it."""
        self._running_out = RunningOut(readings)

    def see(self, reading: Reading) -> SpinWatch | None:
        """Take a reading; give the watch of a spin that has begun."""
        if self._running_out is None:
            return self._look(reading)
        relaunched = self._running_out.see(reading)
        if self._running_out.over:
            self._running_out = None
        for pulse in relaunched:
            launched = self._look(pulse)
            if launched is not None:
                return launched
        return None

    def take(self) -> SpinWatch | None:
        """Give the watch of what may be a launch: a person says that it is one."""
        candidate, self._candidate = self._candidate, None
        return candidate

    def told_by(self, word: WheelStatus) -> SpinWatch:
        """Give the watch of a spin that a smart wheel says has begun."""
        watch = self.take()
        if watch is None:
            self.first_pulse_us = word.t
            watch = self._new_watch()
            watch.see(word)
        return watch

    def _look(self, reading: Reading) -> SpinWatch | None:
        if isinstance(reading, BallBeam):
            if self._candidate is None or reading.t - self._last_pulse_us > NO_BALL_US:
                self._candidate = self._new_watch()
                self.first_pulse_us = reading.t
            self._last_pulse_us = reading.t
            self._pulse_dev = reading.dev
        candidate = self._candidate
        if candidate is None:
            return None
        candidate.see(reading)
        return self.take() if candidate.ball_runs or self._tells(reading) else None

    def _tells(self, reading: Reading) -> bool:
        """Tell whether this proves a ball, or leaves nobody who could: the beams are lost after a pulse."""
        if isinstance(reading, DeviceDown):
            return reading.dev == self._pulse_dev and reading.t - self._last_pulse_us <= NO_BALL_US
        return isinstance(reading, BallDrop)
