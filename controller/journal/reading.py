"""Reading a journal. Any process can read a journal at any time without blocking the writer."""

from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import msgspec

from controller.journal.chain import Row, contents_digest
from controller.journal.contents import CHECKPOINT, SESSION_STARTED, Identity, decode_outcome, unpack
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation, check_head, read_head
from controller.journal.keys import PublicKey
from controller.journal.store import (
    SIGNED_EVENT_CLAUSE,
    Origin,
    fetch_one,
    first_row_since,
    has_prunable,
    open_reader,
    read_origin,
    rows_where,
)
from controller.journal.verify import Keyring, Progress, VerificationResult, read_keyring, verify_all

SLICE = 500
_encode = msgspec.json.Encoder().encode
_decode_identity = msgspec.json.Decoder(Identity).decode


class Rows(Protocol):
    """Access to a journal's rows, in its file or through a running controller."""

    path: Path
    origin: Origin

    def rows(
        self, from_n: int = 1, to_n: int | None = None, types: Collection[str] = (), *, evidence: bool = False
    ) -> Iterator[Row]:
        """Yield rows from `from_n` to `to_n` inclusive, in order; with `types`, only rows of these types."""

    def find(self, outcome_id: str) -> Row:
        """Return an outcome's row by its id."""

    def identity_at(self, n: int) -> Identity | None:
        """Return the identity of the session that wrote this row; None before the first session."""

    def key_at(self, n: int) -> PublicKey:
        """Return the key that signs this row."""

    def last_n(self) -> int:
        """Return the number of the last row."""


class Reader:
    """A journal open for reading only, for use in one thread."""

    def __init__(self, path: Path) -> None:
        """Open the journal. Raises JournalFault if it is missing or can't be read."""
        self.path = path
        self._connection = open_reader(path)
        origin = read_origin(self._connection, path)
        if origin is None:
            self._connection.close()
            raise JournalFault("journal_empty", path, "an empty journal", "a journal with its first row")
        self.origin: Origin = origin

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def rows(
        self,
        from_n: int = 1,
        to_n: int | None = None,
        types: Collection[str] = (),
        *,
        evidence: bool = False,
    ) -> Iterator[Row]:
        """Yield rows from `from_n` to `to_n` inclusive, in order; with `types`, only rows of these types.

        Raises JournalFault if the file is damaged.
        """
        clause = "WHERE n >= ? AND n <= ? ORDER BY n LIMIT ?"
        last_n = 2**62 if to_n is None else to_n
        while True:
            values = (from_n, last_n, SLICE)
            rows = list(rows_where(self._connection, self.path, clause, values, with_evidence=evidence))
            for row in rows:
                if not types or row.name in types:
                    yield row
            if len(rows) < SLICE:
                return
            from_n = rows[-1].n + 1

    def outbox(self, limit: int = 100, after_n: int = 0) -> list[Row]:
        """Return the first unacknowledged outcomes after a row, in order."""
        clause = "JOIN outbox USING (n) WHERE n > ? ORDER BY n LIMIT ?"
        return list(rows_where(self._connection, self.path, clause, (after_n, limit)))

    def outbox_size(self) -> int:
        """Return the number of outcomes that settlement has not acknowledged."""
        found = fetch_one(self._connection, self.path, "SELECT count(*) FROM outbox")
        assert found is not None
        return int(str(found[0]))

    def find(self, outcome_id: str) -> Row:
        """Return an outcome's row by its id, with its evidence.

        Raises JournalFault if the journal has no outcome with this id.
        """
        number = outcome_id.rpartition("/")[2]
        if number.isascii() and number.isdigit() and len(number) < 19:
            values = (int(number),)
            row = next(
                rows_where(self._connection, self.path, "WHERE seq = ?", values, with_evidence=True), None
            )
            if row is not None and (row.body is None or decode_outcome(row.body).id == outcome_id):
                return row
        raise JournalFault(
            "journal_no_such_outcome", self.path, f"no outcome {outcome_id}", "the id of a published outcome"
        )

    def identity_at(self, n: int) -> Identity | None:
        """Return the identity of the session that wrote this row; None before the first session."""
        clause = f"{SIGNED_EVENT_CLAUSE} AND n <= ? ORDER BY n DESC LIMIT 1"
        row = next(rows_where(self._connection, self.path, clause, (SESSION_STARTED, n)), None)
        return None if row is None or row.body is None else _decode_identity(row.body)

    def keyring(self) -> Keyring:
        """Return the journal's keys. Raises JournalFault if a key replacement is invalid."""
        return read_keyring(self._connection, self.path, PublicKey(self.origin.public_key))

    def key_at(self, n: int) -> PublicKey:
        """Return the key that signs this row. Raises JournalFault if a key replacement is invalid."""
        return self.keyring().at(n)

    def first_since(self, wall_us: int) -> int:
        """Return the number of the first row at or after this wall time."""
        return first_row_since(self._connection, self.path, wall_us)

    def last_n(self) -> int:
        """Return the number of the last row."""
        return self.first_since(2**62) - 1

    def has_older(self, evidence_before_us: int, bodies_before_us: int) -> bool:
        """Return whether evidence or outcomes' bodies older than these wall times can be pruned."""
        limit = self.prunable_below()
        evidence_below = min(limit, self.first_since(evidence_before_us))
        bodies_below = min(limit, self.first_since(bodies_before_us))
        return has_prunable(self._connection, self.path, evidence_below, bodies_below)

    def prunable_below(self) -> int:
        """Return the row before which pruning is allowed.

        This is the last checkpoint or the oldest unacknowledged outcome, whichever is earlier.
        """
        clause = f"{SIGNED_EVENT_CLAUSE} ORDER BY n DESC LIMIT 1"
        checkpoint = next(rows_where(self._connection, self.path, clause, (CHECKPOINT,)), None)
        if checkpoint is None:
            return 1
        return min([checkpoint.n, *(row.n for row in self.outbox(1))])

    def verify_all(
        self, progress: Progress | None = None, *, every_signature: bool = True, head: Path | None = None
    ) -> VerificationResult:
        """Check every page, row and signature. With the path of the head file, also check the journal's end.

        Without `every_signature`, the check skips the signatures of outcomes and takes a fraction of the
        time. The signature of a checkpoint still authenticates all rows before it.

        Raises JournalFault at the first fault.
        """
        # Read the head first, because a running controller might write further rows and records.
        recorded = None if head is None else read_head(head)
        found, keys = verify_all(self._connection, self.path, progress, every_signature=every_signature)
        unauthenticated = found.unauthenticated
        if head is not None:
            place = JournalLocation(self.path, head)
            try:
                table = self.origin.table
                check_head(self._connection, found.last_n, place, recorded, table=table, keys=keys)
            except JournalFault as fault:
                if fault.code != "journal_head_unsigned":
                    raise
                unauthenticated = (*unauthenticated, f"the end of the journal: {head} is unsigned")
        else:
            unauthenticated = (
                *unauthenticated,
                "the end of the journal: without a head file, rows might be missing there",
            )
        return found._replace(unauthenticated=unauthenticated)

    def export(
        self, stream: BinaryIO, from_n: int = 1, to_n: int | None = None, types: Collection[str] = ()
    ) -> int:
        """Write the journal's origin and then its rows as JSON Lines; return the number of rows.

        Raises JournalFault if the file is damaged or a row does not match its digests. The rows written
        before the fault are valid.
        """
        origin = self.origin
        stream.write(
            _encode(
                {
                    "journal": "table-journal",
                    "version": 1,
                    "table": origin.table,
                    "public_key": origin.public_key.hex(),
                    "created_us": origin.created.us,
                    "genesis": origin.link.hex(),
                }
            )
            + b"\n"
        )
        count = 0
        for row in self.rows(from_n, to_n, types, evidence=True):
            check_contents(row, self.path)
            stream.write(_encode(_exported(row)) + b"\n")
            count += 1
        return count


