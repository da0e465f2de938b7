"""Launch detection, which distinguishes a launched ball's pulses from those of a hand or an earlier ball."""

from collections.abc import Callable
from itertools import pairwise

from controller.model.readings import BallBeam, BallDrop, BallOut, DeviceDown, DeviceUp, Reading, WheelStatus
from controller.rules.wheel import SURELY_SEEN_US, SpinWatch

SURE_TURNS = 2.0
"""A hand and a ball together can imitate one revolution, but not this many revolutions."""
NO_BALL_US = 6_000_000
"""If no further pulse follows within this time, the pulses are attributed to a hand or a cloth."""


class Launches:
    """Detects the next launch from the ball's run in the track or its drop."""

    def __init__(self, new_watch: Callable[[int], SpinWatch]) -> None:
        """`new_watch` returns a watch for a spin whose first pulse is at the given time."""
        self._new_watch = new_watch
        self._candidate: SpinWatch | None = None
        self._old_ball: OldBall | None = None
        self._last_pulse_us = 0
        self._pulse_dev = ""
        self._refused_us = 0
        self._late: list[BallBeam] = []
        """Delayed pulses from before the table was in play. The next pulse might come from the same ball."""
        self.first_pulse_us = 0
        """The time of the first pulse of the latest possible launch."""
        self.rejected_us = 0
        """The time of the last pulse when a launch was last rejected because the table was not in play."""

    @property
    def idle(self) -> bool:
        """Whether neither a possible launch nor the ball of a void or rejected spin is being followed."""
        return self._candidate is None and self._old_ball is None

    @property
    def old_ball_runs(self) -> bool:
        """Whether the ball of a void or rejected spin might still be running in the track."""
        return self._old_ball is not None

    @property
    def pending(self) -> bool:
        """Whether a pulse that might belong to a launch has been detected."""
        return self._candidate is not None

    def pending_at(self, t: int) -> bool:
        """Return whether a pulse shortly before `t` might belong to a launch."""
        return self.pending and t - self._last_pulse_us <= NO_BALL_US

    def reject(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play.

        Return whether it might begin a spin, or proves a launch whose pulses came in play.
        """
        is_pulse, ran = isinstance(reading, BallBeam), self.old_ball_runs
        if is_pulse:
            self._refused_us = reading.t
        launched = self.receive(reading)
        if launched is not None:
            # The pulses came while the table was in play, but only this reading proves the launch.
            self.rejected_us = self._last_pulse_us
            self.follow_old_ball(launched)
        if isinstance(reading, BallDrop):
            self._old_ball = None
        return launched is not None or (is_pulse and not ran)

    def reject_late(self, pulse: BallBeam) -> bool:
        """Handle a delayed pulse from a time when the table was not in play.

        Return whether the pulse might belong to a launch.
        """
        self._refused_us = max(self._refused_us, pulse.t)
        if self._old_ball is not None:
            return False
        self._late.append(pulse)
        return True

    def follow_old_ball(self, watch: SpinWatch) -> None:
        """Attribute pulses to the ball of this void or rejected spin until the ball has left the track."""
        self._old_ball = OldBall(watch)

    def receive(self, reading: Reading) -> SpinWatch | None:
        """Handle a reading. Return the watch of the spin that it begins; None if it begins none."""
        old = self._old_ball
        if old is None:
            return self._check(reading)
        if isinstance(reading, BallBeam) and old.is_over(reading.t):
            self._old_ball = None
            return self._check(reading)
        old.receive(reading)
        launched = self.relaunched(old.watch) if isinstance(reading, BallBeam) else None
        if launched is None:
            return None
        self._old_ball = None
        self._candidate = launched
        self._last_pulse_us, self._pulse_dev = reading.t, reading.dev
        return self._launched(launched)

    def relaunched(self, watch: SpinWatch) -> SpinWatch | None:
        """Return a watch for a later launch among this watch's readings; None if there is none."""
        first = watch.relaunched()
        if first is None:
            return None
        fresh = self._new_watch(first.t)
        for reading in watch.readings:
            if reading.t >= first.t:
                fresh.receive(reading)
        self.first_pulse_us = first.t
        return fresh

    def take_pending(self) -> SpinWatch | None:
        """Return the watch of the pending pulses, and stop following them; None if there are none."""
        candidate, self._candidate = self._candidate, None
        return candidate

    def launched_by_wheel(self, report: WheelStatus) -> SpinWatch:
        """Return the watch of a spin that a smart wheel reports."""
        watch = self.take_pending()
        if watch is None:
            self.first_pulse_us = report.t
            watch = self._new_watch(report.t)
            watch.receive(report)
        return watch

    def _check(self, reading: Reading) -> SpinWatch | None:
        if isinstance(reading, BallBeam):
            if self._late:
                self._add_late_pulses()
            if self._candidate is None or reading.t - self._last_pulse_us > NO_BALL_US:
                self._candidate = self._new_watch(reading.t)
                self.first_pulse_us = reading.t
            self._last_pulse_us = reading.t
            self._pulse_dev = reading.dev
        candidate = self._candidate
        if candidate is None:
            return None
        candidate.receive(reading)
        if not (candidate.ball_runs or self._proves_ball(reading)):
            return None
        return self._launched(candidate)

    def _add_late_pulses(self) -> None:
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
                self._candidate.receive(reading)

    def _launched(self, candidate: SpinWatch) -> SpinWatch | None:
        if self._ran_before(candidate):
            self._reject(candidate)
            return None
        return self.take_pending()

    def _reject(self, candidate: SpinWatch) -> None:
        if not candidate.ball_runs:
            self._candidate = None
        elif candidate.turns >= SURE_TURNS:
            self._candidate = None
            self.rejected_us = self._last_pulse_us
            self.follow_old_ball(candidate)

    def _ran_before(self, candidate: SpinWatch) -> bool:
        """Return whether the ball was probably launched while the table was not in play."""
        since_us = candidate.ran_since_us if candidate.ball_runs else self.first_pulse_us
        return since_us <= self._refused_us

    def _proves_ball(self, reading: Reading) -> bool:
        """Return whether this reading proves a launch without a complete revolution.

        The ball's drop is proof. Within `NO_BALL_US` of the last pulse, two other readings are treated as
        proof: a ball outside the wheel, if the pulses are a ball's, and the loss of the device that reported
        the last pulse, because no revolution can be detected afterwards.
        """
        is_recent = reading.t - self._last_pulse_us <= NO_BALL_US
        if isinstance(reading, DeviceDown):
            return is_recent and reading.dev == self._pulse_dev
        if isinstance(reading, BallOut):
            return is_recent and self._candidate is not None and self._candidate.is_spin
        return isinstance(reading, BallDrop)


MAX_RUN_US = 40_000_000
"""The longest run of a ball. If a lost device recovers later, its pulses come from another ball."""


class OldBall:
    """Follows the ball of a void or rejected spin until its pulses end or it is launched again."""

    def __init__(self, watch: SpinWatch) -> None:
        self.watch = watch
        pulses = [r.t for r in watch.readings if isinstance(r, BallBeam)]
        self._first_us, self._last_us = (pulses[0], pulses[-1]) if pulses else (0, 0)
        self._lost: set[str] = set()
        for reading in watch.readings:
            self._track_device(reading)

    def is_over(self, t: int) -> bool:
        """Return whether a pulse at `t` comes from another ball, because this ball's pulses have ended."""
        return t - self._last_us > SURELY_SEEN_US

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        if isinstance(reading, BallBeam):
            self._last_us = reading.t
            self.watch.follow(reading)
        elif isinstance(reading, BallDrop | DeviceDown | DeviceUp):
            self.watch.follow(reading)
            self._track_device(reading)

    def _track_device(self, reading: Reading) -> None:
        """Record a device's loss or recovery.

        While a device is lost, missing pulses prove nothing, so its recovery counts as a pulse of the ball.
        """
        if isinstance(reading, DeviceDown):
            self._lost.add(reading.dev)
        elif isinstance(reading, DeviceUp) and reading.dev in self._lost:
            self._lost.discard(reading.dev)
            if reading.t - self._first_us <= MAX_RUN_US:
                self._last_us = reading.t
