"""Readings put into the order of their own time, a watermark behind the last arrival.

Readings of different devices arrive late and out of order. One is passed on once nothing earlier can still
arrive, so that the order of arrival changes nothing; one that comes later than that is late and not used. A
time that does not fit those before it is accepted once a second reading confirms it: one far ahead would make
everything after it late, and one far behind may be the first after a clock was set back. If arrivals are
recorded, they give the time, and no reading's own claim moves it ahead.
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

AHEAD_US = 1_000_000
"""A reading whose time is this long after its arrival comes from a wrong clock."""

STEP_US = 1_000_000
"""A reading this far behind is either a straggler or from a clock that was set back; the next one decides."""

LEAP_US = 1_000_000
"""A reading this far ahead is either stray or the first after an idle spell; the next one decides."""

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
"""The order of readings with the same time: causes before what they decide, and people's inputs last."""

_NOT_OVERTAKEN = frozenset({DieReleased, BallBeam, Card, Input})
"""Readings that begin an attempt, and what people entered before."""

_RANK: dict[type[Reading], int] = {kind: rank for rank, kind in enumerate(_SAME_TIME)}
_RANKS = 32
"""More than the kinds of readings: time and rank of a kind are sorted as one number."""
_encode = msgspec.json.Encoder().encode
_Waiting = tuple[int, int, AnyReading]
"""A reading with its position: its time and rank in one number, and the number of its arrival."""
_key = itemgetter(0)
_reading = itemgetter(2)


class Step(NamedTuple):
    """A clock that was set back: the first reading after it, and by how much."""

    reading: AnyReading
    back_us: int


class _Doubted(msgspec.Struct, frozen=True, gc=False):
    reading: AnyReading
    now: int
    told: bool


