"""Pseudo-terminals as a table's serial ports, behind names that stay while cables come and go."""

import errno
import fcntl
import os
import pty
import struct
import termios
import tty
from contextlib import suppress
from pathlib import Path

BLOCK = 65_536
_COUNT = struct.Struct("i")
_NOBODY_THERE = (errno.EIO, errno.EAGAIN)


class Pty:
    """One plugged-in port: the device's end, and the table's, which stays while nobody has it open."""

    def __init__(self, name: Path) -> None:
        """Make a new pseudo-terminal appear under this name."""
        self.name = name
        self.sent_bytes = 0
        """What the kernel took for the table."""
        self.device, self._port = pty.openpty()
        tty.setraw(self._port)
        os.set_blocking(self.device, False)
        _unlink(name)
        name.symlink_to(os.ttyname(self._port))

    @property
    def unread(self) -> int:
        """How many bytes for the table nobody has read yet."""
        count = fcntl.ioctl(self._port, termios.FIONREAD, bytes(_COUNT.size))
        return int(_COUNT.unpack(count)[0])

    def write(self, data: bytes) -> None:
        """Send to the table; what finds no room is lost, as in a board whose port nobody opens."""
        with suppress(BlockingIOError):
            self.sent_bytes += os.write(self.device, data)

    def read(self) -> bytes:
        """Give what the table has sent."""
        try:
            return os.read(self.device, BLOCK)
        except OSError as error:
            if error.errno not in _NOBODY_THERE:
                raise
            return b""

    def drain(self) -> None:
        """Throw away what nobody reads."""
        with suppress(OSError):
            termios.tcflush(self._port, termios.TCIFLUSH)

    def block(self, blocked: bool) -> None:
        """Take no bytes from the table any more, or take them again."""
        termios.tcflow(self._port, termios.TCOOFF if blocked else termios.TCOON)

    def share(self) -> None:
        """Let the port be opened again, if a program that had it for itself was killed."""
        with suppress(OSError):
            fcntl.ioctl(self._port, termios.TIOCNXCL)

    def pull(self) -> None:
        """Make the port go away, as a pulled cable does."""
        _unlink(self.name)
        os.close(self.device)
        os.close(self._port)


def _unlink(name: Path) -> None:
    """Remove a port's name; raises FileExistsError where it is no link, so that nothing else is removed."""
    if name.is_symlink():
        name.unlink()
    elif name.exists():
        raise FileExistsError(
            errno.EEXIST, "found something that is no port's name; choose another --dir", name
        )
