"""The reorder buffer, which sorts readings by time.

Readings from different devices arrive out of order. The buffer holds each reading until the watermark, the
current time minus the maximum lateness, has passed the reading's time. A reading that arrives after the
watermark has passed the reading's time is late, and does not count.

A reading whose time is far from the current time is doubtful. A reading far ahead would make all others late;
a reading far behind might be the first after a clock was set back. The buffer accepts a doubtful reading once
a later reading confirms it or, if it is far ahead, once the current time reaches it.

If a reading's arrival is recorded, the reading is doubtful only if both its time and its arrival are far
behind. It is rejected if its time is more than `MAX_AHEAD_US` after its arrival.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

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

MAX_AHEAD_US = 1_000_000
"""Maximum lead of a reading's time over its arrival; with a larger lead, the reading is rejected."""

STEP_US = 1_000_000
"""Maximum lag of a reading that is not doubtful; a larger lag means a late reading or a clock set back."""

LEAP_US = 1_000_000
"""Maximum lead of a reading that is not doubtful; a larger lead means an invalid time or a pause."""

_ORDER_AT_SAME_TIME: tuple[type[Reading], ...] = (
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
"""The order of readings with equal times: causes before their effects, and inputs last."""

_NOT_OVERTAKEN = frozenset({DieReleased, DieAt, BallBeam, Card, Input})
"""The kinds of readings that an input must not overtake: those that can begin an attempt, and inputs. If no
release is reported, moving dice begin a throw.
"""

_RANK: dict[type[Reading], int] = {kind: rank for rank, kind in enumerate(_ORDER_AT_SAME_TIME)}
_RANKS = 32
"""The factor that combines time and rank into one sort key; larger than the number of kinds."""
_encode = msgspec.json.Encoder().encode
_Waiting = tuple[int, int, AnyReading]
"""A reading in the buffer, preceded by its sort key and its arrival number."""
_key = itemgetter(0)
_reading = itemgetter(2)


class ClockStep(NamedTuple):
    """A step back of a clock: the first reading after the step, and the size of the step in us."""

    reading: AnyReading
    back_us: int


class _Doubtful(msgspec.Struct, frozen=True, gc=False):
    reading: AnyReading
    now: int
    """The time, in us, to which the reading would advance the buffer."""
    has_arrival: bool


class ReorderBuffer:
    """A buffer that holds readings until the watermark has passed their times."""

    def __init__(self, max_lateness_ms: float) -> None:
        self._lateness_us = round(max_lateness_ms * 1000)
        self._waiting: list[_Waiting] = []
        self._arrivals = 0
        self._now = 0
        self._doubtful: _Doubtful | None = None
        self._contradiction: _Doubtful | None = None
        """A reading that contradicts a doubtful reading whose time is far ahead; the next reading decides
        between the two.
        """
        self._shift_us = 0
        self.set_aside: list[tuple[AnyReading, int]] = []
        """The rejected readings that have not been reported yet, each with the error in its time, in us."""
        self.clock_steps: list[ClockStep] = []
        """The detected clock steps that have not been reported yet."""
        self.watermark = 0
        """The time, in us, before which readings are no longer accepted."""

    def put_all(self, readings: Iterable[AnyReading]) -> Iterator[tuple[AnyReading, int | None]]:
        """Put readings into the buffer, in order of arrival; yield those that need the session's attention.

        These are the readings that do not count, and those that reveal a clock step or an earlier reading
        that does not count. Each is yielded with the result of `put`. Inputs are yielded with None and are
        not put into the buffer, because the session decides whether they must wait.
        """
        for reading in readings:
            t = reading.t
            if type(reading) is Input:
                yield reading, None
                continue
            if self.watermark <= t and reading.arrived is None and not self._shift_us:
                doubtful = self._doubtful
                if doubtful is None:
                    if -STEP_US <= t - self._now <= LEAP_US:
                        self._put(reading, t)
                        continue
                elif self._now < doubtful.now <= t and self._contradiction is None:
                    self._confirm_pause(doubtful, reading, t)
                    continue
            behind_us = self.put(reading)
            if behind_us or self.set_aside or self.clock_steps:
                yield reading, behind_us

    def _confirm_pause(self, first: _Doubtful, reading: AnyReading, t: int) -> None:
        """Accept the first reading after a pause, because the second reading confirms the pause.

        The second reading is put into the buffer, unless it is itself far ahead and therefore doubtful.
        """
        self._doubtful = None
        self._put(first.reading, first.now)
        if t - first.now <= LEAP_US:
            self._put(reading, t)
        else:
            self._doubtful = _Doubtful(reading, t, has_arrival=False)

    def put(self, reading: AnyReading) -> int:
        """Put a reading into the buffer; return 0 if it counts, otherwise the error in its time, in us.

        A reading does not count if it is late, or more than `MAX_AHEAD_US` ahead of its arrival. The result
        for a doubtful reading is 0; if no later reading confirms it, it is added to `set_aside`.
        """
        if self._shift_us:
            reading = _shifted(reading, self._shift_us)
        t = reading.t
        arrived = reading.arrived
        if arrived is None:
            if self._doubtful is None and (-STEP_US <= t - self._now <= LEAP_US or not self._arrivals):
                return self._put(reading, t)
            return self._handle_doubtful(reading, t, has_arrival=False)
        if t > arrived + MAX_AHEAD_US:
            return t - arrived
        now = max(t, arrived)
        if self._doubtful is None and now >= self._now - STEP_US:
            return self._put(reading, now)
        return self._handle_doubtful(reading, now, has_arrival=True)

    def _handle_doubtful(self, reading: AnyReading, now: int, *, has_arrival: bool) -> int:
        doubtful = self._doubtful
        if doubtful is not None:
            if (
                doubtful.now > self._now
                and now < doubtful.now - self._lateness_us
                and self._contradiction is None
            ):
                self._contradiction = _Doubtful(reading, now, has_arrival)
                return 0
            if back_us := self._settle_doubt(now):
                reading, now = _shifted(reading, back_us), now + back_us
        behind = now < self._now - STEP_US
        ahead = not has_arrival and now > self._now + LEAP_US
        if self._doubtful is None and (behind or ahead):
            self._doubtful = _Doubtful(reading, now, has_arrival)
            return 0
        if self._doubtful is not None:
            return self._handle_doubtful(reading, now, has_arrival=has_arrival)
        return self._put(reading, now)

    def _settle_doubt(self, now: int) -> int:
        """Accept the doubtful reading or set it aside, depending on `now`.

        `now` is the time of the next reading or, if the buffer is advanced or flushed without a reading, the
        time that it reaches. If two readings show that a clock was set back, return the additional shift in
        us for all later readings, otherwise 0.
        """
        assert self._doubtful is not None
        doubtful, self._doubtful = self._doubtful, None
        contradiction, self._contradiction = self._contradiction, None
        back_us = 0
        if doubtful.now > self._now and now >= doubtful.now - self._lateness_us:
            self._put(doubtful.reading, doubtful.now)
        elif doubtful.now <= now < self._now - STEP_US:
            back_us = self._step_back(doubtful)
        else:
            ahead_us = doubtful.now - self._now
            off_us = ahead_us if ahead_us > 0 else self.watermark - doubtful.reading.t
            self.set_aside.append((doubtful.reading, off_us))
        if contradiction is not None:
            behind_us = self._handle_doubtful(
                contradiction.reading, contradiction.now, has_arrival=contradiction.has_arrival
            )
            if behind_us:
                self.set_aside.append((contradiction.reading, behind_us))
        return back_us

    def _step_back(self, first: _Doubtful) -> int:
        """Shift `first` and later readings so that time continues 1 s after the current time.

        Return the additional shift in us.
        """
        back_us = self._now - first.now
        shift_us = back_us + STEP_US
        self._shift_us += shift_us
        self.clock_steps.append(ClockStep(first.reading, back_us))
        self.watermark = self._now + 1
        moved = _shifted(first.reading, shift_us)
        if behind_us := self._put(moved, first.now + shift_us):
            self.set_aside.append((moved, behind_us))
        return shift_us

    def _put(self, reading: AnyReading, now: int) -> int:
        t = reading.t
        self._arrivals += 1
        entry = (t * _RANKS + _RANK[type(reading)], self._arrivals, reading)
        waiting = self._waiting
        if now > self._now:
            self._now = now
            self.watermark = max(self.watermark, now - self._lateness_us)
            if t == now:
                waiting.append(entry)
                return 0
        if t < self.watermark:
            return self.watermark - t
        if waiting and entry < waiting[-1]:
            insort(waiting, entry)
        else:
            waiting.append(entry)
        return 0

    def advance_to_input(self, entered: Input) -> bool:
        """Advance to an input's time or, if later, its arrival, and return True.

        If the input is doubtful or too far ahead of its arrival, if another reading is doubtful, or if a
        clock was set back at any time, change nothing and return False.
        """
        t, arrived = entered.t, entered.arrived
        now = t if arrived is None else max(t, arrived)
        not_behind = now - self._now >= -STEP_US
        not_ahead = now - self._now <= LEAP_US if arrived is None else t <= arrived + MAX_AHEAD_US
        if self._doubtful is not None or self._shift_us or not (not_behind and not_ahead):
            return False
        self._arrivals += 1
        self.advance(now)
        return True

    def may_decide_now(self, entered: Input) -> bool:
        """Return whether an input may be decided now, without waiting for delayed readings.

        An input that is late, or that would overtake a reading of a kind in `_NOT_OVERTAKEN`, must wait.
        """
        return self.watermark <= entered.t and all(type(e[2]) not in _NOT_OVERTAKEN for e in self._waiting)

    def advance(self, now_us: int) -> None:
        """Advance time without a reading."""
        now = now_us + self._shift_us
        if self._doubtful is not None and self._now < self._doubtful.now <= now:
            self._settle_doubt(now)
        self._now = max(self._now, now)
        self.watermark = max(self.watermark, self._now - self._lateness_us)

    def ready(self) -> Sequence[AnyReading]:
        """Remove and return the readings before the watermark, in order."""
        waiting = self._waiting
        limit = self.watermark * _RANKS
        if not waiting or waiting[0][0] >= limit:
            return ()
        if len(waiting) == 1 or waiting[1][0] >= limit:
            return (waiting.pop(0)[2],)
        return self._pop(bisect_left(waiting, limit, key=_key))

    def flush(self) -> Sequence[AnyReading]:
        """Remove and return all readings, in order, and advance the watermark past them."""
        while self._doubtful is not None:
            self._settle_doubt(max(self._now, self._doubtful.now))
        self.watermark = max(self.watermark, self._now)
        return self._pop(len(self._waiting))

    def due_us(self, timer_us: int) -> int:
        """Return the time at which `advance` handles this timer or, if earlier, the first waiting reading."""
        first_us = self._waiting[0][0] // _RANKS if self._waiting else timer_us
        return min(first_us, timer_us) + self._lateness_us + 1 - self._shift_us

    @property
    def certain_us(self) -> int:
        """The watermark, on the clock whose times are passed to `advance`."""
        return self.watermark - self._shift_us

    @property
    def now(self) -> int:
        """The current time in us, as advanced by readings and `advance`."""
        return self._now

    def _pop(self, count: int) -> Sequence[AnyReading]:
        waiting = self._waiting
        taken = waiting[:count]
        del waiting[:count]
        if len(set(map(_key, taken))) < count:
            taken.sort(key=_key_and_content)
        return list(map(_reading, taken))


def _shifted(reading: AnyReading, by_us: int) -> AnyReading:
    arrived = None if reading.arrived is None else reading.arrived + by_us
    return msgspec.structs.replace(reading, t=reading.t + by_us, arrived=arrived)


def _key_and_content(entry: _Waiting) -> tuple[int, bytes]:
    key, _, reading = entry
    if reading.arrived is not None:
        reading = msgspec.structs.replace(reading, arrived=None)
    return key, _encode(reading)
