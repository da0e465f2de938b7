"""Runs a virtual table behind pseudo-terminals: the only module of the simulation that waits.

One thread. The ports' names are in one folder beside a pipe that takes faults, one JSON object a line. A
virtual table that is faster than life can only serve a program that lives in the same time: its clock is in a
file, which `FollowedClock` reads. It never runs past what the virtual table has not done yet, so that a busy
machine makes the evening slower and never wrong.
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
from drivers.sim.faults import FaultOrderError, carry_out, read_order
from drivers.sim.table import VirtualTable

FILE_FORM = struct.Struct("=QQqqqd")
"""Count before, count after, since (monotonic ns), stood at (us), limit (us), speed."""
_TRIES = 1000


class Clock(Protocol):
    """The virtual table's time in microseconds."""

    speed: float

    def now_us(self) -> int:
        """Return the time; it never goes back."""
        ...

    def allow(self, until_us: int) -> int:
        """Let it run from now to this time at the most; return how far it will run."""
        ...


class RealClock:
    """The machine's monotonic clock, which never waits."""

    speed = 1.0

    def now_us(self) -> int:
        """Return the time since the machine started."""
        return time.monotonic_ns() // 1000

    def allow(self, until_us: int) -> int:
        """Ignore it: it runs by itself."""
        return until_us


class PacedClock:
    """A clock this many times faster than real time, which stops where it may not continue."""

    def __init__(self, speed: float, file: Path | None = None) -> None:
        """Start at the machine's monotonic time; publish it through a file."""
        self.speed = speed
        started_us = time.monotonic_ns() // 1000
        self._state = (time.monotonic_ns(), started_us, started_us)
        self._count = 0
        self._shared: mmap.mmap | None = None
        if file is not None:
            file.write_bytes(bytes(FILE_FORM.size))
            with file.open("r+b") as opened:
                self._shared = mmap.mmap(opened.fileno(), FILE_FORM.size)
            self._share()

    def now_us(self) -> int:
        """Return the time."""
        return _time_of(*self._state, self.speed)

    def allow(self, until_us: int) -> int:
        """Continue from here, to this time at the most."""
        now_ns = time.monotonic_ns()
        now_us = self.now_us()
        limit_us = max(now_us, until_us)
        self._state = (now_ns, now_us, limit_us)
        self._share()
        return limit_us

    def _share(self) -> None:
        if self._shared is not None:
            self._count += 1
            self._shared[:] = FILE_FORM.pack(self._count, self._count, *self._state, self.speed)


class FollowedClock:
    """A virtual table's clock as another process sees it."""

    def __init__(self, file: Path) -> None:
        """Follow the clock in this file; raises OSError if there is none."""
        with file.open("rb") as opened:
            self._shared = mmap.mmap(opened.fileno(), FILE_FORM.size, access=mmap.ACCESS_READ)
        self._last_us = 0

    def now_us(self) -> int:
        """Return the time; it stands still when the virtual table has ended."""
        for _ in range(_TRIES):
            before, after, since_ns, stood_at_us, limit_us, speed = FILE_FORM.unpack(self._shared[:])
            if before == after:
                self._last_us = max(self._last_us, _time_of(since_ns, stood_at_us, limit_us, speed))
                break
        return self._last_us

    def reach(self, now_us: int) -> None:
        """Ignore it: this clock runs by itself."""


