"""Who reads a journal now: SQLite's readers hold locks in its shared memory, which the kernel lists."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

READ_LOCKS = range(123, 128)
"""The bytes of a `-shm` file that readers lock (sqlite.org/walformat.html, WAL_READ_LOCK(0) to (4))."""
LOCKS = Path("/proc/locks")


def readers_of(journal: Path) -> list[str]:
    """Name each process that reads this journal, as `PROGRAM (process N)`; none where the system is silent.

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
