"""Runs a port in a thread that timestamps and posts its input.

All links post to one bounded inlet, which a single thread empties. A full inlet never blocks a link. Excess
data is discarded and counted, and an Overflow is posted in its place.
"""

import os
import select
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol, TypeVar

from drivers.device import LineCommands, LineEvents

MAX_ARRIVALS = 1024


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The opening of a link's port, with the port's actual name."""

    port: str


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The closing of a link's port or a failure to open it, with the fault's code and a description."""

    code: str
    seen: str


@dataclass(frozen=True, slots=True)
class Overflow:
    """A report of how many of a source's bytes or line events were discarded because the inlet was full."""

    lost: int


Data = bytes | LineEvents
Event = Data | LinkUp | LinkDown | Overflow


class Arrival(NamedTuple):
    """An event from a source, timestamped in table microseconds."""

    source: str
    t_us: int
    event: Event


class Post(Protocol):
    """The function that a link calls to post an arrival."""

    def __call__(self, source: str, t_us: int, event: Event, /) -> None:
        """Accept an arrival without blocking."""
        ...


class Inlet:
    """A bounded queue of arrivals whose `post` never blocks."""

    def __init__(self, size: int = MAX_ARRIVALS) -> None:
        """Create an empty queue for at most `size` arrivals."""
        self._size = size
        self._queue: SimpleQueue[Arrival] = SimpleQueue()
        self._lock = Lock()
        self._lost: dict[str, tuple[int, int]] = {}
        self.lost = 0
        """Number of bytes and events discarded since the start."""

    def post(self, source: str, t_us: int, event: Event, /) -> None:
        """Queue an arrival; if the queue is full, discard and count data."""
        queue = self._queue
        if isinstance(event, bytes | tuple):
            full = queue.qsize() >= self._size
            if full or self._lost:
                with self._lock:
                    if full:
                        since_us, lost = self._lost.get(source, (t_us, 0))
                        self._lost[source] = (since_us, lost + len(event))
                        self.lost += len(event)
                        return
                    self._report_lost(source)
        queue.put(Arrival(source, t_us, event))

    def take(self, timeout_s: float | None = None) -> Arrival | None:
        """Return the next arrival, or None after the timeout. If `timeout_s` is None, wait indefinitely."""
        try:
            if timeout_s is not None and timeout_s <= 0:
                return self._queue.get_nowait()
            return self._queue.get(timeout=timeout_s)
        except Empty:
            if not self._lost:
                return None
            with self._lock:
                for source in list(self._lost):
                    self._report_lost(source)
            return self.take(0)

    def _report_lost(self, source: str) -> None:
        lost = self._lost.pop(source, None)
        if lost is not None:
            self._queue.put(Arrival(source, lost[0], Overflow(lost[1])))


class Backoff:
    """Delays that double from `first_s` up to `max_s`."""

    def __init__(
        self, random_fraction: Callable[[], float], *, first_s: float = 0.1, max_s: float = 2.0
    ) -> None:
        """Start with the first delay.

        `random_fraction` returns a number in [0, 1). The delays are shortened at random by up to half.
        """
        self._random_fraction = random_fraction
        self._first_s = first_s
        self._max_s = max_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the next delay in seconds."""
        delay = self._next_s
        self._next_s = min(self._max_s, delay * 2)
        return delay * (0.5 + self._random_fraction() / 2)

    def reset(self) -> None:
        """Return to the first delay."""
        self._next_s = self._first_s


_DRAIN_BYTES = 4096


class Waker:
    """A pipe that interrupts a wait. It exists until its port is disposed of, so waking needs no lock."""

    def __init__(self, wait_s: float) -> None:
        """Create the pipe, with a limit of `wait_s` for each wait."""
        self._wait_s = wait_s
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        """End the current or the next wait."""
        with suppress(OSError):  # a full pipe also ends the wait
            os.write(self._writing, b"x")

    def wait_for(self, fd: int) -> bool:
        """Wait until a file descriptor is readable; return False if woken or after the time limit."""
        ready, _, _ = select.select([fd, self._reading], [], [], self._wait_s)
        if self._reading in ready:
            with suppress(OSError):
                os.read(self._reading, _DRAIN_BYTES)
        return fd in ready

    def close(self) -> None:
        """Close the pipe. A later `wake` has no effect."""
        if self._writing >= 0:
            writing, self._writing = self._writing, -1
            os.close(self._reading)
            os.close(writing)


MAX_WAITING = 16_384
"""Maximum number of bytes, or of commands for GPIO lines, in the output queue."""
JOIN_TIMEOUT_S = 2.0


class PortError(Exception):
    """Raised if a port cannot be opened, read or written, with the fault's code and a description."""

    def __init__(self, code: str, seen: str) -> None:
        super().__init__(f"{code}: {seen}")
        self.code = code
        self.seen = seen


