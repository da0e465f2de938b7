"""A journal's lock, its readers, and helpers for files."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from controller.journal.faults import JournalFault


class Lock:
    """A journal's lock, held from construction until release or the end of the process."""

    def __init__(self, journal: Path) -> None:
        """Acquire the lock. If another process holds it, raise JournalFault with that process's id."""
        self.path = lock_path(journal)
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise os_fault(error, self.path, "a lock file next to the journal") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _pid_in(self._descriptor)
            os.close(self._descriptor)
            found = f"the lock held by process {holder}"
            raise JournalFault("journal_in_use", self.path, found, "no other controller") from error
        # The process id is used only in messages. On a full disk the lock works without it.
        with suppress(OSError):
            written = os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
            os.ftruncate(self._descriptor, written)

    def release(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def find_lock_holder(journal: Path) -> str | None:
    """Return the process id of the controller that holds a journal's lock; None if the lock is free."""
    try:
        descriptor = os.open(lock_path(journal), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _pid_in(descriptor)
    finally:
        os.close(descriptor)
    return None


def lock_path(journal: Path) -> Path:
    """Return the path of a journal's lock file."""
    return journal.with_name(journal.name + ".lock")


def _pid_in(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"


def os_fault(error: OSError, where: Path, expected: str) -> JournalFault:
    """Convert an operating-system error to a journal fault."""
    code = _BY_ERRNO.get(error.errno or 0, "journal_io_error")
    return JournalFault(code, where, error.strerror or str(error), expected)


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that the names of new files reach the disk."""
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
"""The bytes of a `-shm` file that readers lock: WAL_READ_LOCK(0) to (4) in sqlite.org/walformat.html."""
PROC_LOCKS = Path("/proc/locks")


def list_readers(journal: Path) -> list[str]:
    """Return the processes that read this journal, each as `PROGRAM (process N)`; empty if unknown.

    The controller itself is not left out, because a reader that it leaves open would be a bug.
    """
    try:
        shared = journal.with_name(journal.name + "-shm").stat()
        listed = PROC_LOCKS.read_text(encoding="ascii")
    except OSError:
        return []
    # proc_locks(5): the device is in hexadecimal, the inode in decimal.
    file = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    return [_describe_process(process) for process in sorted(set(_reader_processes(listed, file)))]


def _reader_processes(listed: str, file: str) -> Iterator[int]:
    """Yield the ids of readers, from lines such as `1: POSIX ADVISORY READ 4711 fe:01:1234 123 123`."""
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[1] != "POSIX" or fields[5] != file:
            continue
        first, last = fields[6:]
        if fields[3] == "READ" and first.isdigit() and last.isdigit() and int(first) in READ_LOCKS:
            yield int(fields[4])


def _describe_process(process: int) -> str:
    program = "a program"
    with suppress(OSError):
        program = Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return f"{program} (process {process})"
