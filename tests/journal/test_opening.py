"""Opening a journal: the conditions that prevent publishing, and those that a named person may accept."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import msgspec
import pytest

from controller.journal import store
from controller.journal.contents import AcceptedJournal
from controller.journal.faults import CROWDED, FAULTS, JournalFault
from controller.journal.head import SECTOR, Head, HeadFile, JournalLocation, read_head
from controller.journal.keys import load_key, new_key
from controller.journal.opening import Acceptance
from controller.journal.reading import Reader
from controller.journal.writer import Limits
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, recover, renumbered, rig_in
from tests.journal.tamper import sql, tamper

ANN = Acceptance(by="manager", who="ann", reason="the card was replaced")


def refused(rig: Rig) -> JournalFault:
    with pytest.raises(JournalFault) as raised:
        rig.open()
    return raised.value


def copy_of(rig: Rig, name: str) -> Path:
    copy = rig.folder / name
    shutil.copy(rig.place.journal, copy)
    return copy


def play_on(rig: Rig) -> None:
    """Play another session of one throw."""
    with rig.open() as journal:
        begin(journal)
        recovered = journal.recovered
        for step in play_throws(1)[:1]:
            durable(append(journal, renumbered(step, recovered.first.seq, recovered.session)))


def test_a_new_journal_begins_with_the_first_session_and_number(rig: Rig) -> None:
    with rig.open() as journal:
        assert journal.recovered.session == 1
        assert journal.recovered.first.seq == 1
        assert journal.recovered.in_flight == ()


def test_a_second_controller_is_refused_with_the_holder_of_the_journal(rig: Rig) -> None:
    with rig.open():
        fault = refused(rig)
    assert fault.code == "journal_in_use"
    assert f"process {os.getpid()}," in str(fault)
    rig.open().close()


def test_a_dead_controllers_lock_does_not_block_the_next_one(rig: Rig) -> None:
    program = "import pathlib, sys; from controller.journal.lock import Lock; Lock(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, str(rig.place.journal)], check=True)
    rig.open().close()


def test_another_program_with_the_file_open_never_sees_a_partial_commit(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal))
        with Reader(rig.place.journal) as reader:
            before = len(list(reader.rows()))
            durable(append(journal, play_throws(1)[0]))
            assert len(list(reader.rows())) > before


def test_an_old_sqlite_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    fault = refused(rig)
    assert fault.code == "journal_sqlite_too_old"
    assert "3.40.1" in str(fault)
    assert "3.51.3" in str(fault)


def test_a_pragma_without_effect_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_WRITER_PRAGMAS", "PRAGMA journal_mode = DELETE;")
    assert refused(rig).code == "journal_pragma_refused"


def test_the_pragmas_make_commits_durable(rig: Rig) -> None:
    rig.open().close()
    connection = store.open_writer(rig.place.journal)
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    connection.close()


def test_another_tables_head_is_refused(rig: Rig) -> None:
    rig.played(1)
    rig.place.head.unlink()
    file = HeadFile(rig.place.head, "table-8", rig.key)
    file.begin(Head(table="table-8", n=1, link="00", seq=1, session=1))
    file.close()
    assert refused(rig).code == "journal_other_table"


def test_another_key_is_refused(rig: Rig) -> None:
    rig.played(1)
    new_key(rig.folder / "other")
    rig.key = load_key(rig.folder / "other")
    assert refused(rig).code == "journal_key_differs"


def test_another_programs_database_is_refused_and_left_unchanged(rig: Rig) -> None:
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    assert refused(rig).code == "journal_not_one"
    with pytest.raises(JournalFault, match="journal_not_one"):
        Reader(rig.place.journal)
    connection = apsw.Connection(str(rig.place.journal))
    assert connection.pragma("journal_mode") == "delete"
    connection.close()


def test_a_file_that_is_not_a_database_is_refused(rig: Rig) -> None:
    rig.place.journal.write_bytes(b"no database, but long enough to look at " * 100)
    assert refused(rig).code == "journal_not_one"


def test_a_journal_of_a_newer_version_is_refused(rig: Rig) -> None:
    rig.open().close()
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    fault = refused(rig)
    assert fault.code == "journal_newer"
    assert "version 99" in str(fault)


def test_an_unfinished_journal_has_nothing_to_read(rig: Rig) -> None:
    with pytest.raises(JournalFault, match="journal_absent"):
        Reader(rig.place.journal)
    apsw.Connection(str(rig.place.journal)).close()
    with pytest.raises(JournalFault, match="journal_empty"):
        Reader(rig.place.journal)
    store.open_writer(rig.place.journal).close()
    with pytest.raises(JournalFault, match="journal_empty"):
        Reader(rig.place.journal)


def test_a_missing_folder_is_named(rig: Rig) -> None:
    with pytest.raises(JournalFault, match="nowhere"):
        Rig(rig.folder / "nowhere", rig.key).open()


# --- behind its head ---


def test_a_restored_older_copy_is_reported(rig: Rig) -> None:
    play_on(rig)
    copy = copy_of(rig, "old")
    play_on(rig)
    shutil.copy(copy, rig.place.journal)
    fault = refused(rig)
    assert fault.code == "journal_restored"
    assert "tablectl approve journal" in str(fault)


def test_rows_missing_at_the_end_are_reported(rig: Rig) -> None:
    """The WAL of a controller that lost power is deleted with its commits."""
    journal = rig.open(Limits(rows_between_checkpoints=1000))
    begin(journal)
    for step in play_throws(2):
        durable(append(journal, step))
    cut = Rig(rig.folder / "cut", rig.key)
    cut.folder.mkdir()
    shutil.copy(rig.place.journal, cut.place.journal)
    shutil.copytree(rig.place.head.parent, cut.place.head.parent)
    journal.close()
    before = cut.place.journal.read_bytes()
    fault = refused(cut)
    assert fault.code == "journal_cut_short"
    assert "journal without rows" in str(fault)
    assert cut.place.journal.read_bytes() == before, "the WAL may be restored"


def test_a_single_missing_row_is_reported(rig: Rig) -> None:
    rig.played(1)
    connection = apsw.Connection(str(rig.place.journal))
    connection.close()
    tamper(rig.place.journal, sql("DELETE FROM rows WHERE n = (SELECT max(n) FROM rows)"))
    assert refused(rig).code == "journal_cut_short"


def test_an_older_copy_with_further_play_is_reported(rig: Rig) -> None:
    play_on(rig)
    copy = copy_of(rig, "old")
    play_on(rig)
    elsewhere = rig_in_copy(rig, copy)
    play_on(elsewhere)
    play_on(elsewhere)
    shutil.copy(elsewhere.place.journal, rig.place.journal)
    assert refused(rig).code == "journal_forked"


def rig_in_copy(rig: Rig, journal: Path) -> Rig:
    """Return a cloned table with the same key, an old journal and a head that matches it."""
    clone = Rig(rig.folder / "clone", rig.key)
    clone.place.head.parent.mkdir(parents=True)
    shutil.copy(journal, clone.place.journal)
    with clone.open(accept=ANN):
        pass
    return clone


def test_a_lost_journal_is_not_silently_replaced_by_a_new_one(rig: Rig) -> None:
    rig.played(1)
    rig.place.journal.unlink()
    assert refused(rig).code == "journal_absent"
    assert not rig.place.journal.exists()


def test_a_lost_head_is_reported(rig: Rig) -> None:
    rig.played(1)
    rig.place.head.unlink()
    assert refused(rig).code == "journal_head_missing"


def test_a_damaged_head_is_reported(rig: Rig) -> None:
    rig.played(1)
    rig.place.head.write_bytes(b"\xa5" * 2 * SECTOR)
    assert refused(rig).code == "journal_head_damaged"


def test_one_of_two_head_records_is_enough(rig: Rig) -> None:
    rig.played(1)
    for slot in (0, 1):
        data = bytearray(rig.place.head.read_bytes())
        data[SECTOR * slot : SECTOR * slot + 512] = bytes(512)
        spoiled = rig.folder / f"head-{slot}"
        spoiled.write_bytes(data)
        assert recover(JournalLocation(rig.place.journal, spoiled), rig.key.public, NAME).session == 2


def test_an_orderly_close_leaves_no_older_head_record(rig: Rig) -> None:
    """A person with the disk could drop the last commit together with the newer head record."""
    rig.played(1)
    whole = rig.place.head.read_bytes()
    newest = read_head(rig.place.head)
    for slot in (0, 1):
        data = bytearray(whole)
        data[SECTOR * slot : SECTOR * slot + 512] = bytes(512)
        rig.place.head.write_bytes(data)
        assert read_head(rig.place.head) == newest


def test_a_head_that_lags_behind_is_accepted(rig: Rig) -> None:
    play_on(rig)
    lagging = rig.folder / "lagging"
    shutil.copy(rig.place.head, lagging)
    play_on(rig)
    shutil.copy(lagging, rig.place.head)
    rig.open().close()


def test_the_newer_head_record_counts_in_either_place(rig: Rig) -> None:
    path = rig.folder / "head"
    assert read_head(path) is None
    for n in range(1, 6):
        file = HeadFile(path, NAME, rig.key)
        file.write(Head(table=NAME, n=n, link="00", seq=n, session=1))
        file.sync()
        file.close()
        found = read_head(path)
        assert found is not None
        assert found.n == n


def test_a_head_is_never_written_over_the_only_sound_record(rig: Rig) -> None:
    """A torn write at any opening of the file leaves the previous record intact."""
    path = rig.folder / "head"
    for n in range(1, 6):
        file = HeadFile(path, NAME, rig.key)
        file.write(Head(table=NAME, n=n, link="00", seq=n, session=1))
        file.close()
        data = path.read_bytes()
        newest = SECTOR * ((n - 1) % 2)
        torn = rig.folder / "torn"
        torn.write_bytes(data[:newest] + bytes(512) + data[newest + 512 :])
        found = read_head(torn)
        assert (0 if found is None else found.n) == n - 1


# --- accepted by a named person ---


@pytest.mark.parametrize(
    "loss", ["journal_restored", "journal_absent", "journal_head_missing", "journal_head_damaged"]
)
def test_a_named_person_may_accept_a_loss_and_this_is_journaled(rig: Rig, loss: str) -> None:
    play_on(rig)
    copy = copy_of(rig, "old")
    play_on(rig)
    before = read_head(rig.place.head)
    assert before is not None
    match loss:
        case "journal_restored":
            shutil.copy(copy, rig.place.journal)
        case "journal_absent":
            rig.place.journal.unlink()
        case "journal_head_missing":
            rig.place.head.unlink()
        case _:
            rig.place.head.write_bytes(b"\xa5" * 2 * SECTOR)
    assert refused(rig).code == loss
    with rig.open(accept=ANN) as journal:
        recovered = journal.recovered
        assert recovered.first.seq == before.seq + 1, "an outcome's number must never be used twice"
        assert recovered.session == before.session + 1
        begin(journal)
        durable(append(journal, renumbered(play_throws(1)[0], recovered.first.seq, recovered.session)))
    play_on(rig)
    with Reader(rig.place.journal) as reader:
        (row,) = reader.rows(types={"journal.accepted"})
        assert row.body is not None
        accepted = msgspec.json.decode(row.body, type=AcceptedJournal)
        assert (accepted.code, accepted.who, accepted.reason) == (loss, "ann", "the card was replaced")
        reader.verify_all()


def test_nobody_may_accept_a_changed_journal(rig: Rig) -> None:
    rig.played(1)
    new_key(rig.folder / "other")
    stranger = Rig(rig.folder, load_key(rig.folder / "other"))
    with pytest.raises(JournalFault, match="journal_key_differs"):
        stranger.open(accept=ANN)


def test_an_acceptance_without_a_fault_leaves_no_trace(rig: Rig) -> None:
    rig.played(1)
    rig.open(accept=ANN).close()
    with Reader(rig.place.journal) as reader:
        assert list(reader.rows(types={"journal.accepted"})) == []


# --- the catalogue ---


def test_every_fault_says_what_to_do_and_when_it_clears() -> None:
    for code, kind in FAULTS.items():
        assert code.startswith("journal_")
        assert all(kind), f"{code} has an empty text"
        text = str(JournalFault(code, "here", "this", "that"))
        assert text == f"here: found this, expected that; {kind.next_step} [{code}]"


def test_exactly_the_faults_of_the_catalogue_are_raised() -> None:
    package = Path(store.__file__).parent
    texts = {path.name: path.read_text() for path in package.glob("*.py")}
    named = {
        code
        for name, text in texts.items()
        if name != "faults.py"
        for code in re.findall(r'"(journal_[a-z_]+)"', text.replace("CROWDED", f'"{CROWDED}"'))
    }
    assert named - {"journal_mode"} == set(FAULTS)


def test_a_full_rig_can_be_made_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        rig_in(tmp_path / name).open().close()
