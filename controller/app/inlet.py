"""The inlet: the bounded queue from the sources of readings to the core, and a source that reads JSON lines.

A reading is timestamped and queued under one lock, and the core reads the time under the same lock. The queue
is therefore in order of arrival, and the core never advances the time beyond the arrival of a queued reading.
As a result, a replay of the recording produces the same outcomes.
"""

import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from typing import NamedTuple, Protocol

import msgspec

from controller.app.clock import Clock
from controller.app.faults import ActiveFaults, Fault
from controller.journal.writer import Ticket
from controller.machines.flat import InputRefused
from controller.machines.refusals import REFUSALS
from controller.model.effects import Effect, LateReading
from controller.model.readings import AnyReading, DeviceDown, DeviceUp, Input, Reading
from controller.replay.source import UNDECODABLE, decode_reading, printable

CAPACITY = 8192
"""Maximum number of readings waiting for the core: about 45 s of two dice tracked at 90 Hz."""
OVERFLOW = "inlet_overflow"


class NextReading(NamedTuple):
    """The next reading for the core, if any, and the time."""

    reading: AnyReading | None
    now_us: int


class OverflowLoss(NamedTuple):
    """The loss of one device's readings in an overflow."""

    first_us: int
    readings: int
    down: bool
    """Whether the last lost health report reported the device as down."""


class Inlet:
    """The queue of readings from the sources to the core."""

    def __init__(
        self, clock: Clock, *, capacity: int = CAPACITY, overflowed: Callable[[], None] = lambda: None
    ) -> None:
        """Queue up to `capacity` readings; for each loss, the posting thread calls `overflowed`."""
        self._clock = clock
        self._capacity = capacity
        self._overflowed = overflowed
        self._waiting: deque[AnyReading] = deque()
        lock = Lock()
        self._changed = Condition(lock)
        self._room = Condition(lock)
        self._woken = False
        self._last_us = 0
        self._lost: dict[str, OverflowLoss] = {}

    def post(
        self,
        reading: AnyReading,
        *,
        has_time: bool = True,
        placed: Callable[[AnyReading], None] = lambda _: None,
        spare: float = 0.0,
    ) -> bool:
        """Timestamp a reading with its arrival time and queue it at once; return False if there is no room.

        Without `has_time`, the arrival time is also the reading's time. If there is no room, the reading is
        lost, and the device is reported as down from that moment. `placed` is called with the final form of
        the reading before the core can take it.

        With `spare` (0 to 1), the reading is refused if that fraction of the capacity is not free; a refused
        reading is not reported as lost. Use `spare` for readings that clients can send without limit.
        """
        with self._changed:
            if len(self._waiting) > (1 - spare) * self._capacity:
                return False
            has_room = self._place(reading, has_time=has_time, placed=placed)
        if not has_room:
            self._overflowed()
        return has_room

    def post_patiently(self, reading: AnyReading, timeout_s: float) -> bool:
        """Wait for room and queue a reading that has an arrival time; return False on a timeout."""
        with self._changed:
            if not self._room.wait_for(lambda: len(self._waiting) < self._capacity, timeout_s):
                return False
            return self._place(reading, has_time=True)

    def take(self, timeout_s: float) -> NextReading:
        """Return the next reading and the time; after a timeout or `wake`, return only the time."""
        with self._changed:
            if not self._waiting:
                self._report_losses()
            if not self._waiting:
                self._changed.wait_for(lambda: bool(self._waiting) or self._woken, timeout_s)
            self._woken = False
            if self._waiting:
                reading = self._waiting.popleft()
                self._room.notify()
                assert reading.arrived is not None
                return NextReading(reading, reading.arrived)
            return NextReading(None, self._now())

    def wake(self) -> None:
        """Make the current or next `take` return at once; may be called from any thread."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    @property
    def now_us(self) -> int:
        """The table's time."""
        with self._changed:
            return self._now()

    @property
    def waiting(self) -> int:
        """The number of readings waiting for the core."""
        return len(self._waiting)

    def _place(
        self, reading: AnyReading, *, has_time: bool, placed: Callable[[AnyReading], None] = lambda _: None
    ) -> bool:
        if reading.arrived is not None:
            self._clock.reach(reading.arrived)
        arrived = self._now()
        if len(self._waiting) >= self._capacity:
            self._lose(reading, arrived)
            return False
        self._report_losses()
        t = reading.t if has_time else arrived
        reading = msgspec.structs.replace(reading, t=t, arrived=arrived)
        placed(reading)
        self._append(reading)
        return True

    def _lose(self, reading: AnyReading, arrived: int) -> None:
        before = self._lost.get(reading.dev, OverflowLoss(arrived, 0, down=False))
        down = before.down
        if isinstance(reading, DeviceDown | DeviceUp):
            down = isinstance(reading, DeviceDown)
        self._lost[reading.dev] = OverflowLoss(before.first_us, before.readings + 1, down)

    def _report_losses(self) -> None:
        """Queue the losses as health reports, so that a replay includes them."""
        if not self._lost:
            return
        lost, self._lost = self._lost, {}
        now = self._now()
        for dev, loss in lost.items():
            count = "1 reading" if loss.readings == 1 else f"{loss.readings} readings"
            reason = f"{count} lost, because the core could not keep up"
            down = DeviceDown(t=loss.first_us, dev=dev, reason=reason, code=OVERFLOW)
            self._append(msgspec.structs.replace(down, arrived=loss.first_us))
        for dev, loss in lost.items():
            if not loss.down:
                self._append(DeviceUp(t=now, dev=dev, arrived=now))

    def _append(self, reading: AnyReading) -> None:
        self._waiting.append(reading)
        self._changed.notify()

    def _now(self) -> int:
        self._last_us = max(self._last_us, self._clock.now_us())
        return self._last_us