def check_contents(row: Row, path: Path) -> None:
    """Raise JournalFault if a row does not match its digests."""
    contents_match = row.body is None or contents_digest(row.body, row.after) == row.digest
    evidence_matches = row.evidence is None or sha256(row.evidence).digest() == row.evidence_digest
    where = f"{path}, row {row.n}"
    if not contents_match:
        raise JournalFault("journal_row_changed", where, "changed contents", "contents that match its digest")
    if not evidence_matches:
        raise JournalFault(
            "journal_row_changed", where, "changed evidence", "evidence that matches its digest"
        )


def _exported(row: Row) -> dict[str, object]:
    return {
        "n": row.n,
        "name": row.name,
        "seq": row.seq,
        "wall_us": row.wall.us,
        "synced": row.wall.synced,
        "body": None if row.body is None else msgspec.Raw(row.body),
        "after": None if row.after is None else msgspec.Raw(row.after),
        "evidence": None if row.evidence is None else unpack(row.evidence),
        "digest": row.digest.hex(),
        "evidence_digest": None if row.evidence_digest is None else row.evidence_digest.hex(),
        "link": row.link.hex(),
        "signature": None if row.signature is None else row.signature.hex(),
    }


class Outbox(Protocol):
    """The methods of `Reader` that publishing uses."""

    path: Path

    def outbox(self, limit: int = ..., after_n: int = ...) -> list[Row]:
        """Return the first unacknowledged outcomes after a row, in order."""

    def rows(self, from_n: int = ..., to_n: int | None = ...) -> Iterator[Row]:
        """Yield rows in order."""

    def close(self) -> None:
        """Close the connection."""


def outcome_at(outbox: Outbox, seq: int) -> Row | None:
    """Return the row of outcome number `seq`; None if there is none. Raises JournalFault."""
    n = find_row_number(outbox, seq)
    row = None if n is None else next(iter(outbox.rows(n, n)), None)
    return row if row is not None and row.seq == seq else None


def find_row_number(outbox: Outbox, seq: int) -> int | None:
    """Return the row number of the first outcome numbered `seq` or higher; None if there is none.

    The function combines an exponential and a binary search. Raises JournalFault.
    """
    low, high = 1, 1
    while (outcome := _first_outcome(outbox, high)) is not None and outcome[1] < seq:
        low, high = outcome[0] + 1, 2 * outcome[0]
    while low < high:
        middle = (low + high) // 2
        outcome = _first_outcome(outbox, middle)
        if outcome is None or outcome[1] >= seq:
            high = middle
        else:
            low = outcome[0] + 1
    outcome = _first_outcome(outbox, low)
    return None if outcome is None else outcome[0]


def _first_outcome(outbox: Outbox, from_n: int) -> tuple[int, int] | None:
    """Return the row number and outcome number of the first outcome at or after this row."""
    return next(((row.n, row.seq) for row in outbox.rows(from_n) if row.seq is not None), None)
