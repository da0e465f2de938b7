"""Walk the chain: every row in its place, unchanged, signed where it must be, and nothing missing."""

from bisect import bisect_left
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.chain import Row, digest_of, link_of
from controller.journal.contents import (
    CHECKPOINT,
    CLOSED,
    KEY_REPLACED,
    LANDMARKS,
    PRUNED,
    Ack,
    KeyReplaced,
    Pruned,
)
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.schema import ALL_SIGNED, version_of
from controller.journal.store import LANDMARK, fault_of, fetch_one, origin_of, rows_where
from controller.journal.totals import Ranges, Totals, checkpoint_of, number_in, numbers

_decode_key_replaced = msgspec.json.Decoder(KeyReplaced).decode


class Keyring(NamedTuple):
    """Which key signs which row: `keys` has one more than `handovers`, the rows that replaced a key."""

    keys: tuple[PublicKey, ...]
    handovers: tuple[int, ...]
    lost: tuple[int, ...]
    """The key changes that the old key did not sign, on a named person's word."""

    @property
    def last(self) -> PublicKey:
        """The key in force at the end."""
        return self.keys[-1]

    @property
    def unvouched(self) -> tuple[str, ...]:
        """In words: the handovers for which no key vouches."""
        return tuple(
            f"the key from row {n} on: the one before it was lost, and a person vouched for this one"
            for n in self.lost
        )

    def at(self, n: int) -> PublicKey:
        """Return the key that signs row `n`; a row that hands over is the old key's, unless that was lost."""
        return self.keys[bisect_left(self.handovers, n) + (n in self.lost)]


def read_keyring(connection: apsw.Connection, path: Path, first: PublicKey) -> Keyring:
    """Read and check every handover, each of which proves itself by the key before it.

    Raises JournalFault if a handover is not what its own signatures say.
    """
    keys, handovers, lost = [first], [], []
    for row in list(rows_where(connection, path, f"{LANDMARK} ORDER BY n", (KEY_REPLACED,))):
        told = _checked(connection, path, row, keys[-1])
        keys.append(PublicKey(bytes.fromhex(told.new)))
        handovers.append(row.n)
        if told.lost:
            lost.append(row.n)
    return Keyring(tuple(keys), tuple(handovers), tuple(lost))


def check_in_place(connection: apsw.Connection, path: Path, row: Row) -> None:
    """Check that a row is what its digest says and follows from the one before, without a walk to it.

    Its signature then vouches for it, wherever it is. Raises JournalFault.
    """
    where = f"{path}, row {row.n}"
    before = next(rows_where(connection, path, "WHERE n = ?", (row.n - 1,)), None)
    if row.body is None or digest_of(row.body, row.after) != row.digest:
        raise JournalFault("journal_row_changed", where, "other contents", "what its digest says")
    if before is None or link_of(before.link, row) != row.link:
        raise JournalFault("journal_row_moved", where, "a hash that does not follow", "the one that follows")


def _checked(connection: apsw.Connection, path: Path, row: Row, old: PublicKey) -> KeyReplaced:
    """Return the contents of a handover, whose place in the chain its signature proves."""
    where = f"{path}, row {row.n}"
    check_in_place(connection, path, row)
    assert row.body is not None
    told = _decode_key_replaced(row.body)
    try:
        new, proof = PublicKey(bytes.fromhex(told.new)), bytes.fromhex(told.proof)
    except ValueError as error:
        raise JournalFault("journal_row_changed", where, "a key that is none", "a public key") from error
    signer = new if told.lost else old
    right = told.old == old.raw.hex() and new.signed_handover(old.raw, proof)
    if not right or row.signature is None or not signer.signed(row.link, row.signature):
        raise JournalFault(
            "journal_bad_signature", where, "a change of keys that they did not sign", "both keys' word"
        )
    return told


SLICE = 1000
"""Rows read at a time: a longer read would keep the WAL from being checkpointed."""

Progress = Callable[[int, int], None]
"""Called with how many rows have been walked, and how many there are."""

_ACK = msgspec.json.Decoder(Ack)
_PRUNED = msgspec.json.Decoder(Pruned)


