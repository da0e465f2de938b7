"""A table of 0.1.0 under this release is locked until a person accepts its journal, and then continues."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.app.rig import Table, tick, until
from tests.publish.broker import free_port


def faults(table: Table) -> set[str]:
    reported = table.status()["faults"]
    assert isinstance(reported, list)
    return {str(fault["code"]) for fault in reported}


def test_a_table_continues_after_an_upgrade(tmp_path: Path, old_table: Path) -> None:
    table = Table(tmp_path, publish=f"{{embedded: {{api_port: {free_port()}}}}}")
    assert table.journal == old_table
    table.start()
    try:
        until(lambda: "journal_old_layout" in faults(table), "the journal to wait for a person")
        assert table.enter("unlock")["ok"] is False
        assert table.ask(do="approve", what="journal", who="ann", reason="upgraded")["ok"] is True
        table.unlock()
        table.feed([tick(1_000_000), tick(2_000_000)])
        until(lambda: unlocked_at(table) > 15, "the table to be unlocked in its new session")
        until(lambda: table.ask(do="outbox")["outbox"] == [], "the engine to take the waiting outcomes")
        assert faults(table) == set()
        published = [row.name for row in table.rows()]
        assert published.count("journal.accepted") == 1
        assert "roll.review" in published, "the interrupted throw must be under review"
    finally:
        assert table.terminate() == 0
    assert settled(table) >= unlocked_at(table)


def settled(table: Table) -> int:
    """Return the number of the last outcome in the engine's book."""
    with closing(sqlite3.connect(table.journal / "settlement.db")) as book:
        (next_seq,) = book.execute("SELECT next_seq FROM tables").fetchone()
    assert isinstance(next_seq, int)
    return next_seq - 1


def unlocked_at(table: Table) -> int:
    """Return the number of the outcome that unlocks the table, the last one that must have been settled."""
    return next(row.seq for row in reversed(table.rows()) if row.name == "table.unlocked" and row.seq)
