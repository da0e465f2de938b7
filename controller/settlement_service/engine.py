"""The settlement engine. It handles one request at a time, each in one transaction, and answers after the
commit.

After a failure, the engine discards its state in memory and loads it from the database again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

import msgspec
from sqlalchemy import delete, select, update

from controller.journal.keys import PublicKey
from controller.settlement_service import schema
from controller.settlement_service.book import Anchor
from controller.settlement_service.deliveries import Answer, RejectedDelivery, read
from controller.settlement_service.enrolled_table import EnrolledTable, Games, load_table, shipped_games
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import Gate, PlayAt
from controller.settlement_service.intake import Intake, Policies, seat_of
from controller.settlement_service.store import Store
from controller.settlement_service.work import Numbers, Work

Clock = Callable[[], int]
"""Wall time in microseconds since 1970. It is used to timestamp rows and to decide when old answers are
dropped. No payment depends on it."""


class BookPosition(NamedTuple):
    """The numbers of the newest settled outcome (`sequence`) and of the newest step in a table's book."""

    sequence: int
    step: int


class Bets(NamedTuple):
    """The engine's report to a table about its bets, and the book's position at the time."""

    at: BookPosition
    line_bet: tuple[str, bool] | None
    """The shooter's seat, and False if a required line bet is missing; None if there is no shooter."""
    without_pair_plus: tuple[str, ...] | None
    """The positions with an Ante and no Pair Plus; None in other games."""
    played: PlayAt | None = None
    """The positions with a Play wager, and the round of bets; None if there are none."""


