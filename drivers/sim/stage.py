"""Runs a virtual table behind pseudo-terminals. No other module of the simulation blocks.

A single thread runs the table. One folder contains the links to the ports and a pipe that accepts fault
requests, one JSON object per line. If a virtual table runs faster than real time, only programs that follow
its clock can use it. The clock is shared through a file and read by `FollowedClock`. It never runs ahead of
the virtual table. A busy machine therefore slows the session down, but does not change its results.
"""

import errno
import fcntl
import mmap
import os
import pty
import select
import struct
import termios
import time
import tty
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from drivers.sim.boards import Cable
from drivers.sim.faults import FaultRequestError, carry_out, parse_request
from drivers.sim.table import VirtualTable

CLOCK_FORMAT = struct.Struct("=QQqqqd")
"""The update count, twice, to detect a half-written update; the monotonic time of the update (ns); the
table time at that moment (us); the limit (us); the speed.
"""
_TRIES = 1000


class Clock(Protocol):
    """The virtual table's time in microseconds."""

    speed: float

    def now_us(self) -> int:
        """Return the time, which never goes backwards."""
        ...

    def allow(self, until_us: int) -> int:
        """Allow the clock to run up to this time; return the time at which it will stop."""
        ...


class RealClock:
    """The machine's monotonic clock, which never stops."""

    speed = 1.0

    def now_us(self) -> int:
        """Return the machine's monotonic time."""
        return time.monotonic_ns() // 1000

    def allow(self, until_us: int) -> int:
        """Return `until_us`; this clock cannot stop."""
        return until_us


class PacedClock:
    """A clock that runs at `speed` times real time and stops at the limit that `allow` sets."""

    def __init__(self, speed: float, file: Path | None = None) -> None:
        """Start at the machine's monotonic time, and share the clock through `file` unless it is None."""
        self.speed = speed
        started_us = time.monotonic_ns() // 1000
        self._state = (time.monotonic_ns(), started_us, started_us)
        self._count = 0
        self._shared: mmap.mmap | None = None
        if file is not None:
            file.write_bytes(bytes(CLOCK_FORMAT.size))
            with file.open("r+b") as opened:
                self._shared = mmap.mmap(opened.fileno(), CLOCK_FORMAT.size)
            self._share()

    def now_us(self) -> int:
        """Return the time."""
        return _time_of(*self._state, self.speed)

    def allow(self, until_us: int) -> int:
        """Allow the clock to run up to this time; return the time at which it will stop."""
        now_ns = time.monotonic_ns()
        now_us = self.now_us()
        limit_us = max(now_us, until_us)
        self._state = (now_ns, now_us, limit_us)
        self._share()
        return limit_us

    def _share(self) -> None:
        if self._shared is not None:
            self._count += 1
            self._shared[:] = CLOCK_FORMAT.pack(self._count, self._count, *self._state, self.speed)


class FollowedClock:
    """The clock of a virtual table that runs in a different process."""

    def __init__(self, file: Path) -> None:
        """Follow the clock in this file. Raises OSError if the file cannot be opened."""
        with file.open("rb") as opened:
            self._shared = mmap.mmap(opened.fileno(), CLOCK_FORMAT.size, access=mmap.ACCESS_READ)
        self._last_us = 0

    def now_us(self) -> int:
        """Return the time, which stops when the virtual table ends."""
        for _ in range(_TRIES):
            before, after, since_ns, table_us, limit_us, speed = CLOCK_FORMAT.unpack(self._shared[:])
            if before == after:
                self._last_us = max(self._last_us, _time_of(since_ns, table_us, limit_us, speed))
                break
        return self._last_us

    def reach(self, now_us: int) -> None:
        """Do nothing, because the virtual table runs this clock."""


def _time_of(since_ns: int, table_us: int, limit_us: int, speed: float) -> int:
    return min(limit_us, table_us + int((time.monotonic_ns() - since_ns) * speed) // 1000)


PID_FILE = "simulate.pid"
"""File with the virtual table's process id, for information only. The lock on the folder prevents a second
virtual table."""


class FolderLock:
    """A lock on a folder. It is held until `release` is called or the process ends."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder. Raises OSError with the process id if a different virtual table has locked it."""
        self._pid_file = folder / PID_FILE
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._folder)
            other = (
                self._pid_file.read_text(encoding="ascii").strip() if self._pid_file.exists() else "unknown"
            )
            problem = f"process {other} is running a virtual table there; end it, or choose another --dir"
            raise OSError(errno.EBUSY, problem, str(folder)) from error
        self._pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")

    def release(self) -> None:
        """Release the folder for other programs."""
        self._pid_file.unlink(missing_ok=True)
        os.close(self._folder)


