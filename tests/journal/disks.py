"""Faulty disks, implemented as SQLite VFSs: one stalls, one refuses writes, one records operations."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Literal

import apsw
import msgspec

_numbers = itertools.count()

Op = Literal["write", "truncate", "sync", "told"]


class Disk:
    """Receives every operation on the journal's files, and passes it on unchanged."""

    def before_write(self, name: str) -> None:
        """Handle a write in advance; an exception raised here makes the write fail."""

    def before_sync(self, name: str) -> None:
        """Handle a sync in advance."""

    def wrote(self, name: str, offset: int, data: bytes) -> None:
        """Handle a completed write."""

    def truncated(self, name: str, size: int) -> None:
        """Handle a completed truncation."""

    def synced(self, name: str) -> None:
        """Handle a completed sync."""


class StallingDisk(Disk):
    """Hangs in every sync between `stall` and `go_on`."""

    def __init__(self) -> None:
        self.stalled = Event()
        """Set once a sync hangs."""
        self._may_sync = Event()
        self._may_sync.set()

    def stall(self) -> None:
        self._may_sync.clear()

    def go_on(self) -> None:
        """Release the sync."""
        self._may_sync.set()

    def before_sync(self, name: str) -> None:  # noqa: ARG002 every file stalls
        if not self._may_sync.is_set():
            self.stalled.set()
            self._may_sync.wait()


class RefusingDisk(Disk):
    """Fails every write, or every sync, with an error while `refuses` is set."""

    def __init__(self, error: type[apsw.Error], *, at: Literal["write", "sync"]) -> None:
        self.refuses = False
        self.refused = Event()
        """Set after two refusals."""
        self._times = 0
        self._error = error
        self._at = at

    def before_write(self, name: str) -> None:  # noqa: ARG002 every file refuses
        if self._at == "write":
            self._answer()

    def before_sync(self, name: str) -> None:  # noqa: ARG002 every file refuses
        if self._at == "sync":
            self._answer()

    def _answer(self) -> None:
        if self.refuses:
            self._times += 1
            if self._times >= 2:
                self.refused.set()
            raise self._error("raised by the test")


class Written(msgspec.Struct, frozen=True):
    """One entry of a recording disk's log; for `told`, `offset` is the outcome's number."""

    op: Op
    name: str
    offset: int = 0
    data: bytes = b""


class RecordingDisk(Disk):
    """Records every write, truncation and sync in order."""

    def __init__(self) -> None:
        self.log: list[Written] = []

    def wrote(self, name: str, offset: int, data: bytes) -> None:
        self.log.append(Written("write", name, offset, data))

    def truncated(self, name: str, size: int) -> None:
        self.log.append(Written("truncate", name, size))

    def synced(self, name: str) -> None:
        self.log.append(Written("sync", name))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        path = name if isinstance(name, str) else name.filename()
        self._name = path.rpartition("/")[2]

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.before_write(self._name)
        super().xWrite(data, offset)
        self._disk.wrote(self._name, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.truncated(self._name, newsize)

    def xSync(self, flags: int) -> None:
        self._disk.before_sync(self._name)
        super().xSync(flags)
        self._disk.synced(self._name)


class _Files(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        super().__init__(name, "unix")
        self._disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        assert name is not None
        return _File(self._disk, name, flags)


@contextmanager
def mounted(disk: Disk) -> Iterator[str]:
    """Yield the name of a VFS whose files are on this disk."""
    name = f"test-disk-{next(_numbers)}"
    files = _Files(name, disk)
    try:
        yield name
    finally:
        files.unregister()
