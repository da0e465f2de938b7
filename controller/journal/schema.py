"""The file's layout, its version, and the way forward from older ones."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import apsw

from controller.journal.faults import JournalFault

APPLICATION_ID = 0x74626C6A
"""`tblj`, in the file's own header."""

_ROWS = """
CREATE TABLE journal (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    name       TEXT    NOT NULL,
    public_key BLOB    NOT NULL,
    created_us INTEGER NOT NULL,
    synced     INTEGER NOT NULL
) STRICT;
CREATE TABLE rows (
    n               INTEGER PRIMARY KEY,
    name            TEXT    NOT NULL,
    seq             INTEGER,
    wall_us         INTEGER NOT NULL,
    synced          INTEGER NOT NULL,
    body            BLOB,
    after           BLOB,
    digest          BLOB    NOT NULL,
    evidence_digest BLOB,
    link            BLOB    NOT NULL,
    signature       BLOB
) STRICT;
CREATE UNIQUE INDEX outcomes ON rows (seq) WHERE seq IS NOT NULL;
CREATE INDEX landmarks ON rows (name) WHERE seq IS NULL AND signature IS NOT NULL;
CREATE TABLE evidence (
    n      INTEGER PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE outbox (n INTEGER PRIMARY KEY) STRICT;
"""
_GUARDED = (("DELETE", "rows"), ("UPDATE", "rows"), ("DELETE", "evidence"), ("UPDATE", "evidence"))
GUARDS = "".join(
    f"CREATE TRIGGER no_{change.lower()}_of_{table} BEFORE {change} ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;"
    for change, table in _GUARDED
)
"""Against accidents with another program, not against its owner, whom the chain guards against."""
NO_GUARDS = "".join(f"DROP TRIGGER no_{change.lower()}_of_{table};" for change, table in _GUARDED)

Migration = Callable[[apsw.Connection], None]


def _first_layout(connection: apsw.Connection) -> None:
    connection.execute(_ROWS + GUARDS)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _all_signed(_connection: apsw.Connection) -> None:
    """Change no table: from this version on each commit's last row and each head record is signed."""


MIGRATIONS: tuple[Migration, ...] = (_first_layout, _all_signed)
"""The step from each version to the next, version 0 being an empty file."""
ALL_SIGNED = 2
"""The first version in which no row and no head record goes unsigned; older files need a person's word."""


def migrate(connection: apsw.Connection, where: str) -> None:
    """Bring the file forward, each step in a transaction of its own.

    Raises:
        JournalFault: it is no journal, or of a newer version.
    """
    version = version_of(connection, where)
    for number in range(version, len(MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def version_of(connection: apsw.Connection, where: str) -> int:
    """Return the layout's version, 0 for an empty file.

    Raises:
        JournalFault: it is no journal, or of a newer version.
    """
    version = connection.pragma("user_version")
    application = connection.pragma("application_id")
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    assert isinstance(version, int)
    if not (application == APPLICATION_ID or (empty and version == 0 and application == 0)):
        raise JournalFault("journal_not_one", where, "a database of another program", "a table's journal")
    if version > len(MIGRATIONS):
        found = f"layout version {version}"
        raise JournalFault("journal_newer", where, found, f"at most version {len(MIGRATIONS)}")
    return version


class _Part(NamedTuple):
    """One table, index, trigger or view, and the statement that made it."""

    kind: str
    name: str
    table: str
    statement: str | None


def check_schema(connection: apsw.Connection, where: str) -> None:
    """Check that a journal has exactly the tables, indexes and triggers of its version.

    A trigger more would change what a commit writes, an index or view what a search finds.

    Raises:
        JournalFault: a part is missing, differs, or is not ours.
    """
    version = version_of(connection, where)
    found, expected = _parts(connection), _expected(MIGRATIONS[:version])
    wrong = sorted(found ^ expected)
    if wrong:
        part = wrong[0]
        theirs = f"{part.kind} {part.name!r}"
        if part in found:
            says = f"{theirs}, made by: {' '.join((part.statement or 'unknown').split())[:200]}"
        else:
            says = f"no {theirs} as the layout has it"
        raise JournalFault("journal_schema_changed", where, says, f"the parts of layout {version} alone")


def _parts(connection: apsw.Connection) -> frozenset[_Part]:
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return frozenset(
        _Part(str(kind), str(name), str(table), None if statement is None else str(statement))
        for kind, name, table, statement in found
    )


@cache
def _expected(migrations: tuple[Migration, ...]) -> frozenset[_Part]:
    """Return the parts that these steps make of an empty file."""
    connection = apsw.Connection(":memory:")
    for step in migrations:
        step(connection)
    parts = _parts(connection)
    connection.close()
    return parts
