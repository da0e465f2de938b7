"""The writer's thread. It commits queued entries, in order, and then reports them as durable."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread

import apsw

from controller.journal.chain import Draft, Row, WallTime, seal
from controller.journal.contents import (
    CHECKPOINT,
    HEALED,
    Ack,
    Drafter,
    PruningDecision,
    WritingResumed,
    event_draft,
    late_draft,
)
from controller.journal.faults import ACKNOWLEDGEMENTS, CROWDED, WAL, Alarm, Alarms, JournalFault
from controller.journal.keys import Key
from controller.journal.lock import list_readers, os_fault
from controller.journal.opening import Opened, head_at
from controller.journal.store import BUSY_MS, OpenFiles, insert, prune_batch, sqlite_fault
from controller.journal.totals import Acks, checkpoint_body
from controller.model.effects import LateReading


class Ticket:
    """The receipt for a queued entry. When it is `durable`, the entry's outcomes may be published."""

    def __init__(self) -> None:
        self.rows: tuple[Row, ...] = ()
        """The entry's rows; empty until they are durable."""
        self.fault: JournalFault | None = None
        """The reason for refusing an acknowledgement, or None. Set before the ticket becomes durable."""
        self._durable = Event()

    @property
    def durable(self) -> bool:
        """Whether the rows are on the disk."""
        return self._durable.is_set()

    @property
    def outcomes(self) -> tuple[Row, ...]:
        """The rows that are outcomes."""
        return tuple(row for row in self.rows if row.seq is not None)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the rows to reach the disk; return False on timeout. Never call in the core's thread."""
        return self._durable.wait(timeout_s)

    def mark_durable(self, rows: Sequence[Row]) -> None:
        """Mark these rows as durable. Only the writer calls this."""
        self.rows = tuple(rows)
        self._durable.set()


def _no_drafts(_drafter: Drafter) -> list[Draft]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A job for the writer: rows to draft, an acknowledgement to match, or rows to prune."""

    ticket: Ticket = field(default_factory=Ticket)
    draft: Callable[[Drafter], list[Draft]] = _no_drafts
    late: tuple[LateReading, ...] = ()
    ack: Ack | None = None
    pruned: PruningDecision | None = None
    last: bool = False
    outside: bool = False
    """Whether outside parties can cause such entries without limit. Such entries must not fill the queue."""

    @property
    def can_wait(self) -> bool:
        """Whether the entry contains only late readings, which are written with the next row."""
        return bool(self.late) and self.draft is _no_drafts


OnDurable = Callable[[Ticket], None]
"""Called in the writer's thread, in order, with each ticket that becomes durable. Must return immediately."""
WallClock = Callable[[], WallTime]
"""Returns the wall time, and whether it is synchronized. Wall times are for people, not for measurements."""


PAGE_BYTES = 4096
"""SQLite's default page size."""
_CLOSE_TIMEOUT_S = 5.0
"""Maximum time for an abandoned writer to close the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The writer's limits."""

    max_waiting: int = 4096
    """Maximum number of entries waiting for the disk. A further entry causes a fault."""
    max_waiting_outside: int = 1024
    """Number of waiting entries at which `outside` entries are refused. The rest of the queue is for play."""
    max_per_commit: int = 64
    """Maximum number of entries in one commit."""
    max_late: int = 64
    """Maximum number of late readings that wait for another row."""
    rows_between_checkpoints: int = 256
    wal_pages: int = 1000
    """Size, in pages, at which an idle writer writes the WAL back. A busy writer does so at eight times this
    size."""
    wal_fault_pages: int = 16384
    """Size, in pages (67 MB), at which the WAL is reported as a fault if a reader keeps it from being written
    back."""
    retry_s: float = 0.1
    """Pause after the first failed write. The pause doubles with each attempt, up to 50 times this value."""
    file_check_s: float = 1.0
    """Interval at which an idle writer checks that the journal's files have not been replaced."""


