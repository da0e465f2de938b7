"""Ports for programs on the same machine: Unix sockets and named pipes."""

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from drivers.link.link import PortError, Waker

BLOCK = 65_536
WAIT_TIMEOUT_S = 1.0
WRITE_TIMEOUT_S = 0.5


class SocketPort:
    """A Unix socket on which the table listens. It serves one program at a time, in both directions."""

    def __init__(self, path: str) -> None:
        """Prepare the port without opening it. The socket's folder must exist."""
        self.path = path
        self._waker = Waker(WAIT_TIMEOUT_S)
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None

    def open(self) -> str:
        """Wait up to WAIT_TIMEOUT_S for a program to connect. Raises PortError."""
        listener = self._listener or self._listen()
        if not self._waker.wait_for(listener.fileno()):
            raise PortError("no_port", f"no program has connected to {self.path}")
        self._peer, _ = listener.accept()
        self._peer.settimeout(WRITE_TIMEOUT_S)
        return self.path

    def read(self) -> bytes:
        """Wait for bytes and return them. Raises PortError, for example if the program has disconnected."""
        peer = self._peer
        assert peer is not None
        try:
            if not self._waker.wait_for(peer.fileno()):
                return b""
            data = peer.recv(BLOCK)
        except OSError as error:
            raise PortError("unplugged", f"{self.path}: {error.strerror}") from error
        if not data:
            raise PortError("unplugged", f"the program on {self.path} closed its connection")
        return data

    def write(self, data: bytes) -> None:
        """Write all bytes. Raises PortError."""
        peer = self._peer
        assert peer is not None
        try:
            peer.sendall(data)
        except TimeoutError as error:
            raise PortError(
                "stuck_writer", f"{self.path} did not accept all bytes within {WRITE_TIMEOUT_S:g} s"
            ) from error
        except OSError as error:
            raise PortError("unplugged", f"{self.path}: {error.strerror}") from error

    def wake(self) -> None:
        """Make a waiting `read` return. Any thread may call this."""
        self._waker.wake()

    def close(self) -> None:
        """Close the connection. The socket continues to listen."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def dispose(self) -> None:
        """Close the socket and remove its file."""
        self.close()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            with suppress(OSError):
                Path(self.path).unlink()
        self._waker.close()

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            self._remove_stale()
            listener.bind(self.path)
            Path(self.path).chmod(0o660)
            listener.listen(1)
        except OSError as error:
            listener.close()
            raise PortError("port_fault", f"{self.path}: {error.strerror}") from error
        except PortError:
            listener.close()
            raise
        self._listener = listener
        return listener

    def _remove_stale(self) -> None:
        """Remove an unused socket. Raises PortError if a program is listening on it."""
        path = Path(self.path)
        if not path.is_socket():
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(self.path)
            except OSError:
                path.unlink()
                return
        raise PortError("port_busy", f"another program is listening on {self.path}")


class PipePort:
    """A named pipe from which the table reads."""

    def __init__(self, path: str) -> None:
        """Prepare the port without opening it. The pipe's folder must exist."""
        self.path = path
        self._waker = Waker(WAIT_TIMEOUT_S)
        self._fd: int | None = None

    def open(self) -> str:
        """Open the pipe, or create it if it is missing. Raises PortError."""
        try:
            if not Path(self.path).exists():
                os.mkfifo(self.path, 0o660)
            # Open the pipe for writing too, so that the exit of a script does not cause an end of file. The
            # script's device is then reported as silent.
            fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise PortError("port_fault", f"{self.path}: {error.strerror}") from error
        if not stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.close(fd)
            raise PortError("port_fault", f"{self.path} is not a named pipe")
        self._fd = fd
        return self.path

    def read(self) -> bytes:
        """Wait for bytes and return them. Raises PortError."""
        assert self._fd is not None
        try:
            return os.read(self._fd, BLOCK) if self._waker.wait_for(self._fd) else b""
        except OSError as error:
            raise PortError("unplugged", f"{self.path}: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        """Discard the data; a pipe is unidirectional."""

    def wake(self) -> None:
        """Make a waiting `read` return. Any thread may call this."""
        self._waker.wake()

    def close(self) -> None:
        """Close the pipe. Its file remains."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def dispose(self) -> None:
        """Close the pipe permanently."""
        self.close()
        self._waker.close()
