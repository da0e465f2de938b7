"""One virtual table for one folder: a second one there would take the first one's ports away."""

import errno
import fcntl
import os
from pathlib import Path

HOLDER = "simulate.pid"
"""The file that names who plays in a folder, for people to read; the folder's own lock is what counts."""


class Claim:
    """A folder taken, until it is released or the process ends in whatever way."""

    def __init__(self, folder: Path) -> None:
        """Take it; raises OSError with the process id of whoever has a virtual table there already."""
        self._holder = folder / HOLDER
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._folder)
            other = self._holder.read_text(encoding="ascii").strip() if self._holder.exists() else "unknown"
            says = f"found process {other} playing a virtual table there; end it, or choose another --dir"
            raise OSError(errno.EBUSY, says, str(folder)) from error
        self._holder.write_text(f"{os.getpid()}\n", encoding="ascii")

    def release(self) -> None:
        """Let another one have it."""
        self._holder.unlink(missing_ok=True)
        os.close(self._folder)
