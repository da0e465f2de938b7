"""The clock of a virtual table: the machine's own, or one that runs faster and waits for whoever is behind.

A virtual table that is faster than life can only serve a program that lives in the same time: its clock is
in a file, which `FollowedClock` reads. It never runs past what the virtual table has not done yet, so that a
busy machine makes the evening slower and never wrong.
"""

import mmap
import struct
import time
from pathlib import Path
from typing import Protocol

FILE_FORM = struct.Struct("=QQqqqd")
"""Count before, count after, since (monotonic ns), stood at (us), limit (us), speed."""
_TRIES = 1000


class Clock(Protocol):
    """The virtual table's time in microseconds."""

    speed: float

    def now_us(self) -> int:
        """Give the time; it never goes back."""
        ...

    def allow(self, until_us: int) -> int:
        """Let it run on from now to this time at the most; give how far it will run."""
        ...


class RealClock:
    """The machine's monotonic clock, which waits for nobody."""

    speed = 1.0

    def now_us(self) -> int:
        """Give the time since the machine started."""
        return time.monotonic_ns() // 1000

    def allow(self, until_us: int) -> int:
        """Take no notice: it runs by itself."""
        return until_us


class PacedClock:
    """A clock so many times as fast as life, that stops where it was not allowed to go on."""

    def __init__(self, speed: float, file: Path | None = None) -> None:
        """Stand at the machine's monotonic time; tell others through a file."""
        self.speed = speed
        started_us = time.monotonic_ns() // 1000
        self._state = (time.monotonic_ns(), started_us, started_us)
        self._count = 0
        self._shared: mmap.mmap | None = None
        if file is not None:
            file.write_bytes(bytes(FILE_FORM.size))
            with file.open("r+b") as opened:
                self._shared = mmap.mmap(opened.fileno(), FILE_FORM.size)
            self._share()

    def now_us(self) -> int:
        """Give the time."""
        return _time_of(*self._state, self.speed)

    def allow(self, until_us: int) -> int:
        """Run on from here, to this time at the most."""
        now_ns = time.monotonic_ns()
        now_us = self.now_us()
        limit_us = max(now_us, until_us)
        self._state = (now_ns, now_us, limit_us)
        self._share()
        return limit_us

    def _share(self) -> None:
        if self._shared is not None:
            self._count += 1
            self._shared[:] = FILE_FORM.pack(self._count, self._count, *self._state, self.speed)


class FollowedClock:
    """A virtual table's clock as another process sees it."""

    def __init__(self, file: Path) -> None:
        """Follow the clock in this file; raises OSError where there is none."""
        with file.open("rb") as opened:
            self._shared = mmap.mmap(opened.fileno(), FILE_FORM.size, access=mmap.ACCESS_READ)
        self._last_us = 0

    def now_us(self) -> int:
        """Give the time; it stands still when the virtual table has ended."""
        for _ in range(_TRIES):
            before, after, since_ns, stood_at_us, limit_us, speed = FILE_FORM.unpack(self._shared[:])
            if before == after:
                self._last_us = max(self._last_us, _time_of(since_ns, stood_at_us, limit_us, speed))
                break
        return self._last_us

    def reach(self, now_us: int) -> None:
        """Take no notice: this clock goes by itself."""


def _time_of(since_ns: int, stood_at_us: int, limit_us: int, speed: float) -> int:
    return min(limit_us, stood_at_us + int((time.monotonic_ns() - since_ns) * speed) // 1000)
