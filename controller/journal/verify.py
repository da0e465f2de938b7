"""Walk the chain: every row in its place, unchanged, signed where it must be, and nothing missing."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.chain import Row, digest_of, link_of
from controller.journal.contents import CHECKPOINT, CLOSED, LANDMARKS, PRUNED, Ack, Pruned
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.memory import Memory, checkpoint_of
from controller.journal.store import LANDMARK, fault_of, fetch_one, origin_of, rows_where

SLICE = 1000
"""Rows read at a time: a longer look would keep the WAL from being checkpointed."""

Progress = Callable[[int, int], None]
"""Hears how many rows have been walked, and how many there are."""

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


class Walk:
    """One walk along a journal's rows."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        """Start before the first row; raises JournalFault where the journal was never begun."""
        origin = origin_of(connection, path)
        if origin is None:
            raise JournalFault("journal_empty", path, "a journal that nobody began", "one with its first row")
        self.memory = Memory()
        self.n = 0
        self.link = origin.link
        self.last: Row | None = None
        self.evidence_below = 0
        self.bodies_below = 0
        self._connection = connection
        self._path = path
        self._key = PublicKey(origin.public_key)
        self._from = 0
        self._open: set[int] = set()
        self._by_id: dict[str, int] = {}
        self._counts = {"outcomes": 0, "signatures": 0, "evidence": 0, "dropped": 0}
        self._read_pruning()

    def skip_to_last_checkpoint(self) -> None:
        """Go on from before the last checkpoint; its signature vouches for the rows before it."""
        clause = f"{LANDMARK} ORDER BY n DESC LIMIT 1"
        checkpoint = next(rows_where(self._connection, self._path, clause, (CHECKPOINT,)), None)
        if checkpoint is None or checkpoint.n == 1:
            return
        before = next(rows_where(self._connection, self._path, "WHERE n = ?", (checkpoint.n - 1,)), None)
        if before is None:
            raise self._fault(
                "journal_row_missing", checkpoint.n - 1, "no such row", "every row in its place"
            )
        self.n, self.link = before.n, before.link
        self._from = before.n
        self._check(checkpoint)
        if checkpoint.body is not None:
            self.memory = checkpoint_of(checkpoint.body).memory

    def run(self, progress: Progress | None = None, *, every_signature: bool = True) -> Verified:
        """Walk on to the end; raises JournalFault at the first row that is not in order.

        Without `every_signature` only those of checkpoints and the like are checked, not each outcome's own.
        """
        first = self.n
        while True:
            clause = "WHERE n > ? ORDER BY n LIMIT ?"
            rows = list(rows_where(self._connection, self._path, clause, (self.n, SLICE), proved=True))
            if not rows:
                break
            for row in rows:
                self._check(row, signature=every_signature or row.seq is None)
                self._take(row)
            if progress is not None:
                total = fetch_one(self._connection, self._path, "SELECT max(n) FROM rows")
                progress(self.n, int(str(total[0])) if total else self.n)
        self._check_outbox()
        return Verified(rows=self.n - first, last_n=self.n, last_link=self.link, **self._counts)

    def _check(self, row: Row, *, signature: bool = True) -> None:
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
        if row.seq is None and row.name not in LANDMARKS:
            return
        if row.signature is None or (signature and not self._key.signed(row.link, row.signature)):
            raise self._fault(
                "journal_bad_signature", row.n, "a signature that is not the key's", "the table's own"
            )

    def _check_dropped(self, row: Row) -> None:
        if row.n >= self.bodies_below or row.seq is None:
            raise self._fault("journal_row_changed", row.n, "no contents", "contents: nobody pruned it")
        self._counts["dropped"] += 1

    def _check_evidence(self, row: Row) -> None:
        if row.evidence_digest is None:
            if row.evidence is not None:
                raise self._fault("journal_row_changed", row.n, "evidence", "none, as its digest says")
        elif row.evidence is None:
            if row.n >= self.evidence_below:
                raise self._fault("journal_row_changed", row.n, "no evidence", "evidence: nobody pruned it")
            self._counts["dropped"] += row.body is not None
        elif sha256(row.evidence).digest() != row.evidence_digest:
            raise self._fault("journal_row_changed", row.n, "other evidence", "what its digest says")
        else:
            self._counts["evidence"] += 1

    def _take(self, row: Row) -> None:
        if row.seq is not None and row.seq != self.memory.seq + 1 and self.memory.seq:
            found = f"outcome number {row.seq}"
            raise self._fault("journal_row_missing", row.n, found, f"outcome number {self.memory.seq + 1}")
        self.n, self.link, self.last = row.n, row.link, row
        self.memory.take(row)
        if row.seq is not None:
            self._open.add(row.n)
            self._counts["outcomes"] += 1
        self._counts["signatures"] += row.signature is not None
        if row.name == CLOSED and row.body is not None:
            self._open.discard(self._row_of(_ACK.decode(row.body)))

    def _row_of(self, ack: Ack) -> int:
        seq = int(ack.id.rpartition("/")[2])
        found = fetch_one(self._connection, self._path, "SELECT n FROM rows WHERE seq = ?", (seq,))
        return int(str(found[0])) if found else 0

    def _check_outbox(self) -> None:
        """Compare the outbox with what the walked rows leave open."""
        clause = "SELECT n FROM outbox WHERE n > ? AND n <= ?"
        try:
            found = {int(str(n)) for (n,) in self._connection.execute(clause, (self._from, self.n))}
        except apsw.Error as error:
            raise fault_of(error, self._path) from error
        if found != self._open and not self._open_since(found):
            row = min(found ^ self._open)
            says = "open" if row in found else "closed"
            raise self._fault(
                "journal_outbox_differs", row, f"its place in the outbox {says}", "the opposite"
            )

    def _open_since(self, found: set[int]) -> bool:
        """Tell whether acknowledgements that came in during the walk account for the difference."""
        late = rows_where(self._connection, self._path, "WHERE n > ? AND name = ?", (self.n, CLOSED))
        closed = {self._row_of(_ACK.decode(row.body)) for row in late if row.body}
        return found == self._open - closed

    def _read_pruning(self) -> None:
        clause = f"{LANDMARK} ORDER BY n"
        for row in rows_where(self._connection, self._path, clause, (PRUNED,)):
            if row.body is not None:
                pruned = _PRUNED.decode(row.body)
                self.evidence_below = max(self.evidence_below, pruned.evidence_below)
                self.bodies_below = max(self.bodies_below, pruned.bodies_below)

    def _fault(self, code: str, n: int, found: str, expected: str) -> JournalFault:
        return JournalFault(code, f"{self._path}, row {n}", found, expected)


def verify_all(
    connection: apsw.Connection, path: Path, progress: Progress | None, *, every_signature: bool
) -> Verified:
    """Check the file's pages, then every row and its signature; raises JournalFault at the first fault."""
    try:
        said = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
    except apsw.Error as error:
        raise fault_of(error, path) from error
    if said != ["ok"]:
        raise JournalFault("journal_damaged", path, said[0].replace("\n", "; "), "a sound database")
    return Walk(connection, path).run(progress, every_signature=every_signature)
