"""One controller for one journal: an advisory lock on a file beside it."""

import errno
import fcntl
import os
from pathlib import Path

from controller.journal.faults import JournalFault


class Lock:
    """Held from construction until it is released, or until the process ends in whatever way."""

    def __init__(self, journal: Path) -> None:
        """Take the lock; raises JournalFault with the holder's process id where another has it."""
        self.path = _beside(journal)
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise fault_of_os(error, self.path, "a lock file beside the journal") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _written_in(self._descriptor)
            os.close(self._descriptor)
            found = f"process {holder} holding it"
            raise JournalFault("journal_in_use", self.path, found, "no other controller") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another controller have the journal."""
        os.close(self._descriptor)


def holder_of(journal: Path) -> str | None:
    """Give the process id of the controller that holds this journal's lock, without taking or making it."""
    try:
        descriptor = os.open(_beside(journal), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _written_in(descriptor)
    finally:
        os.close(descriptor)
    return None


def _beside(journal: Path) -> Path:
    return journal.with_name(journal.name + ".lock")


def _written_in(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"


def fault_of_os(error: OSError, where: Path, expected: str) -> JournalFault:
    """Name what the system refused."""
    code = _BY_ERRNO.get(error.errno or 0, "journal_io_error")
    return JournalFault(code, where, error.strerror or str(error), expected)


def sync_directory(directory: Path) -> None:
    """Have the names of new files reach the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_BY_ERRNO = {
    errno.EPERM: "journal_no_access",
    errno.EACCES: "journal_no_access",
    errno.EROFS: "journal_read_only",
}