In_co = TypeVar("In_co", covariant=True)
Out_contra = TypeVar("Out_contra", contravariant=True)


class Port(Protocol[In_co, Out_contra]):
    """The interface of a port.

    A port carries bytes in both directions, or delivers GPIO line events and accepts line commands. Only the
    link's thread calls a port, except for `wake`, and for `dispose` after the thread has ended.
    """

    def open(self) -> str:
        """Open the port and return its actual name. Raises PortError."""
        ...

    def read(self) -> In_co:
        """Wait for input and return it; return empty input if woken or after a timeout. Raises PortError."""
        ...

    def write(self, data: Out_contra, /) -> None:
        """Write all data within a bounded time. Raises PortError."""
        ...

    def wake(self) -> None:
        """Make a waiting `read` return. Any thread may call this at any time."""
        ...

    def close(self) -> None:
        """Close the port so that it can be opened again."""
        ...

    def dispose(self) -> None:
        """Close the port permanently."""
        ...


AnyPort = Port[Any, Any]
"""A port for any type of data."""


class Link:
    """One port and its thread."""

    def __init__(
        self, source: str, port: AnyPort, post: Post, *, now_us: Callable[[], int], backoff: Backoff
    ) -> None:
        """Prepare to post arrivals from `source`, timestamped with the table's clock `now_us`."""
        self.source = source
        self.opened = 0
        """Number of times that the port has been opened."""
        self._port = port
        self._post = post
        self._now_us = now_us
        self._backoff = backoff
        self._output: deque[bytes | LineCommands] = deque()
        self._stopping = Flag()
        self._reopen = Flag()
        self._status: LinkUp | LinkDown | None = None
        self._thread = Thread(target=self._run, name=f"link {source}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def send(self, data: bytes | LineCommands) -> bool:
        """Pass output to the thread; return False if the port is not open or the output queue is full."""
        waiting = sum(map(len, self._output))
        if not isinstance(self._status, LinkUp) or waiting + len(data) > MAX_WAITING:
            return False
        self._output.append(data)
        self._port.wake()
        return True

    def reopen(self) -> None:
        """Close and reopen the port."""
        self._reopen.set()
        self._port.wake()

    def stop(self) -> bool:
        """End the thread and close the port; return False if the thread does not end in time."""
        self._stopping.set()
        self._port.wake()
        self._thread.join(JOIN_TIMEOUT_S)
        if self._thread.is_alive():
            return False
        self._port.dispose()
        return True

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._serve(self._port.open())
            except PortError as error:
                self._report(LinkDown(error.code, error.seen))
            except Exception as error:  # noqa: BLE001 - if the thread ended, its device would hang forever
                self._report(LinkDown("port_fault", f"{type(error).__name__}: {error}"))
            finally:
                self._port.close()
            if not self._stopping.is_set():
                self._stopping.wait(self._backoff.next_s())

    def _serve(self, name: str) -> None:
        self.opened += 1
        self._reopen.clear()
        self._output.clear()
        self._report(LinkUp(name))
        port, output = self._port, self._output
        received = False
        while not self._stopping.is_set():
            if self._reopen.is_set():
                raise PortError("reopening", "the port is being reopened")
            while output:
                port.write(output.popleft())
            data = port.read()
            if data:
                self._post(self.source, self._now_us(), data)
                if not received:
                    received = True
                    self._backoff.reset()

    def _report(self, state: LinkUp | LinkDown) -> None:
        if state != self._status:
            self._status = state
            self._post(self.source, self._now_us(), state)