HALTED = InputRefused(
    "halted", "no input can be accepted, because the journal has failed; see `tablectl faults`"
)
_LATE = InputRefused("late", "the input arrived too late to count; enter it again")


ROOM_FOR_READINGS = 15 / 16
"""The fraction of the inlet reserved for sensors, which leaves room for 512 inputs. If all 512 are refused,
they cause about 1,000 rows, a quarter of the rows that can wait for the disk."""


class PendingInput:
    """The answer to one input; the core sets it, and the client's thread waits for it."""

    def __init__(self) -> None:
        self.refused: InputRefused | None = None
        self.allowed: tuple[str, ...] = ()
        """If this input was refused, the inputs that would be accepted now."""
        self.answer = ""
        """The result of an accepted input, such as `Roll 24: No Roll, was 3-4`; can be empty."""
        self._ticket: Ticket | None = None
        self._decided = Event()

    @property
    def message(self) -> str:
        """The reason for the refusal."""
        assert self.refused is not None
        return self.refused.message or REFUSALS[self.refused.code]

    def decided(self, ticket: Ticket | None) -> None:
        """Set the answer; `wait` withholds it until `ticket` is durable."""
        self._ticket = ticket
        self._decided.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the answer; return False on a timeout. The core's thread must not call this."""
        return self._decided.wait(timeout_s) and (self._ticket is None or self._ticket.wait(timeout_s))


class PendingAnswers:
    """The inputs that await an answer. Only `enter` may be called from a thread other than the core's."""

    def __init__(self, inlet: Inlet) -> None:
        self._inlet = inlet
        self._waiting: dict[int, tuple[Reading, PendingInput]] = {}
        self._decided: list[PendingInput] = []

    def enter(self, entered: Input) -> PendingInput | None:
        """Queue an input; return its pending answer, or None if the inlet is full."""
        pending = PendingInput()

        def placed(reading: Reading) -> None:
            # The reference to the reading prevents the reuse of its id.
            self._waiting[id(reading)] = reading, pending

        taken = self._inlet.post(entered, has_time=False, placed=placed, spare=ROOM_FOR_READINGS)
        return pending if taken else None

    def record(
        self,
        entered: Reading,
        refused: InputRefused | None,
        allowed: tuple[str, ...] = (),
        answer: str = "",
    ) -> None:
        """Record an input's result, which the method `answer` reports after the effects are processed."""
        _, pending = self._waiting.pop(id(entered), (None, None))
        if pending is not None:
            pending.refused, pending.allowed, pending.answer = refused, allowed, answer
            self._decided.append(pending)

    def replace(self, entered: Reading, changed: Reading) -> None:
        """Use the result of `changed` as the answer to the input `entered`."""
        _, pending = self._waiting.pop(id(entered), (None, None))
        if pending is not None:
            self._waiting[id(changed)] = changed, pending

    def record_late(self, effects: Iterable[Effect]) -> None:
        """Refuse the inputs that these effects report as late."""
        if self._waiting:
            for effect in effects:
                if isinstance(effect, LateReading):
                    self.record(effect.reading, _LATE)

    def answer(self, ticket: Ticket | None) -> None:
        """Answer the recorded inputs; each answer is withheld until this ticket is durable."""
        decided, self._decided = self._decided, []
        for pending in decided:
            pending.decided(ticket)


BLOCK = 65536
MAX_LINE = 65536
"""Maximum length of a line in bytes; longer lines are rejected."""
RETRY_S = 0.5
_STDIN = 0
_ROOM_TIMEOUT_S = 0.2
_BAD_LINE_CLEARS_S = 30.0
_SAME_CLOCK_US = 250_000
"""A sender whose first reading is at most this old on arrival is assumed to use the table's clock."""


class Source(Protocol):
    """A source of readings: a table's devices, or JSON lines."""

    @property
    def name(self) -> str:
        """The source's name, for faults and status."""

    @property
    def turns(self) -> int:
        """A count that increases while the source's thread is alive."""

    def start(self, inlet: Inlet) -> None:
        """Start posting readings in a separate thread; errors become active faults."""

    def stop(self, timeout_s: float) -> bool:
        """Stop posting; return False if the thread did not end in time."""


