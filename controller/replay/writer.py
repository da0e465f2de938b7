"""Write a sensor log: the header, then readings in the order in which they arrived."""

import gzip
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from controller.model.readings import Reading
from controller.replay.header import Header


class LogWriter:
    """Write a log to an open binary stream, which stays the caller's to close.

    Use it as a context manager: leaving it completes a gzip stream. The same readings give the same bytes.
    """

    def __init__(self, stream: BinaryIO, header: Header, *, compress: bool = False) -> None:
        self._stream = stream
        # No name and no time in the gzip header: they would make two equal logs differ.
        self._packed = gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if compress else None
        self._encoder = msgspec.json.Encoder()
        self._write(self._encoder.encode(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, reading: Reading) -> None:
        """Append one reading, with its arrival time where it has one."""
        self._write(self._encoder.encode(reading))

    def flush(self) -> None:
        """Hand all readings written so far to the stream, so that a power cut after its sync keeps them."""
        if self._packed is not None:
            self._packed.flush()
        self._stream.flush()

    def close(self) -> None:
        """End the log; the stream stays open."""
        if self._packed is not None:
            self._packed.close()
        self._stream.flush()

    def _write(self, line: bytes) -> None:
        (self._packed or self._stream).write(line + b"\n")
