"""The channel between the engine and the process that serves HTTP: numbered frames of bounded length."""

import struct

MAX_ASK = 32 * 1024
"""Bytes: a request's body has a quarter of it at most."""
MAX_TOLD = 4 * 1024 * 1024
"""Bytes: 500 results are 200 kB."""
BEAT = 0
"""The number of a frame that only says that the other end turns; requests count from 1."""
_HEADER = struct.Struct("!IQ")


class Broken(ValueError):
    """A frame that is longer than any may be: the other end is not to be believed any more."""


def frame(number: int, payload: bytes) -> bytes:
    """Return a frame's bytes."""
    return _HEADER.pack(len(payload), number) + payload


class Frames:
    """Bytes in, frames out, however they are cut."""

    def __init__(self, most: int) -> None:
        """Expect frames of so many bytes at most."""
        self._most = most
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Handle bytes; return the number and payload of each whole frame. Raises Broken."""
        self._rest += data
        whole = []
        while len(self._rest) >= _HEADER.size:
            length, number = _HEADER.unpack_from(self._rest)
            if length > self._most:
                raise Broken(f"found a frame of {length} bytes, expected at most {self._most}")
            end = _HEADER.size + length
            if len(self._rest) < end:
                break
            whole.append((number, bytes(self._rest[_HEADER.size : end])))
            del self._rest[:end]
        return whole