def _time_of(since_ns: int, stood_at_us: int, limit_us: int, speed: float) -> int:
    return min(limit_us, stood_at_us + int((time.monotonic_ns() - since_ns) * speed) // 1000)


HOLDER = "simulate.pid"
"""The file that names who plays in a folder, for people to read; the folder's own lock is what counts."""


class Claim:
    """A claimed folder, until it is released or the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        """Claim it; raises OSError with the process id of whoever has a virtual table there already."""
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
        """Release it for another program."""
        self._holder.unlink(missing_ok=True)
        os.close(self._folder)


BLOCK = 65_536
_COUNT = struct.Struct("i")
_NOBODY_THERE = (errno.EIO, errno.EAGAIN)


class Pty:
    """One plugged-in port: the device's end, and the table's, which stays even if no program has it open."""

    def __init__(self, name: Path) -> None:
        """Make a new pseudo-terminal appear under this name."""
        self.name = name
        self.sent_bytes = 0
        """The bytes that the kernel accepted for the table."""
        self.device, self._port = pty.openpty()
        tty.setraw(self._port)
        os.set_blocking(self.device, False)
        _unlink(name)
        name.symlink_to(os.ttyname(self._port))

    @property
    def unread(self) -> int:
        """How many bytes for the table are still unread."""
        count = fcntl.ioctl(self._port, termios.FIONREAD, bytes(_COUNT.size))
        return int(_COUNT.unpack(count)[0])

    def write(self, data: bytes) -> None:
        """Send to the table; bytes without room are lost, as with a board whose port nobody opens."""
        with suppress(BlockingIOError):
            self.sent_bytes += os.write(self.device, data)

    def read(self) -> bytes:
        """Return what the table has sent."""
        try:
            return os.read(self.device, BLOCK)
        except OSError as error:
            if error.errno not in _NOBODY_THERE:
                raise
            return b""

    def drain(self) -> None:
        """Discard unread bytes."""
        with suppress(OSError):
            termios.tcflush(self._port, termios.TCIFLUSH)

    def block(self, blocked: bool) -> None:
        """Stop reading the table's bytes, or read them again."""
        termios.tcflow(self._port, termios.TCOOFF if blocked else termios.TCOON)

    def share(self) -> None:
        """Reopen the port, if a program that held it exclusively was killed."""
        with suppress(OSError):
            fcntl.ioctl(self._port, termios.TIOCNXCL)

    def pull(self) -> None:
        """Make the port go away, as a pulled cable does."""
        _unlink(self.name)
        os.close(self.device)
        os.close(self._port)


def _unlink(name: Path) -> None:
    """Remove a port's name; raises FileExistsError if it is no link, so that nothing else is removed."""
    if name.is_symlink():
        name.unlink()
    elif name.exists():
        raise FileExistsError(
            errno.EEXIST, "found something that is no port's name; choose another --dir", name
        )


ORDERS = "faults"
"""The pipe's name in the folder."""
MAX_WAIT_US = 50_000
BEHIND_US = 20_000
"""A clock that can wait continues for this long while bytes are unread, and then waits for their reader."""
NOBODY_READS_S = 1.0
"""Bytes unread for this long are discarded, and the clock no longer waits for their reader."""
SURELY_THERE_S = 0.002
"""The longest that bytes take through the kernel; after that none unread means that they were read."""
_LONGEST_ORDER = 4096
_POLL_S = 0.001


class _Socket:
    """Where a cable's other end is plugged in, and since when bytes sent there are unread."""

    def __init__(self, pty: Pty, plugged: int) -> None:
        self.pty = pty
        self.plugged = plugged
        self.blocked = False
        self.abandoned = False
        self.unread_since_s: float | None = None
        self.sent_us = 0
        """When the first unread byte was sent."""
        self.sent_s = 0.0
        """When the last unread byte was sent."""


class Stage:
    """A virtual table, its ports and its clock."""

    def __init__(
        self, table: VirtualTable, folder: Path, clock: Clock, refused: Callable[[str], None]
    ) -> None:
        """Play in this folder, which must exist; `refused` is called for orders that can't be carried out.

        Raises OSError if the folder can't be used.
        """
        self.turns = 0
        self._table = table
        self._folder = folder
        self._clock = clock
        self._refused = refused
        self._sockets: dict[str, _Socket] = {}
        self._half_order = b""
        self._pipe = _pipe_at(folder / ORDERS)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Play until told to stop."""
        self._table.start(self._clock.now_us())
        try:
            while not stopping():
                self.turn()
        finally:
            self.close()

    def turn(self) -> None:
        """Handle what is due, carry bytes, and wait for the next event."""
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
        """Return how often this port was plugged in, and how many bytes it has accepted since."""
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
            (self._folder / ORDERS).unlink()

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
        """Where two cables are swapped, one must be out before the other is in."""
        return all(socket.pty.name.name != port for socket in self._sockets.values())

    def _send(self, name: str, cable: Cable, now_us: int) -> None:
        socket = self._sockets.get(name)
        if socket is None:
            return
        self._see_to_reader(socket)
        if cable.outbox:
            socket.pty.write(bytes(cable.outbox))
            cable.outbox.clear()
            socket.sent_s = time.monotonic()
            if socket.unread_since_s is None:
                socket.unread_since_s, socket.sent_us = socket.sent_s, now_us

    @staticmethod
    def _see_to_reader(socket: _Socket) -> None:
        since_s = socket.unread_since_s
        if since_s is None:
            return
        now_s = time.monotonic()
        if socket.pty.unread == 0:
            if now_s - socket.sent_s > SURELY_THERE_S:
                socket.unread_since_s, socket.abandoned = None, False
        elif now_s - since_s > NOBODY_READS_S:
            socket.pty.drain()
            socket.pty.share()
            socket.unread_since_s, socket.abandoned = None, True

    def _reader_limit_us(self) -> int | None:
        """How far a clock that can wait may run before the table has read what it was sent."""
        behind = [
            socket.sent_us + BEHIND_US
            for socket in self._sockets.values()
            if socket.unread_since_s is not None and not socket.abandoned
        ]
        return min(behind, default=None)

    def _receive(self, wait_s: float) -> None:
        ends: Mapping[int, str] = {socket.pty.device: name for name, socket in self._sockets.items()}
        ready, _, _ = select.select([*ends, self._pipe], [], [], wait_s)
        now_us = self._clock.now_us()
        for end in ready:
            if end == self._pipe:
                self._take_orders(now_us)
            elif data := self._sockets[ends[end]].pty.read():
                self._table.receive(ends[end], now_us, data)

    # --- orders ---

    def _take_orders(self, now_us: int) -> None:
        *lines, self._half_order = (self._half_order + os.read(self._pipe, _LONGEST_ORDER)).split(b"\n")
        self._half_order = self._half_order[-_LONGEST_ORDER:]
        for line in filter(bytes.strip, lines):
            try:
                carry_out(self._table, read_order(line), now_us)
            except FaultOrderError as error:
                self._refused(str(error))


def _pipe_at(path: Path) -> int:
    if path.exists():
        if not path.is_fifo():
            says = "found something that is no pipe; choose another --dir"
            raise FileExistsError(errno.EEXIST, says, str(path))
        path.unlink()  # a killed run left it, closed to readers
    os.mkfifo(path, 0o660)
    # For writing too, so that the pipe has no end when one who ordered something goes.
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    # Who reads it by mistake would wait for ever, and take orders away.
    os.fchmod(pipe, 0o220)
    return pipe
