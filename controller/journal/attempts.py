"""One attempt as a journal tells it: all its outcomes, and what closed the bets on it."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.journal.chain import Row
from controller.journal.contents import outcome_of
from controller.journal.faults import JournalFault
from controller.journal.reading import Rows
from controller.journal.recall import CORRECTIONS_WITHIN
from controller.model.outcomes import WORDS, attempt_of

_SLICE = 500
_ENDINGS = ("called", "no_roll", "no_spin", "void", "review", "corrected")
_CLOSED = "bets.closed"
_NAMES = frozenset({_CLOSED, *(f"{word}.{ending}" for word in WORDS for ending in _ENDINGS)})


class AttemptRows(NamedTuple):
    """The rows of one attempt in order, and that of the bets' close before it, where there is one."""

    number: int
    rows: tuple[Row, ...]
    closed: Row | None


def find_attempt(reader: Rows, number: int | None = None, near: Row | None = None) -> AttemptRows:
    """Find an attempt: the one that a row tells of, else the one of this number, else the last.

    Raises:
        JournalFault: there is none, or what it told was pruned.
    """
    if near is not None:
        number = _attempt(near)
        if number is None:
            raise _none(reader, f"row {near.n}, {near.name}, which tells of no throw, spin or deal")
    found: list[Row] = []
    last_n = reader.last_n() if near is None else near.n + CORRECTIONS_WITHIN
    for row in _newest_first(reader, last_n):
        if found and row.name == _CLOSED:
            return _attempt_rows(found, row)
        attempt = _attempt(row)
        if attempt is not None and number in (None, attempt):
            number = attempt
            found.append(row)
        elif attempt is not None and found:
            break
    if not found:
        raise _none(reader, "no throw, spin or deal" + ("" if number is None else f" numbered {number}"))
    return _attempt_rows(found, None)


def _attempt_rows(found: list[Row], closed: Row | None) -> AttemptRows:
    number = _attempt(found[0])
    assert number is not None
    return AttemptRows(number, tuple(reversed(found)), closed)


def _attempt(row: Row) -> int | None:
    return None if row.body is None or row.seq is None else attempt_of(outcome_of(row.body))


def _newest_first(reader: Rows, last_n: int) -> Iterator[Row]:
    while last_n > 0:
        first_n = max(last_n - _SLICE + 1, 1)
        yield from reversed(list(reader.rows(first_n, last_n, _NAMES, evidence=True)))
        last_n = first_n - 1


def _none(reader: Rows, found: str) -> JournalFault:
    return JournalFault("journal_no_such_outcome", reader.path, found, "one that was called or voided")
