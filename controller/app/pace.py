"""How fast anybody may speak at the control socket: nobody is refused for it, he is heard later."""

from threading import Lock
from typing import NamedTuple


class Rate(NamedTuple):
    """So many at once, and so many a second in the long run."""

    burst: float
    per_s: float


A_CONNECTION = Rate(burst=200, per_s=200)
"""Lines: a screen asks a few times a second, an engine that drains its outbox some hundred times."""
A_USER = Rate(burst=800, per_s=400)
"""Lines of all connections of one unix user, such as a console's web server with many screens."""
A_USERS_DEEDS = Rate(burst=60, per_s=10)
"""What is journaled of one unix user: no table's staff enters ten words a second for long."""


class Bucket:
    """A token bucket in whatever time it is told; it may be overdrawn, and says for how long."""

    def __init__(self, rate: Rate, now_us: int) -> None:
        """Begin full."""
        self._rate = rate
        self._tokens = rate.burst
        self._last_us = now_us

    def wait_s(self, now_us: int) -> float:
        """Take a token; return how long to wait until it is there, 0 where it is."""
        passed_s = max(0, now_us - self._last_us) / 1e6
        self._last_us = max(now_us, self._last_us)
        self._tokens = min(self._rate.burst, self._tokens + passed_s * self._rate.per_s) - 1
        return max(0.0, -self._tokens / self._rate.per_s)

    def full(self, now_us: int) -> bool:
        """Return whether it would be full by now, so that a new one is the same."""
        passed_s = (now_us - self._last_us) / 1e6
        return self._tokens + passed_s * self._rate.per_s >= self._rate.burst


class Pace:
    """A bucket for each unix user; any thread may ask."""

    MOST = 256
    """Users remembered before those are forgotten who have been silent for long enough."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: dict[int, Bucket] = {}
        self._lock = Lock()

    def wait_s(self, uid: int, now_us: int) -> float:
        """Take one of this user's tokens; return how long he has to wait for it."""
        with self._lock:
            if uid not in self._buckets and len(self._buckets) >= self.MOST:
                self._buckets = {who: one for who, one in self._buckets.items() if not one.full(now_us)}
            return self._buckets.setdefault(uid, Bucket(self._rate, now_us)).wait_s(now_us)
