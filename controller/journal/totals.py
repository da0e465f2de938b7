"""What the journal's rows add up to: the state to continue from, and outcomes not acknowledged."""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.chain import Draft, Row, WallTime
from controller.journal.contents import (
    ACCEPTED,
    ACK_REFUSED,
    ATTEMPT_BEGUN,
    CHECKPOINT,
    CLOSED,
    FAULT_BEGAN,
    FAULT_OVER,
    SESSION_STARTED,
    AcceptedJournal,
    Ack,
    AckRefused,
    After,
    AttemptProgress,
    Identity,
    SessionStart,
    StandingFault,
    encode,
    event_draft,
    outcome_of,
)
from controller.journal.faults import JournalFault
from controller.journal.store import fetch_one, rows_where
from controller.machines.setup import First, State
from controller.model.outcomes import ATTEMPT_KINDS, AttemptKind

Ranges = tuple[tuple[int, int], ...]
"""First and last number of each gap-free run, ascending. Acknowledged in order they are one run or none."""


def with_number(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with one more number, which is greater than all in them."""
    if ranges and ranges[-1][1] == number - 1:
        return (*ranges[:-1], (ranges[-1][0], number))
    return (*ranges, (number, number))


def without(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges without a number; unchanged if it is in none."""
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
    """The result of an acknowledgement: a row to write, and the outbox place to close or the fault."""

    drafts: list[Draft]
    closes: int | None = None
    fault: JournalFault | None = None


WINDOW_US = 10_000_000
"""Of the acknowledgements that fit nothing, in this time,"""
IN_FULL = 4
"""this many get a row of their own: a sender of more must not fill the disk."""


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
        """Find the outcome: an acknowledgement that is repeated changes nothing, one that fits none is a
        fault."""
        row = self._outcome(ack.id)
        if row is None:
            return self._refused(ack, wall, "journal_ack_unknown", "no outcome of this id", "a told outcome")
        if row.link.hex() != ack.chain:
            expected = f"chain hash {row.link.hex()}"
            return self._refused(ack, wall, "journal_ack_differs", f"chain hash {ack.chain}", expected)
        if row.n in closing or not self._waits(row.n):
            return Answer([])
        return Answer([event_draft(CLOSED, ack, wall)], closes=row.n)

    def _outcome(self, outcome_id: str) -> Row | None:
        number = outcome_id.rpartition("/")[2]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        row = next(rows_where(self._connection, self._path, "WHERE seq = ?", (int(number),)), None)
        if row is None or (row.body is not None and outcome_of(row.body).id != outcome_id):
            return None
        return row

    def _waits(self, n: int) -> bool:
        return fetch_one(self._connection, self._path, "SELECT n FROM outbox WHERE n = ?", (n,)) is not None

    def left(self, wall: WallTime) -> list[Draft]:
        """Return a row for those that have none yet, at the end."""
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


_IDENTITY = msgspec.json.Decoder(Identity)
_BEGUN = msgspec.json.Decoder(SessionStart)
_ACCEPTED = msgspec.json.Decoder(AcceptedJournal)
_AFTER = msgspec.json.Decoder(After)
_ACK = msgspec.json.Decoder(Ack)
_FAULT = msgspec.json.Decoder(StandingFault)


class Totals(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The sum of the rows so far; a checkpoint row holds it, so that a start need not read further back."""

    session: int = 0
    """The last session's number."""
    session_row: int = 0
    """The row that holds its identity; 0 before the first."""
    seq: int = 0
    """The last outcome's number."""
    state: State = State()
    first: First = First()
    attempts: dict[AttemptKind, AttemptProgress] = {}
    waiting: Ranges = ()
    """The numbers of the outcomes that settlement has not acknowledged."""
    faults: dict[str, StandingFault] = {}
    """The active faults by code and place, whichever session they began in."""
    layout: int = 1
    """The layout of these rows' writer: the file's own header is not signed."""

    def take(self, row: Row) -> None:
        """Add the next row."""
        if row.seq is not None:
            self.seq = row.seq
            self.waiting = with_number(self.waiting, row.seq)
        body = row.body
        if body is not None and row.name == SESSION_STARTED:
            identity = _IDENTITY.decode(body)
            self.session, self.session_row = identity.session, row.n
            self.state, self.first = identity.setup.state, identity.setup.first
        elif body is not None and row.name == ATTEMPT_BEGUN:
            begun = _BEGUN.decode(body)
            self.attempts = {**self.attempts, begun.attempt: AttemptProgress(number=begun.number, t=begun.t)}
        elif body is not None and row.name == ACCEPTED:
            accepted = _ACCEPTED.decode(body)
            self.seq = max(self.seq, accepted.seq)
            self.session = max(self.session, accepted.session)
        elif body is not None and row.name == CLOSED:
            self.waiting = without(self.waiting, number_in(_ACK.decode(body).id))
        elif body is not None and row.name in (FAULT_BEGAN, FAULT_OVER):
            self._take_fault(_FAULT.decode(body), began=row.name == FAULT_BEGAN)
        elif row.name != CHECKPOINT:
            self._end_attempt(row.name)
        if row.after is not None:
            after = _AFTER.decode(row.after)
            self.state, self.first = after.state, after.first

    def _take_fault(self, fault: StandingFault, *, began: bool) -> None:
        place = f"{fault.code} {fault.where}"
        others = {key: other for key, other in self.faults.items() if key != place}
        self.faults = {**others, place: fault} if began else others

    def _end_attempt(self, name: str) -> None:
        if name == "roll.declined":
            return  # a roll that a player left out ends no other
        for word in ATTEMPT_KINDS:
            standing = self.attempts.get(word)
            if standing is None or not name.startswith(f"{word}."):
                continue
            if name == f"{word}.review":
                standing = msgspec.structs.replace(standing, review=True)
            else:
                standing = msgspec.structs.replace(standing, ended=True)
            self.attempts = {**self.attempts, word: standing}


def number_in(outcome_id: str) -> int:
    """Return an outcome's number, the last part of its id (table/session/number)."""
    return int(outcome_id.rpartition("/")[2])


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a checkpoint row: what the rows before it add up to, and whether it is the orderly end."""

    memory: Totals
    closed: bool = False


def checkpoint_body(memory: Totals, *, closed: bool) -> bytes:
    """Return a checkpoint's bytes."""
    return encode(Checkpoint(memory=memory, closed=closed))


def checkpoint_of(body: bytes) -> Checkpoint:
    """Read a checkpoint's bytes."""
    return _CHECKPOINT.decode(body)


_CHECKPOINT = msgspec.json.Decoder(Checkpoint)
