"""The journal's SQLite database, and the statements that write, read and prune its rows.

Pruning removes evidence and the bodies of outcomes. Their digests, with which the chain is verified, are
kept.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast
from urllib.parse import quote

import apsw
import msgspec

from controller.journal.chain import Row, WallTime, genesis
from controller.journal.contents import PRUNED, PruningDecision
from controller.journal.faults import JournalFault
from controller.journal.lock import lock_path, os_fault, sync_directory
from controller.journal.schema import ALL_SIGNED, DROP_GUARDS, GUARDS, check_schema, migrate, version_of

MIN_SQLITE = (3, 51, 3)
"""Older versions can lose commits when two connections write or checkpoint a WAL at the same time."""
SYNCHRONOUS = "FULL"
"""Each commit waits for the disk. With NORMAL, a power cut could lose the last commits."""
BUSY_MS = 2000
SHARED_MEMORY_BYTES = 32_768
"""Minimum size of a database's `-shm` file (sqlite.org/walformat.html)."""
_EXPECTED = {"journal_mode": "wal", "synchronous": 2, "wal_autocheckpoint": 0}
_WRITER_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
"""
SIGNED_EVENT_CLAUSE = "WHERE seq IS NULL AND signature IS NOT NULL AND name = ?"
"""A clause that selects signed events of one name, such as checkpoints, using an index."""
_SELECT = """
SELECT n, name, seq, wall_us, synced, body, after, digest, evidence_digest, link, signature FROM rows
"""
_SELECT_WITH_EVIDENCE = """
SELECT n, name, seq, wall_us, synced, body, after, digest, evidence_digest, link, signature, packed
FROM rows LEFT JOIN evidence USING (n)
"""
_INSERT = """
INSERT INTO rows (n, name, seq, wall_us, synced, body, after, digest, evidence_digest, link, signature)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_Columns = tuple[
    int,
    str,
    int | None,
    int,
    int,
    bytes | None,
    bytes | None,
    bytes,
    bytes | None,
    bytes,
    bytes | None,
    bytes | None,
]


class Origin:
    """A journal's origin: the table, its first public key, and the time of creation."""

    def __init__(self, table: str, public_key: bytes, created: WallTime) -> None:
        self.table = table
        self.public_key = public_key
        self.created = created
        self.link = genesis(table, public_key, created)