class Writer:
    """Owns the writing connection and the thread that uses it. Construction starts the thread."""

    def __init__(
        self,
        opened: Opened,
        path: Path,
        key: Key,
        *,
        on_durable: OnDurable,
        alarm: Alarm,
        wall: WallClock,
        limits: Limits,
    ) -> None:
        """Start the thread, which continues after the journal's last row."""
        self._connection = opened.connection
        self._path = path
        self._head = opened.head
        self._files = OpenFiles(path, opened.head.path)
        self._key = key
        self._n = opened.last_n
        self._link = opened.last_link
        self._checkpoint_n = opened.last_n
        self._totals = opened.totals
        self._on_durable = on_durable
        self._wall = wall
        self._limits = limits
        self._alarms = Alarms(alarm)
        self._acks = Acks(opened.connection, path)
        self._drafter = Drafter(opened.totals.first)
        self._queue: Queue[Entry] = Queue(limits.max_waiting)
        self._late: list[LateReading] = []
        self._late_entries: list[Entry] = []
        self._extra_drafts: list[Draft] = []
        self._pruning: list[tuple[Ticket, list[Row]]] = []
        self._wal_pages = 0
        self._stopped: JournalFault | None = None
        self._file_fault: JournalFault | None = None
        self._abandoned = Event()
        self._put_lock = Lock()
        self._put_count = 0
        self._written_count = 0
        self._thread = Thread(target=self._work, name="journal", daemon=True)
        self._connection.set_wal_hook(self._count_wal)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the thread still has the journal open. A stalled disk can block the thread in a write."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """The number of entries not yet on the disk, except late readings that wait for the next row."""
        return self._put_count - self._written_count

    @property
    def fault(self) -> JournalFault | None:
        """The active fault, or None."""
        return self._stopped or self._alarms.current

    def check(self) -> None:
        """Raise JournalFault if the journal no longer accepts entries."""
        if self._stopped is not None:
            raise self._stopped

    def put(self, entry: Entry) -> Ticket:
        """Queue an entry without waiting for the disk.

        Raises JournalFault if too many entries are waiting or the journal is closed or stopped. The fault
        `journal_crowded` affects only `outside` entries.
        """
        with self._put_lock:
            self.check()
            if entry.outside and self._queue.qsize() >= self._limits.max_waiting_outside:
                found = f"{self._limits.max_waiting_outside} entries waiting for the disk"
                expected = "fewer, since the rest of the queue is reserved for play"
                raise JournalFault(CROWDED, self._path, found, expected)
            try:
                self._queue.put_nowait(entry)
            except Full:
                found = f"{self._limits.max_waiting} entries waiting for the disk"
                fault = JournalFault("journal_overflow", self._path, found, "fewer waiting entries")
                self._stopped = fault
                self._alarms.begin("overflow", fault)
                raise fault from None
            self._put_count += 1
        return entry.ticket

    def close(self, timeout_s: float) -> None:
        """Write all queued entries and a last checkpoint, then close the journal.

        Raises JournalFault if the disk takes longer than `timeout_s`, or if the files were deleted or
        replaced. Unwritten rows are lost when this process ends.
        """
        with self._put_lock:
            closed = JournalFault("journal_closed", self._path, "a closed journal", "an open journal")
            self._stopped = self._stopped or closed
        with suppress(Full):
            self._queue.put(Entry(last=True), timeout=timeout_s)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._abandoned.set()
            self._thread.join(_CLOSE_TIMEOUT_S)
            found = f"{self.waiting} entries not written after {timeout_s:g} s"
            raise JournalFault("journal_not_flushed", self._path, found, "every row on the disk")
        if self._file_fault is not None:
            raise self._file_fault

    def _work(self) -> None:
        try:
            last = False
            while not last:
                entries = self._next_entries()
                last = entries[-1].last
                self._write(entries, last=last)
                self._write_back_if_due()
            self._wait_for_files()
            self._write_back()
        except _AbandonedError:
            pass
        except Exception as error:  # noqa: BLE001 if the thread ended silently, the table would hang
            found = f"{type(error).__name__}: {error}"
            self._stopped = JournalFault("journal_stopped", self._path, found, "no error in the writer")
            self._alarms.begin("writer", self._stopped)
        finally:
            with suppress(apsw.Error):
                if self._file_fault is not None:
                    # Otherwise SQLite would write to and delete the files that now have the journal's names.
                    self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                self._connection.close()

    def _next_entries(self) -> list[Entry]:
        entries = [self._next()]
        while len(entries) < self._limits.max_per_commit and not entries[-1].last:
            try:
                entries.append(self._queue.get_nowait())
            except Empty:
                break
        return entries

    def _next(self) -> Entry:
        while self._pruning:
            try:
                return self._queue.get_nowait()
            except Empty:
                self._prune_batch()
        while True:
            try:
                return self._queue.get(timeout=self._limits.file_check_s)
            except Empty:
                self._check_files()

    def _write(self, entries: Sequence[Entry], *, last: bool) -> None:
        drafts: list[Draft] = []
        spans: list[tuple[Entry, int, int]] = []
        closed: list[int] = []
        for entry in entries:
            self._keep_late(entry)
            if entry.can_wait:
                continue
            begin = len(drafts)
            drafts += entry.draft(self._drafter)
            if entry.ack is not None:
                drafts += self._match(entry, closed)
            if not entry.last:
                spans.append((entry, begin, len(drafts)))
        if last:
            drafts += self._acks.take_unwritten(self._wall())
        if self._late and (drafts or last or len(self._late) >= self._limits.max_late):
            drafts.append(late_draft(self._late, self._wall()))
            spans += [(entry, len(drafts) - 1, len(drafts)) for entry in self._late_entries]
            self._late, self._late_entries = [], []
        drafts, self._extra_drafts = [*drafts, *self._extra_drafts], []
        rows = self._seal_rows(drafts, last=last)
        if rows or closed:
            self._wait_for_files()
            self._commit(rows, closed)
            self._wait_for_files()
        for entry, begin, end in spans:
            if entry.pruned is not None:
                self._pruning.append((entry.ticket, rows[begin:end]))
            else:
                self._notify(entry.ticket, rows[begin:end])
        self._written_count += len(entries) - last
        self._write_head(sync=bool(rows and rows[-1].name == CHECKPOINT), last=last)

    def _keep_late(self, entry: Entry) -> None:
        self._late += entry.late
        if entry.can_wait:
            self._late_entries.append(entry)

    def _match(self, entry: Entry, closed: list[int]) -> list[Draft]:
        assert entry.ack is not None
        result = self._acks.match(entry.ack, self._wall(), closed)
        entry.ticket.fault = result.fault
        if result.fault is not None:
            self._alarms.begin(ACKNOWLEDGEMENTS, result.fault)
        elif result.closes is not None:
            closed.append(result.closes)
            self._alarms.end(ACKNOWLEDGEMENTS)
        return result.drafts

    def _seal_rows(self, drafts: Sequence[Draft], *, last: bool) -> list[Row]:
        rows = self._seal(drafts)
        due = self._n - self._checkpoint_n >= self._limits.rows_between_checkpoints
        if due or (last and self._n > 0):
            body = checkpoint_body(self._totals, closed=last)
            rows += self._seal([Draft(name=CHECKPOINT, wall=self._wall(), body=body, signed=True)])
            self._checkpoint_n = self._n
        return rows

    def _seal(self, drafts: Sequence[Draft]) -> list[Row]:
        rows = seal(drafts, self._n, self._link, self._key)
        for row in rows:
            self._totals.add(row)
            self._n, self._link = row.n, row.link
        return rows

    def _commit(self, rows: Sequence[Row], closed: Sequence[int]) -> None:
        """Commit, and retry until the commit succeeds. Rows are never dropped or reordered."""
        fault: JournalFault | None = None
        since = 0
        tries = 0
        while True:
            try:
                insert(self._connection, rows, closed)
                break
            except apsw.Error as error:
                if fault is None:
                    since = self._wall().us
                fault = sqlite_fault(error, self._path)
                self._alarms.begin("write", fault)
            pause_s = min(self._limits.retry_s * 2**tries, 50 * self._limits.retry_s)
            if self._abandoned.wait(pause_s):
                raise _AbandonedError
            tries = min(tries + 1, 10)
        if fault is not None:
            resumed = WritingResumed(code=fault.code, found=fault.found, since=since, rows=len(rows))
            self._extra_drafts.append(event_draft(HEALED, resumed, self._wall()))
            self._alarms.end("write")

    def _wait_for_files(self) -> None:
        """Wait until the opened files have their names again. Writes to a deleted file would be lost."""
        while self._check_files() is not None:
            if self._stopped is not None or self._abandoned.wait(self._limits.retry_s):
                raise _AbandonedError

    def _check_files(self) -> JournalFault | None:
        self._file_fault = self._files.fault()
        if self._file_fault is not None:
            self._alarms.begin("files", self._file_fault)
        else:
            self._alarms.end("files")
        return self._file_fault

    def _notify(self, ticket: Ticket, rows: Sequence[Row]) -> None:
        ticket.mark_durable(rows)
        try:
            self._on_durable(ticket)
        except Exception as error:  # noqa: BLE001 a listener's error must not stop later rows
            found = f"{type(error).__name__}: {error}"
            self._alarms.begin(
                "listener",
                JournalFault("journal_teller_failed", self._path, found, "a listener that raises no error"),
            )
        else:
            self._alarms.end("listener")

    def _write_head(self, *, sync: bool, last: bool) -> None:
        try:
            head = head_at(self._head.table, self._n, self._link, self._totals)
            if self._n and last:
                self._head.write_both(head)
            elif self._n:
                self._head.write(head)
            if sync:
                self._head.sync()
        except OSError as error:
            fault = os_fault(error, self._head.path, "a writable head file")
            self._alarms.begin("head", fault)
        else:
            self._alarms.end("head")

    def _write_back_if_due(self) -> None:
        limit = self._limits.wal_pages
        idle = self._queue.empty()
        if self._wal_pages >= (limit if idle else 8 * limit):
            self._write_back()

    def _write_back(self) -> None:
        """Write the WAL back into the database and truncate it, unless a reader prevents this."""
        self._connection.set_busy_timeout(0)
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._wal_pages = 0
            self._alarms.end("write_back")
            self._alarms.end(WAL)
        except apsw.BusyError:
            self._check_readers()
        except apsw.Error as error:
            self._alarms.begin("write_back", sqlite_fault(error, self._path))
        finally:
            self._connection.set_busy_timeout(BUSY_MS)

    def _check_readers(self) -> None:
        """Raise an alarm that names the readers of a large WAL that can't be written back."""
        if self._wal_pages < self._limits.wal_fault_pages:
            return
        wal = self._path.with_name(self._path.name + "-wal")
        size_mb = self._wal_pages * PAGE_BYTES / 1e6
        readers = ", ".join(list_readers(self._path)) or "an unknown process"
        found = f"{size_mb:.0f} MB that can't be written back because it is being read by {readers}"
        expected = f"less than {self._limits.wal_fault_pages * PAGE_BYTES / 1e6:.0f} MB"
        self._alarms.begin(WAL, JournalFault("journal_wal_grows", wal, found, expected))

    def _prune_batch(self) -> None:
        try:
            if prune_batch(self._connection, self._path):
                return
            self._alarms.end("prune")
        except apsw.Error as error:
            self._pruning.clear()
            self._alarms.begin("prune", sqlite_fault(error, self._path))
        for ticket, rows in self._pruning:
            self._notify(ticket, rows)
        self._pruning.clear()

    def _count_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


class _AbandonedError(Exception):
    """Raised in the writer's thread when the journal is closed while its disk or files are not writable."""
