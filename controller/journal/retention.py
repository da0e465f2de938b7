"""Drop old evidence and old outcomes' bodies: the digests stay, so the chain goes on verifying."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec

from controller.journal.contents import PRUNED, Pruned
from controller.journal.schema import GUARDS, NO_GUARDS
from controller.journal.store import LANDMARK, fetch_one, rows_where

ROWS_AT_ONCE = 500
"""Rows dropped in one commit, so that an outcome waits little."""
_decode_pruned = msgspec.json.Decoder(Pruned).decode


def row_before(connection: apsw.Connection, path: Path, wall_us: int) -> int:
    """Return the number of the first row that is not older than this wall time, by the rows' own labels.

    A clock that stood wrong for a while keeps rows longer: all rows before the one given are older.
    """
    found = fetch_one(connection, path, "SELECT min(n) FROM rows WHERE wall_us >= ?", (wall_us,))
    last = fetch_one(connection, path, "SELECT coalesce(max(n), 0) + 1 FROM rows")
    assert last is not None
    number = last[0] if found is None or found[0] is None else found[0]
    assert isinstance(number, int)
    return number


def holds_below(connection: apsw.Connection, path: Path, evidence_below: int, bodies_below: int) -> bool:
    """Return whether there is evidence, or an outcome's body, before these rows."""
    sql = (
        "SELECT EXISTS(SELECT 1 FROM evidence WHERE n < ?)"
        " OR EXISTS(SELECT 1 FROM rows WHERE n < ? AND seq IS NOT NULL AND body IS NOT NULL)"
    )
    return fetch_one(connection, path, sql, (evidence_below, bodies_below)) == (1,)


def drop_some(connection: apsw.Connection, path: Path) -> bool:
    """Drop some of what the signed decisions allow; False when nothing is left to drop."""
    evidence_below = bodies_below = 0
    for pruned in _decisions(connection, path):
        evidence_below = max(evidence_below, pruned.evidence_below)
        bodies_below = max(bodies_below, pruned.bodies_below)
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(NO_GUARDS)
        connection.execute(
            "DELETE FROM evidence WHERE n IN (SELECT n FROM evidence WHERE n < ? ORDER BY n LIMIT ?)",
            (evidence_below, ROWS_AT_ONCE),
        )
        dropped = connection.changes()
        connection.execute(
            "UPDATE rows SET body = NULL, after = NULL WHERE n IN (SELECT n FROM rows WHERE n < ?"
            " AND seq IS NOT NULL AND body IS NOT NULL ORDER BY n LIMIT ?)",
            (bodies_below, ROWS_AT_ONCE),
        )
        dropped += connection.changes()
        connection.execute(GUARDS)
        connection.execute("COMMIT")
    except apsw.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return dropped > 0


def _decisions(connection: apsw.Connection, path: Path) -> Iterator[Pruned]:
    for row in rows_where(connection, path, LANDMARK, (PRUNED,)):
        if row.body is not None:
            yield _decode_pruned(row.body)
