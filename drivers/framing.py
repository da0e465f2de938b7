"""Splits a stream of bytes into lines, and limits the rate of lines."""

from collections import deque
from typing import NamedTuple

NOISY_LINES = 20
NOISY_WITHIN_US = 10_000_000
"""NOISY_LINES damaged lines within this time indicate a bad cable or an incorrect speed."""


class Line(NamedTuple):
    """A line without its line ending."""

    text: bytes
    dropped: int = 0
    """Number of bytes removed from the start because the line was longer than the limit."""
    maybe_cut: bool = False
    """Whether the start might be missing, because the port was opened in mid-line or bytes were lost."""


class LineSplitter:
    """Splits bytes, in chunks of any size, into lines."""

    def __init__(self, limit: int, ends: bytes = b"\n") -> None:
        """Start with an empty buffer.

        Args:
            limit: Maximum length of a line in bytes. If a line is longer, only its last bytes are kept,
                because the excess is typically noise before the line.
            ends: The bytes that end a line. A CR before the LF is always removed.
        """
        self._limit = limit
        self._ends = bytes.maketrans(ends, b"\n" * len(ends)) if ends != b"\n" else None
        self._rest = bytearray()
        self._dropped = 0
        self._maybe_cut = False

    def feed(self, data: bytes) -> list[Line]:
        """Add bytes and return the completed lines."""
        if self._ends is not None:
            data = data.translate(self._ends)
        rest = self._rest
        rest += data
        lines = []
        if b"\n" in data:
            *whole, last = bytes(rest).split(b"\n")
            for line in whole:
                kept = line[-self._limit :]
                dropped = self._dropped + len(line) - len(kept)
                lines.append(Line(kept.removesuffix(b"\r"), dropped, self._maybe_cut))
                self._dropped = 0
                self._maybe_cut = False
            rest[:] = last
        if len(rest) > self._limit:
            self._dropped += len(rest) - self._limit
            del rest[: -self._limit]
        return lines

    def join(self) -> None:
        """Clear the buffer and mark the next line as possibly truncated."""
        self.clear()
        self._maybe_cut = True

    def clear(self) -> int:
        """Discard an unfinished line and return its length in bytes."""
        unfinished = len(self._rest) + self._dropped
        self._rest.clear()
        self._dropped = 0
        return unfinished


class RateLimit:
    """A limit on the rate of lines, which allows bursts of up to half a second's worth of lines."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s
        self._max_lines = max(1.0, per_s / 2)
        self._left = self._max_lines
        self._at_us: int | None = None

    def spend(self, now_us: int) -> bool:
        """Count a line; return False if it exceeds the limit."""
        if self._at_us is not None:
            self._left = min(self._max_lines, self._left + max(0, now_us - self._at_us) * self.per_s / 1e6)
        self._at_us = now_us
        if self._left < 1:
            return False
        self._left -= 1
        return True


class NoiseCounter:
    """Counts recent damaged lines."""

    def __init__(self) -> None:
        self._at_us: deque[int] = deque(maxlen=NOISY_LINES)

    def count(self, lines: int, now_us: int) -> bool:
        """Count damaged lines; return whether there have been NOISY_LINES within NOISY_WITHIN_US."""
        self._at_us.extend([now_us] * min(lines, NOISY_LINES))
        return len(self._at_us) == NOISY_LINES and self._at_us[0] > now_us - NOISY_WITHIN_US