BLOCK = 65_536
_COUNT = struct.Struct("i")
_NOT_OPEN = (errno.EIO, errno.EAGAIN)


class Pty:
    """A plugged-in cable's pseudo-terminal. It remains open even if no program opens its port."""

    def __init__(self, name: Path) -> None:
        """Create a pseudo-terminal and link it under this name."""
        self.name = name
        self.sent_bytes = 0
        """Number of bytes that the kernel has accepted for the table."""
        self.device, self._port = pty.openpty()
        tty.setraw(self._port)
        os.set_blocking(self.device, False)
        _unlink(name)
        name.symlink_to(os.ttyname(self._port))

    @property
    def unread(self) -> int:
        """Number of bytes that the table has not read."""
        count = fcntl.ioctl(self._port, termios.FIONREAD, bytes(_COUNT.size))
        return int(_COUNT.unpack(count)[0])

    def write(self, data: bytes) -> None:
        """Send bytes to the table. Bytes that do not fit into the buffer are lost, as they are when a real
        board sends to a closed port."""
        with suppress(BlockingIOError):
            self.sent_bytes += os.write(self.device, data)

    def read(self) -> bytes:
        """Return the bytes that the table has sent."""
        try:
            return os.read(self.device, BLOCK)
        except OSError as error:
            if error.errno not in _NOT_OPEN:
                raise
            return b""

    def drain(self) -> None:
        """Discard unread bytes."""
        with suppress(OSError):
            termios.tcflush(self._port, termios.TCIFLUSH)

    def block(self, blocked: bool) -> None:
        """Stop or resume accepting the table's bytes."""
        termios.tcflow(self._port, termios.TCOOFF if blocked else termios.TCOON)

    def share(self) -> None:
        """Clear the port's exclusive mode, which a killed program might leave behind."""
        with suppress(OSError):
            fcntl.ioctl(self._port, termios.TIOCNXCL)

    def pull(self) -> None:
        """Remove the port, as when a cable is pulled."""
        _unlink(self.name)
        os.close(self.device)
        os.close(self._port)


def _unlink(name: Path) -> None:
    """Remove a port's link. Raises FileExistsError if the name is not a link."""
    if name.is_symlink():
        name.unlink()
    elif name.exists():
        raise FileExistsError(
            errno.EEXIST, "found a file that is not a port's link; choose another --dir", name
        )


FAULT_PIPE = "faults"
MAX_WAIT_US = 50_000
MAX_UNREAD_US = 20_000
"""Time for which a paced clock continues while bytes are unread. After that the clock stops."""
READER_TIMEOUT_S = 1.0
"""Time after which unread bytes are discarded and the clock stops waiting for their reader."""
MAX_TRANSIT_S = 0.002
"""Maximum transit time of bytes through the kernel. If no bytes are unread after that time, all have been
read."""
_MAX_REQUEST_BYTES = 4096
_POLL_S = 0.001


class _Socket:
    """A cable's port, and the times at which unread bytes were sent."""

    def __init__(self, pty: Pty, plugged: int) -> None:
        self.pty = pty
        self.plugged = plugged
        self.blocked = False
        self.abandoned = False
        self.unread_since_s: float | None = None
        self.sent_us = 0
        """Table time at which the first unread byte was sent."""
        self.sent_s = 0.0
        """Monotonic time at which the last unread byte was sent."""


