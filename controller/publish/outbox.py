"""What the pump reads of a journal: what is not acknowledged, and any outcome by its number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from controller.journal.chain import Row


class Outbox(Protocol):
    """What the pump reads: a journal's `Reader`, opened in the pump's own thread."""

    path: Path

    def outbox(self, limit: int = ..., after_n: int = ...) -> list[Row]:
        """Return the first outcomes after a row that are not acknowledged, in order."""

    def rows(self, from_n: int = ..., to_n: int | None = ...) -> Iterator[Row]:
        """Yield rows in order."""

    def close(self) -> None:
        """Close it."""


def outcome_at(outbox: Outbox, seq: int) -> Row | None:
    """Return an outcome's row by its number; None where there is none. Raises JournalFault."""
    n = row_of(outbox, seq)
    row = None if n is None else next(iter(outbox.rows(n, n)), None)
    return row if row is not None and row.seq == seq else None


def row_of(outbox: Outbox, seq: int) -> int | None:
    """Return the row of the first outcome from this number on; None where there is none. Raises JournalFault.

    Found by doubling and then by halves: outcomes' numbers grow with their rows'.
    """
    low, high = 1, 1
    while (told := _first_outcome(outbox, high)) is not None and told[1] < seq:
        low, high = told[0] + 1, 2 * told[0]
    while low < high:
        middle = (low + high) // 2
        told = _first_outcome(outbox, middle)
        if told is None or told[1] >= seq:
            high = middle
        else:
            low = told[0] + 1
    told = _first_outcome(outbox, low)
    return None if told is None else told[0]


def _first_outcome(outbox: Outbox, from_n: int) -> tuple[int, int] | None:
    """Return row and number of the first outcome from this row on."""
    return next(((row.n, row.seq) for row in outbox.rows(from_n) if row.seq is not None), None)
