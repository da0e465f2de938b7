"""What a caller gets for rows handed over, and what the writer is handed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event

from controller.journal.chain import Draft, Row
from controller.journal.contents import Ack, Pruned
from controller.journal.drafting import Drafter
from controller.journal.faults import JournalFault
from controller.model.effects import Late


class Ticket:
    """The receipt for what was handed over: from `durable` on it may be told."""

    def __init__(self) -> None:
        self.rows: tuple[Row, ...] = ()
        """The rows in their places, once they are durable."""
        self.fault: JournalFault | None = None
        """Of an acknowledgement: why it closed nothing, once it is durable."""
        self._durable = Event()

    @property
    def durable(self) -> bool:
        """Whether the rows are on the disk."""
        return self._durable.is_set()

    @property
    def outcomes(self) -> tuple[Row, ...]:
        """Those of the rows that are outcomes."""
        return tuple(row for row in self.rows if row.seq is not None)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the rows are on the disk; False when that took too long. Not for the core thread."""
        return self._durable.wait(timeout_s)

    def done(self, rows: Sequence[Row]) -> None:
        """Say that these rows are on the disk (the writer's to say)."""
        self.rows = tuple(rows)
        self._durable.set()


def _no_drafts(_drafter: Drafter) -> list[Draft]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing for the writer to do: rows to draft, an acknowledgement to match, or rows to drop."""

    ticket: Ticket = field(default_factory=Ticket)
    draft: Callable[[Drafter], list[Draft]] = _no_drafts
    late: tuple[Late, ...] = ()
    ack: Ack | None = None
    pruned: Pruned | None = None
    last: bool = False
    outside: bool = False
    """Whether anybody outside can have any number of these written: play keeps room of its own."""

    @property
    def can_wait(self) -> bool:
        """Whether nothing but late readings is in it, which go with the next row."""
        return bool(self.late) and self.draft is _no_drafts
