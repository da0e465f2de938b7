"""An SQLite file seen from outside: whether what is written to it stays, without writing anything."""

import os
from pathlib import Path

MIN_BYTES = 1_048_576
"""Of free space: less takes no outcome with its bets and the write-ahead log that they grow."""


class DatabaseFile:
    """The file that an engine has open: it may be taken away, or its disk turn read-only, under it."""

    def __init__(self, path: Path) -> None:
        """Remember the file that is there now; raises OSError where there is none."""
        self._path = path
        there = path.stat()
        self._identity = there.st_dev, there.st_ino

    def trouble(self) -> str | None:
        """Return why writes can't be kept; None where nothing is known against it."""
        try:
            there, disk = self._path.stat(), os.statvfs(self._path)
        except OSError as error:
            return f"the file that was opened is gone ({error.strerror})"
        if (there.st_dev, there.st_ino) != self._identity:
            return "another file lies where the open one was: stop the engine, and put the right one there"
        if disk.f_flag & os.ST_RDONLY:
            return "its disk has turned read-only"
        free_bytes = disk.f_bavail * disk.f_frsize
        if free_bytes < MIN_BYTES:
            return f"its disk has {free_bytes} bytes left, expected {MIN_BYTES}"
        return None
