"""The pump. It passes outcomes from the outbox to a sink, and closes those that settlement acknowledges."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from queue import Empty, Full, Queue
from threading import Thread
from typing import Protocol

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import AckProof
from controller.journal.faults import JournalFault
from controller.journal.reading import Outbox, check_contents, find_row_number, outcome_at
from controller.model.outcomes import Awaited
from controller.model.printable import excerpt
from controller.model.tables import PublishSettings
from controller.publish.events import (
    Acknowledgement,
    LateWagersQuery,
    LineBet,
    Message,
    OpenQuery,
    PairPlus,
    PlayPlaced,
    PlayQuery,
    ProgressReport,
    ResendRequest,
    TableStatus,
    build_message,
)
from controller.publish.faults import Alarm, PublishFault
from controller.publish.players import PublishedBoard, TableBoard
from controller.publish.sink import (
    Acknowledged,
    NewestReport,
    RandomFraction,
    Ready,
    Report,
    SilenceMonitor,
    Sink,
    Window,
)
from controller.publish.wire import Signer

WAIT_TIMEOUT_S = 0.5
MAX_REPORTS = 4096
"""Maximum number of waiting reports. Further reports are lost, and their outcomes are offered again."""
MAX_FRESH = 64
"""Maximum number of outcomes kept in memory. Older outcomes are read from the disk."""
UNMATCHED_EVERY_US = 1_000_000
"""Minimum interval between journaled acknowledgements that match no outcome in flight."""
PROGRESS_FAULTS = frozenset({"settlement_ahead", "settlement_differs", "settlement_lost"})
"""Faults that report a difference between the engine's progress and the table's. At most one is active."""
STATUS_US = 1_000_000
"""Interval between checks of the status for changes."""


class Journal(Protocol):
    """The methods of the journal that the pump uses."""

    def acknowledge(self, outcome_id: str, chain: str, by: str, proof: AckProof | None = None) -> object:
        """Close an outcome's entry in the outbox."""


class _Wakeup:
    """Wakes the pump's thread."""