class Stage:
    """A virtual table with its ports and its clock."""

    def __init__(
        self, table: VirtualTable, folder: Path, clock: Clock, refused: Callable[[str], None]
    ) -> None:
        """Set up the stage in an existing folder; `refused` receives the reason for each refused request.

        Raises OSError if the folder cannot be used.
        """
        self.turns = 0
        self._table = table
        self._folder = folder
        self._clock = clock
        self._report_refusal = refused
        self._sockets: dict[str, _Socket] = {}
        self._partial_request = b""
        self._pipe = _pipe_at(folder / FAULT_PIPE)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Run until `stopping` returns True."""
        self._table.start(self._clock.now_us())
        try:
            while not stopping():
                self.turn()
        finally:
            self.close()

    def turn(self) -> None:
        """Do the work that is due, transfer bytes, and wait for the next event."""
        self.turns += 1
        now_us = self._clock.now_us()
        self._table.run(now_us)
        for name, cable in self._table.cables.items():
            self._plug(name, cable)
            self._send(name, cable, now_us)
        until_us = min(now_us + MAX_WAIT_US, max(now_us, self._table.next_due_us() or now_us))
        wait_s = (until_us - now_us) / 1e6 / self._clock.speed
        allowed_us = until_us
        if self._clock.speed != 1 and (limit_us := self._reader_limit_us()) is not None:
            allowed_us = min(until_us, max(now_us, limit_us))
        if self._clock.allow(allowed_us) < until_us:
            wait_s = min(wait_s, _POLL_S)
        self._receive(wait_s)

    def sent_bytes(self, port: str) -> tuple[int, int]:
        """Return how many times the cable in this port has been plugged in, and the number of bytes that the
        port has accepted since the last time.
        """
        for socket in list(self._sockets.values()):
            if socket.pty.name.name == port:
                return socket.plugged, socket.pty.sent_bytes
        return 0, 0

    def close(self) -> None:
        """Pull every cable and remove the pipe."""
        for socket in self._sockets.values():
            socket.pty.pull()
        self._sockets.clear()
        os.close(self._pipe)
        with suppress(FileNotFoundError):
            (self._folder / FAULT_PIPE).unlink()

    # --- cables and ports ---

    def _plug(self, name: str, cable: Cable) -> None:
        socket = self._sockets.get(name)
        if socket is not None and (cable.port is None or socket.plugged != cable.plugged):
            self._sockets.pop(name).pty.pull()
            socket = None
        if socket is None and cable.port is not None and self._is_free(cable.port):
            socket = self._sockets[name] = _Socket(Pty(self._folder / cable.port), cable.plugged)
        if socket is not None and socket.blocked != cable.blocked:
            socket.blocked = cable.blocked
            socket.pty.block(cable.blocked)

    def _is_free(self, port: str) -> bool:
        """Return whether no cable is plugged into this port.

        In a swap, both cables are unplugged before either is plugged in again.
        """
        return all(socket.pty.name.name != port for socket in self._sockets.values())

    def _send(self, name: str, cable: Cable, now_us: int) -> None:
        socket = self._sockets.get(name)
        if socket is None:
            return
        self._check_reader(socket)
        if cable.outbox:
            socket.pty.write(bytes(cable.outbox))
            cable.outbox.clear()
            socket.sent_s = time.monotonic()
            if socket.unread_since_s is None:
                socket.unread_since_s, socket.sent_us = socket.sent_s, now_us

    @staticmethod
    def _check_reader(socket: _Socket) -> None:
        since_s = socket.unread_since_s
        if since_s is None:
            return
        now_s = time.monotonic()
        if socket.pty.unread == 0:
            if now_s - socket.sent_s > MAX_TRANSIT_S:
                socket.unread_since_s, socket.abandoned = None, False
        elif now_s - since_s > READER_TIMEOUT_S:
            socket.pty.drain()
            socket.pty.share()
            socket.unread_since_s, socket.abandoned = None, True

    def _reader_limit_us(self) -> int | None:
        """Return the limit of a paced clock while the table has unread bytes; None if there is no limit."""
        limits_us = [
            socket.sent_us + MAX_UNREAD_US
            for socket in self._sockets.values()
            if socket.unread_since_s is not None and not socket.abandoned
        ]
        return min(limits_us, default=None)

    def _receive(self, wait_s: float) -> None:
        ends: Mapping[int, str] = {socket.pty.device: name for name, socket in self._sockets.items()}
        ready, _, _ = select.select([*ends, self._pipe], [], [], wait_s)
        now_us = self._clock.now_us()
        for end in ready:
            if end == self._pipe:
                self._handle_requests(now_us)
            elif data := self._sockets[ends[end]].pty.read():
                self._table.receive(ends[end], now_us, data)

    # --- requests ---

    def _handle_requests(self, now_us: int) -> None:
        *lines, self._partial_request = (
            self._partial_request + os.read(self._pipe, _MAX_REQUEST_BYTES)
        ).split(b"\n")
        self._partial_request = self._partial_request[-_MAX_REQUEST_BYTES:]
        for line in filter(bytes.strip, lines):
            try:
                carry_out(self._table, parse_request(line), now_us)
            except FaultRequestError as error:
                self._report_refusal(str(error))


def _pipe_at(path: Path) -> int:
    if path.exists():
        if not path.is_fifo():
            problem = "found a file that is not a pipe; choose another --dir"
            raise FileExistsError(errno.EEXIST, problem, str(path))
        path.unlink()  # left by a killed run
    os.mkfifo(path, 0o660)
    # The process also opens the pipe for writing, which prevents an end of file when a writer closes it.
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    # Other programs may only write. A program that read from the pipe by mistake would consume requests.
    os.fchmod(pipe, 0o220)
    return pipe
