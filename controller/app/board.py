"""The fault board: what is wrong now, for every thread to write on and to read."""

from collections.abc import Callable
from itertools import chain
from operator import itemgetter
from threading import Lock
from typing import NamedTuple

from controller.app.faults import Fault

MOST_UNSEEN = 3
"""Changes of one fault that wait for the core: it began, is over, and began again."""
Listener = Callable[["Change"], None]
"""Hears of each change, in the thread that made it; it must return at once and never write on the board."""


class Change(NamedTuple):
    """A fault began, or it is over."""

    fault: Fault
    began: bool


class Board:
    """The faults that hold, each once for its code and duty."""

    def __init__(self, listener: Listener = lambda _: None) -> None:
        """Tell this listener."""
        self._listener = listener
        self._holding: dict[tuple[str, str], Fault] = {}
        self._changes: dict[tuple[str, str], list[tuple[int, Change]]] = {}
        """By code and duty what the core has not looked at yet, numbered in order."""
        self._order = 0
        self._lock = Lock()

    def began(self, fault: Fault, duty: str = "") -> None:
        """Put a fault on the board; one that is there already for this duty is no news."""
        with self._lock:
            if (fault.code, duty) in self._holding:
                return
            self._holding[fault.code, duty] = fault
            change = Change(fault, began=True)
            self._note(change, duty)
        self._listener(change)

    def over(self, code: str, duty: str = "") -> bool:
        """Take it off; False where it was not there."""
        with self._lock:
            fault = self._holding.pop((code, duty), None)
            if fault is None:
                return False
            change = Change(fault, began=False)
            self._note(change, duty)
        self._listener(change)
        return True

    def _note(self, change: Change, duty: str) -> None:
        """Keep a change for the core. Of a fault that comes and goes again and again before the core looks
        the last time is kept: whoever can bring one about must not fill the journal with it."""
        key = (change.fault.code, duty)
        of_it = self._changes.setdefault(key, [])
        if len(of_it) == MOST_UNSEEN:
            del of_it[:2]
        self._order += 1
        of_it.append((self._order, change))

    def clear(self, duty: str) -> None:
        """Take off every fault of a duty."""
        for code, its in tuple(self._holding):
            if its == duty:
                self.over(code, duty)

    def clear_code(self, code: str) -> None:
        """Take off a fault of every duty."""
        for its, duty in tuple(self._holding):
            if its == code:
                self.over(code, duty)

    @property
    def present(self) -> tuple[Fault, ...]:
        """Every fault that holds, the oldest first."""
        with self._lock:
            return tuple(self._holding.values())

    @property
    def locking(self) -> tuple[Fault, ...]:
        """Those that lock play."""
        return tuple(fault for fault in self.present if fault.kind.locks)

    def changes(self) -> list[Change]:
        """Give what changed since the last time of asking, for the journal."""
        if not self._changes:
            return []
        with self._lock:
            kept, self._changes = self._changes, {}
        return [change for _, change in sorted(chain.from_iterable(kept.values()), key=itemgetter(0))]
