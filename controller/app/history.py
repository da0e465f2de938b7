"""The history that screens show: the board, the last results for the staff, and counts.

A screen's first request reads the history from the journal, and later requests update it. A table without
screens does not read the history.
"""

from collections import Counter, deque
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import msgspec
from msgspec import Raw

from controller.journal.chain import Row
from controller.journal.reading import Reader
from controller.model.outcomes import (
    ATTEMPT_KINDS,
    Awaited,
    DealCalled,
    DealCorrected,
    RollCalled,
    RollCorrected,
    SpinCalled,
    SpinCorrected,
    data_of,
)
from controller.publish.players import LOOK_BACK, RESULTS, TableBoard, board_after, board_awaiting


class HistoryLimit(NamedTuple):
    """The last row and the latest arrival time of readings that may be shown."""

    n: int
    arrived_us: int


MAX_WAITING_ROWS = 1024
"""Maximum number of queued rows; beyond that, the next request reads the history from the journal again."""
MAX_CORRECTABLE = 64
"""The number of newest results whose counts a correction can change; older results are final."""


class StaffOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of an attempt with all its data, for the staff only."""

    type: str
    sequence: int
    data: Raw


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt with all of its outcomes, the valid one last."""

    attempt: str
    number: int
    outcomes: tuple[StaffOutcome, ...] = msgspec.field(name="told")


class HistorySnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The history at one moment; `counts` is how often each result has occurred since the table opened."""

    board: TableBoard
    results: tuple[Result, ...]
    counts: dict[str, int]


class _OutcomeMessage(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    seq: int
    data: Raw


_decode = msgspec.json.Decoder(_OutcomeMessage).decode


class Counts:
    """The count of each result since the table opened, with corrections applied."""

    def __init__(self) -> None:
        self._settled: Counter[str] = Counter()
        self._newest: dict[int, str | None] = {}

    def follow(self, type_: str, data: Raw) -> None:
        """Count an outcome's result, if any."""
        if type_ == "table.opened":
            self._settled.clear()
            self._newest.clear()
            return
        match data_of(type_, data):
            case RollCalled(roll=number, total=total) | RollCorrected(roll=number, total=total):
                self._count(number, None if total is None else str(total))
            case SpinCalled(spin=number, number=pocket) | SpinCorrected(spin=number, number=pocket):
                self._count(number, pocket)
            case DealCalled(deal=number, qualifies=plays) | DealCorrected(deal=number, qualifies=plays):
                self._count(number, None if plays is None else "plays" if plays else "does not play")
            case _:
                pass

    def _count(self, number: int, result: str | None) -> None:
        self._newest[number] = result
        if len(self._newest) > MAX_CORRECTABLE:
            oldest = self._newest.pop(next(iter(self._newest)))
            if oldest is not None:
                self._settled[oldest] += 1

    def now(self) -> dict[str, int]:
        """Return the count of each result."""
        return dict(self._settled + Counter(one for one in self._newest.values() if one is not None))


class TableHistory:
    """The history of a running table; thread-safe."""

    def __init__(self, first: Callable[[], TableBoard], open_journal: Callable[[], Reader]) -> None:
        """Use `first` to create the board as it was before the journal's first outcome."""
        self._first = first
        self._open_journal = open_journal
        self._lock = Lock()
        self._rows: deque[Row] = deque()
        self._listens = False
        self._board: TableBoard | None = None
        self._results: tuple[Result, ...] = ()
        self._counts = Counts()

    def note_durable(self, rows: tuple[Row, ...]) -> None:
        """Queue outcomes that have become durable, and return at once; called in the journal's thread."""
        if not self._listens:
            return
        if len(self._rows) >= MAX_WAITING_ROWS:
            self._listens = False
            return
        self._rows.extend(rows)

    def shown(self, awaited: Awaited | None) -> HistorySnapshot:
        """Return the current history; raises JournalFault if the journal can't be read."""
        with self._lock:
            board = self._board
            if board is None or not self._listens:
                board = self._read()
            while self._rows:
                board = self._follow(board, self._rows.popleft())
            self._board = board
            return HistorySnapshot(
                board=board_awaiting(board, awaited), results=self._results, counts=self._counts.now()
            )

    def _read(self) -> TableBoard:
        self._rows.clear()
        self._listens = True  # before the read, so that rows that become durable meanwhile are queued
        self._results, self._counts = (), Counts()
        board = self._first()
        with self._open_journal() as reader:
            for row in reader.rows(max(1, reader.last_n() - LOOK_BACK)):
                board = self._follow(board, row)
        return board

    def _follow(self, board: TableBoard, row: Row) -> TableBoard:
        if row.seq is None or row.body is None or row.seq <= board.sequence:
            return board
        outcome = _decode(row.body)
        self._counts.follow(outcome.type, outcome.data)
        kind = outcome.type.partition(".")[0]
        number = getattr(data_of(outcome.type, outcome.data), kind, None) if kind in ATTEMPT_KINDS else None
        if number is not None:
            self._add(kind, number, StaffOutcome(type=outcome.type, sequence=outcome.seq, data=outcome.data))
        return board_after(board, row)

    def _add(self, attempt: str, number: int, outcome: StaffOutcome) -> None:
        known = next((one for one in self._results if one.number == number), None)
        if known is None:
            one = Result(attempt=attempt, number=number, outcomes=(outcome,))
            self._results = (one, *self._results)[:RESULTS]
            return
        extended = msgspec.structs.replace(known, outcomes=(*known.outcomes, outcome))
        self._results = tuple(extended if one is known else one for one in self._results)
