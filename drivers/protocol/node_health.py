"""What is wrong with a link at this moment, told once when it begins and once when all of it is over."""

from dataclasses import dataclass

from drivers.protocol.node_messages import Code, Message, Trouble, Well
from drivers.protocol.node_times import BACKDATE_US, CLEAN_US, FAULT_US

AGAIN_US = 50_000
"""Readings lost again while the last loss is still being told are told again, but not oftener than this."""


@dataclass(slots=True)
class _Standing:
    trouble: Trouble
    told_us: int
    clears_us: int | None


class Health:
    """The troubles that stand, by code."""

    def __init__(self) -> None:
        self._standing: dict[Code, _Standing] = {}

    def __contains__(self, code: Code) -> bool:
        return code in self._standing

    @property
    def codes(self) -> tuple[Code, ...]:
        """Name what is wrong."""
        return tuple(self._standing)

    def trouble(
        self,
        now_us: int,
        code: Code,
        seen: str,
        *,
        down: bool,
        since_us: int | None = None,
        clears_us: int | None = None,
    ) -> list[Message]:
        """Note a trouble, which ends at `clears_us` by itself; give what is to be told."""
        since = now_us if since_us is None else since_us
        standing = self._standing.get(code)
        if standing is None:
            trouble = Trouble(code, seen, down, since)
            self._standing[code] = _Standing(trouble, now_us, clears_us)
            return [trouble]
        standing.clears_us = clears_us
        lost_again = down and clears_us is not None and now_us - standing.told_us >= AGAIN_US
        if not lost_again:
            return []
        standing.told_us = now_us
        return [Trouble(code, standing.trouble.seen, down, since)]

    def lost(self, now_us: int, since_us: int, code: Code, seen: str) -> list[Message]:
        """Note that readings since then are missing; it is over when none was lost for a while."""
        since = max(since_us, now_us - BACKDATE_US)
        return self.trouble(now_us, code, seen, down=True, since_us=since, clears_us=now_us + CLEAN_US)

    def fault(self, now_us: int, code: Code, seen: str) -> list[Message]:
        """Note what is not well though no reading is missing; it is over after a while without it."""
        return self.trouble(now_us, code, seen, down=False, clears_us=now_us + FAULT_US)

    def over(self, now_us: int, *codes: Code, seen: str) -> list[Message]:
        """End these troubles (all where none is named); give what is to be told."""
        ended = [self._standing.pop(code) for code in codes or self.codes if code in self._standing]
        if not ended:
            return []
        if not self._standing:
            return [Well(now_us, seen)]
        rest = [standing.trouble for standing in self._standing.values()]
        if not any(standing.trouble.down for standing in ended) or any(trouble.down for trouble in rest):
            return []
        return [Well(now_us, seen), *(Trouble(r.code, r.seen, r.down, now_us) for r in rest)]

    def next_deadline(self) -> int | None:
        """Give when the next trouble ends by itself."""
        return min((s.clears_us for s in self._standing.values() if s.clears_us is not None), default=None)

    def tick(self, now_us: int) -> list[Message]:
        """End what ends by itself until now."""
        due = [
            code for code, s in self._standing.items() if s.clears_us is not None and s.clears_us <= now_us
        ]
        return self.over(now_us, *due, seen="well again") if due else []