class Mapper:
    """A mapping from a sender's clock to the table's clock, based on the shortest delay observed.

    No mapped time is in the future.
    """

    def __init__(self) -> None:
        self._offset_us: int | None = None

    def to_table(self, t_us: int, now_us: int) -> int:
        """Return the table's time for a sender's timestamp that arrived at `now_us`."""
        ahead = now_us - t_us
        if self._offset_us is None:
            self._offset_us = 0 if 0 <= ahead <= _SAME_CLOCK_US else ahead
        self._offset_us = min(self._offset_us, ahead)
        return max(0, t_us + self._offset_us)


class JsonLines:
    """A source of readings as JSON lines from a FIFO, a socket or standard input.

    Readings without `t` are timestamped on arrival. The `t` of other readings is mapped to the table's clock.
    With `data_time`, the time comes from each line's `t` and `arrived`, and a full inlet delays the sender.
    """

    def __init__(
        self,
        path: str,
        faults: ActiveFaults,
        clock_us: Callable[[], int],
        *,
        data_time: bool,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Read from this FIFO, Unix socket or (`-`) standard input.

        `ended` is called at the end of standard input. A FIFO stays open for new writers. If a socket is
        closed, the source reconnects.
        """
        self.name = f"readings {path}"
        self.turns = 0
        self.bad_lines = 0
        self._path = path
        self._faults = faults
        self._clock_us = clock_us
        self._data_time = data_time
        self._ended = ended
        self._mapper = Mapper()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = False
        self._bad_until_us = 0
        self._inlet: Inlet | None = None
        self._thread = Thread(target=self._work, name="readings", daemon=True)

    def start(self, inlet: Inlet) -> None:
        """Start reading in a separate thread."""
        self._inlet = inlet
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Stop reading."""
        self._stopping = True
        os.write(self._wake_write, b"!")
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stopping:
            try:
                descriptor = self._open()
            except OSError as error:
                found = error.strerror or str(error)
                self._faults.report(Fault("source_failed", self._path, found), self.name)
                self._idle(RETRY_S)
                continue
            self._faults.clear("source_failed", self.name)
            try:
                self._read(descriptor)
            except OSError as error:
                self._faults.report(
                    Fault("source_failed", self._path, error.strerror or str(error)), self.name
                )
            finally:
                if descriptor != _STDIN:
                    os.close(descriptor)
            if descriptor == _STDIN and not self._stopping:
                self._ended()
                self._wait_for_stop()

    def _wait_for_stop(self) -> None:
        while not self._stopping:
            self._idle(RETRY_S)

    def _open(self) -> int:
        if self._path == "-":
            return _STDIN
        path = Path(self._path)
        if not path.exists():
            os.mkfifo(path, 0o660)
        if stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(self._path)
                return client.detach()
        # A FIFO opened for reading and writing remains open after the last writer closes it.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _read(self, descriptor: int) -> None:
        rest, too_long = b"", False
        while not self._stopping:
            self.turns += 1
            ready, _, _ = select.select([descriptor, self._wake_read], [], [], 1.0)
            self._settle_bad_lines()
            if descriptor not in ready:
                continue
            block = os.read(descriptor, BLOCK)
            if not block:
                if rest:
                    self._report_bad_line(rest)
                self._idle(RETRY_S)
                return
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if not too_long:
                    self._handle_line(line)
                too_long = False
            if len(rest) > MAX_LINE and not too_long:
                self._report_bad_line(rest)
                too_long = True
            if too_long:
                rest = b""

    def _handle_line(self, line: bytes) -> None:
        if not line.strip() or line.startswith(b'{"log"'):
            return
        if len(line) > MAX_LINE:
            self._report_bad_line(line)
            return
        try:
            reading, has_time = self._decode_line(line)
        except UNDECODABLE:
            self._report_bad_line(line)
            return
        self._post(reading, has_time=has_time)

    def _decode_line(self, line: bytes) -> tuple[AnyReading, bool]:
        if self._data_time:
            return decode_reading(line), True
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        has_time = "t" in fields
        if not has_time:
            fields["t"] = msgspec.Raw(b"0")
        reading = decode_reading(msgspec.json.encode(fields))
        t = self._mapper.to_table(reading.t, self._clock_us()) if has_time else 0
        return msgspec.structs.replace(reading, t=t, arrived=None), has_time

    def _post(self, reading: AnyReading, *, has_time: bool) -> None:
        inlet = self._inlet
        assert inlet is not None
        if not self._data_time:
            inlet.post(reading, has_time=has_time)
            return
        if reading.arrived is None:
            reading = msgspec.structs.replace(reading, arrived=reading.t)
        while not inlet.post_patiently(reading, _ROOM_TIMEOUT_S) and not self._stopping:
            self.turns += 1

    def _report_bad_line(self, line: bytes) -> None:
        self.bad_lines += 1
        self._bad_until_us = self._clock_us() + round(_BAD_LINE_CLEARS_S * 1e6)
        self._faults.report(Fault("source_bad_line", self._path, f"{printable(line)!r}"), self.name)

    def _settle_bad_lines(self) -> None:
        if self._bad_until_us and self._clock_us() > self._bad_until_us:
            self._bad_until_us = 0
            self._faults.clear("source_bad_line", self.name)

    def _idle(self, seconds: float) -> None:
        self.turns += 1
        select.select([self._wake_read], [], [], seconds)