class Engine:
    """Settles the outcomes of enrolled tables. Any thread may call its methods."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        policies: Policies | None = None,
        games: Games | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Use an open store. Bets wait at `gate` for their table's statement."""
        self.gate = gate or Gate()
        self.line_bet: Callable[[str, str, bool, BookPosition], None] = lambda _table, _seat, _has, _at: None
        """Reports to the named table whether the shooter at a seat has a line bet. This function and the
        next two must return immediately."""
        self.pair_plus: Callable[[str, tuple[str, ...], BookPosition], None] = lambda _table, _without, _at: (
            None
        )
        """Reports to the named table which positions have an Ante and no Pair Plus."""
        self.played: Callable[[str, PlayAt, BookPosition], None] = lambda _table, _play, _at: None
        """Reports to the named table which positions have a Play wager and can no longer fold."""
        self._reported: dict[str, Bets] = {}
        """The last report on each table's bets."""
        self._store = store
        self._clock = clock
        self._intake = Intake(policies or Policies())
        self._games = games or shipped_games()
        self._lock = Lock()
        self._tables: dict[str, EnrolledTable] = {}
        self._numbers: Numbers | None = None

    def deliver(self, payloads: Sequence[bytes]) -> list[Answer]:
        """Settle received events in one transaction; return the answers after the commit.

        A repeated outcome is acknowledged again without any further effect. The answers include
        acknowledgements of outcomes that were waiting for these events.

        Raises DatabaseUnavailable if the database does not respond. All the events must then be sent again.
        """
        answers: list[Answer] = []
        reached: dict[str, int] = {}
        decided: set[str] = set()
        with self.work() as work:
            for payload in payloads:
                try:
                    delivery = read(payload)
                except ValueError as error:
                    answers.append(
                        RejectedDelivery("", "unreadable", f"{payload[:80]!r} is not an event ({error})")
                    )
                    continue
                table = self.table(work, delivery.table)
                answers += self._intake.take(work, table, delivery)
                if table is not None:
                    reached[table.name] = table.next_seq - 1
                    if not table.dice_out:
                        decided.add(table.name)
        for name, seq in reached.items():
            self.gate.note_settled(name, seq)
        for name in decided:
            self.gate.end_late_waits(name)
        for name in [table.name for table in self._tables.values() if table.halted]:
            # The book might contain part of the outcome at which the table halted.
            self._tables.pop(name, None)
        return answers

    def newest_settled(self, table: str) -> tuple[int, str | None] | None:
        """Return the number and chain hash of a table's newest settled outcome; None for a table that is not
        enrolled.

        The hash is None if no outcome with this number is stored. Raises DatabaseUnavailable.
        """
        with self.work() as work:
            enrolled = self.table(work, table)
            if enrolled is None:
                return None
            seq = enrolled.next_seq - 1
            return seq, work.chain_of(table, seq)

    def enrol(
        self, table: str, rules: str, key: bytes, *, first_seq: int | None = None, anew: bool = False
    ) -> None:
        """Pin a table's public key (32 bytes) and rule set.

        `first_seq` (default 1) is the number of the table's first outcome. `anew` pins a new key for an
        enrolled table, and continues at its next outcome or at a later `first_seq`. A later `first_seq`
        declares the outcomes in between lost, for example after the restoration of an older journal.

        Raises:
            RequestRefused: the table is already enrolled; with `anew`, the table is not enrolled with these
                rules, or outcome `first_seq` is already settled.
            SettingsError: the rule set does not exist.
            ValueError: the bytes are not an Ed25519 public key.
        """
        PublicKey(key)
        with self.work() as work:
            game = self._games(rules)
            tables, keys = schema.tables, schema.keys
            known = work.connection.execute(
                select(tables.c.rules, tables.c.next_seq).where(tables.c.name == table)
            ).first()
            if known is not None and not anew:
                raise RequestRefused(
                    "ENROLLED", f"table {table} is already enrolled; to replace its pinned key, use --anew"
                )
            if anew and (known is None or known.rules != rules):
                raise RequestRefused("ENROLLED", f"table {table} is not enrolled with rules {rules}")
            from_seq = (1 if known is None else known.next_seq) if first_seq is None else first_seq
            if known is not None and from_seq < known.next_seq:
                raise RequestRefused(
                    "ENROLLED",
                    f"outcome {from_seq} of table {table} is already settled; the next is {known.next_seq}",
                )
            if known is not None:
                work.connection.execute(
                    update(tables).where(tables.c.name == table).values(next_seq=from_seq)
                )
            same = (keys.c.table_name == table) & (keys.c.from_seq == from_seq)
            work.connection.execute(delete(keys).where(same))
            work.add(keys, table_name=table, from_seq=from_seq, public_key=key)
            self._tables.pop(table, None)
            if known is None:
                work.add(
                    tables,
                    name=table,
                    rules=rules,
                    game=game.name,
                    first_seq=from_seq,
                    next_seq=from_seq,
                    last_n=0,
                    betting="open",
                    anchor=msgspec.json.encode(Anchor()).decode(),
                    enrolled_us=work.now_us,
                )

    def release(self, table: str, who: str, *, refund: bool) -> None:
        """Clear a table's alarms and end its halt; `who` is the person who has investigated.

        With `refund`, return all the table's stakes, and accept, without effect, the outcome at which it
        halted.

        Raises RequestRefused if the table is not halted and has no alarm, or, with `refund`, if it is not
        halted.
        """
        with self.work() as work:
            enrolled = self.table(work, table)
            waits = enrolled is not None and not refund and work.has_alarm(table)
            if enrolled is None or not (enrolled.halted or waits):
                reason = "; nothing was refunded" if refund else " and has no alarm"
                raise RequestRefused("HALTED", f"table {table} is not halted{reason}")
            self._intake.release(work, enrolled, who, refund=refund)

    def undo_trial(self, work: Work, table: EnrolledTable) -> None:
        """Restore a table's stored book after a trial."""
        kept = load_table(work.connection, table.name, self._games)
        assert kept is not None
        table.book = kept.book

    @property
    def write_fault(self) -> str | None:
        """Why the last write to the database failed; None if it succeeded."""
        return self._store.write_fault

    def probe(self) -> None:
        """Check that the database is writable. Raises DatabaseUnavailable if it is not."""
        with self.work() as work:
            self._store.prove_writable(work.connection)

    @contextmanager
    def work(self) -> Iterator[Work]:
        """Yield the work of one transaction; write and commit it at the end."""
        with self._lock:
            try:
                with self._store.transaction() as connection:
                    if self._numbers is None:
                        self._numbers = Numbers(connection)
                    work = Work(connection, self._numbers, self._clock())
                    yield work
                    work.flush()
                    reports = [(name, bets) for name in work.touched if (bets := self._bets(work, name))]
            except BaseException:
                self._tables.clear()
                self._numbers = None
                raise
        for name, bets in reports:
            self._inform(name, bets)

    def bets(self, table: str) -> Bets | None:
        """Return the report on a table's bets; None if the table receives no such reports.

        Raises DatabaseUnavailable.
        """
        with self.work() as work:
            self.table(work, table)
            return self._bets(work, table)

    def _bets(self, work: Work, name: str) -> Bets | None:
        table = self._tables.get(name)
        if table is None or table.halted or not (reports := table.game.wagers.bets_reports):
            return None
        known = table.book.line_bet if "line_bet" in reports else None
        return Bets(
            BookPosition(table.next_seq - 1, table.book.last_n),
            None if known is None else (seat_of(work, name, known[0]), known[1]),
            table.book.without_pair_plus if "pair_plus" in reports else None,
            PlayAt(table.round or 1, played)
            if "played" in reports and (played := table.book.played)
            else None,
        )

    def _inform(self, name: str, bets: Bets) -> None:
        """Report to a table the changes since the last report."""
        before = self._reported.get(name, _NOTHING_REPORTED)
        self._reported[name] = bets
        if bets.line_bet is not None and bets.line_bet != before.line_bet:
            self.line_bet(name, *bets.line_bet, bets.at)
        without = bets.without_pair_plus
        if without is not None and without != (before.without_pair_plus or ()):
            self.pair_plus(name, without, bets.at)
        if bets.played is not None and bets.played != before.played:
            self.played(name, bets.played, bets.at)

    def table(self, work: Work, name: str) -> EnrolledTable | None:
        """Return a table, loading it if necessary; None if it is not enrolled."""
        if name not in self._tables:
            loaded = load_table(work.connection, name, self._games)
            if loaded is None:
                return None
            self._tables[name] = loaded
            self.gate.pin(name, loaded.key)
            self.gate.note_settled(name, loaded.next_seq - 1)
        return self._tables[name]


_NOTHING_REPORTED = Bets(BookPosition(0, 0), None, None)
