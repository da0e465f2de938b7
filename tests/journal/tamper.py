"""Change a closed journal's file, as a person with access to the disk could."""

from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from controller.journal.chain import Row, compute_link, contents_digest
from controller.journal.schema import DROP_GUARDS, GUARDS
from controller.journal.store import rows_where

Change = Callable[[apsw.Connection], None]


def tamper(path: Path, change: Change) -> None:
    """Change the file without the journal's code."""
    connection = apsw.Connection(str(path))
    connection.execute(DROP_GUARDS)
    change(connection)
    connection.execute(GUARDS)
    connection.close()


def sql(statement: str, *values: int | str | bytes) -> Change:
    """Return a change that executes one statement."""

    def change(connection: apsw.Connection) -> None:
        connection.execute(statement, values)
        assert connection.changes() > 0

    return change


def flip(column: str, n: int) -> Change:
    """Return a change that flips one bit of a row."""

    def change(connection: apsw.Connection) -> None:
        statement = f"SELECT {column} FROM rows WHERE n = {n}"
        value = connection.execute(statement).get
        if isinstance(value, bytes):
            changed: bytes | str | int = bytes([value[0] ^ 1]) + value[1:]
        elif isinstance(value, str):
            changed = chr(ord(value[0]) ^ 1) + value[1:]
        else:
            assert isinstance(value, int)
            changed = value ^ (1 << 20 if column == "seq" else 1)
        connection.execute(f"UPDATE rows SET {column} = ? WHERE n = {n}", (changed,))

    return change


def swap(one: int, other: int) -> Change:
    """Return a change that swaps two rows with all their contents."""

    def change(connection: apsw.Connection) -> None:
        for old, new in ((one, -1), (other, one), (-1, other)):
            for table in ("rows", "evidence", "outbox"):
                connection.execute(f"UPDATE {table} SET n = ? WHERE n = ?", (new, old))

    return change


def forge(path: Path, n: int, body: bytes) -> Change:
    """Return a change to a row's body that also recomputes the chain, which needs no key."""

    def change(connection: apsw.Connection) -> None:
        rows = list(rows_where(connection, path, "WHERE n >= ? ORDER BY n", (n - 1,)))
        link = rows[0].link
        for row in rows[1:]:
            forged = _with_body(row, body) if row.n == n else row
            link = compute_link(link, forged)
            statement = "UPDATE rows SET body = ?, digest = ?, link = ? WHERE n = ?"
            connection.execute(statement, (forged.body, forged.digest, link, row.n))

    return change


def _with_body(row: Row, body: bytes) -> Row:
    return msgspec.structs.replace(row, body=body, digest=contents_digest(body, row.after))
