"""What was refused at the control socket: the first of a kind in full, more of them in one row a window."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple

WINDOW_US = 10_000_000
IN_FULL = 4
"""Refusals of one user and deed that get a row each, in a window."""

Note = Callable[[Mapping[str, object]], bool]
"""Journals a row; False where there is no room for it now."""


class Refused(NamedTuple):
    """One kind of refusal: who, and what he may not do."""

    uid: int
    user: str
    did: str


class Tally:
    """Counts refusals; any thread may add, and one sums up from time to time."""

    MOST = 64
    """Kinds told apart in one window; the others are summed without a name."""

    def __init__(self) -> None:
        self._since_us: dict[Refused, int] = {}
        self._counts: dict[Refused, int] = {}
        self._untold: dict[Refused, int] = {}
        self._lock = Lock()

    def in_full(self, refused: Refused, now_us: int) -> bool:
        """Count a refusal; return whether it gets a row of its own."""
        with self._lock:
            kind = refused
            if refused not in self._since_us and len(self._since_us) >= self.MOST:
                kind = Refused(-1, "others", "others")
            self._since_us.setdefault(kind, now_us)
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if kind is refused and self._counts[kind] <= IN_FULL:
                return True
            self._untold[kind] = self._untold.get(kind, 0) + 1
            return False

    def uncounted(self, refused: Refused) -> None:
        """Note that a refusal which was to get a row found no room: it is in the next sum."""
        with self._lock:
            self._untold[refused] = self._untold.get(refused, 0) + 1

    def sum_up(self, now_us: int, note: Note, *, all_of_it: bool = False) -> None:
        """Journal a sum for each kind whose window is over, or for every kind; what finds no room waits."""
        with self._lock:
            over = [
                kind for kind, since in self._since_us.items() if all_of_it or now_us - since >= WINDOW_US
            ]
            sums = [(kind, self._untold.pop(kind, 0)) for kind in over]
            for kind in over:
                del self._since_us[kind]
                self._counts.pop(kind, None)
        for kind, count in sums:
            told = {"user": kind.user, "uid": kind.uid, "did": kind.did, "granted": False, "count": count}
            if count and not note(told):
                with self._lock:
                    self._untold[kind] = self._untold.get(kind, 0) + count
                    self._since_us.setdefault(kind, now_us)
