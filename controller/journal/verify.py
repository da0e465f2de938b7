"""Verification of the chain. It detects missing, moved, changed and unsigned rows."""

from bisect import bisect_left
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.chain import Row, compute_link, contents_digest
from controller.journal.contents import (
    CHECKPOINT,
    CLOSED,
    KEY_REPLACED,
    PRUNED,
    SIGNED_EVENTS,
    Ack,
    KeyReplaced,
    PruningDecision,
)
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.schema import ALL_SIGNED, version_of
from controller.journal.store import SIGNED_EVENT_CLAUSE, fetch_one, read_origin, rows_where, sqlite_fault
from controller.journal.totals import Ranges, Totals, decode_checkpoint, numbers, outcome_number

_decode_key_replaced = msgspec.json.Decoder(KeyReplaced).decode


class Keyring(NamedTuple):
    """The keys of a journal, in order, and the rows (`handovers`) that record their replacement."""

    keys: tuple[PublicKey, ...]
    handovers: tuple[int, ...]
    lost: tuple[int, ...]
    """The handovers without a signature by the old key, which was lost. A named person accepted them."""

    @property
    def last(self) -> PublicKey:
        """The key in force at the journal's end."""
        return self.keys[-1]

    @property
    def unsigned_handovers(self) -> tuple[str, ...]:
        """Descriptions of the handovers that the old key did not sign."""
        return tuple(
            f"the key as of row {n} (the previous key was lost; only a person's statement links the keys)"
            for n in self.lost
        )

    def at(self, n: int) -> PublicKey:
        """Return the key that signs row `n`. The old key signs a handover, unless the key was lost."""
        return self.keys[bisect_left(self.handovers, n) + (n in self.lost)]


def read_keyring(connection: apsw.Connection, path: Path, first: PublicKey) -> Keyring:
    """Read and check all handovers; `first` is the journal's first key.

    Raises JournalFault if a handover was changed or moved, or if its signatures are invalid.
    """
    keys, handovers, lost = [first], [], []
    for row in list(rows_where(connection, path, f"{SIGNED_EVENT_CLAUSE} ORDER BY n", (KEY_REPLACED,))):
        replaced = _check_handover(connection, path, row, keys[-1])
        keys.append(PublicKey(bytes.fromhex(replaced.new)))
        handovers.append(row.n)
        if replaced.lost:
            lost.append(row.n)
    return Keyring(tuple(keys), tuple(handovers), tuple(lost))


def check_in_place(connection: apsw.Connection, path: Path, row: Row) -> None:
    """Check, without a walk, that a row matches its digest and that its link continues the chain.

    After this check, the row's signature authenticates its contents. Raises JournalFault.
    """
    where = f"{path}, row {row.n}"
    before = next(rows_where(connection, path, "WHERE n = ?", (row.n - 1,)), None)
    if row.body is None or contents_digest(row.body, row.after) != row.digest:
        raise JournalFault("journal_row_changed", where, "changed contents", "contents that match its digest")
    if before is None or compute_link(before.link, row) != row.link:
        raise JournalFault(
            "journal_row_moved", where, "a hash that breaks the chain", "a hash that continues it"
        )


def _check_handover(connection: apsw.Connection, path: Path, row: Row, old: PublicKey) -> KeyReplaced:
    """Check a handover's row and signatures; return its contents."""
    where = f"{path}, row {row.n}"
    check_in_place(connection, path, row)
    assert row.body is not None
    replaced = _decode_key_replaced(row.body)
    try:
        new, proof = PublicKey(bytes.fromhex(replaced.new)), bytes.fromhex(replaced.proof)
    except ValueError as error:
        raise JournalFault("journal_row_changed", where, "an invalid key", "a public key in hex") from error
    signer = new if replaced.lost else old
    proven = replaced.old == old.raw.hex() and new.verify_handover(old.raw, proof)
    if not proven or row.signature is None or not signer.verify(row.link, row.signature):
        raise JournalFault(
            "journal_bad_signature",
            where,
            "a key change with a missing or invalid signature",
            "the new key's signatures" if replaced.lost else "the signatures of both keys",
        )
    return replaced


SLICE = 1000
"""Maximum number of rows read at a time. A longer read would keep the WAL from being written back."""

Progress = Callable[[int, int], None]
"""Called with the number of the last row walked so far and that of the journal's last row."""

_ACK = msgspec.json.Decoder(Ack)
_PRUNED = msgspec.json.Decoder(PruningDecision)


