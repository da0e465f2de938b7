"""Pseudo-terminals behind names, which tests plug, unplug and swap like ports."""

import os
import pty
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from drivers.link.link import AnyPort, Arrival, Backoff, Inlet, Link, LinkDown, LinkUp

PATIENCE_S = 300.0
"""Timeout for an event, which normally takes milliseconds."""


class Plug:
    """A device's end of a pseudo-terminal. The port's name exists only while the device is plugged in."""

    def __init__(self, name: Path) -> None:
        self.name = name
        self.device: int | None = None

    def plug(self) -> None:
        self.device, port = pty.openpty()
        tty.setraw(port)
        self.name.symlink_to(os.ttyname(port))
        os.close(port)

    def pull(self) -> None:
        with suppress(FileNotFoundError):
            self.name.unlink()
        if self.device is not None:
            os.close(self.device)
            self.device = None

    def say(self, data: bytes) -> None:
        assert self.device is not None
        while data:
            data = data[os.write(self.device, data) :]

    def hear(self, count: int) -> bytes:
        assert self.device is not None
        heard = b""
        while len(heard) < count:
            heard += os.read(self.device, count - len(heard))
        return heard


class Ear:
    def __init__(self, inlet: Inlet | None = None) -> None:
        self.inlet = inlet or Inlet()
        self.arrivals: list[Arrival] = []
        self._next = 0

    def wait(self, wanted: Callable[[Arrival], bool]) -> Arrival:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            while self._next < len(self.arrivals):
                self._next += 1
                if wanted(self.arrivals[self._next - 1]):
                    return self.arrivals[self._next - 1]
            arrival = self.inlet.take(PATIENCE_S)
            if arrival is not None:
                self.arrivals.append(arrival)
        raise AssertionError(f"no matching arrival; received {self.arrivals[-20:]}")

    def up(self) -> LinkUp:
        event = self.wait(lambda arrival: isinstance(arrival.event, LinkUp)).event
        assert isinstance(event, LinkUp)
        return event

    def down(self, code: str) -> LinkDown:
        event = self.wait(lambda a: isinstance(a.event, LinkDown) and a.event.code == code).event
        assert isinstance(event, LinkDown)
        return event

    def data(self, count: int) -> bytes:
        heard = b""
        while len(heard) < count:
            event = self.wait(lambda arrival: isinstance(arrival.event, bytes)).event
            assert isinstance(event, bytes)
            heard += event
        return heard


def now_us() -> int:
    return time.monotonic_ns() // 1000


def link_to(port: AnyPort, inlet: Inlet, source: str = "w1") -> Link:
    """Return a link that retries after a millisecond."""
    backoff = Backoff(lambda: 0.0, first_s=0.002, max_s=0.002)
    return Link(source, port, inlet.post, now_us=now_us, backoff=backoff)


def open_files() -> int:
    """Return the number of this process's open files, including open files of other tests."""
    return len(os.listdir("/proc/self/fd"))
