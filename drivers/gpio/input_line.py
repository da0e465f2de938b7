"""Debounces one input line, using its edges and reads of its level.

A level is stable once a later edge or a read of the line shows that the level lasted for `debounce_us`. A
timer is not sufficient, because the edge that ended the level might not have been received yet.
"""

from collections import deque
from dataclasses import dataclass

READ_AGAIN_US = 10_000
"""Minimum time between the two reads that confirm a change of level without an edge."""
HIDDEN_PULSE_US = 5_000
"""If two successive edges in the same direction are at least this far apart, the edge between them is
reported as missed. If they are closer together, the contact might only be bouncing."""
REQUEST_AGAIN_US = 50_000
QUIET_US = 1_000_000
"""Period over which edges are counted. A babbling line is used again once it has stayed within the limit for
this time."""
_SEQ = 2**32
_ALWAYS_US = 2**63


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change in the line's level at `t_us`. `exact` is False if no edge marks that time."""

    active: bool
    t_us: int
    exact: bool


@dataclass(frozen=True, slots=True)
class EdgesLost:
    """The loss of edges at some time after `since_us`. `edges` is 0 if their number is unknown."""

    edges: int
    since_us: int


@dataclass(frozen=True, slots=True)
class EdgeMissed:
    """A contradiction between the line's level and its edges, which shows that an edge was missed."""

    active: bool
    t_us: int


@dataclass(frozen=True, slots=True)
class HiddenPulse:
    """A pulse that might have been missed: too short to be reported as a fault, but too long to ignore."""

    t_us: int


@dataclass(frozen=True, slots=True)
class BabblingStarted:
    """The start of babbling: the line changes faster than its sensor or contact can."""

    edges_per_s: int
    t_us: int


@dataclass(frozen=True, slots=True)
class BabblingEnded:
    """The end of babbling: the line has been quiet for `QUIET_US`."""

    t_us: int


LineChange = LevelChange | EdgesLost | EdgeMissed | HiddenPulse | BabblingStarted | BabblingEnded


class InputLine:
    """The debounced state of one line."""

    def __init__(self, debounce_us: int, max_edges_per_s: int) -> None:
        self.stable: bool | None = None
        """Whether the line is active; None if unknown."""
        self.since_us = 0
        """The time at which the stable level began."""
        self.babbling = False
        self.edges = 0
        self.bounces = 0
        """Number of changes that did not last."""
        self._debounce_us = debounce_us
        self._recent: deque[int] = deque(maxlen=max_edges_per_s)
        self._raw: bool | None = None
        self._raw_us = 0
        self._raw_exact = False
        self._seen_us = 0
        self._seq: int | None = 0
        self._received_us = 0
        self._babble_us = 0
        self._contradicted_us: int | None = None
        self._requested_us: int | None = None

    def reset(self) -> None:
        """Reset the state after the line has been opened. The line's edges are numbered from 1 again."""
        self._forget()
        self._seq = 0
        self._requested_us = None

    def lost(self, since_us: int) -> list[LineChange]:
        """Handle the loss of an unknown number of edges."""
        self._forget()
        self._seq = None
        return [EdgesLost(0, since_us)]

    def edge(self, t_us: int, active: bool, seq: int) -> list[LineChange]:
        """Handle an edge."""
        changes: list[LineChange] = []
        expected = seq if self._seq is None else (self._seq + 1) % _SEQ
        if seq != expected:
            changes.append(EdgesLost((seq - expected) % _SEQ, self._received_us))
            self._forget()
        self._seq = seq
        t_us = max(t_us, self._received_us)
        self._received_us = t_us
        self.edges += 1
        changes += self._count(t_us)
        if self._raw == active:
            changes += self._same_direction(t_us, active)
        else:
            changes += self._settle(t_us)
            self.bounces += self._raw is not None and self._raw != self.stable
            self._raw, self._raw_us, self._raw_exact = active, t_us, True
        self._seen_us = t_us
        self._contradicted_us = None
        return changes + self._settle(t_us)

    def level(self, t_us: int, active: bool) -> list[LineChange]:
        """Handle the result of reading the line's level."""
        self._requested_us = None
        if t_us < self._received_us:
            return []
        changes: list[LineChange] = []
        if self._raw is None:
            self._raw, self._raw_us, self._raw_exact = active, t_us, False
            self._seen_us = t_us
        elif self._raw == active:
            self._contradicted_us = None
            self._seen_us = t_us
        elif self._contradicted_us is None:
            self._contradicted_us = t_us
            return []
        elif t_us - self._contradicted_us >= READ_AGAIN_US:
            changes.append(EdgeMissed(active, t_us))
            self._raw, self._raw_us, self._raw_exact = active, t_us, False
            self._seen_us = t_us
            self._contradicted_us = None
        else:
            return []
        return changes + self._settle(t_us)

    def tick(self, now_us: int) -> list[LineChange]:
        """Handle the passage of time. The only possible change is BabblingEnded."""
        if self.babbling and now_us - self._babble_us >= QUIET_US:
            self.babbling = False
            self._recent.clear()
            self._forget()  # the line might have changed while it was ignored
            return [BabblingEnded(now_us)]
        return []

    def read_requested(self, now_us: int) -> None:
        """Record that a read of the line has been requested."""
        self._requested_us = now_us

    @property
    def read_due_us(self) -> int | None:
        """Time at which the line's level should be read; None if a read is unnecessary."""
        if self._raw is None:
            due = 0
        elif self._contradicted_us is not None:
            due = self._contradicted_us + READ_AGAIN_US
        elif self._raw != self.stable:
            due = self._raw_us + self._debounce_us
        else:
            return None
        return due if self._requested_us is None else max(due, self._requested_us + REQUEST_AGAIN_US)

    @property
    def certain_until_us(self) -> int:
        """Time up to which the line's state is certain."""
        return _ALWAYS_US if self._raw == self.stable else self._raw_us

    @property
    def quiet_us(self) -> int | None:
        """Earliest time at which a babbling line can become quiet; None if the line is not babbling."""
        return self._babble_us + QUIET_US if self.babbling else None

    def _same_direction(self, t_us: int, active: bool) -> list[LineChange]:
        """Handle a second edge in the same direction, which shows that the edge in between was missed."""
        self.bounces += 1
        if self.stable != active:
            self._raw_us, self._raw_exact = t_us, True
            return []
        hidden_us = t_us - self._seen_us
        if hidden_us >= HIDDEN_PULSE_US:
            return [EdgeMissed(active, t_us)]
        return [HiddenPulse(t_us)] if hidden_us >= self._debounce_us else []

    def _forget(self) -> None:
        self.stable = self._raw = self._contradicted_us = None

    def _count(self, t_us: int) -> list[LineChange]:
        recent = self._recent
        recent.append(t_us)
        if len(recent) != recent.maxlen or t_us - recent[0] >= QUIET_US:
            return []
        self._babble_us = t_us
        if self.babbling:
            return []
        self.babbling = True
        return [BabblingStarted(len(recent) * QUIET_US // max(1, t_us - recent[0]), t_us)]

    def _settle(self, t_us: int) -> list[LineChange]:
        if self._raw is None or self._raw == self.stable or t_us - self._raw_us < self._debounce_us:
            return []
        known = self.stable is not None
        self.stable, self.since_us = self._raw, self._raw_us
        return [LevelChange(self._raw, self._raw_us, known and self._raw_exact)]