class VerificationResult(NamedTuple):
    """The result of a walk that found no fault."""

    rows: int
    outcomes: int
    signatures: int
    evidence: int
    dropped: int
    """The number of rows whose body or evidence was pruned by a signed decision."""
    last_n: int
    last_link: bytes
    unauthenticated: tuple[str, ...] = ()
    """Descriptions of the parts in which no fault was found, but which no signature authenticates."""


class JournalWalk:
    """A walk through the rows of a journal."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        """Start before the first row. Raises JournalFault if the journal is empty."""
        origin = read_origin(connection, path)
        if origin is None:
            raise JournalFault("journal_empty", path, "an empty journal", "a journal with its first row")
        self.table = origin.table
        self.totals = Totals()
        self.n = 0
        self.link = origin.link
        self.last: Row | None = None
        self.layout = version_of(connection, str(path))
        self.authenticated_n = 0
        """The last row with a verified signature, which also authenticates the rows walked before it."""
        self.evidence_below = 0
        self.bodies_below = 0
        self._connection = connection
        self._path = path
        self.keyring: Keyring = read_keyring(connection, path, PublicKey(origin.public_key))
        self.verified_from = 1
        self._partial = False
        """Whether the totals are incomplete. They are complete after the next checkpoint."""
        self._unchecked: Row | None = None
        """The last signed row, if its signature has not been checked."""
        self._counts = {"outcomes": 0, "signatures": 0, "evidence": 0, "dropped": 0}
        self._read_pruning()

    @property
    def key(self) -> PublicKey:
        """The key in force at the journal's end."""
        return self.keyring.last

    def skip_to_last_checkpoint(self, min_rows: int) -> None:
        """Start at the last checkpoint, or `min_rows` rows before the end if that is earlier.

        A signature at the end authenticates all walked rows, because each link covers the previous link. If
        the checkpoint has a layout before `ALL_SIGNED`, which lacks some totals, start with the first row.
        """
        clause = f"{SIGNED_EVENT_CLAUSE} ORDER BY n DESC LIMIT 1"
        checkpoint = next(rows_where(self._connection, self._path, clause, (CHECKPOINT,)), None)
        if checkpoint is None or checkpoint.body is None:
            return
        if decode_checkpoint(checkpoint.body).totals.layout < ALL_SIGNED:
            return
        last = fetch_one(self._connection, self._path, "SELECT max(n) FROM rows")
        assert last is not None
        begin = min(checkpoint.n, int(str(last[0])) - min_rows + 1)
        if begin <= 1:
            return
        before = next(rows_where(self._connection, self._path, "WHERE n = ?", (begin - 1,)), None)
        if before is None:
            raise self._fault("journal_row_missing", begin - 1, "no such row", "rows without a gap")
        self.n, self.link, self.verified_from = before.n, before.link, begin
        self._partial = True

    def run(self, progress: Progress | None = None, *, every_signature: bool = True) -> VerificationResult:
        """Walk to the end. Raises JournalFault at the first fault.

        Without `every_signature`, check only the last signature and those of signed events, and compare the
        outbox with the index of outcomes instead of the rows.
        """
        first = self.n
        while True:
            clause = "WHERE n > ? ORDER BY n LIMIT ?"
            rows = list(rows_where(self._connection, self._path, clause, (self.n, SLICE), with_evidence=True))
            if not rows:
                break
            for row in rows:
                self._check(row, signature=every_signature or row.name in SIGNED_EVENTS)
                self._add(row)
            if progress is not None:
                total = fetch_one(self._connection, self._path, "SELECT max(n) FROM rows")
                progress(self.n, int(str(total[0])) if total else self.n)
        if self._unchecked is not None:
            self._check_signature(self._unchecked)
        self._check_outbox(by_index=not every_signature)
        unauthenticated = (*self._unsigned_end(), *self.keyring.unsigned_handovers)
        return VerificationResult(
            rows=self.n - first,
            last_n=self.n,
            last_link=self.link,
            unauthenticated=unauthenticated,
            **self._counts,
        )

    def _check(self, row: Row, *, signature: bool) -> None:
        if row.n != self.n + 1:
            raise self._fault("journal_row_missing", self.n + 1, f"row {row.n} instead", "rows without a gap")
        if row.body is None:
            self._check_dropped(row)
        elif contents_digest(row.body, row.after) != row.digest:
            raise self._fault(
                "journal_row_changed", row.n, "changed contents", "contents that match its digest"
            )
        self._check_evidence(row)
        if compute_link(self.link, row) != row.link:
            found = "a hash that breaks the chain"
            raise self._fault("journal_row_moved", row.n, found, f"the hash that continues row {self.n}")
        if row.signature is None:
            if row.seq is not None or row.name in SIGNED_EVENTS:
                raise self._fault("journal_bad_signature", row.n, "no signature", "the table key's signature")
        elif signature:
            self._check_signature(row)
        else:
            self._unchecked = row

    def _check_signature(self, row: Row) -> None:
        assert row.signature is not None
        if not self.keyring.at(row.n).verify(row.link, row.signature):
            raise self._fault(
                "journal_bad_signature", row.n, "an invalid signature", "the table key's signature"
            )
        self.authenticated_n = row.n
        self._unchecked = None

    def _check_dropped(self, row: Row) -> None:
        if row.n >= self.bodies_below or row.seq is None:
            raise self._fault(
                "journal_row_changed", row.n, "no contents", "contents, because the row was not pruned"
            )
        if row.after is not None:
            # Pruning removes both contents and state, because no digest authenticates the state on its own.
            raise self._fault("journal_row_changed", row.n, "a state without contents", "both or neither")
        self._counts["dropped"] += 1

    def _check_evidence(self, row: Row) -> None:
        if row.evidence_digest is None:
            if row.evidence is not None:
                raise self._fault("journal_row_changed", row.n, "evidence", "none, as no digest covers it")
        elif row.evidence is None:
            if row.n >= self.evidence_below:
                raise self._fault(
                    "journal_row_changed", row.n, "no evidence", "evidence, because the row was not pruned"
                )
            self._counts["dropped"] += row.body is not None
        elif sha256(row.evidence).digest() != row.evidence_digest:
            raise self._fault(
                "journal_row_changed", row.n, "changed evidence", "evidence that matches its digest"
            )
        else:
            self._counts["evidence"] += 1

    def _add(self, row: Row) -> None:
        if row.seq is not None and row.seq != self.totals.seq + 1 and self.totals.seq:
            found = f"outcome number {row.seq}"
            raise self._fault("journal_row_missing", row.n, found, f"outcome number {self.totals.seq + 1}")
        self.n, self.link, self.last = row.n, row.link, row
        if row.name == CHECKPOINT and row.body is not None:
            self._apply_checkpoint(row, row.body)
        self.totals.add(row)
        self._counts["outcomes"] += row.seq is not None
        self._counts["signatures"] += row.signature is not None

    def _apply_checkpoint(self, row: Row, body: bytes) -> None:
        totals = decode_checkpoint(body).totals
        if totals.layout >= ALL_SIGNED > self.layout:
            found = f"layout {self.layout} in the file's header, but layout {totals.layout} in a checkpoint"
            raise self._fault("journal_downgraded", row.n, found, f"layout {totals.layout}")
        if self._partial and totals.layout >= ALL_SIGNED:
            self.totals, self._partial = totals, False
        self.totals.layout = totals.layout

    def _unsigned_end(self) -> tuple[str, ...]:
        """Return a description of the rows after the last signature. Only old layouts can have such rows."""
        if self.authenticated_n == self.n:
            return ()
        rows = f"rows {self.authenticated_n + 1} to {self.n}, after the last signature"
        if self.layout >= ALL_SIGNED:
            raise self._fault("journal_end_unsigned", self.n, rows, "a signature on the last row")
        return (rows,)

    def _check_outbox(self, *, by_index: bool) -> None:
        """Check that the outbox contains exactly the unacknowledged outcomes of the walked rows."""
        if by_index and self._outbox_matches(self.totals.waiting):
            return
        entries = self._fetch("SELECT n, seq FROM outbox LEFT JOIN rows USING (n) WHERE n <= ?", self.n)
        found = {0 if seq is None else seq for _, seq in entries}
        expected = numbers(self.totals.waiting)
        if found != expected and not self._explained_by_new_acks(found, expected):
            number = min(found ^ expected)
            where = f"{self._path}, " + (f"outcome number {number}" if number else "the outbox")
            if not number:
                problem = ("an entry for a row that is not an outcome", "only outcomes")
            elif number in found:
                problem = ("an outbox entry", "none, because the outcome is acknowledged or missing")
            else:
                problem = ("no outbox entry", "one, because the outcome is not acknowledged")
            raise JournalFault("journal_outbox_differs", where, *problem)

    def _outbox_matches(self, waiting: Ranges) -> bool:
        """Return whether exactly these outcomes are in the outbox, according to the index of their numbers.

        The index keeps startup fast at a table whose outcomes are never settled. A complete verification
        reads the rows instead, and detects an incorrect index.
        """
        if self._fetch("SELECT count(*) FROM outbox WHERE n <= ?", self.n) != [
            (sum(last + 1 - first for first, last in waiting),)
        ]:
            return False
        clause = "SELECT count(*) FROM rows CROSS JOIN outbox USING (n) WHERE n <= ? AND seq BETWEEN ? AND ?"
        return all(
            self._fetch(clause, self.n, first, last) == [(last + 1 - first,)] for first, last in waiting
        )

    def _fetch(self, clause: str, *bindings: int) -> list[tuple[int | None, ...]]:
        try:
            rows = self._connection.execute(clause, bindings).fetchall()
        except apsw.Error as error:
            raise sqlite_fault(error, self._path) from error
        return [tuple(None if value is None else int(str(value)) for value in row) for row in rows]

    def _explained_by_new_acks(self, found: set[int], expected: set[int]) -> bool:
        """Return whether acknowledgements written during the walk explain the difference."""
        new_acks = rows_where(self._connection, self._path, "WHERE n > ? AND name = ?", (self.n, CLOSED))
        closed = {outcome_number(_ACK.decode(row.body).id) for row in new_acks if row.body}
        return found == expected - closed

    def _read_pruning(self) -> None:
        """Read the decisions to prune, and check their rows, which the walk might not reach."""
        clause = f"{SIGNED_EVENT_CLAUSE} ORDER BY n"
        for row in list(rows_where(self._connection, self._path, clause, (PRUNED,))):
            if row.body is not None:
                check_in_place(self._connection, self._path, row)
                if row.signature is None or not self.keyring.at(row.n).verify(row.link, row.signature):
                    raise self._fault(
                        "journal_bad_signature",
                        row.n,
                        "a pruning decision without a valid signature",
                        "the table key's signature",
                    )
                pruned = _PRUNED.decode(row.body)
                self.evidence_below = max(self.evidence_below, pruned.evidence_below)
                self.bodies_below = max(self.bodies_below, pruned.bodies_below)

    def _fault(self, code: str, n: int, found: str, expected: str) -> JournalFault:
        return JournalFault(code, f"{self._path}, row {n}", found, expected)


