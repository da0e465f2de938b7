"""A serial port for a link, opened exclusively through pyserial.

Bytes are read directly from the file descriptor, because pyserial needs three system calls per read.
"""

import errno
import fcntl
import os
import termios
from contextlib import suppress

import serial

from drivers.link.link import PortError, Waker

BLOCK = 65_536
READ_TIMEOUT_S = 1.0
WRITE_TIMEOUT_S = 0.5

_FAILURES = (OSError, termios.error)
"""Exceptions raised by pyserial, including termios.error, which it does not convert."""
_MISSING = {errno.ENOENT, errno.ENXIO, errno.ENODEV}
"""Errors that mean that the port has disappeared. A port that has hung up reports EIO instead, which can also
be due to a faulty line."""
_BUSY = {errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_CFLAG_INDEX = 2


class SerialPort:
    """A serial port, named by its path in /dev: 8 data bits, no parity, 1 stop bit, no flow control."""

    def __init__(self, name: str, baud: int, *, write_timeout_s: float = WRITE_TIMEOUT_S) -> None:
        self.name = name
        self._baud = baud
        self._write_timeout_s = write_timeout_s
        self._serial: serial.Serial | None = None
        self._attributes: list[object] = []
        self._waker = Waker(READ_TIMEOUT_S)

    def open(self) -> str:
        """Open the port for this process alone, and return the path of its device file.

        TIOCEXCL excludes other processes, except root's. The flock lock excludes programs that also use
        flock. HUPCL is cleared so that closing the port does not drop DTR, which would reset many boards.

        Raises:
            PortError: If the port cannot be opened or configured.
        """
        port = serial.Serial()
        port.port = self.name
        port.baudrate = self._baud
        port.write_timeout = self._write_timeout_s
        port.exclusive = True
        try:
            port.open()
            fcntl.ioctl(port.fd, termios.TIOCEXCL)
            attributes = termios.tcgetattr(port.fd)
            attributes[_CFLAG_INDEX] &= ~termios.HUPCL
            termios.tcsetattr(port.fd, termios.TCSANOW, attributes)
            self._attributes = termios.tcgetattr(port.fd)
            found = os.path.realpath(self.name)
        except _FAILURES as error:
            _close(port)
            raise PortError(_code(error), f"{self.name}: {_describe(error)}") from error
        self._serial = port
        return found

    def read(self) -> bytes:
        """Wait up to READ_TIMEOUT_S for bytes and return at most one block.

        Raises:
            PortError: If the port has disappeared or another program has changed its settings. Bytes read
                after such a change are discarded, because they might have been received at another speed.
        """
        port = self._serial
        assert port is not None
        try:
            data = os.read(port.fd, BLOCK) if self._waker.wait_for(port.fd) else None
            changed = termios.tcgetattr(port.fd) != self._attributes
        except _FAILURES as error:
            raise self._lost("read", error) from error
        if data == b"":
            raise PortError("unplugged", f"{self.name} hung up")
        if changed:
            raise PortError("settings_changed", f"another program changed the settings of {self.name}")
        return data or b""

    def write(self, data: bytes) -> None:
        """Write all bytes.

        Raises:
            PortError: If the port fails. Some bytes might have been sent, so the caller must reopen the port.
        """
        port = self._serial
        assert port is not None
        try:
            port.write(data)
        except serial.SerialTimeoutException as error:
            raise PortError(
                "stuck_writer", f"{self.name} did not accept all bytes within {self._write_timeout_s:g} s"
            ) from error
        except _FAILURES as error:
            raise self._lost("write", error) from error

    def _lost(self, during: str, error: Exception) -> PortError:
        number = _number(error)
        verb = "disappeared" if number in _MISSING else "failed"
        code = "unplugged" if number in _MISSING or number == errno.EIO else "port_fault"
        return PortError(code, f"{self.name} {verb} during a {during}: {_describe(error)}")

    def wake(self) -> None:
        """Make a waiting `read` return. Any thread may call this."""
        self._waker.wake()

    def close(self) -> None:
        """Close the port. Unsent output is discarded, because it could delay closing by half a minute."""
        port, self._serial = self._serial, None
        if port is not None:
            _close(port)

    def dispose(self) -> None:
        """Close the port permanently."""
        self.close()
        self._waker.close()


def _close(port: serial.Serial) -> None:
    if port.is_open:
        with suppress(*_FAILURES):
            port.reset_output_buffer()
        with suppress(*_FAILURES):
            fcntl.ioctl(port.fd, termios.TIOCNXCL)
        with suppress(*_FAILURES):
            port.close()


def _number(error: BaseException) -> int | None:
    """Return the error number; if a pyserial error has it only in its text, take it from the cause."""
    number = getattr(error, "errno", None)
    if number is None and error.args and isinstance(error.args[0], int):
        number = error.args[0]
    if number is None and error.__context__ is not None:
        return _number(error.__context__)
    return number


def _code(error: Exception) -> str:
    number = _number(error)
    if number in _MISSING:
        return "no_port"
    if number in _BUSY:
        return "port_busy"
    return "no_permission" if number in _FORBIDDEN else "port_fault"


def _describe(error: Exception) -> str:
    number = _number(error)
    return os.strerror(number) if number is not None else str(error)
