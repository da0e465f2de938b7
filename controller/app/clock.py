"""The clocks of a live table: the monotonic clock for all decisions, and the wall clock only for labels.

The other modules of `controller.app` receive the time from this one. The exception is `requests.py`, which
reads the time since boot for the expiry of sign-in tokens.
"""

import ctypes
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from controller.journal.chain import WallTime

_TIME_ERROR = 5
"""The return value of adjtimex(2) while the kernel's clock is not synchronized."""
_TIMEX_BYTES = 256
"""Size of a buffer larger than the kernel's `struct timex`. If all bytes are zero, the call only reads."""
_adjtimex = ctypes.CDLL(None).adjtimex


class Clock(Protocol):
    """The table's clock, in microseconds; it never goes backwards."""

    def now_us(self) -> int:
        """Return the time."""

    def reach(self, now_us: int) -> None:
        """Advance to a reading's arrival time, if the readings drive this clock."""


class MonotonicClock:
    """The machine's monotonic clock."""

    def now_us(self) -> int:
        """Return the time since the machine started."""
        return time.monotonic_ns() // 1000

    def reach(self, now_us: int) -> None:
        """Do nothing; the machine advances this clock."""


class DataClock:
    """A clock driven by the arrival times of readings, for simulations that run faster than real time."""

    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        """Return the time of the latest arrival."""
        return self._now_us

    def reach(self, now_us: int) -> None:
        """Advance to this arrival, unless it precedes the current time."""
        self._now_us = max(self._now_us, now_us)


def system_wall() -> WallTime:
    """Return the wall time and whether the kernel reports its clock as synchronized."""
    state = int(_adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    return WallTime(time.time_ns() // 1000, 0 <= state < _TIME_ERROR)


def iso(wall_us: int) -> str:
    """Return a wall time as ISO 8601 in UTC."""
    return (
        datetime.fromtimestamp(wall_us / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


class ClockStep(NamedTuple):
    """A step of the wall clock: its size, and whether it was the first synchronization."""

    by_us: int
    first_sync: bool


class WallWatch:
    """A detector of wall clock steps, which compares the wall clock with the monotonic clock."""

    def __init__(
        self, wall: Callable[[], WallTime], monotonic_us: Callable[[], int], tolerance_us: int
    ) -> None:
        """Start with the current difference between the two clocks; ignore steps below the tolerance."""
        self._wall = wall
        self._monotonic_us = monotonic_us
        self._tolerance_us = tolerance_us
        self._synced = wall().synced
        self._offset_us = self._offset()

    def step(self) -> ClockStep | None:
        """Return the step since the last call, or None."""
        offset_us = self._offset()
        synced_before, self._synced = self._synced, self._wall().synced
        by_us = offset_us - self._offset_us
        self._offset_us = offset_us
        if abs(by_us) < self._tolerance_us:
            return None
        return ClockStep(by_us, self._synced and not synced_before)

    def _offset(self) -> int:
        return self._wall().us - self._monotonic_us()
