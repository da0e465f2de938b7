"""Sources of readings, and the one that reads JSON lines from a pipe, a socket or standard input.

A device's link is another such source: it starts with a place to post to, and stops when told.
"""

import os
import select
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Protocol

import msgspec

from controller.app.faults import ActiveFaults, Fault
from controller.app.inlet import Inlet
from controller.model.readings import AnyReading
from controller.replay.source import UNDECODABLE, decode_reading, shown

BLOCK = 65536
MAX_LINE = 65536
"""A longer line (bytes) is no reading."""
RETRY_S = 0.5
_STDIN = 0
_PATIENCE_S = 0.2
_BAD_LINE_HOLDS_S = 30.0
_SAME_CLOCK_US = 250_000
"""A reading that claims to be at most this old when it first arrives speaks of the table's own clock."""


class Source(Protocol):
    """Where readings come from."""

    @property
    def name(self) -> str:
        """The source's name, for faults and status."""

    @property
    def turns(self) -> int:
        """A count that increases while its thread is alive."""

    def start(self, inlet: Inlet) -> None:
        """Post readings from now on, in a thread of its own; faults become active, and are never raised."""

    def stop(self, timeout_s: float) -> bool:
        """Post no more; False where its thread did not end in time."""


class Mapper:
    """Maps a sender's clock to the table's by the least delay seen: no reading is from the future."""

    def __init__(self) -> None:
        self._offset_us: int | None = None

    def to_table(self, t_us: int, now_us: int) -> int:
        """Convert a sender's time stamp to the table's time, given when it arrived."""
        ahead = now_us - t_us
        if self._offset_us is None:
            self._offset_us = 0 if 0 <= ahead <= _SAME_CLOCK_US else ahead
        self._offset_us = min(self._offset_us, ahead)
        return max(0, t_us + self._offset_us)


class JsonLines:
    """Readings as JSON lines: those without `t` are stamped as they arrive, the others mapped.

    With `data_time` every line brings its own `t` and `arrived`, and a full inlet holds up the sender.
    """

    def __init__(
        self,
        path: str,
        faults: ActiveFaults,
        clock_us: Callable[[], int],
        *,
        data_time: bool,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Read from this FIFO, unix socket or (`-`) standard input; `ended` is called at the end of the last.

        The writers of the others come and go.
        """
        self.name = f"readings {path}"
        self.turns = 0
        self.bad_lines = 0
        self._path = path
        self._faults = faults
        self._clock_us = clock_us
        self._data_time = data_time
        self._ended = ended
        self._mapper = Mapper()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = False
        self._bad_until_us = 0
        self._inlet: Inlet | None = None
        self._thread = Thread(target=self._work, name="readings", daemon=True)

    def start(self, inlet: Inlet) -> None:
        """Read in a thread of its own."""
        self._inlet = inlet
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Read no more."""
        self._stopping = True
        os.write(self._wake_write, b"!")
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stopping:
            try:
                descriptor = self._open()
            except OSError as error:
                found = error.strerror or str(error)
                self._faults.began(Fault("source_failed", self._path, found), self.name)
                self._idle(RETRY_S)
                continue
            self._faults.over("source_failed", self.name)
            try:
                self._read(descriptor)
            except OSError as error:
                self._faults.began(
                    Fault("source_failed", self._path, error.strerror or str(error)), self.name
                )
            finally:
                if descriptor != _STDIN:
                    os.close(descriptor)
            if descriptor == _STDIN and not self._stopping:
                self._ended()
                self._wait_for_stop()

    def _wait_for_stop(self) -> None:
        while not self._stopping:
            self._idle(RETRY_S)

    def _open(self) -> int:
        if self._path == "-":
            return _STDIN
        path = Path(self._path)
        if not path.exists():
            os.mkfifo(path, 0o660)
        if stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(self._path)
                return client.detach()
        # Open for both ways, a FIFO stays open while its writers come and go.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _read(self, descriptor: int) -> None:
        rest = b""
        while not self._stopping:
            self.turns += 1
            ready, _, _ = select.select([descriptor, self._wake_read], [], [], 1.0)
            self._settle_bad_lines()
            if descriptor not in ready:
                continue
            block = os.read(descriptor, BLOCK)
            if not block:
                if rest:
                    self._bad(rest)
                self._idle(RETRY_S)
                return
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._line(line)
            if len(rest) > MAX_LINE:
                self._bad(rest)
                rest = b""

    def _line(self, line: bytes) -> None:
        if not line.strip() or line.startswith(b'{"log"'):
            return
        try:
            reading, stamped = self._reading(line)
        except UNDECODABLE:
            self._bad(line)
            return
        self._post(reading, stamped=stamped)

    def _reading(self, line: bytes) -> tuple[AnyReading, bool]:
        if self._data_time:
            return decode_reading(line), True
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        stamped = "t" in fields
        if not stamped:
            fields["t"] = msgspec.Raw(b"0")
        reading = decode_reading(msgspec.json.encode(fields))
        t = self._mapper.to_table(reading.t, self._clock_us()) if stamped else 0
        return msgspec.structs.replace(reading, t=t, arrived=None), stamped

    def _post(self, reading: AnyReading, *, stamped: bool) -> None:
        inlet = self._inlet
        assert inlet is not None
        if not self._data_time:
            inlet.post(reading, stamped=stamped)
            return
        if reading.arrived is None:
            reading = msgspec.structs.replace(reading, arrived=reading.t)
        while not inlet.post_patiently(reading, _PATIENCE_S) and not self._stopping:
            self.turns += 1

    def _bad(self, line: bytes) -> None:
        self.bad_lines += 1
        self._bad_until_us = self._clock_us() + round(_BAD_LINE_HOLDS_S * 1e6)
        self._faults.began(Fault("source_bad_line", self._path, f"{shown(line)!r}"), self.name)

    def _settle_bad_lines(self) -> None:
        if self._bad_until_us and self._clock_us() > self._bad_until_us:
            self._bad_until_us = 0
            self._faults.over("source_bad_line", self.name)

    def _idle(self, seconds: float) -> None:
        self.turns += 1
        select.select([self._wake_read], [], [], seconds)
