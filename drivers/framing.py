"""Splitting a stream of bytes into lines, and limits on how many lines are read."""

from collections import deque
from typing import NamedTuple

NOISY_LINES = 20
NOISY_WITHIN_US = 10_000_000
"""20 damaged lines within 10 s indicate a bad cable or a wrong speed, not chance."""


class Line(NamedTuple):
    """A line without its end."""

    text: bytes
    dropped: int = 0
    """How many bytes were dropped from the start because the line was longer than the limit."""
    maybe_cut: bool = False
    """Whether the start may be missing because it was sent before the port was open."""


class LineSplitter:
    """Splits bytes that arrive in pieces of any size into lines."""

    def __init__(self, limit: int, ends: bytes = b"\n") -> None:
        """Start with an empty buffer.

        Args:
            limit: Only the last `limit` bytes of a line are kept, so that a line after noise is not lost.
            ends: Each of these bytes ends a line. A CR before the LF is always removed.
        """
        self._limit = limit
        self._ends = bytes.maketrans(ends, b"\n" * len(ends)) if ends != b"\n" else None
        self._rest = bytearray()
        self._dropped = 0
        self._maybe_cut = False

    def feed(self, data: bytes) -> list[Line]:
        """Add bytes; return the lines that they complete."""
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
        """Start in the middle of a stream: the next line may be cut."""
        self.clear()
        self._maybe_cut = True

    def clear(self) -> int:
        """Discard an unfinished line; return its length in bytes."""
        unfinished = len(self._rest) + self._dropped
        self._rest.clear()
        self._dropped = 0
        return unfinished


class RateLimit:
    """A budget of lines that may be read. It refills at a steady rate, up to half a second's worth."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s
        self._max_lines = max(1.0, per_s / 2)
        self._left = self._max_lines
        self._at_us: int | None = None

    def spend(self, now_us: int) -> bool:
        """Deduct one line; return False if the budget is used up."""
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
        """Count damaged lines; return whether there are too many."""
        self._at_us.extend([now_us] * min(lines, NOISY_LINES))
        return len(self._at_us) == NOISY_LINES and self._at_us[0] > now_us - NOISY_WITHIN_US
