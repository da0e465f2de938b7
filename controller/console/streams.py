"""Who is fed with what changes: so many streams at once, and nobody's keep another out."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Stream:
    """One stream: whose it is, what ends its connection, and whether it still has its place."""

    owner: str
    end: Callable[[], None]
    stands: bool = True


class Streams:
    """The streams of one kind of screen. One more than there is room for takes the place of an older one.

    It is the oldest of whoever has the most: a stranger who opens many ends his own.
    """

    def __init__(self, most: int) -> None:
        """Feed at most this many at once."""
        self._most = most
        self._fed: list[Stream] = []

    @contextmanager
    def of(self, owner: str, end: Callable[[], None] = lambda: None) -> Iterator[Stream]:
        """Feed one of this owner's; `end` ends its connection."""
        if len(self._fed) >= self._most:
            counts = Counter(one.owner for one in self._fed)
            oldest = max(self._fed, key=lambda one: counts[one.owner])
            self._fed.remove(oldest)
            oldest.stands = False
            oldest.end()
        stream = Stream(owner, end)
        self._fed.append(stream)
        try:
            yield stream
        finally:
            if stream.stands:
                self._fed.remove(stream)

    def __len__(self) -> int:
        """How many are fed."""
        return len(self._fed)