class Pump:
    """One table's pump. Any thread may call `note_durable`, `note_awaited` and `post`; they never block."""

    def __init__(
        self,
        table: str,
        settings: PublishSettings,
        *,
        key: Signer,
        journal: Journal,
        open_outbox: Callable[[], Outbox],
        sink: Sink,
        alarm: Alarm,
        now_us: Callable[[], int],
        random_fraction: RandomFraction,
        status: Callable[[], TableStatus],
        ask: Callable[[str], None] = lambda _nonce: None,
        ask_late: Callable[[LateWagersQuery], object] = lambda _query: None,
        ask_play: Callable[[PlayQuery], object] = lambda _query: None,
        line_bet: Callable[[str, bool], None] = lambda _seat, _has: None,
        pair_plus: Callable[[tuple[str, ...]], None] = lambda _without: None,
        played: Callable[[int, tuple[str, ...]], None] = lambda _round, _seats: None,
        session: int = 0,
        last_seq: int = 0,
        acknowledged_seq: int = 0,
        board: TableBoard | None = None,
    ) -> None:
        """Prepare without reading the outbox; see `start`.

        Args:
            now_us: a monotonic clock.
            status: returns the table's status; the pump adds the outcomes' numbers and chain hash.
            ask: receives the engine's queries about whether bets are open.
            ask_late: receives the engine's queries about wagers made with the dice out.
            ask_play: receives the engine's queries about Play.
            line_bet, pair_plus, played: receive the engine's reports on bets.
            session: the table's session; reports on bets for another session are ignored.
            last_seq: the number of the newest outcome in the journal.
            acknowledged_seq: the number up to which all outcomes are acknowledged.
            board: the table's board before the first outcome in the journal.
        """
        self._table = table
        self._settings = settings
        self._key = key
        self._journal = journal
        self._open_outbox = open_outbox
        self._sink = sink
        self._alarm = alarm
        self._now_us = now_us
        self._status = status
        self._ask = ask
        self._ask_late = ask_late
        self._ask_play = ask_play
        self._session = session
        self._line_bet = line_bet
        self._pair_plus = pair_plus
        self._played = played
        self._line_bets: NewestReport[tuple[str, bool]] = NewestReport(acknowledged_seq)
        self._without_pair_plus: NewestReport[tuple[str, ...]] = NewestReport(acknowledged_seq)
        self._play_placed: NewestReport[tuple[int, tuple[str, ...]]] = NewestReport(acknowledged_seq)
        self._window = Window(settings, random_fraction)
        self._silence = SilenceMonitor(settings)
        self._reports: Queue[Report | _Wakeup] = Queue(MAX_REPORTS)
        self._outbox: Outbox | None = None
        self._more = True
        self._after_n = 0
        self._read_seq = 0
        self._fresh: deque[Row] = deque(maxlen=MAX_FRESH)
        self._replay_to_n = 0
        self._replayed_us: int | None = None
        self._first_pruned_seq: int | None = None
        """The number of the first pruned outcome in the current or last replay; None if there is none."""
        self._acknowledged_seq = last_seq
        self._last_seq = last_seq
        self._last_chain: str | None = None
        self._overflowed = False
        self._sent_status: TableStatus | None = None
        self._status_due_us = 0
        self._stopping = False
        self._thread = Thread(target=self._run, name="publish", daemon=True)
        self._board = None if board is None else PublishedBoard(board)
        self._unmatched_due_us = 0
        self._newest_known = 0
        """The newest outcome known to the engine according to its last progress report."""
        self.unmatched = 0
        """The number of acknowledgements that matched no outcome in flight and were not journaled."""
        self.turns = 0
        """Incremented on each turn of the pump's thread."""

    # --- any thread ---

    def note_durable(self, rows: Sequence[Row]) -> None:
        """Record that these outcomes are durable. `rows` must not be empty."""
        newest = rows[-1]
        assert newest.seq is not None
        self._fresh.extend(rows)
        if self._board is not None:
            self._board.note(rows)
        self._more = True  # Set before `_last_seq`, or `_count` could treat the new outcome as acknowledged.
        if newest.seq >= self._last_seq:
            self._last_seq, self._last_chain = newest.seq, newest.link.hex()
        self.post(_Wakeup())

    def note_awaited(self, awaited: Awaited | None) -> None:
        """Record, for the board, the attempt that is waiting for a person, if there is one."""
        if self._board is not None:
            self._board.note_awaited(awaited)
        self.post(_Wakeup())

    def post(self, report: Report | _Wakeup) -> None:
        """Queue a sink's report."""
        try:
            self._reports.put_nowait(report)
        except Full:
            self._overflowed = True

    @property
    def unacknowledged(self) -> int:
        """The number of outcomes from the oldest unacknowledged one to the newest."""
        return max(0, self._last_seq - self._acknowledged_seq)

    def start(self) -> None:
        """Start the sink and the pump's thread."""
        self._sink.start(self.post)
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Stop the pump and the sink; return False if either does not end in time."""
        self._stopping = True
        self.post(_Wakeup())
        ended = True
        if self._thread.is_alive():
            self._thread.join(timeout_s)
            ended = not self._thread.is_alive()
        return self._sink.stop(timeout_s) and ended

    # --- the pump's thread ---

    def _run(self) -> None:
        while not self._stopping:
            self.turn(WAIT_TIMEOUT_S)
        if self._outbox is not None:
            self._outbox.close()

    def turn(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` for a report, handle all reports, and offer the outcomes that are due."""
        self.turns += 1
        self._handle_reports(self._wait_s(timeout_s))
        now_us = self._now_us()
        self._report_bets(now_us)
        if self._sink.ready:
            if overdue := self._window.due(now_us):
                self._sink.offer(overdue)
            self._offer_new(now_us)
        else:
            self._read_ahead(now_us)
        self._check_silence(now_us)
        self._send_status(now_us)
        self._show_board()

    def _wait_s(self, timeout_s: float) -> float:
        due_us = self._window.due_us
        if due_us is None or not self._sink.ready:
            return timeout_s
        return min(timeout_s, max(0.0, (due_us - self._now_us()) / 1e6))

    def _handle_reports(self, timeout_s: float) -> None:
        try:
            self._handle(self._reports.get(timeout=timeout_s) if timeout_s else self._reports.get_nowait())
            for _ in range(MAX_REPORTS):
                self._handle(self._reports.get_nowait())
        except Empty:
            pass
        if self._overflowed:
            self._overflowed = False
            self._alarm.report(
                PublishFault("answers_overflow", "settlement's answers", f"more than {MAX_REPORTS} waiting")
            )
        else:
            self._alarm.clear("answers_overflow")

    def _handle(self, report: Report | _Wakeup) -> None:
        match report:
            case Acknowledgement():
                self._acknowledge(report, None)
            case Acknowledged(ack=ack, proof=proof):
                self._acknowledge(ack, proof)
            case ResendRequest():
                self._replay(report)
            case OpenQuery() | LateWagersQuery() | PlayQuery():
                self._answer_query(report)
            case LineBet() | PairPlus() | PlayPlaced() if report.session != self._session:
                pass  # A copy, or a report that was in transit while the table restarted.
            case LineBet():
                self._line_bets.put((report.seat, report.has), (report.sequence, report.step))
            case PairPlus():
                self._without_pair_plus.put(report.without, (report.sequence, report.step))
            case PlayPlaced():
                self._play_placed.put((report.round, report.seats), (report.sequence, report.step))
            case ProgressReport():
                self._compare(report)
            case Ready():
                self._window.offer_again_now(self._now_us())
            case _Wakeup():
                pass

    def _answer_query(self, query: OpenQuery | LateWagersQuery | PlayQuery) -> None:
        match query:
            case OpenQuery():
                self._ask(query.nonce)
            case LateWagersQuery():
                self._ask_late(query)
            case PlayQuery():
                self._ask_play(query)

    def _report_bets(self, now_us: int) -> None:
        if (line_bet := self._line_bets.due(now_us)) is not None:
            self._line_bet(*line_bet)
        if (without := self._without_pair_plus.due(now_us)) is not None:
            self._pair_plus(without)
        if (play := self._play_placed.due(now_us)) is not None:
            self._played(*play)

    def _acknowledge(self, ack: Acknowledgement, proof: AckProof | None) -> None:
        """Close a waiting outcome. Journal or count an acknowledgement that matches no waiting outcome."""
        now_us = self._now_us()
        is_waiting = self._window.holds(ack.id, ack.chain)
        if not is_waiting and not self._may_journal_unmatched(now_us):
            self.unmatched += 1
            return
        try:
            self._journal.acknowledge(ack.id, ack.chain, ack.by, proof)
        except JournalFault:
            return  # The outcome remains in the window, and will be sent and acknowledged again.
        if is_waiting:
            self._window.remove(ack.id, now_us)
            self._silence.note_acknowledgement(now_us)

    def _may_journal_unmatched(self, now_us: int) -> bool:
        """Return whether another unmatched acknowledgement may be journaled. The rate limit keeps space
        free for outcomes in the journal's queue.
        """
        if now_us < self._unmatched_due_us:
            return False
        self._unmatched_due_us = now_us + UNMATCHED_EVERY_US
        return True

    # --- progress reports ---

    def _compare(self, reported: ProgressReport) -> None:
        """Compare the engine's progress with this journal, and send the outcomes that the engine has lost."""
        try:
            if self._is_old(reported.told):
                return
            fault = self._difference(reported)
        except JournalFault as unreadable:
            self._note_unreadable(unreadable)
            return
        self._newest_known = min(reported.told, self._last_seq)  # a number beyond this journal proves nothing
        for code in PROGRESS_FAULTS:
            if fault is None or code != fault.code:
                self._alarm.clear(code)
        if fault is not None:
            self._alarm.report(fault)
            if fault.code == "settlement_lost":
                self._replay(
                    ResendRequest(from_seq=reported.sequence + 1, told=reported.told, by=reported.by)
                )

    def _is_old(self, newest_seq: int) -> bool:
        """Return whether a message from an engine is older than a previous one, and therefore a copy."""
        return newest_seq < max(self._oldest_waiting() - 1, self._newest_known)

    def _oldest_waiting(self) -> int:
        """Return the number of the oldest unacknowledged outcome, or of the next outcome if there is none."""
        oldest = next(iter(self._reader.outbox(1)), None)
        return self._last_seq + 1 if oldest is None or oldest.seq is None else oldest.seq

    def _difference(self, reported: ProgressReport) -> PublishFault | None:
        seq, where = reported.sequence, f"settlement engine {excerpt(reported.by)}"
        if seq > self._last_seq:
            found = f"outcome {seq} is settled, but the journal's newest outcome is {self._last_seq}"
            return PublishFault("settlement_ahead", where, found)
        own = outcome_at(self._reader, seq) if seq and reported.chain is not None else None
        if own is not None and own.link.hex() != reported.chain:
            found = f"outcome {seq} with chain hash {reported.chain}; this journal has {own.link.hex()}"
            return PublishFault("settlement_differs", where, found)
        waits_from = self._oldest_waiting()
        if seq + 1 < waits_from:
            found = f"its newest outcome is {seq}, but outcome {waits_from - 1} was acknowledged"
            return PublishFault("settlement_lost", where, found)
        return None

    # --- offering ---

    def _offer_new(self, now_us: int) -> None:
        messages = self._next(self._window.room)
        if messages:
            self._window.add(messages, now_us)
            self._sink.offer(messages)
        self._count()

    def _read_ahead(self, now_us: int) -> None:
        """Read the oldest waiting outcome while the sink is not ready.

        The backlog is computed from this outcome.
        """
        if not len(self._window):
            self._window.add(self._next(1), now_us)
        self._count()

    def _count(self) -> None:
        oldest = self._window.oldest
        if oldest is not None:
            self._acknowledged_seq = oldest.seq - 1
        elif not self._more:
            self._acknowledged_seq = self._last_seq

    def _next(self, room: int) -> list[Message]:
        if not (room and self._more):
            return []
        self._more = False
        messages: list[Message] = []
        try:
            rows = self._read(room)
            for row in rows:
                if row.body is not None:
                    check_contents(row, self._reader.path)
                    messages.append(build_message(row, self._table, self._key))
                self._after_n, self._read_seq = row.n, row.seq or 0
        except JournalFault as fault:
            self._more = True
            self._note_unreadable(fault)
            return messages
        self._alarm.clear("outbox_unreadable")
        if len(rows) == room or self._fresh:
            self._more = True
        if messages:
            self._last_seq = max(self._last_seq, messages[-1].seq)
        return messages

    def _read(self, room: int) -> list[Row]:
        return self._from_memory(room) or self._from_disk(room)

    def _from_memory(self, room: int) -> list[Row]:
        """Return outcomes from memory if they directly follow the last outcome read."""
        rows: list[Row] = []
        following = self._read_seq + 1
        while self._fresh and len(rows) < room and not self._replay_to_n:
            row = self._fresh.popleft()  # not [0], since the writer's thread might displace the first row
            if row.n <= self._after_n:
                continue
            if row.seq != following:
                self._fresh.appendleft(row)
                break
            rows.append(row)
            following += 1
        return rows

    def _from_disk(self, room: int) -> list[Row]:
        self._fresh.clear()  # These outcomes are durable and can be read from the disk.
        reader = self._reader
        rows: list[Row] = []
        if self._after_n < self._replay_to_n:
            past = reader.rows(self._after_n + 1, self._replay_to_n)
            rows = list(islice((row for row in past if row.seq is not None), room))
            self._report_pruned(rows, complete=len(rows) < room or rows[-1].n == self._replay_to_n)
            if len(rows) < room:
                self._after_n, self._replay_to_n = self._replay_to_n, 0
        return rows + reader.outbox(room - len(rows), self._after_n) if len(rows) < room else rows

    @property
    def _reader(self) -> Outbox:
        if self._outbox is None:
            self._outbox = self._open_outbox()
        return self._outbox

    def _note_unreadable(self, fault: JournalFault) -> None:
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None
        self._alarm.report(PublishFault("outbox_unreadable", fault.where, str(fault)))

    # --- replay ---

    def _replay(self, request: ResendRequest) -> None:
        """Go back to an outcome that the engine lacks. Ignore a request repeated within `retry_s`."""
        now_us = self._now_us()
        min_interval_us = round(self._settings.retry_s * 1e6)
        if self._replayed_us is not None and now_us - self._replayed_us < min_interval_us:
            return
        if self._after_n < self._replay_to_n:
            return  # A replay is in progress. Repeated requests must not restart it.
        oldest = self._window.oldest
        if oldest is not None and oldest.seq <= request.from_seq:
            self._replayed_us = now_us
            self._window.offer_again_now(now_us)
            return
        try:
            if request.from_seq < self._oldest_waiting() and self._is_old(request.told):
                return
            self._replayed_us = now_us
            reader = self._reader
            from_n, to_n = find_row_number(reader, request.from_seq), find_row_number(reader, self._last_seq)
            unread = reader.outbox(1, self._after_n)
        except JournalFault as fault:
            self._note_unreadable(fault)
            return
        if from_n is None or to_n is None:
            return
        self._first_pruned_seq = None
        self._replay_to_n = max(self._replay_to_n, self._after_n, to_n)
        self._after_n = min([from_n, *(row.n for row in unread)]) - 1
        self._window.clear()
        self._more = True

    def _report_pruned(self, rows: Sequence[Row], *, complete: bool) -> None:
        """Report the pruned outcomes so far; if there are none when the replay is complete, end the fault."""
        pruned = [row.seq for row in rows if row.body is None]
        if pruned:
            if self._first_pruned_seq is None:
                self._first_pruned_seq = pruned[0]
            found = f"outcomes {self._first_pruned_seq} to {pruned[-1]} were pruned"
            self._alarm.report(PublishFault("replay_impossible", self._table, found))
        elif complete and self._first_pruned_seq is None:
            self._alarm.clear("replay_impossible")

    # --- status and board ---

    def _check_silence(self, now_us: int) -> None:
        waiting, where = self.unacknowledged, "settlement engine"
        oldest = self._window.oldest
        found = f"{waiting} unacknowledged" + (f"; the oldest is {oldest.id}" if oldest is not None else "")
        if self._silence.silent(now_us, waiting):
            self._alarm.report(PublishFault("settlement_silent", where, found))
        else:
            self._alarm.clear("settlement_silent")
        if self._silence.behind(waiting):
            self._alarm.report(PublishFault("settlement_behind", where, found))
        else:
            self._alarm.clear("settlement_behind")

    def _show_board(self) -> None:
        if self._board is None or self._outbox is None:
            return
        try:
            changed = self._board.changed(self._reader, self._last_seq)
        except JournalFault as fault:
            self._note_unreadable(fault)
            return
        if changed is not None:
            self._sink.show(changed)

    def _send_status(self, now_us: int) -> None:
        if now_us < self._status_due_us:
            return
        self._status_due_us = now_us + STATUS_US
        status = msgspec.structs.replace(
            self._status(),
            unacknowledged=self.unacknowledged,
            sequence=self._last_seq or None,
            chain=self._last_chain,
            says_open=True,
        )
        if status != self._sent_status:
            self._sent_status = status
            self._sink.send_status(status)
