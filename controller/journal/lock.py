"""Who has a journal open: the one controller that may write it, and every process that is reading it."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from controller.journal.faults import JournalFault


class Lock:
    """Held from construction until it is released, or until the process ends for any reason."""

    def __init__(self, journal: Path) -> None:
        """Acquire the lock; raises JournalFault with the holder's process id if another has it."""
        self.path = lock_of(journal)
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
        # The lock is what counts: a full disk may not take its holder's number.
        with suppress(OSError):
            written = os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
            os.ftruncate(self._descriptor, written)

    def release(self) -> None:
        """Release the journal for another controller."""
        os.close(self._descriptor)


def holder_of(journal: Path) -> str | None:
    """Return the process id of the controller that holds this journal's lock, without taking or making it."""
    try:
        descriptor = os.open(lock_of(journal), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _written_in(descriptor)
    finally:
        os.close(descriptor)
    return None


def lock_of(journal: Path) -> Path:
    """Return the lock file of a journal."""
    return journal.with_name(journal.name + ".lock")


def _written_in(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"


def fault_of_os(error: OSError, where: Path, expected: str) -> JournalFault:
    """Describe what the system refused."""
    code = _BY_ERRNO.get(error.errno or 0, "journal_io_error")
    return JournalFault(code, where, error.strerror or str(error), expected)


def sync_directory(directory: Path) -> None:
    """Make the names of new files reach the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_BY_ERRNO = {
    errno.EPERM: "journal_no_access",
    errno.EACCES: "journal_no_access",
    errno.EROFS: "journal_read_only",
    errno.ENOSPC: "journal_disk_full",
    errno.EDQUOT: "journal_disk_full",
}


READ_LOCKS = range(123, 128)
"""The bytes of a `-shm` file that readers lock (sqlite.org/walformat.html, WAL_READ_LOCK(0) to (4))."""
LOCKS = Path("/proc/locks")


def readers_of(journal: Path) -> list[str]:
    """Return the name of each process that reads this journal, as `PROGRAM (process N)`; none if the system
    does not say.

    The controller's own process is named too: a reader that it forgot would be its defect.
    """
    try:
        shared = journal.with_name(journal.name + "-shm").stat()
        listed = LOCKS.read_text(encoding="ascii")
    except OSError:
        return []
    # In hexadecimal the device, in decimal the inode (proc_locks(5)).
    file = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    return [_named(process) for process in sorted(set(_reading(listed, file)))]


def _reading(listed: str, file: str) -> Iterator[int]:
    """Yield the processes that hold a reader's lock: `1: POSIX ADVISORY READ 4711 fe:01:1234 123 123`."""
    for line in listed.splitlines():
        words = line.split()
        if len(words) != 8 or words[1] != "POSIX" or words[5] != file:
            continue
        first, last = words[6:]
        if words[3] == "READ" and first.isdigit() and last.isdigit() and int(first) in READ_LOCKS:
            yield int(words[4])


def _named(process: int) -> str:
    program = "a program"
    with suppress(OSError):
        program = Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return f"{program} (process {process})"
