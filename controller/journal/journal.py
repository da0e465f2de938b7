"""The journal's interface for the controller. It queues entries, and reports when they are durable."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from controller.journal.chain import Draft
from controller.journal.contents import (
    PRUNED,
    SESSION_STARTED,
    Ack,
    AckProof,
    Drafter,
    Identity,
    PruningDecision,
    Recording,
    StateAfterRow,
    event_draft,
)
from controller.journal.faults import Alarm, JournalFault
from controller.journal.head import JournalLocation
from controller.journal.keys import Key
from controller.journal.opening import Acceptance, Recovered, open_journal, recovered_from
from controller.journal.reading import Reader
from controller.journal.verify import Progress
from controller.journal.writer import Entry, Limits, OnDurable, Ticket, WallClock, Writer
from controller.machines.setup import NextNumbers, State
from controller.model.effects import Effect, LateReading
from controller.model.outcomes import AttemptKind, Outcome


class Journal:
    """A table's journal, open for writing. Use `Journal.open` to create one."""

    def __init__(
        self,
        place: JournalLocation,
        writer: Writer,
        recovered: Recovered,
        wall: WallClock,
        release: ExitStack,
    ) -> None:
        self.place = place
        self.recovered = recovered
        """The state from which the new session continues."""
        self._writer = writer
        self._wall = wall
        self._release = release
        self._next_seq = recovered.first.seq if recovered.last_n else None

    @classmethod
    def open(
        cls,
        place: JournalLocation,
        key: Key,
        *,
        table: str,
        wall: WallClock,
        on_durable: OnDurable,
        alarm: Alarm,
        limits: Limits | None = None,
        vfs: str | None = None,
        accept: Acceptance | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Lock and open the journal, verify it from the last checkpoint, and start the writer.

        A missing journal is created.

        Args:
            on_durable: called in the writer's thread with each ticket that becomes durable; must not block.
            alarm: called with each fault that begins, and with None when the last one is over; must not
                block.
            vfs: the name of SQLite's file system layer.
            accept: a person's decision to continue a journal despite a fault in `ACCEPTABLE`; the decision is
                journaled.
            progress: called with the number of the last row verified so far and that of the journal's last
                row. After an upgrade all rows are verified, which can take minutes.

        Raises:
            JournalFault: the journal has a fault that prevents results from being published.
        """
        opened = open_journal(place, key, table, now=wall(), vfs=vfs, accept=accept, progress=progress)
        recovered = recovered_from(opened.totals, opened.last_n, opened.last_link, opened.verified_from)
        writer = Writer(
            opened,
            place.journal,
            key,
            on_durable=on_durable,
            alarm=alarm,
            wall=wall,
            limits=limits or Limits(),
        )
        return cls(place, writer, recovered, wall, opened.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- queueing: these methods never wait for the disk, and raise JournalFault if the queue is full ---

    def start(self, identity: Identity) -> Ticket:
        """Queue the row that begins a session. It must be the first entry after opening."""
        row = event_draft(SESSION_STARTED, identity, self._wall())

        def draft(drafter: Drafter) -> list[Draft]:
            drafter.begin_session(identity.setup)
            return [row]

        return self._writer.put(Entry(draft=draft))

    def append(
        self, effects: Sequence[Effect], state: State, first: NextNumbers, recording: Recording | None = None
    ) -> Ticket:
        """Queue one reading's effects, with the session's state and next numbers after them."""
        wall = self._wall()
        late = tuple(effect for effect in effects if isinstance(effect, LateReading))
        if late and len(late) == len(effects):
            return self._writer.put(Entry(late=late))
        next_seq = self._in_sequence(effects)
        kept = tuple(effects)
        after = StateAfterRow(state=state, first=first, recording=recording)
        ticket = self._writer.put(
            Entry(draft=lambda drafter: drafter.draft_effects(kept, after, wall), late=late)
        )
        self._next_seq = next_seq
        return ticket

    def attempt_begun(self, attempt: AttemptKind, number: int, t: int) -> Ticket:
        """Queue the beginning of an attempt that has not produced any effects yet.

        If the controller restarts during the attempt, it reports the attempt as cut off.
        """
        wall = self._wall()
        return self._writer.put(Entry(draft=lambda drafter: drafter.begin_attempt(attempt, number, t, wall)))

    def note(self, name: str, data: Mapping[str, object], *, outside: bool = False) -> Ticket:
        """Queue an event that is not an outcome, such as a change of the clock or the use of a console.

        Use `outside` for events that an outside party can cause without limit. Part of the queue is reserved
        for play; an outside event raises `journal_crowded` if the rest of the queue is full.
        """
        draft = event_draft(name, data, self._wall())
        return self._writer.put(Entry(draft=lambda _: [draft], outside=outside))

    def acknowledge(self, outcome_id: str, chain: str, by: str, proof: AckProof | None = None) -> Ticket:
        """Remove an outcome from the outbox after settlement has acknowledged its id and chain hash.

        The row contains `proof`, the acknowledgement signed by the engine. If this raises `journal_crowded`,
        the outcome will be published and acknowledged again.
        """
        return self._writer.put(Entry(ack=Ack(id=outcome_id, chain=chain, by=by, proof=proof), outside=True))

    def prune(
        self, *, evidence_before_us: int, bodies_before_us: int, by: str, who: str | None = None
    ) -> Ticket:
        """Prune evidence and the bodies of outcomes older than these wall times.

        All rows since the last checkpoint or the oldest unacknowledged outcome, whichever is earlier, are
        kept. The writer prunes in small batches while nothing else is queued. The ticket becomes durable once
        pruning is complete. If the journal is closed before then, the next call prunes the remaining rows.
        """
        with Reader(self.place.journal) as reader:
            limit = reader.prunable_below()
            pruned = PruningDecision(
                evidence_below=min(limit, reader.first_since(evidence_before_us)),
                bodies_below=min(limit, reader.first_since(bodies_before_us)),
                by=by,
                who=who,
            )
        draft = event_draft(PRUNED, pruned, self._wall())
        return self._writer.put(Entry(draft=lambda _: [draft], pruned=pruned))

    # --- status ---

    @property
    def fault(self) -> JournalFault | None:
        """The active fault, or None. An active fault locks the table."""
        return self._writer.fault

    @property
    def waiting(self) -> int:
        """The number of entries waiting for the disk."""
        return self._writer.waiting

    def close(self, timeout_s: float = 20.0) -> None:
        """Write all queued entries and a last checkpoint. Raises JournalFault if the disk refuses them."""
        try:
            self._writer.close(timeout_s)
        finally:
            if not self._writer.running:
                self._release.close()

    def _in_sequence(self, effects: Sequence[Effect]) -> int | None:
        self._writer.check()
        expected = self._next_seq
        for effect in effects:
            if isinstance(effect, Outcome):
                if expected is not None and effect.seq != expected:
                    found = f"outcome number {effect.seq}"
                    where = self.place.journal
                    raise JournalFault("journal_out_of_sequence", where, found, f"number {expected}")
                expected = effect.seq + 1
        return expected
