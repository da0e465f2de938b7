"""The layout of the journal's database, its version, and the migrations from older versions."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import apsw

from controller.journal.faults import JournalFault

APPLICATION_ID = 0x74626C6A
"""`tblj` in ASCII; stored in the header of the database file."""

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
"""Triggers that prevent accidental changes by another program. The chain reveals deliberate changes."""
DROP_GUARDS = "".join(f"DROP TRIGGER no_{change.lower()}_of_{table};" for change, table in _GUARDED)

Migration = Callable[[apsw.Connection], None]


def _first_layout(connection: apsw.Connection) -> None:
    connection.execute(_ROWS + GUARDS)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _all_signed(_connection: apsw.Connection) -> None:
    """Change no tables. As of this version, the last row of a commit and all head records are signed."""


MIGRATIONS: tuple[Migration, ...] = (_first_layout, _all_signed)
"""The migrations from each version to the next. Version 0 is an empty file."""
ALL_SIGNED = 2
"""The first version whose signatures cover all rows and head records.

A person must accept an older journal before the table continues with it.
"""


def migrate(connection: apsw.Connection, where: str) -> None:
    """Migrate the file to the newest version, with one transaction for each version.

    Raises JournalFault if the file is not a journal or its version is newer than this release supports.
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
    """Return the version of the layout; 0 for an empty file.

    Raises JournalFault if the file is not a journal or its version is newer than this release supports.
    """
    version = connection.pragma("user_version")
    application = connection.pragma("application_id")
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    assert isinstance(version, int)
    if not (application == APPLICATION_ID or (empty and version == 0 and application == 0)):
        raise JournalFault("journal_not_one", where, "another program's database", "a table's journal")
    if version > len(MIGRATIONS):
        found = f"layout version {version}"
        raise JournalFault("journal_newer", where, found, f"at most version {len(MIGRATIONS)}")
    return version


class _Part(NamedTuple):
    """A table, index, trigger or view, and the statement that created it."""

    kind: str
    name: str
    table: str
    statement: str | None


def check_schema(connection: apsw.Connection, where: str) -> None:
    """Check that a journal has exactly the tables, indexes and triggers of its version.

    An extra trigger could change the data that a commit writes. An extra index or view could change the
    result of a query.

    Raises JournalFault if one of them is missing or different, or if there are others.
    """
    version = version_of(connection, where)
    found, expected = _parts(connection), _expected(MIGRATIONS[:version])
    wrong = sorted(found ^ expected)
    if wrong:
        part = wrong[0]
        named = f"{part.kind} {part.name!r}"
        if part in found:
            problem = f"{named}, created by: {' '.join((part.statement or 'unknown').split())[:200]}"
        else:
            problem = f"no {named}"
        raise JournalFault("journal_schema_changed", where, problem, f"only the schema of layout {version}")


def _parts(connection: apsw.Connection) -> frozenset[_Part]:
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return frozenset(
        _Part(str(kind), str(name), str(table), None if statement is None else str(statement))
        for kind, name, table, statement in found
    )


@cache
def _expected(migrations: tuple[Migration, ...]) -> frozenset[_Part]:
    """Return the parts that these migrations create in an empty file."""
    connection = apsw.Connection(":memory:")
    for step in migrations:
        step(connection)
    parts = _parts(connection)
    connection.close()
    return parts
