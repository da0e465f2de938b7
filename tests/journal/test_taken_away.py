"""A journal's files are deleted, renamed or replaced while the table has them open."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from tests.journal.rig import PATIENCE_S, Rig, append, begin, durable, play_throws, rig_in


def _delete(file: Path) -> None:
    file.unlink()


def _rename(file: Path) -> None:
    file.rename(file.with_name("aside"))


def _put_a_copy_in_its_place(file: Path) -> None:
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


def _move_the_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere-now"))


Deed = Callable[[Path], None]
DEEDS: tuple[Deed, ...] = (_delete, _rename, _put_a_copy_in_its_place, _move_the_folder)
FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "journal.db.lock", "head")


def _file(rig: Rig, name: str) -> Path:
    return rig.place.head if name == "head" else rig.place.journal.with_name(name)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Return a table in a folder that can be moved."""
    folder = tmp_path / "table"
    folder.mkdir()
    return rig_in(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("deed", DEEDS)
def test_a_removed_journal_file_is_a_fault_even_when_nothing_is_written(
    rig: Rig, deed: Deed, name: str
) -> None:
    journal = rig.open()
    durable(begin(journal))
    deed(_file(rig, name))
    assert rig.alarmed.wait(PATIENCE_S)
    assert rig.alarms == ["journal_taken_away"]
    assert journal.fault is not None
    assert journal.fault.where == str(_file(rig, name)) or deed is _move_the_folder
    with pytest.raises(JournalFault, match="journal_taken_away"):
        journal.close()


@pytest.mark.parametrize("name", FILES[:2])
@pytest.mark.parametrize("deed", DEEDS)
def test_no_outcome_in_a_removed_file_is_published(rig: Rig, deed: Deed, name: str) -> None:
    steps = play_throws(3)
    journal = rig.open()
    durable(begin(journal))
    durable(append(journal, steps[0]))
    published = list(rig.published)
    deed(_file(rig, name))
    tickets = [append(journal, step) for step in steps[1:]]
    with pytest.raises(JournalFault, match="journal_taken_away"):
        journal.close()
    assert rig.published == published
    assert not any(ticket.durable for ticket in tickets)


def test_waiting_outcomes_are_published_once_the_file_is_restored(rig: Rig) -> None:
    steps = play_throws(3)
    journal = rig.open()
    durable(begin(journal))
    _rename(rig.place.journal)
    assert rig.alarmed.wait(PATIENCE_S)
    tickets = [append(journal, step) for step in steps]
    rig.place.journal.with_name("aside").rename(rig.place.journal)
    for ticket in tickets:
        durable(ticket)
    assert rig.alarms == ["journal_taken_away", None]
    journal.close()
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().outcomes == len(rig.published)


@pytest.mark.parametrize("name", FILES)
def test_published_outcomes_are_there_once_the_file_is_restored_after_the_end(rig: Rig, name: str) -> None:
    journal = rig.open()
    durable(begin(journal))
    for step in play_throws(3):
        durable(append(journal, step))
    published = [row.seq for row in rig.published]
    _rename(_file(rig, name))
    with pytest.raises(JournalFault, match="journal_taken_away"):
        journal.close()
    _file(rig, name).with_name("aside").replace(_file(rig, name))
    rig.open().close()
    with Reader(rig.place.journal) as reader:
        assert [row.seq for row in reader.rows() if row.seq is not None] == published


def test_a_deleted_lock_file_allows_no_second_table_unnoticed(rig: Rig) -> None:
    """A journal without its lock file could be opened twice. The first controller reports the deletion."""
    first = rig.open()
    durable(begin(first))
    _file(rig, "journal.db.lock").unlink()
    second: Journal | None = None
    try:
        second = rig.open()
        assert rig.alarmed.wait(PATIENCE_S)
        assert isinstance(first.fault, JournalFault)
        assert first.fault.code == "journal_taken_away"
    finally:
        if second is not None:
            second.close()
        with pytest.raises(JournalFault, match="journal_taken_away"):
            first.close()


def test_an_ordinary_session_raises_no_fault(rig: Rig) -> None:
    rig.played(4)
    assert rig.alarms == []
    assert not os.path.lexists(rig.place.journal.with_name("journal.db-wal"))