def open_writer(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Open the only connection that writes, and check its pragmas and schema.

    An empty file is given the newest layout. A file with a layout before `ALL_SIGNED` is not migrated,
    because a person must first accept it.

    Raises JournalFault if SQLite is too old, a pragma was refused, or the file is not a journal.
    """
    check_sqlite()
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    try:
        connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    try:
        connection.set_busy_timeout(BUSY_MS)
        version = version_of(connection, str(path))
        connection.execute(_WRITER_PRAGMAS + f"PRAGMA synchronous = {SYNCHRONOUS}").fetchall()
        _check_pragmas(connection, path)
        if not 0 < version < ALL_SIGNED:
            migrate(connection, str(path))
        check_schema(connection, str(path))
    except apsw.Error as error:
        connection.close()
        raise sqlite_fault(error, path) from error
    except JournalFault:
        connection.close()
        raise
    sync_directory(path.parent)
    return connection


class OpenFiles:
    """Detects when a file of a journal that is open for writing is deleted, renamed or replaced."""

    def __init__(self, journal: Path, head: Path) -> None:
        """Record the identities of the files. Raises OSError if a file is missing."""
        companions = (journal.with_name(journal.name + ending) for ending in ("-wal", "-shm"))
        files = (journal, *companions, lock_path(journal), head)
        self._opened = {file: _device_and_inode(file) for file in files}

    def fault(self) -> JournalFault | None:
        """Return a fault for the first deleted, renamed or replaced file; None if there is none."""
        for file, opened in self._opened.items():
            try:
                found = None if _device_and_inode(file) == opened else "another file with this name"
            except OSError as error:
                found = error.strerror or str(error)
            if found is not None:
                return JournalFault("journal_taken_away", file, found, "the file that the controller opened")
        return None


def _device_and_inode(file: Path) -> tuple[int, int]:
    existing = file.stat()
    return existing.st_dev, existing.st_ino


def open_reader(path: Path) -> apsw.Connection:
    """Open a read-only connection. Any thread or process may do this.

    Raises JournalFault if the journal is missing or can't be read.
    """
    check_sqlite()
    try:
        path.stat()
    except FileNotFoundError as error:
        raise JournalFault("journal_absent", path, "no file", "a table's journal") from error
    except OSError as error:
        raise os_fault(error, path, "a readable journal") from error
    try:
        try:
            connection, version = _open_for_reading(path, "mode=ro")
        except apsw.CantOpenError:
            if path.with_name(path.name + "-wal").exists():
                raise
            # SQLite can't create the WAL index on a read-only disk, where the file can't change.
            connection, version = _open_for_reading(path, "mode=ro&immutable=1")
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    if version == 0:
        connection.close()
        raise JournalFault("journal_empty", path, "an empty database", "a journal with its first row")
    try:
        check_schema(connection, str(path))
    except apsw.Error as error:
        connection.close()
        raise sqlite_fault(error, path) from error
    except JournalFault:
        connection.close()
        raise
    return connection


def last_row_number(path: Path) -> int:
    """Return the number of a journal's last row, or 0 if it has none, without creating any file.

    Without a WAL file the database is opened as immutable, because SQLite would otherwise create one. Call
    this only while no process writes to the journal. Raises JournalFault if the file can't be read.
    """
    wal = path.with_name(path.name + "-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    try:
        connection, version = _open_for_reading(path, "mode=ro" if has_wal else "mode=ro&immutable=1")
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    try:
        found = fetch_one(connection, path, "SELECT max(n) FROM rows") if version else None
    finally:
        connection.close()
    return int(str(found[0])) if found and found[0] is not None else 0


def _open_for_reading(path: Path, mode: str) -> tuple[apsw.Connection, int]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path))}?{mode}", flags=flags)
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON").fetchall()
    return connection, version_of(connection, str(path))


def check_sqlite() -> None:
    """Raise JournalFault if the SQLite library is older than MIN_SQLITE."""
    found = apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")[:3]) < MIN_SQLITE:
        expected = ".".join(map(str, MIN_SQLITE)) + " or newer"
        raise JournalFault("journal_sqlite_too_old", "apsw", f"SQLite {found}", f"SQLite {expected}")


def sqlite_fault(error: apsw.Error, path: Path) -> JournalFault:
    """Convert an SQLite error to a journal fault."""
    code = next(
        (code for kinds, code in _CODES if isinstance(error, kinds)),
        "journal_write_failed",
    )
    if code == "journal_io_error" and _is_full(path.parent):
        # SQLite reports an I/O error when the disk has no space for the `-shm` file.
        code = "journal_disk_full"
    if code == "journal_read_only" and (file := _inaccessible_file(path)) is not None:
        return JournalFault("journal_no_access", file, "no access for this user", "read and write access")
    return JournalFault(code, path, str(error) or type(error).__name__, "a usable journal on a working disk")


def _is_full(folder: Path) -> bool:
    """Return whether the disk has less free space than SQLite's smallest `-shm` file needs."""
    with suppress(OSError):
        disk = os.statvfs(folder)
        return disk.f_bavail * disk.f_frsize < SHARED_MEMORY_BYTES
    return False


def _inaccessible_file(path: Path) -> Path | None:
    """Return the first file or folder that this user can't both read and write; None on a read-only disk."""
    try:
        if os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return None
        files = [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]
        existing = [file for file in files if file.exists()]
    except OSError:
        return path.parent
    rights = os.R_OK | os.W_OK
    return next(
        (file for file in (*existing, path.parent) if not os.access(file, rights, effective_ids=True)), None
    )


_CODES: tuple[tuple[type[apsw.Error] | tuple[type[apsw.Error], ...], str], ...] = (
    (apsw.FullError, "journal_disk_full"),
    ((apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError), "journal_read_only"),
    (apsw.IOError, "journal_io_error"),
    (apsw.CorruptError, "journal_damaged"),
    (apsw.NotADBError, "journal_not_one"),
)


def read_origin(connection: apsw.Connection, path: Path) -> Origin | None:
    """Return the journal's origin; None if it has not been written yet."""
    found = fetch_one(connection, path, "SELECT name, public_key, created_us, synced FROM journal")
    if found is None:
        return None
    table, public_key, created_us, synced = cast("tuple[str, bytes, int, int]", found)
    return Origin(table, public_key, WallTime(created_us, bool(synced)))


def write_origin(connection: apsw.Connection, origin: Origin) -> None:
    """Write a new journal's origin."""
    created = origin.created
    connection.execute(
        "INSERT INTO journal VALUES (1, ?, ?, ?, ?)",
        (origin.table, origin.public_key, created.us, int(created.synced)),
    )


def rows_where(
    connection: apsw.Connection,
    path: Path,
    clause: str,
    values: Sequence[int | str] = (),
    *,
    with_evidence: bool = False,
) -> Iterator[Row]:
    """Yield the rows selected by a clause. Raises JournalFault if the file is damaged."""
    try:
        select = _SELECT_WITH_EVIDENCE if with_evidence else _SELECT
        for columns in connection.execute(f"{select} {clause}", values):
            yield _row(cast("_Columns", columns if with_evidence else (*columns, None)))
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    except UnicodeDecodeError as error:
        raise _encoding_fault(path, error) from error


def fetch_one(
    connection: apsw.Connection, path: Path, statement: str, values: Sequence[int | str] = ()
) -> "tuple[apsw.SQLiteValue, ...] | None":
    """Return the first row of a query's result. Raises JournalFault if the file is damaged."""
    try:
        return connection.execute(statement, values).fetchone()
    except apsw.Error as error:
        raise sqlite_fault(error, path) from error
    except UnicodeDecodeError as error:
        raise _encoding_fault(path, error) from error


def _encoding_fault(path: Path, error: UnicodeDecodeError) -> JournalFault:
    """Return the fault for text that is not UTF-8. SQLite can return such text from overwritten pages."""
    return JournalFault(
        "journal_damaged", path, f"text that is not UTF-8 ({error.reason})", "an undamaged database"
    )


def insert(
    connection: apsw.Connection, rows: Sequence[Row], closed: Sequence[int], *, all_signed: bool = False
) -> None:
    """Write rows with their evidence and outbox entries, and delete the `closed` entries, in one commit.

    With `all_signed`, the commit also sets the layout version to `ALL_SIGNED`.
    """
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(_INSERT, [_columns(row) for row in rows])
        for row in rows:
            if row.evidence is not None:
                connection.execute("INSERT INTO evidence VALUES (?, ?)", (row.n, row.evidence))
            if row.seq is not None:
                connection.execute("INSERT INTO outbox VALUES (?)", (row.n,))
        for n in closed:
            connection.execute("DELETE FROM outbox WHERE n = ?", (n,))
        if all_signed:
            connection.execute(f"PRAGMA user_version = {ALL_SIGNED}")
        connection.execute("COMMIT")
    except apsw.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _columns(row: Row) -> tuple[int | str | bytes | None, ...]:
    wall = row.wall
    return (
        row.n,
        row.name,
        row.seq,
        wall.us,
        int(wall.synced),
        row.body,
        row.after,
        row.digest,
        row.evidence_digest,
        row.link,
        row.signature,
    )


def _row(columns: _Columns) -> Row:
    n, name, seq, wall_us, synced, body, after, digest, evidence_digest, link, signature, packed = columns
    return Row(
        n=n,
        name=name,
        seq=seq,
        wall=WallTime(wall_us, bool(synced)),
        body=body,
        after=after,
        digest=digest,
        evidence_digest=evidence_digest,
        link=link,
        signature=signature,
        evidence=packed,
    )


def _check_pragmas(connection: apsw.Connection, path: Path) -> None:
    for name, expected in _EXPECTED.items():
        found = connection.pragma(name)
        if found != expected and not (name == "synchronous" and SYNCHRONOUS != "FULL"):
            raise JournalFault("journal_pragma_refused", path, f"{name} = {found}", f"{name} = {expected}")


PRUNE_BATCH_ROWS = 500
"""Maximum number of rows pruned in one commit. With this limit, pruning delays outcomes only briefly."""
_decode_pruned = msgspec.json.Decoder(PruningDecision).decode


def first_row_since(connection: apsw.Connection, path: Path, wall_us: int) -> int:
    """Return the number of the first row at or after this wall time; all earlier rows are older.

    If the clock was ahead for a while, the rows written from then on are kept longer than necessary.
    """
    found = fetch_one(connection, path, "SELECT min(n) FROM rows WHERE wall_us >= ?", (wall_us,))
    last = fetch_one(connection, path, "SELECT coalesce(max(n), 0) + 1 FROM rows")
    assert last is not None
    number = last[0] if found is None or found[0] is None else found[0]
    assert isinstance(number, int)
    return number


def has_prunable(connection: apsw.Connection, path: Path, evidence_below: int, bodies_below: int) -> bool:
    """Return whether there is evidence, or a body of an outcome, before these rows."""
    sql = (
        "SELECT EXISTS(SELECT 1 FROM evidence WHERE n < ?)"
        " OR EXISTS(SELECT 1 FROM rows WHERE n < ? AND seq IS NOT NULL AND body IS NOT NULL)"
    )
    return fetch_one(connection, path, sql, (evidence_below, bodies_below)) == (1,)


def prune_batch(connection: apsw.Connection, path: Path) -> bool:
    """Prune a batch of the rows covered by signed decisions; return False if none are left."""
    evidence_below = bodies_below = 0
    for pruned in _decisions(connection, path):
        evidence_below = max(evidence_below, pruned.evidence_below)
        bodies_below = max(bodies_below, pruned.bodies_below)
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(DROP_GUARDS)
        connection.execute(
            "DELETE FROM evidence WHERE n IN (SELECT n FROM evidence WHERE n < ? ORDER BY n LIMIT ?)",
            (evidence_below, PRUNE_BATCH_ROWS),
        )
        dropped = connection.changes()
        connection.execute(
            "UPDATE rows SET body = NULL, after = NULL WHERE n IN (SELECT n FROM rows WHERE n < ?"
            " AND seq IS NOT NULL AND body IS NOT NULL ORDER BY n LIMIT ?)",
            (bodies_below, PRUNE_BATCH_ROWS),
        )
        dropped += connection.changes()
        connection.execute(GUARDS)
        connection.execute("COMMIT")
    except apsw.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return dropped > 0


def _decisions(connection: apsw.Connection, path: Path) -> Iterator[PruningDecision]:
    for row in rows_where(connection, path, SIGNED_EVENT_CLAUSE, (PRUNED,)):
        if row.body is not None:
            yield _decode_pruned(row.body)
