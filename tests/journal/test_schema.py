"""The file's layout is upgraded one version at a time, each in a transaction. Old files stay readable."""

import shutil
from pathlib import Path

import apsw
import pytest

from controller.journal import schema
from controller.journal.reading import Reader
from controller.journal.recall import recall
from controller.journal.store import open_writer
from tests.journal.rig import NAME, Rig

OLD = Path(__file__).parent / "data" / "v1.db"


def version(path: Path) -> object:
    connection = apsw.Connection(str(path))
    try:
        return connection.pragma("user_version")
    finally:
        connection.close()


def add_colour(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE colours (n INTEGER PRIMARY KEY) STRICT")


def fail(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE half_done (n INTEGER PRIMARY KEY) STRICT")
    raise apsw.FullError("raised by the test")


def test_a_new_file_has_the_newest_layout(rig: Rig) -> None:
    rig.open().close()
    assert version(rig.place.journal) == len(schema.MIGRATIONS)


def test_a_file_of_the_first_layout_is_still_readable(tmp_path: Path) -> None:
    """The file verifies, its outcomes are recalled as published, and its bytes stay unchanged."""
    copy = tmp_path / "v1.db"
    shutil.copy(OLD, copy)
    assert version(copy) == 1
    open_writer(copy).close()
    assert version(copy) == 1, "the earlier release must still open the file before a person's approval"
    with Reader(copy) as reader:
        found = reader.verify_all()
        assert (found.rows, found.outcomes, found.evidence) == (24, 12, 4)
        called = [row for row in reader.rows() if row.name == "roll.called"]
        recalled = [recall(reader, f"{NAME}/1/{row.seq}") for row in called]
    assert [getattr(r.outcome.data, "dice", None) for r in recalled] == [(4, 4), (6, 2), (3, 2)]
    assert all(r.judged_again is not None and r.judged_again.differences == () for r in recalled)


def test_an_older_file_is_upgraded(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.played(1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_colour, add_colour_too))
    with rig.open() as journal:
        assert journal.recovered.session == 2
    assert version(rig.place.journal) == len(schema.MIGRATIONS)
    with Reader(rig.place.journal) as reader:
        reader.verify_all()


def add_colour_too(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE colours ADD COLUMN colour TEXT")


def test_a_failed_upgrade_step_leaves_the_version_before_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.played(1)
    before = len(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_colour, fail))
    with pytest.raises(Exception, match="journal_disk_full"):
        rig.open()
    assert version(rig.place.journal) == before + 1
    connection = apsw.Connection(str(rig.place.journal))
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    assert "colours" in tables
    assert "half_done" not in tables
