"""Wait for a descriptor, and be woken from another thread."""

import os
import select
from contextlib import suppress

_DRAINED = 4096


class Waker:
    """A pipe to make a wait come back; it lives as long as its port, so that waking needs no lock."""

    def __init__(self, wait_s: float) -> None:
        """Wait so long at most, each time."""
        self._wait_s = wait_s
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        """Make the wait come back, this one or the next."""
        with suppress(OSError):  # a full pipe wakes as well
            os.write(self._writing, b"x")

    def wait_for(self, fd: int) -> bool:
        """Wait for a descriptor to be readable; False where woken or nothing came."""
        ready, _, _ = select.select([fd, self._reading], [], [], self._wait_s)
        if self._reading in ready:
            with suppress(OSError):
                os.read(self._reading, _DRAINED)
        return fd in ready

    def close(self) -> None:
        """Close the pipe; a late wake writes nowhere, not to what opens next."""
        if self._writing >= 0:
            writing, self._writing = self._writing, -1
            os.close(self._reading)
            os.close(writing)
