"""The outbox: which outcomes settlement has not acknowledged, and what an acknowledgement closes."""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from controller.journal.chain import Draft, Row, WallTime
from controller.journal.contents import ACK_REFUSED, CLOSED, Ack, AckRefused, outcome_of
from controller.journal.drafting import event_draft
from controller.journal.faults import JournalFault
from controller.journal.store import fetch_one, rows_where

Ranges = tuple[tuple[int, int], ...]
"""First and last number of each gap-free run, ascending. Acknowledged in order they are one run or none."""


def with_number(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with a number more, which is greater than all there."""
    if ranges and ranges[-1][1] == number - 1:
        return (*ranges[:-1], (ranges[-1][0], number))
    return (*ranges, (number, number))


def without(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges less a number; the same where it is in none."""
    place = bisect_right(ranges, number, key=lambda run: run[0]) - 1
    if place < 0 or ranges[place][1] < number:
        return ranges
    first, last = ranges[place]
    parted = ((first, number - 1), (number + 1, last))
    return (*ranges[:place], *(run for run in parted if run[0] <= run[1]), *ranges[place + 1 :])


def numbers(ranges: Ranges) -> set[int]:
    """Return every number in them."""
    return {number for first, last in ranges for number in range(first, last + 1)}


class Answer(NamedTuple):
    """What an acknowledgement comes to: a row to write, and the outbox place to close or the fault."""

    drafts: list[Draft]
    closes: int | None = None
    fault: JournalFault | None = None


WINDOW_US = 10_000_000
"""Of the acknowledgements that fit nothing, in so much time,"""
IN_FULL = 4
"""so many get a row of their own: whoever sends more of them must not fill the disk."""


class Acks:
    """Reads through the writer's connection, in its thread."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._window_us = 0
        self._in_window = 0
        self._untold: AckRefused | None = None
        """The last one without a row, with the count of all."""

    def match(self, ack: Ack, wall: WallTime, closing: Sequence[int]) -> Answer:
        """Find the outcome: an acknowledgement that comes again is no news, one that fits none is a fault."""
        row = self._outcome(ack.id)
        if row is None:
            return self._refused(ack, wall, "journal_ack_unknown", "no outcome of this id", "a told outcome")
        if row.link.hex() != ack.chain:
            expected = f"chain hash {row.link.hex()}"
            return self._refused(ack, wall, "journal_ack_differs", f"chain hash {ack.chain}", expected)
        if row.n in closing or not self._waits(row.n):
            return Answer([])
        return Answer([event_draft(CLOSED, ack, wall)], closes=row.n)

    def _outcome(self, told_id: str) -> Row | None:
        number = told_id.rpartition("/")[2]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        row = next(rows_where(self._connection, self._path, "WHERE seq = ?", (int(number),)), None)
        if row is None or (row.body is not None and outcome_of(row.body).id != told_id):
            return None
        return row

    def _waits(self, n: int) -> bool:
        return fetch_one(self._connection, self._path, "SELECT n FROM outbox WHERE n = ?", (n,)) is not None

    def left(self, wall: WallTime) -> list[Draft]:
        """Return a row for those that got none yet, at the end."""
        untold, self._untold = self._untold, None
        return [] if untold is None else [event_draft(ACK_REFUSED, untold, wall)]

    def _refused(self, ack: Ack, wall: WallTime, code: str, found: str, expected: str) -> Answer:
        before = 0 if self._untold is None else self._untold.count
        refused = AckRefused(id=ack.id, chain=ack.chain, by=ack.by, code=code, count=before + 1)
        fault = JournalFault(code, f"acknowledgement of {ack.id} by {ack.by}", found, expected)
        # Wall time as a label is enough: a clock that was set only begins the next window.
        if not 0 <= wall.us - self._window_us < WINDOW_US:
            self._window_us, self._in_window = wall.us, 0
        self._in_window += 1
        if self._in_window > IN_FULL:
            self._untold = refused
            return Answer([], fault=fault)
        self._untold = None
        return Answer([event_draft(ACK_REFUSED, refused, wall)], fault=fault)
