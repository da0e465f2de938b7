"""Limits on what one node may cost: sentences a second, and damaged lines before they are told."""

from collections import deque

from drivers.protocol.node_times import FAULT_US

NOISY_LINES = 20


class Budget:
    """Sentences that may still be read: refilled at a steady rate, half a second's worth at most."""

    def __init__(self, per_s: int) -> None:
        self.per_s = per_s
        self._most = max(1.0, per_s / 2)
        self._left = self._most
        self._at_us: int | None = None

    def spend(self, now_us: int) -> bool:
        """Take one sentence's worth; False where nothing is left."""
        if self._at_us is not None:
            self._left = min(self._most, self._left + max(0, now_us - self._at_us) * self.per_s / 1e6)
        self._at_us = now_us
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Noise:
    """Damaged lines of late."""

    def __init__(self) -> None:
        self._at_us: deque[int] = deque(maxlen=NOISY_LINES)

    def hear(self, lines: int, now_us: int) -> bool:
        """Count damaged lines; tell whether there are too many."""
        self._at_us.extend([now_us] * min(lines, NOISY_LINES))
        return len(self._at_us) == NOISY_LINES and self._at_us[0] > now_us - FAULT_US
