"""The daemon's functions as a system service: log, notifications to systemd, exit codes, and watchdog."""

import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from controller.app.clock import system_wall
from controller.app.faults import ActiveFaults, Fault
from controller.model.printable import printable

Level = Literal["<2>", "<3>", "<4>", "<5>", "<6>"]
CRITICAL: Level = "<2>"
ERROR: Level = "<3>"
NOTICE: Level = "<5>"
INFO: Level = "<6>"


MAX_LINES = 200
"""The number of log lines kept in memory for a technician's screen."""
_last_lines: deque[tuple[int, str]] = deque(maxlen=MAX_LINES)


def last_logged() -> tuple[tuple[int, str], ...]:
    """Return the last lines of the log, the newest last, each with its wall time in us since 1970."""
    return tuple(_last_lines)


def log(level: Level, text: object) -> None:
    """Write one line to the log, without the level if stderr is a terminal."""
    mark = "" if sys.stderr.isatty() else level
    line = printable(str(text))
    _last_lines.append((system_wall().us, line))
    sys.stderr.write(f"{mark}{line}\n")
    sys.stderr.flush()


READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"
EXTEND_START = "EXTEND_TIMEOUT_USEC=60000000"
"""Extends the start timeout to one minute from now (sd_notify(3)); sent repeatedly during a long start."""
SEND_TIMEOUT_S = 0.2
"""Maximum wait while the socket is full; the message is then dropped."""


class Notifier:
    """A client of the service manager's notification socket (`NOTIFY_SOCKET`)."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read the socket's address and the watchdog's interval from the environment."""
        address = environ.get("NOTIFY_SOCKET", "")
        # systemd writes an abstract address with @ in place of its NUL byte.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        usec = environ.get("WATCHDOG_USEC", "")
        self.watchdog_s = int(usec) / 1e6 if usec.isdigit() else None

    def notify(self, *words: str) -> None:
        """Send these messages, and ignore errors."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.settimeout(SEND_TIMEOUT_S)
            out.sendto("\n".join(words).encode(), self._address)


STOPPED = 0
"""Exit code: stopped, with all data on the disk."""
BAD_SETTINGS = 2
"""Exit code: not started, because the table's file or the command line is invalid."""
IN_USE = 4
"""Exit code: another controller uses the journal or listens on the socket."""
NOT_FLUSHED = 5
"""Exit code: stopped, but the disk did not accept the last rows."""
DEFECT = 70
"""Exit code: the core failed because of a bug; systemd restarts the service."""


STUCK_TIMEOUT_S = 10.0
"""The time without progress after which a thread is reported; an SD card can stall for seven seconds."""
CODE = "thread_stopped"


class Watchdog:
    """A monitor of the progress of threads."""

    def __init__(self, faults: ActiveFaults) -> None:
        self._faults = faults
        self._watched: dict[str, Callable[[], int]] = {}
        self._fed: Mapping[str, int] = {}
        self._moved: dict[str, tuple[int, int]] = {}

    def watch(self, name: str, turns: Callable[[], int]) -> None:
        """Add a thread; `turns` returns a count that increases while the thread makes progress."""
        self._watched[name] = turns

    def check(self, now_us: int) -> bool:
        """Report stuck threads; return whether all have progressed since the last call that returned True."""
        turns = {name: count() for name, count in self._watched.items()}
        for name, count in turns.items():
            before, since_us = self._moved.get(name, (-1, now_us))
            if count != before:
                self._moved[name] = (count, now_us)
                self._faults.clear(CODE, name)
            elif now_us - since_us > STUCK_TIMEOUT_S * 1e6:
                self._faults.report(
                    Fault("thread_stopped", name, f"no progress for {STUCK_TIMEOUT_S:g} s"), name
                )
        if any(count == self._fed.get(name) for name, count in turns.items()):
            return False
        self._fed = turns
        return True
