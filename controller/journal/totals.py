"""The totals of a journal's rows, such as the latest state and the outcomes not yet acknowledged."""

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
    AttemptBegun,
    AttemptProgress,
    Identity,
    RecordedFault,
    StateAfterRow,
    decode_outcome,
    encode,
    event_draft,
)
from controller.journal.faults import JournalFault
from controller.journal.store import fetch_one, rows_where
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import ATTEMPT_KINDS, AttemptKind
from controller.model.printable import excerpt

Ranges = tuple[tuple[int, int], ...]
"""Ranges of consecutive numbers, in ascending order. Each is a pair of its first and last number."""


def add_to_ranges(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with a number added. The number must be greater than all numbers in the ranges."""
    if ranges and ranges[-1][1] == number - 1:
        return (*ranges[:-1], (ranges[-1][0], number))
    return (*ranges, (number, number))


def remove_from_ranges(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with a number removed; unchanged if they do not contain the number."""
    index = bisect_right(ranges, number, key=lambda run: run[0]) - 1
    if index < 0 or ranges[index][1] < number:
        return ranges
    first, last = ranges[index]
    parts = ((first, number - 1), (number + 1, last))
    return (*ranges[:index], *(run for run in parts if run[0] <= run[1]), *ranges[index + 1 :])


def numbers(ranges: Ranges) -> set[int]:
    """Return all numbers in the ranges."""
    return {number for first, last in ranges for number in range(first, last + 1)}


class AckResult(NamedTuple):
    """The result of an acknowledgement: the rows to write, and the outbox entry to close or the fault."""

    drafts: list[Draft]
    closes: int | None = None
    fault: JournalFault | None = None


REFUSED_WINDOW_US = 10_000_000
MAX_REFUSED_ROWS = 4
"""Maximum number of rows for refused acknowledgements within `REFUSED_WINDOW_US`.

Further refusals are only counted. Otherwise the sender could fill the disk.
"""


class Acks:
    """Matches acknowledgements with outcomes. Only the writer's thread may use it."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._window_us = 0
        self._in_window = 0
        self._unwritten: AckRefused | None = None
        """The last refused acknowledgement without a row, with the number of all such acknowledgements."""

    def match(self, ack: Ack, wall: WallTime, closing: Sequence[int]) -> AckResult:
        """Match an acknowledgement. `closing` lists the rows closed earlier in the same commit."""
        row = self._find_outcome(ack.id)
        if row is None:
            return self._refuse(ack, wall, "journal_ack_unknown", "no outcome with this id", "a published id")
        if row.link.hex() != ack.chain:
            expected = f"chain hash {row.link.hex()}"
            return self._refuse(ack, wall, "journal_ack_differs", f"chain hash {ack.chain}", expected)
        if row.n in closing or not self._is_waiting(row.n):
            return AckResult([])
        return AckResult([event_draft(CLOSED, ack, wall)], closes=row.n)

    def _find_outcome(self, outcome_id: str) -> Row | None:
        number = outcome_id.rpartition("/")[2]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        row = next(rows_where(self._connection, self._path, "WHERE seq = ?", (int(number),)), None)
        if row is None or (row.body is not None and decode_outcome(row.body).id != outcome_id):
            return None
        return row

    def _is_waiting(self, n: int) -> bool:
        return fetch_one(self._connection, self._path, "SELECT n FROM outbox WHERE n = ?", (n,)) is not None

    def take_unwritten(self, wall: WallTime) -> list[Draft]:
        """Return a row for the refused acknowledgements that were only counted, if there are any."""
        unwritten, self._unwritten = self._unwritten, None
        return [] if unwritten is None else [event_draft(ACK_REFUSED, unwritten, wall)]

    def _refuse(self, ack: Ack, wall: WallTime, code: str, found: str, expected: str) -> AckResult:
        previous = 0 if self._unwritten is None else self._unwritten.count
        refused = AckRefused(id=ack.id, chain=ack.chain, by=ack.by, code=code, count=previous + 1)
        where = f"acknowledgement of {excerpt(ack.id)} by {excerpt(ack.by)}"
        fault = JournalFault(code, where, found, expected)
        # The wall time is accurate enough. If the clock is adjusted, the next window begins early.
        if not 0 <= wall.us - self._window_us < REFUSED_WINDOW_US:
            self._window_us, self._in_window = wall.us, 0
        self._in_window += 1
        if self._in_window > MAX_REFUSED_ROWS:
            self._unwritten = refused
            return AckResult([], fault=fault)
        self._unwritten = None
        return AckResult([event_draft(ACK_REFUSED, refused, wall)], fault=fault)


_IDENTITY = msgspec.json.Decoder(Identity)
_BEGUN = msgspec.json.Decoder(AttemptBegun)
_ACCEPTED = msgspec.json.Decoder(AcceptedJournal)
_AFTER = msgspec.json.Decoder(StateAfterRow)
_ACK = msgspec.json.Decoder(Ack)
_FAULT = msgspec.json.Decoder(RecordedFault)


class Totals(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The totals of the rows so far.

    Each checkpoint contains the totals, so that only later rows need to be read at startup.
    """

    session: int = 0
    """The number of the last session."""
    session_row: int = 0
    """The number of the row that began the last session; 0 before the first session."""
    seq: int = 0
    """The number of the last outcome."""
    state: State = State()
    first: NextNumbers = NextNumbers()
    attempts: dict[AttemptKind, AttemptProgress] = {}
    waiting: Ranges = ()
    """The numbers of the outcomes that settlement has not acknowledged."""
    faults: dict[str, RecordedFault] = {}
    """The faults, from all sessions, that have no recorded end, by code and location."""
    layout: int = 1
    """The layout version of these rows. The file's header also states it, but only a checkpoint is signed."""

    def add(self, row: Row) -> None:
        """Add the next row."""
        if row.seq is not None:
            self.seq = row.seq
            self.waiting = add_to_ranges(self.waiting, row.seq)
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
            self.waiting = remove_from_ranges(self.waiting, outcome_number(_ACK.decode(body).id))
        elif body is not None and row.name in (FAULT_BEGAN, FAULT_OVER):
            self._update_fault(_FAULT.decode(body), began=row.name == FAULT_BEGAN)
        elif row.name != CHECKPOINT:
            self._end_attempt(row.name)
        if row.after is not None:
            after = _AFTER.decode(row.after)
            self.state, self.first = after.state, after.first

    def _update_fault(self, fault: RecordedFault, *, began: bool) -> None:
        key = f"{fault.code} {fault.where}"
        others = {other_key: other for other_key, other in self.faults.items() if other_key != key}
        self.faults = {**others, key: fault} if began else others

    def _end_attempt(self, name: str) -> None:
        if name == "roll.declined":
            return
        for kind in ATTEMPT_KINDS:
            progress = self.attempts.get(kind)
            if progress is None or not name.startswith(f"{kind}."):
                continue
            if name == f"{kind}.review":
                progress = msgspec.structs.replace(progress, review=True)
            else:
                progress = msgspec.structs.replace(progress, ended=True)
            self.attempts = {**self.attempts, kind: progress}


def outcome_number(outcome_id: str) -> int:
    """Return the number in an outcome's id (table/session/number)."""
    return int(outcome_id.rpartition("/")[2])


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a checkpoint: the totals of the earlier rows, and whether it closed the journal."""

    totals: Totals = msgspec.field(name="memory")
    closed: bool = False


def checkpoint_body(totals: Totals, *, closed: bool) -> bytes:
    """Encode a checkpoint's body."""
    return encode(Checkpoint(totals=totals, closed=closed))


def decode_checkpoint(body: bytes) -> Checkpoint:
    """Decode a checkpoint's body."""
    return _CHECKPOINT.decode(body)


_CHECKPOINT = msgspec.json.Decoder(Checkpoint)