class Verified(NamedTuple):
    """What a walk found in order."""

    rows: int
    outcomes: int
    signatures: int
    evidence: int
    dropped: int
    """Rows whose body or evidence was pruned by a signed decision."""
    last_n: int
    last_link: bytes
    unvouched: tuple[str, ...] = ()
    """What appears to be in order, although no key vouches for it."""


class Walk:
    """One walk along a journal's rows."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        """Start before the first row; raises JournalFault if the journal was never begun."""
        origin = origin_of(connection, path)
        if origin is None:
            raise JournalFault("journal_empty", path, "an empty journal", "one with its first row")
        self.table = origin.table
        self.memory = Totals()
        self.n = 0
        self.link = origin.link
        self.last: Row | None = None
        self.layout = version_of(connection, str(path))
        self.vouched_n = 0
        """The last row that a signature vouches for, together with all rows verified before it."""
        self.evidence_below = 0
        self.bodies_below = 0
        self._connection = connection
        self._path = path
        self.keyring: Keyring = read_keyring(connection, path, PublicKey(origin.public_key))
        self.verified_from = 1
        self._partial = False
        """Whether it began in the middle and has met no checkpoint yet, so that the totals are incomplete."""
        self._unchecked: Row | None = None
        """The last signed row whose signature has not been checked."""
        self._counts = {"outcomes": 0, "signatures": 0, "evidence": 0, "dropped": 0}
        self._read_pruning()

    @property
    def key(self) -> PublicKey:
        """The key in force at the journal's end."""
        return self.keyring.last

    def skip_to_last_checkpoint(self, back: int) -> None:
        """Begin with the last checkpoint, or this many rows before the end if that is further back.

        A signature at the end vouches for the rows that were walked, since each link contains the one before.
        A checkpoint of a layout before `ALL_SIGNED` does not contain all that is needed, so the walk does not
        begin there.
        """
        clause = f"{LANDMARK} ORDER BY n DESC LIMIT 1"
        checkpoint = next(rows_where(self._connection, self._path, clause, (CHECKPOINT,)), None)
        if checkpoint is None or checkpoint.body is None:
            return
        if checkpoint_of(checkpoint.body).memory.layout < ALL_SIGNED:
            return
        last = fetch_one(self._connection, self._path, "SELECT max(n) FROM rows")
        assert last is not None
        begin = min(checkpoint.n, int(str(last[0])) - back + 1)
        if begin <= 1:
            return
        before = next(rows_where(self._connection, self._path, "WHERE n = ?", (begin - 1,)), None)
        if before is None:
            raise self._fault("journal_row_missing", begin - 1, "no such row", "every row in its place")
        self.n, self.link, self.verified_from = before.n, before.link, begin
        self._partial = True

    def run(self, progress: Progress | None = None, *, every_signature: bool = True) -> Verified:
        """Walk on to the end; raises JournalFault at the first row that is not in order.

        Without `every_signature`, only the signatures of checkpoints and the like and the last one are
        checked, not each outcome's own, and the outbox is compared by the index of outcomes.
        """
        first = self.n
        while True:
            clause = "WHERE n > ? ORDER BY n LIMIT ?"
            rows = list(rows_where(self._connection, self._path, clause, (self.n, SLICE), proved=True))
            if not rows:
                break
            for row in rows:
                self._check(row, signature=every_signature or row.name in LANDMARKS)
                self._add(row)
            if progress is not None:
                total = fetch_one(self._connection, self._path, "SELECT max(n) FROM rows")
                progress(self.n, int(str(total[0])) if total else self.n)
        if self._unchecked is not None:
            self._check_signature(self._unchecked)
        self._check_outbox(by_index=not every_signature)
        unvouched = (*self._end_unvouched(), *self.keyring.unvouched)
        return Verified(
            rows=self.n - first, last_n=self.n, last_link=self.link, unvouched=unvouched, **self._counts
        )

    def _check(self, row: Row, *, signature: bool) -> None:
        if row.n != self.n + 1:
            raise self._fault(
                "journal_row_missing", self.n + 1, f"row {row.n} next", "every row in its place"
            )
        if row.body is None:
            self._check_dropped(row)
        elif digest_of(row.body, row.after) != row.digest:
            raise self._fault("journal_row_changed", row.n, "other contents", "what its digest says")
        self._check_evidence(row)
        if link_of(self.link, row) != row.link:
            found = "a hash that does not follow"
            raise self._fault("journal_row_moved", row.n, found, f"the hash that follows from row {self.n}")
        if row.signature is None:
            if row.seq is not None or row.name in LANDMARKS:
                raise self._fault("journal_bad_signature", row.n, "no signature", "the table's own")
        elif signature:
            self._check_signature(row)
        else:
            self._unchecked = row

    def _check_signature(self, row: Row) -> None:
        assert row.signature is not None
        if not self.keyring.at(row.n).signed(row.link, row.signature):
            raise self._fault(
                "journal_bad_signature", row.n, "a signature that is not the key's", "the table's own"
            )
        self.vouched_n = row.n
        self._unchecked = None

    def _check_dropped(self, row: Row) -> None:
        if row.n >= self.bodies_below or row.seq is None:
            raise self._fault("journal_row_changed", row.n, "no contents", "contents: it was not pruned")
        if row.after is not None:
            # Pruning drops both: with the contents gone no digest vouches for the state.
            raise self._fault("journal_row_changed", row.n, "a state without contents", "neither or both")
        self._counts["dropped"] += 1

    def _check_evidence(self, row: Row) -> None:
        if row.evidence_digest is None:
            if row.evidence is not None:
                raise self._fault("journal_row_changed", row.n, "evidence", "none, as its digest says")
        elif row.evidence is None:
            if row.n >= self.evidence_below:
                raise self._fault("journal_row_changed", row.n, "no evidence", "evidence: it was not pruned")
            self._counts["dropped"] += row.body is not None
        elif sha256(row.evidence).digest() != row.evidence_digest:
            raise self._fault("journal_row_changed", row.n, "other evidence", "what its digest says")
        else:
            self._counts["evidence"] += 1

    def _add(self, row: Row) -> None:
        if row.seq is not None and row.seq != self.memory.seq + 1 and self.memory.seq:
            found = f"outcome number {row.seq}"
            raise self._fault("journal_row_missing", row.n, found, f"outcome number {self.memory.seq + 1}")
        self.n, self.link, self.last = row.n, row.link, row
        if row.name == CHECKPOINT and row.body is not None:
            self._take_checkpoint(row, row.body)
        self.memory.take(row)
        self._counts["outcomes"] += row.seq is not None
        self._counts["signatures"] += row.signature is not None

    def _take_checkpoint(self, row: Row, body: bytes) -> None:
        kept = checkpoint_of(body).memory
        if kept.layout >= ALL_SIGNED > self.layout:
            found = f"layout {self.layout} in the file's header after one of layout {kept.layout}"
            raise self._fault("journal_downgraded", row.n, found, f"layout {kept.layout}")
        if self._partial and kept.layout >= ALL_SIGNED:
            self.memory, self._partial = kept, False
        self.memory.layout = kept.layout

    def _end_unvouched(self) -> tuple[str, ...]:
        """Return the rows that no signature follows: before `ALL_SIGNED` there may be some, later none."""
        if self.vouched_n == self.n:
            return ()
        rows = f"rows {self.vouched_n + 1} to {self.n}, which no signature follows"
        if self.layout >= ALL_SIGNED:
            raise self._fault("journal_end_unsigned", self.n, rows, "the table's signature on the last row")
        return (rows,)

    def _check_outbox(self, *, by_index: bool) -> None:
        """Compare the outbox with what the walked rows leave open."""
        if by_index and self._outbox_is(self.memory.waiting):
            return
        there = self._fetch("SELECT n, seq FROM outbox LEFT JOIN rows USING (n) WHERE n <= ?", self.n)
        found = {0 if seq is None else seq for _, seq in there}
        expected = numbers(self.memory.waiting)
        if found != expected and not self._open_since(found, expected):
            number = min(found ^ expected)
            says = "open" if number in found else "closed"
            where = f"{self._path}, " + (f"outcome number {number}" if number else "the outbox")
            raise JournalFault(
                "journal_outbox_differs", where, f"its place in the outbox {says}", "the opposite"
            )

    def _outbox_is(self, waiting: Ranges) -> bool:
        """Return whether exactly these outcomes are in the outbox, by the index of their numbers alone.

        So a start need not read a year's rows that nobody settled. Whether the index is that of the rows is
        compared when the whole journal is verified.
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
            raise fault_of(error, self._path) from error
        return [tuple(None if value is None else int(str(value)) for value in row) for row in rows]

    def _open_since(self, found: set[int], expected: set[int]) -> bool:
        """Return whether acknowledgements that came in during the walk account for the difference."""
        late = rows_where(self._connection, self._path, "WHERE n > ? AND name = ?", (self.n, CLOSED))
        closed = {number_in(_ACK.decode(row.body).id) for row in late if row.body}
        return found == expected - closed

    def _read_pruning(self) -> None:
        """Read the decisions to prune; each proves itself, for it may stand before where the walk begins."""
        clause = f"{LANDMARK} ORDER BY n"
        for row in list(rows_where(self._connection, self._path, clause, (PRUNED,))):
            if row.body is not None:
                check_in_place(self._connection, self._path, row)
                if row.signature is None or not self.keyring.at(row.n).signed(row.link, row.signature):
                    raise self._fault(
                        "journal_bad_signature", row.n, "an unsigned decision to prune", "the table's own"
                    )
                pruned = _PRUNED.decode(row.body)
                self.evidence_below = max(self.evidence_below, pruned.evidence_below)
                self.bodies_below = max(self.bodies_below, pruned.bodies_below)

    def _fault(self, code: str, n: int, found: str, expected: str) -> JournalFault:
        return JournalFault(code, f"{self._path}, row {n}", found, expected)


def check_strays(connection: apsw.Connection, path: Path, last_n: int = 2**63 - 1) -> None:
    """Check that there is nothing before a journal's first row or after its last, where a walk does not look.

    `last_n` is for a caller who has the journal alone: otherwise a row that is being written counts as one
    after it.

    Raises JournalFault if there is something; it would stop the writer or be found by a search.
    """
    for table in ("rows", "evidence", "outbox"):
        statement = f"SELECT n FROM {table} WHERE n < 1 OR n > ? LIMIT 1"  # noqa: S608 - names of our own
        stray = fetch_one(connection, path, statement, (last_n,))
        if stray is not None:
            where = f"{path}, table {table}"
            raise JournalFault("journal_row_moved", where, f"row {stray[0]}", f"rows 1 to {last_n}")


def _check_unowned(connection: apsw.Connection, path: Path, walked_n: int) -> None:
    """Check that no evidence and no place in the outbox stands behind the last row, where nothing owns it.

    A row that is written meanwhile comes with both, in one commit: so a look at all of them at once tells it
    from what somebody put there. A start would refuse it. Raises JournalFault.
    """
    for table in ("evidence", "outbox"):
        statement = (
            f"SELECT n FROM {table} WHERE n > ? AND NOT EXISTS "  # noqa: S608 - names of our own
            f"(SELECT 1 FROM rows WHERE rows.n = {table}.n) LIMIT 1"
        )
        stray = fetch_one(connection, path, statement, (walked_n,))
        if stray is not None:
            where = f"{path}, table {table}"
            raise JournalFault("journal_row_moved", where, f"row {stray[0]}", "rows of the journal alone")


def verify_all(
    connection: apsw.Connection, path: Path, progress: Progress | None, *, every_signature: bool
) -> tuple[Verified, Keyring]:
    """Check the file's pages, then every row and its signature; return it with the keys that signed it.

    Raises:
        JournalFault: the first fault.
    """
    try:
        said = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
    except apsw.Error as error:
        raise fault_of(error, path) from error
    if said != ["ok"]:
        raise JournalFault("journal_damaged", path, said[0].replace("\n", "; "), "a sound database")
    check_strays(connection, path)
    walk = Walk(connection, path)
    verified = walk.run(progress, every_signature=every_signature)
    _check_unowned(connection, path, walk.n)
    return verified, walk.keyring
