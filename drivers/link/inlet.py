"""The one bounded queue from the links' threads to the core thread.

Any thread may post, one takes. A full inlet never blocks a link: what does not fit is thrown away, counted,
and told in its place as an Overflow.
"""

from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from typing import NamedTuple, Protocol

from drivers.wiring import LineEvents

SIZE = 1024


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link is open, on this port."""

    port: str


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link is not open: by which trouble, and what was seen."""

    code: str
    seen: str


@dataclass(frozen=True, slots=True)
class Overflow:
    """So many bytes, or events of GPIO lines, of this source were thrown away here."""

    lost: int


Data = bytes | LineEvents
Event = Data | LinkUp | LinkDown | Overflow


class Arrival(NamedTuple):
    """What came from a source, and when it was stamped (table microseconds)."""

    source: str
    t_us: int
    event: Event


class Post(Protocol):
    """Where a link puts what it stamped."""

    def __call__(self, source: str, t_us: int, event: Event, /) -> None:
        """Take it, without ever blocking."""
        ...


class Inlet:
    """A queue of arrivals that never blocks those who post."""

    def __init__(self, size: int = SIZE) -> None:
        """Hold this many arrivals at most."""
        self._size = size
        self._queue: SimpleQueue[Arrival] = SimpleQueue()
        self._lock = Lock()
        self._lost: dict[str, tuple[int, int]] = {}
        self.lost = 0
        """Bytes and events thrown away since the start."""

    def post(self, source: str, t_us: int, event: Event, /) -> None:
        """Put an arrival into the queue; data that does not fit is counted instead."""
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
                    self._tell_lost(source)
        queue.put(Arrival(source, t_us, event))

    def take(self, timeout_s: float | None = None) -> Arrival | None:
        """Give the next arrival; None where none comes within the time (0: do not wait)."""
        try:
            if timeout_s is not None and timeout_s <= 0:
                return self._queue.get_nowait()
            return self._queue.get(timeout=timeout_s)
        except Empty:
            if not self._lost:
                return None
            with self._lock:
                for source in list(self._lost):
                    self._tell_lost(source)
            return self.take(0)

    def _tell_lost(self, source: str) -> None:
        lost = self._lost.pop(source, None)
        if lost is not None:
            self._queue.put(Arrival(source, lost[0], Overflow(lost[1])))
