"""Launches: when pulses in the track are a launched ball, and when a hand or the last spin's."""

from collections.abc import Callable
from itertools import pairwise

from controller.model.readings import BallBeam, BallDrop, BallOut, DeviceDown, DeviceUp, Reading, WheelStatus
from controller.rules.wheel import SURELY_SEEN_US, SpinWatch

SURE_TURNS = 2.0
"""A hand's pulses and the ball's can make up one lap, but not this many."""
NO_BALL_US = 6_000_000
"""A pulse after which no lap closes for this long was a hand or a cloth, not a ball."""


class Launches:
    """Watches for the next launch: a ball that runs in the track or drops from it."""

    def __init__(self, new_watch: Callable[[int], SpinWatch]) -> None:
        """`new_watch` returns a watch that knows the wheel and the devices' state before a first pulse at
        that time.
        """
        self._new_watch = new_watch
        self._candidate: SpinWatch | None = None
        self._running_out: RunningOut | None = None
        self._last_pulse_us = 0
        self._pulse_dev = ""
        self._refused_us = 0
        self._late: list[BallBeam] = []
        """Late pulses from a time when the table was not in play: the next pulse may be the same ball's."""
        self.first_pulse_us = 0
        """When the latest launch began."""
        self.rejected_us = 0
        """When a ball last ran that was launched while the table was not in play."""

    @property
    def at_rest(self) -> bool:
        """Whether no ball has been seen since the last spin was decided."""
        return self._candidate is None and self._running_out is None

    @property
    def old_ball_runs(self) -> bool:
        """Whether a void spin's ball still runs in the track."""
        return self._running_out is not None

    @property
    def pending(self) -> bool:
        """Whether a pulse that may belong to a launch has been seen."""
        return self._candidate is not None

    def pending_at(self, t: int) -> bool:
        """Return whether a recent pulse may belong to a launch: an old one was caused by a hand."""
        return self.pending and t - self._last_pulse_us <= NO_BALL_US

    def turn_away(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play; return whether it could begin a spin."""
        is_pulse, ran = isinstance(reading, BallBeam), self.old_ball_runs
        if is_pulse:
            self._refused_us = reading.t
        launched = self.see(reading)
        assert launched is None
        if isinstance(reading, BallDrop):
            self._running_out = None
        return is_pulse and not ran

    def turn_away_late(self, pulse: BallBeam) -> bool:
        """Record a late pulse from while the table was not in play; return whether it may belong to a
        launch.
        """
        self._refused_us = max(self._refused_us, pulse.t)
        if self._running_out is not None:
            return False
        self._late.append(pulse)
        return True

    def let_run_out(self, watch: SpinWatch) -> None:
        """Attribute further pulses of this void spin's ball to it."""
        self._running_out = RunningOut(watch)

    def see(self, reading: Reading) -> SpinWatch | None:
        """Handle a reading; return the watch of a spin that has begun."""
        old = self._running_out
        if old is None:
            return self._check(reading)
        if isinstance(reading, BallBeam) and old.is_over(reading.t):
            self._running_out = None
            return self._check(reading)
        old.see(reading)
        launched = self.relaunched(old.watch) if isinstance(reading, BallBeam) else None
        if launched is None:
            return None
        self._running_out = None
        self._candidate = launched
        self._last_pulse_us, self._pulse_dev = reading.t, reading.dev
        return self._launched(launched)

    def relaunched(self, watch: SpinWatch) -> SpinWatch | None:
        """Return the watch of a later launch than the one with which this watch began; None if none was
        seen.
        """
        first = watch.launched_anew()
        if first is None:
            return None
        fresh = self._new_watch(first.t)
        for reading in watch.readings:
            if reading.t >= first.t:
                fresh.see(reading)
        self.first_pulse_us = first.t
        return fresh

    def launched_by_person(self) -> SpinWatch | None:
        """Return the watch of what may be a launch, because a person says that it is one."""
        candidate, self._candidate = self._candidate, None
        return candidate

    def launched_by_wheel(self, word: WheelStatus) -> SpinWatch:
        """Return the watch of a spin that a smart wheel says has begun."""
        watch = self.launched_by_person()
        if watch is None:
            self.first_pulse_us = word.t
            watch = self._new_watch(word.t)
            watch.see(word)
        return watch

    def _check(self, reading: Reading) -> SpinWatch | None:
        if isinstance(reading, BallBeam):
            if self._late:
                self._see_late()
            if self._candidate is None or reading.t - self._last_pulse_us > NO_BALL_US:
                self._candidate = self._new_watch(reading.t)
                self.first_pulse_us = reading.t
            self._last_pulse_us = reading.t
            self._pulse_dev = reading.dev
        candidate = self._candidate
        if candidate is None:
            return None
        candidate.see(reading)
        if not (candidate.ball_runs or self._tells(reading)):
            return None
        return self._launched(candidate)

    def _see_late(self) -> None:
        """Put the late pulses before what may be a launch, so that both are recognized as one ball's."""
        late, self._late = self._late, []
        seen = [] if self._candidate is None else self._candidate.readings
        readings = sorted((*late, *seen), key=lambda reading: reading.t)
        pulses = [reading.t for reading in readings if isinstance(reading, BallBeam)]
        begun = [after for before, after in pairwise(pulses) if after - before > NO_BALL_US]
        self.first_pulse_us = begun[-1] if begun else pulses[0]
        self._last_pulse_us = pulses[-1]
        self._candidate = self._new_watch(self.first_pulse_us)
        for reading in readings:
            if reading.t >= self.first_pulse_us:
                self._candidate.see(reading)

    def _launched(self, candidate: SpinWatch) -> SpinWatch | None:
        if self._ran_before(candidate):
            self._turn_away(candidate)
            return None
        return self.launched_by_person()

    def _turn_away(self, candidate: SpinWatch) -> None:
        if not candidate.ball_runs:
            self._candidate = None
        elif candidate.turns >= SURE_TURNS:
            self._candidate = None
            self.rejected_us = self._last_pulse_us
            self.let_run_out(candidate)

    def _ran_before(self, candidate: SpinWatch) -> bool:
        """Return whether the ball seems to have been launched while the table was not in play."""
        since_us = candidate.ran_since_us if candidate.ball_runs else self.first_pulse_us
        return since_us <= self._refused_us

    def _tells(self, reading: Reading) -> bool:
        """Return whether this proves a ball, or makes a proof impossible: the beams were lost after a pulse.

        A ball that jumps out of the wheel before its first lap leaves its pulses and is seen outside.
        """
        lately = reading.t - self._last_pulse_us <= NO_BALL_US
        if isinstance(reading, DeviceDown):
            return lately and reading.dev == self._pulse_dev
        if isinstance(reading, BallOut):
            return lately and self._candidate is not None and self._candidate.is_spin
        return isinstance(reading, BallDrop)


LONGEST_RUN_US = 40_000_000
"""No ball runs for this long, so a later one is another ball."""


class RunningOut:
    """Follows a void spin's ball until it fell silent or was launched again."""

    def __init__(self, watch: SpinWatch) -> None:
        """Go on from the void spin's own watch."""
        self.watch = watch
        pulses = [r.t for r in watch.readings if isinstance(r, BallBeam)]
        self._first_us, self._last_us = (pulses[0], pulses[-1]) if pulses else (0, 0)
        self._lost: set[str] = set()
        for reading in watch.readings:
            self._see_device(reading)

    def is_over(self, t: int) -> bool:
        """Return whether a pulse then is another ball's: this one has had no pulse for this long."""
        return t - self._last_us > SURELY_SEEN_US

    def see(self, reading: Reading) -> None:
        """Handle a reading, in time order."""
        if isinstance(reading, BallBeam):
            self._last_us = reading.t
            self.watch.follow(reading)
        elif isinstance(reading, BallDrop | DeviceDown | DeviceUp):
            self.watch.follow(reading)
            self._see_device(reading)

    def _see_device(self, reading: Reading) -> None:
        """Handle a device's absence: its silence means something only from its return on."""
        if isinstance(reading, DeviceDown):
            self._lost.add(reading.dev)
        elif isinstance(reading, DeviceUp) and reading.dev in self._lost:
            self._lost.discard(reading.dev)
            if reading.t - self._first_us <= LONGEST_RUN_US:
                self._last_us = reading.t