class ReorderBuffer:
    """The readings that have arrived and wait for the watermark."""

    def __init__(self, max_lateness_ms: float) -> None:
        """Wait this long for a late reading."""
        self._lateness_us = round(max_lateness_ms * 1000)
        self._waiting: list[_Waiting] = []
        self._arrivals = 0
        self._now = 0
        self._doubted: _Doubted | None = None
        self._against: _Doubted | None = None
        """The only reading so far that contradicts a doubtful one far ahead: a third shows which is wrong."""
        self._shift_us = 0
        self.set_aside: list[tuple[AnyReading, int]] = []
        """Readings contradicted by the next one, and how far their time was off."""
        self.steps: list[Step] = []
        """The moments at which a clock was set back and time continued from before."""
        self.watermark = 0
        """Microseconds; nothing earlier will be accepted any more."""

    def put_all(self, readings: Iterable[AnyReading]) -> Iterator[tuple[AnyReading, int | None]]:
        """Handle readings as they arrive; yield each that has a result to report, with what `put` returns.

        Stops before a person's input too, with None: the session decides whether that waits at all.
        """
        for reading in readings:
            t = reading.t
            if type(reading) is Input:
                yield reading, None
                continue
            if self.watermark <= t and reading.arrived is None and not self._shift_us:
                doubted = self._doubted
                if doubted is None:
                    if -STEP_US <= t - self._now <= LEAP_US:
                        self._put(reading, t)
                        continue
                elif self._now < doubted.now <= t and self._against is None:
                    self._after_a_pause(doubted, reading, t)
                    continue
            behind_us = self.put(reading)
            if behind_us or self.set_aside or self.steps:
                yield reading, behind_us

    def _after_a_pause(self, first: _Doubted, reading: AnyReading, t: int) -> None:
        """Handle a reading that confirms that the table was idle before the first one, as `put` does."""
        self._doubted = None
        self._put(first.reading, first.now)
        if t - first.now <= LEAP_US:
            self._put(reading, t)
        else:
            self._doubted = _Doubted(reading, t, told=False)

    def put(self, reading: AnyReading) -> int:
        """Handle a reading as it arrives; return how far its time is off (0: it counts).

        That is how many microseconds it is too late, or ahead of its own arrival. For one that waits to be
        confirmed, `set_aside` reports it if it is not.
        """
        if self._shift_us:
            reading = _shifted(reading, self._shift_us)
        t = reading.t
        arrived = reading.arrived
        if arrived is None:
            if self._doubted is None and (-STEP_US <= t - self._now <= LEAP_US or not self._arrivals):
                return self._put(reading, t)
            return self._weigh(reading, t, told=False)
        if t > arrived + AHEAD_US:
            return t - arrived
        now = max(t, arrived)
        if self._doubted is None and now >= self._now - STEP_US:
            return self._put(reading, now)
        return self._weigh(reading, now, told=True)

    def _weigh(self, reading: AnyReading, now: int, *, told: bool) -> int:
        """Handle a doubtful reading, or one after it; `told` means that its arrival is known."""
        doubted = self._doubted
        if doubted is not None:
            if doubted.now > self._now and now < doubted.now - self._lateness_us and self._against is None:
                self._against = _Doubted(reading, now, told)
                return 0
            if back_us := self._settle_doubt(now):
                reading, now = _shifted(reading, back_us), now + back_us
        behind = now < self._now - STEP_US
        ahead = not told and now > self._now + LEAP_US
        if self._doubted is None and (behind or ahead):
            self._doubted = _Doubted(reading, now, told)
            return 0
        return self._weigh(reading, now, told=told) if self._doubted is not None else self._put(reading, now)

    def _settle_doubt(self, now: int) -> int:
        """Accept the doubtful reading or set it aside, by what came after it; return a clock step that it
        proves."""
        assert self._doubted is not None
        doubted, self._doubted = self._doubted, None
        against, self._against = self._against, None
        back_us = 0
        if doubted.now > self._now and now >= doubted.now - self._lateness_us:
            self._put(doubted.reading, doubted.now)
        elif doubted.now <= now < self._now - STEP_US:
            back_us = self._step_back(doubted)
        else:
            ahead_us = doubted.now - self._now
            off_us = ahead_us if ahead_us > 0 else self.watermark - doubted.reading.t
            self.set_aside.append((doubted.reading, off_us))
        if against is not None:
            behind_us = self._weigh(against.reading, against.now, told=against.told)
            if behind_us:
                self.set_aside.append((against.reading, behind_us))
        return back_us

    def _step_back(self, first: _Doubted) -> int:
        """Advance time to one second after the last reading, although the clock was set back; return the
        shift."""
        back_us = self._now - first.now
        shift_us = back_us + STEP_US
        self._shift_us += shift_us
        self.steps.append(Step(first.reading, back_us))
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

    def run_on_to(self, entered: Input) -> bool:
        """Advance time to an input's arrival; return False, with nothing changed, if its time is doubtful."""
        t, arrived = entered.t, entered.arrived
        now = t if arrived is None else max(t, arrived)
        near = now - self._now >= -STEP_US
        not_ahead = now - self._now <= LEAP_US if arrived is None else t <= arrived + AHEAD_US
        if self._doubted is not None or self._shift_us or not (near and not_ahead):
            return False
        self._arrivals += 1
        self.advance(now)
        return True

    def need_not_wait(self, entered: Input) -> bool:
        """Return whether an input whose time has been reached may be decided ahead of late readings.

        Not if it came too late itself, or if something waits that it must not overtake.
        """
        return self.watermark <= entered.t and all(type(e[2]) not in _NOT_OVERTAKEN for e in self._waiting)

    def advance(self, now_us: int) -> None:
        """Advance time without a reading."""
        now = now_us + self._shift_us
        if self._doubted is not None and self._now < self._doubted.now <= now:
            self._settle_doubt(now)
        self._now = max(self._now, now)
        self.watermark = max(self.watermark, self._now - self._lateness_us)

    def ready(self) -> Sequence[AnyReading]:
        """Return every reading before the watermark, in order."""
        waiting = self._waiting
        limit = self.watermark * _RANKS
        if not waiting or waiting[0][0] >= limit:
            return ()
        if len(waiting) == 1 or waiting[1][0] >= limit:
            return (waiting.pop(0)[2],)
        return self._pop(bisect_left(waiting, limit, key=_key))

    def flush(self) -> Sequence[AnyReading]:
        """Return every reading that still waits, in order; the watermark is then behind the last."""
        while self._doubted is not None:
            self._settle_doubt(max(self._now, self._doubted.now))
        self.watermark = max(self.watermark, self._now)
        return self._pop(len(self._waiting))

    def due_us(self, timer_us: int) -> int:
        """Return the time for `advance` at which this timer, or the first waiting one, is due."""
        first_us = self._waiting[0][0] // _RANKS if self._waiting else timer_us
        return min(first_us, timer_us) + self._lateness_us + 1 - self._shift_us

    @property
    def certain_us(self) -> int:
        """Return the time up to which nothing more can arrive, in the time given to `advance`."""
        return self.watermark - self._shift_us

    @property
    def now(self) -> int:
        """The latest time received."""
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
