"""The order of the other end's sentences: which come again, which are missing, and since when."""

from collections import deque
from typing import Literal, NamedTuple

from drivers.protocol.node_counters import Counters
from drivers.protocol.node_times import ASK_AGAIN_US, GIVE_UP_US

RECALL = 64
"""How many missing sentences are remembered; of a longer gap the older ones are lost at once."""

FAR_BACK = 256
"""A number this far behind is no repetition: the other end counts anew."""

Place = Literal["next", "recovered", "repeated", "reordered", "anew"]


class Loss(NamedTuple):
    """Sentences that will not come any more, and since when one may be missing."""

    sentences: int
    since_us: int


class _Missing(NamedTuple):
    since_us: int
    noticed_us: int


class Order:
    """The sequence numbers of one session."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._missing: dict[int, _Missing] = {}
        self._given_up: deque[int] = deque(maxlen=RECALL)
        self._last: int | None = None
        self._last_us = 0
        self._ask_us = 0
        self._too_many: Loss | None = None

    def begin(self) -> None:
        """Start anew with the next sentence."""
        self._missing.clear()
        self._given_up.clear()
        self._last = None
        self._too_many = None

    def place(self, seq: int, now_us: int) -> Place:
        """Tell where a sequence number stands; what it leaves out becomes missing."""
        place = self._place(seq, now_us)
        self._last_us = now_us
        return place

    def next_deadline(self) -> int | None:
        """Give when something missing must be asked for again or given up."""
        if not self._missing:
            return None
        return min(self._ask_us, min(missing.noticed_us for missing in self._missing.values()) + GIVE_UP_US)

    def ask(self, now_us: int) -> tuple[int, int] | None:
        """Give the first and last missing number if it is time to ask for them."""
        if not self._missing or now_us < self._ask_us:
            return None
        self._ask_us = now_us + ASK_AGAIN_US
        return min(self._missing), max(self._missing)

    def losses(self, now_us: int, *, at_once: bool = False) -> Loss | None:
        """Give up what has been missing for too long (or, `at_once`, whatever is)."""
        late = [n for n, m in self._missing.items() if at_once or now_us >= m.noticed_us + GIVE_UP_US]
        lost = [Loss(1, self._missing.pop(number).since_us) for number in late]
        self._given_up.extend(late)
        if self._too_many is not None:
            lost.append(self._too_many)
            self._too_many = None
        if not lost:
            return None
        loss = Loss(sum(one.sentences for one in lost), min(one.since_us for one in lost))
        self._counters.lost += loss.sentences
        return loss

    def _place(self, seq: int, now_us: int) -> Place:
        if self._last is None or seq == self._last + 1:
            self._last = seq
            return "next"
        if seq > self._last:
            self._leave_out(seq, now_us)
            self._last = seq
            return "next"
        if self._missing.pop(seq, None) is not None:
            self._counters.recovered += 1
            return "recovered"
        if seq in self._given_up:
            self._counters.reordered += 1
            return "reordered"
        self._counters.repeated += 1
        return "anew" if seq < self._last - FAR_BACK else "repeated"

    def _leave_out(self, seq: int, now_us: int) -> None:
        assert self._last is not None
        if not self._missing:
            self._ask_us = now_us
        self._counters.gaps += 1
        first = max(self._last + 1, seq - RECALL)
        for number in range(first, seq):
            self._missing[number] = _Missing(self._last_us, now_us)
        if first > self._last + 1:
            self._forget(first - self._last - 1, self._last_us)
        while len(self._missing) > RECALL:
            self._forget(1, self._missing.pop(next(iter(self._missing))).since_us)

    def _forget(self, sentences: int, since_us: int) -> None:
        before = self._too_many or Loss(0, since_us)
        self._too_many = Loss(before.sentences + sentences, min(before.since_us, since_us))
