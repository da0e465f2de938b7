"""Readings put into the order of their own time, a watermark behind the last arrival.

Readings of different devices arrive late and out of order. One is handed on once nothing earlier can still
arrive, so that the order of arrival changes nothing; one that comes later than that is late and not used.
"""

from bisect import insort
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    Card,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    ForeignObject,
    Input,
    PocketBall,
    Reading,
    RotorIndex,
    Switch,
    WallImpact,
    WheelStatus,
)

AHEAD_US = 1_000_000
"""A reading that claims to be seen this long after it arrived comes from a clock that is wrong."""

LEAP_US = 600_000_000
"""Where arrivals are not recorded, a leap this far ahead is believed once a second reading confirms it."""

_SAME_TIME: tuple[type[Reading], ...] = (
    DeviceUp,
    DeviceDown,
    DeviceFault,
    Switch,
    RotorIndex,
    DieReleased,
    DieAt,
    DieContact,
    WallImpact,
    BallBeam,
    ForeignObject,
    BallDrop,
    PocketBall,
    BallOut,
    WheelStatus,
    Card,
    DieLost,
    DieOffTable,
    DieRest,
    Input,
)
"""Of readings with one time: causes before what they decide, and people's inputs last."""

_RANK: dict[type[Reading], int] = {kind: rank for rank, kind in enumerate(_SAME_TIME)}
_RANKS = 32
_encode = msgspec.json.Encoder().encode
_Waiting = tuple[int, int, AnyReading]
"""A reading with its place: its time and rank in one number, and which arrival it was."""


class Order:
    """The readings that have arrived and wait for the watermark."""

    def __init__(self, max_lateness_ms: float) -> None:
        """Wait this long for a late reading."""
        self._lateness_us = round(max_lateness_ms * 1000)
        self._waiting: list[_Waiting] = []
        self._arrivals = 0
        self._now = 0
        self._leapt: AnyReading | None = None
        self.set_aside: list[tuple[AnyReading, int]] = []
        """Readings that turned out to be far ahead of everything after them, and by how much."""
        self.watermark = 0
        """Microseconds; nothing earlier will be accepted any more."""

    def put(self, reading: AnyReading) -> int:
        """Take a reading as it arrives; give how far its time is off the mark (0: it counts).

        That is how many microseconds too late it is, or how far ahead of its own arrival.
        """
        t = reading.t
        now = reading.arrived
        if now is not None:
            if t > now + AHEAD_US:
                return t - now
            return self._put(reading, max(t, now))
        if self._leapt is not None or t > self._now + LEAP_US:
            return self._put_leap(reading)
        return self._put(reading, t)

    def _put(self, reading: AnyReading, now: int) -> int:
        if now > self._now:
            self._now = now
            self.watermark = max(self.watermark, now - self._lateness_us)
        t = reading.t
        if t < self.watermark:
            return self.watermark - t
        self._arrivals += 1
        waiting = self._waiting
        entry = (t * _RANKS + _RANK[type(reading)], self._arrivals, reading)
        if waiting and entry < waiting[-1]:
            insort(waiting, entry)
        else:
            waiting.append(entry)
        return 0

    def _put_leap(self, reading: AnyReading) -> int:
        """Believe a leap in time when a second reading confirms it, or else set the first aside."""
        leapt = self._leapt
        if leapt is None:
            if self._arrivals == 0:
                return self._put(reading, reading.t)
            self._leapt = reading
            return 0
        self._leapt = None
        if reading.t > self._now + LEAP_US:
            first, second = sorted((leapt, reading), key=lambda r: r.t)
            self._put(first, first.t)
            return self._put(second, second.t)
        self.set_aside.append((leapt, leapt.t - self._now))
        return self._put(reading, reading.t)

    def advance(self, now_us: int) -> None:
        """Let time run on without a reading."""
        self._now = max(self._now, now_us)
        self.watermark = max(self.watermark, self._now - self._lateness_us)

    def ready(self) -> Sequence[AnyReading]:
        """Take every reading before the watermark, in order."""
        waiting = self._waiting
        limit = self.watermark * _RANKS
        if not waiting or waiting[0][0] >= limit:
            return ()
        count, arrived = 1, len(waiting)
        while count < arrived and waiting[count][0] < limit:
            count += 1
        return (waiting.pop(0)[2],) if count == 1 else self._take(count)

    def rest(self) -> Sequence[AnyReading]:
        """Take every reading that still waits, in order; the watermark then stands behind the last."""
        if self._leapt is not None:
            leapt, self._leapt = self._leapt, None
            self._put(leapt, leapt.t)
        self.watermark = max(self.watermark, self._now)
        return self._take(len(self._waiting))

    @property
    def now(self) -> int:
        """The latest time heard of."""
        return self._now

    def _take(self, count: int) -> Sequence[AnyReading]:
        waiting = self._waiting
        taken = waiting[:count]
        del waiting[:count]
        if any(one[0] == next_one[0] for one, next_one in pairwise(taken)):
            taken.sort(key=_key_and_content)
        return [reading for _, _, reading in taken]


def _key_and_content(entry: _Waiting) -> tuple[int, bytes]:
    key, _, reading = entry
    if reading.arrived is not None:
        reading = msgspec.structs.replace(reading, arrived=None)
    return key, _encode(reading)