MAX_N = 2**63 - 1
"""Maximum row number that SQLite allows."""


def check_stray_rows(connection: apsw.Connection, path: Path, last_n: int = MAX_N) -> None:
    """Raise JournalFault if a table has rows before the first or after the last row of the walk.

    A stray row could stop the writer or appear in the result of a query. Pass `last_n` only while the journal
    is locked; otherwise new rows would be reported.
    """
    expected = "rows numbered from 1" if last_n == MAX_N else f"rows 1 to {last_n}"
    for table in ("rows", "evidence", "outbox"):
        statement = f"SELECT n FROM {table} WHERE n < 1 OR n > ? LIMIT 1"  # noqa: S608 - fixed names
        stray = fetch_one(connection, path, statement, (last_n,))
        if stray is not None:
            where = f"{path}, table {table}"
            raise JournalFault("journal_row_moved", where, f"row {stray[0]}", expected)


def _check_orphans(connection: apsw.Connection, path: Path, walked_n: int) -> None:
    """Raise JournalFault if evidence or an outbox entry after the walked rows belongs to no row.

    A row written during the walk is committed together with its evidence and entry, and is not reported.
    """
    for table in ("evidence", "outbox"):
        statement = (
            f"SELECT n FROM {table} WHERE n > ? AND NOT EXISTS "  # noqa: S608 - fixed names
            f"(SELECT 1 FROM rows WHERE rows.n = {table}.n) LIMIT 1"
        )
        stray = fetch_one(connection, path, statement, (walked_n,))
        if stray is not None:
            where = f"{path}, table {table}"
            raise JournalFault("journal_row_moved", where, f"row {stray[0]}", "only rows of the journal")


def verify_all(
    connection: apsw.Connection, path: Path, progress: Progress | None, *, every_signature: bool
) -> tuple[VerificationResult, Keyring]:
    """Check the database's pages and all rows; return the result and the keys that signed the rows.

    Without `every_signature`, the signatures of outcomes are not checked (see `JournalWalk.run`). Raises
    JournalFault at the first fault.
    """
    try:
        lines = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    if lines != ["ok"]:
        raise JournalFault("journal_damaged", path, lines[0].replace("\n", "; "), "an undamaged database")
    check_stray_rows(connection, path)
    walk = JournalWalk(connection, path)
    verified = walk.run(progress, every_signature=every_signature)
    _check_orphans(connection, path, walk.n)
    return verified, walk.keyring
