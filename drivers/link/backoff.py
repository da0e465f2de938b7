"""How long to wait before a port is tried again: longer each time, bounded, never in step with another."""

from collections.abc import Callable


class Backoff:
    """Delays that double from the first to the most."""

    def __init__(self, chance: Callable[[], float], *, first_s: float = 0.1, most_s: float = 2.0) -> None:
        """Take `chance` (from 0 up to 1) to spread each delay over its upper half."""
        self._chance = chance
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Give the next delay in seconds."""
        delay = self._next_s
        self._next_s = min(self._most_s, delay * 2)
        return delay * (0.5 + self._chance() / 2)

    def reset(self) -> None:
        """Begin with the first delay again."""
        self._next_s = self._first_s
