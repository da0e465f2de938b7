"""Writes pictures in a thread of its own: the camera waits for no disk, and says what is not kept."""

import threading
from collections.abc import Callable
from queue import Empty, Full, Queue
from typing import NamedTuple

from controller.evidence.container import Closed
from controller.evidence.folder import Folder, Limits

WAITING = 6
"""Files that may wait for the disk, 12 MB each at most."""
LOOK_S = 3600.0
"""Between two looks for what is too old."""
PRUNED_BY = "retention"


class WallTime(NamedTuple):
    """The wall clock in seconds, and whether it is known to be right."""

    s: float
    synced: bool


class Keeper:
    """Keeps what it is given, and deletes what is too old or too much."""

    def __init__(
        self, folder: Folder, limits: Limits, wall: Callable[[], WallTime], say: Callable[[str], None]
    ) -> None:
        """Begin in this folder, which is made where it is not there; raises OSError."""
        self._folder = folder
        self._limits = limits
        self._wall = wall
        self._say = say
        self._queue: Queue[Closed | None] = Queue(WAITING)
        folder.begin()
        self._thread = threading.Thread(target=self._work, name="evidence", daemon=True)
        self._thread.start()

    def keep(self, closed: Closed) -> None:
        """Queue a file for writing; if too many wait already, drop it and say so."""
        try:
            self._queue.put_nowait(closed)
        except Full:
            self._say(f"{self._folder.path}: the disk is too slow; pictures {closed.sha256} are not kept")

    def close(self) -> None:
        """Write what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        self._prune(0)
        while True:
            try:
                closed = self._queue.get(timeout=LOOK_S)
            except Empty:
                self._prune(0)
                continue
            if closed is None:
                return
            self._prune(len(closed.data))
            try:
                self._folder.keep(closed, self._label())
            except OSError as error:
                self._say(f"{self._folder.path}: pictures {closed.sha256} are not kept ({error.strerror})")

    def _label(self) -> float:
        """Return the time to keep a file under: with a clock that may be behind it is not the oldest."""
        wall = self._wall()
        if wall.synced:
            return wall.s
        return max([wall.s, *(one.wall_s for one in self._folder.kept()[-1:])])

    def _prune(self, room: int) -> None:
        wall = self._wall()
        try:
            self._folder.prune(self._limits, wall.s, by=PRUNED_BY, aged=wall.synced, room=room)
        except OSError as error:
            self._say(f"{self._folder.path}: old pictures can't be deleted ({error.strerror})")
