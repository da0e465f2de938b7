"""The hub: what watchers hear, each from a bounded queue of its own, so that a slow one holds up nobody."""

from collections import deque
from threading import Condition
from typing import Literal

Topic = Literal["outcomes", "readings", "lamps", "faults", "table"]
Channel = Topic | Literal["timing"]
"""What a watcher hears: his topics, and with the readings, for technicians, ball and rotor timing."""
TOPICS: tuple[Topic, ...] = ("outcomes", "readings", "lamps", "faults")
"""What is heard where a watcher names nothing; `table` only nudges screens to ask anew."""
BACKLOG = 1024
"""Lines that may wait for one watcher; one more, and it is dropped."""


class Watcher:
    """One listener's queue."""

    def __init__(self, topics: frozenset[Channel], backlog: int) -> None:
        self.topics = topics
        self.dropped = False
        """Whether it was too slow; it then gets nothing more."""
        self._backlog = backlog
        self._waiting: deque[bytes] = deque()
        self._changed = Condition()

    def put(self, line: bytes) -> None:
        """Add a line, or drop the watcher where too many wait."""
        with self._changed:
            if len(self._waiting) >= self._backlog:
                self.dropped = True
                self._waiting.clear()
            elif not self.dropped:
                self._waiting.append(line)
            self._changed.notify()

    def take(self, timeout_s: float) -> list[bytes]:
        """Give the lines that wait, or none after this time."""
        with self._changed:
            self._changed.wait_for(lambda: self.dropped or bool(self._waiting), timeout_s)
            lines = list(self._waiting)
            self._waiting.clear()
            return lines


class Hub:
    """Passes lines on to every watcher of their topic."""

    def __init__(self, backlog: int = BACKLOG) -> None:
        """Let so many lines wait for one watcher."""
        self._backlog = backlog
        self._watchers: tuple[Watcher, ...] = ()

    def watch(self, topics: frozenset[Channel]) -> Watcher:
        """Listen to these topics from now on."""
        watcher = Watcher(topics, self._backlog)
        self._watchers = (*self._watchers, watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Listen no more."""
        self._watchers = tuple(other for other in self._watchers if other is not watcher)

    def wants(self, topic: Channel) -> bool:
        """Tell whether anybody listens: else the line need not be made."""
        return any(topic in watcher.topics for watcher in self._watchers)

    def tell(self, topic: Channel, line: bytes) -> None:
        """Pass a line on; it returns at once."""
        for watcher in self._watchers:
            if topic in watcher.topics:
                watcher.put(line)
