"""Every change to a journal's file is found and named, and the message states the next step."""

import shutil
from pathlib import Path

import apsw
import pytest

from controller.journal import opening
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.store import open_reader
from controller.journal.verify import VerificationResult
from controller.journal.writer import Limits
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, recover
from tests.journal.tamper import Change, flip, forge, sql, swap, tamper

SPARSE = Limits(rows_between_checkpoints=20)


def verified(path: Path) -> VerificationResult:
    with Reader(path) as reader:
        return reader.verify_all()


def fault_of(path: Path) -> JournalFault:
    with pytest.raises(JournalFault) as raised:
        verified(path)
    return raised.value


def test_an_untouched_journal_verifies_row_by_row(rig: Rig) -> None:
    rig.played(6, limits=SPARSE)
    heard: list[tuple[int, int]] = []
    with Reader(rig.place.journal) as reader:
        found = reader.verify_all(lambda done, total: heard.append((done, total)))
        rows = list(reader.rows())
    assert (found.rows, found.outcomes) == (len(rows), len(rig.published))
    assert found.signatures == found.outcomes + sum(
        row.seq is None and row.signature is not None for row in rows
    )
    assert found.evidence == 6
    assert heard[-1] == (len(rows), len(rows))


def test_a_journal_verifies_while_it_is_written(rig: Rig) -> None:
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(3):
            durable(append(journal, step))
        published = rig.published[0]
        assert published.body is not None
        durable(journal.acknowledge(f"{NAME}/1/1", published.link.hex(), "settlement"))
        assert verified(rig.place.journal).outcomes == len(rig.published)


def test_without_signatures_on_outcomes_the_checkpoints_still_count(rig: Rig) -> None:
    rig.played(3, limits=SPARSE)
    with Reader(rig.place.journal) as reader:
        checkpoint = max(row.n for row in reader.rows(types={"journal.checkpoint"}))
    tamper(rig.place.journal, flip("signature", called(rig)))
    with Reader(rig.place.journal) as reader:
        reader.verify_all(every_signature=False)
    tamper(rig.place.journal, flip("signature", checkpoint))
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="journal_bad_signature"):
        reader.verify_all(every_signature=False)


def called(rig: Rig) -> int:
    """Return the number of the row that called the first roll."""
    return next(row.n for row in rig.published if row.name == "roll.called")


def last_row_with(rig: Rig, column: str) -> int:
    """Return the number of the last outcome row that has a value in this column."""
    connection = open_reader(rig.place.journal)
    found = connection.execute(f"SELECT max(n) FROM rows WHERE seq IS NOT NULL AND {column} IS NOT NULL").get
    connection.close()
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("body", "journal_row_changed"),
        ("after", "journal_row_changed"),
        ("digest", "journal_row_changed"),
        ("evidence_digest", "journal_row_changed"),
        ("name", "journal_row_moved"),
        ("wall_us", "journal_row_moved"),
        ("synced", "journal_row_moved"),
        ("seq", "journal_row_moved"),
        ("link", "journal_row_moved"),
        ("signature", "journal_bad_signature"),
    ],
)
def test_one_changed_bit_of_a_row_is_found(rig: Rig, column: str, code: str) -> None:
    rig.played(3)
    row = last_row_with(rig, column)
    tamper(rig.place.journal, flip(column, row))
    fault = fault_of(rig.place.journal)
    assert fault.code == code
    assert f"row {row}:" in str(fault)
    assert fault.kind.next_step in str(fault)


def cases(rig: Rig) -> dict[str, tuple[Change, str]]:
    n = called(rig)
    body = rig.published[1].body
    assert body is not None
    other_dice = body.replace(b'"dice":[4,4]', b'"dice":[4,3]')
    assert other_dice != body
    return {
        "other dice": (sql("UPDATE rows SET body = ? WHERE n = ?", other_dice, n), "journal_row_changed"),
        "other dice, chain anew": (forge(rig.place.journal, n, other_dice), "journal_bad_signature"),
        "no body": (sql("UPDATE rows SET body = NULL WHERE n = ?", n), "journal_row_changed"),
        "other evidence": (sql("UPDATE evidence SET packed = x'00' WHERE n = ?", n), "journal_row_changed"),
        "no evidence": (sql("DELETE FROM evidence WHERE n = ?", n), "journal_row_changed"),
        "evidence from nowhere": (sql("INSERT INTO evidence VALUES (1, x'00')"), "journal_row_changed"),
        "a missing row": (sql("DELETE FROM rows WHERE n = ?", n), "journal_row_missing"),
        "the first row missing": (sql("DELETE FROM rows WHERE n = 1"), "journal_row_missing"),
        "rows in another order": (swap(n, n + 1), "journal_row_moved"),
        "outcomes in another order": (swap(n - 2, n), "journal_row_moved"),
        "no signature": (sql("UPDATE rows SET signature = NULL WHERE n = ?", n), "journal_bad_signature"),
        "a foreign signature": (
            sql("UPDATE rows SET signature = zeroblob(64) WHERE n = ?", n),
            "journal_bad_signature",
        ),
        "out of the outbox": (sql("DELETE FROM outbox WHERE n = ?", n), "journal_outbox_differs"),
        "into the outbox": (sql("INSERT INTO outbox VALUES (1)"), "journal_outbox_differs"),
        "another in its place": (sql("UPDATE outbox SET n = 1 WHERE n = ?", n), "journal_outbox_differs"),
        "into the outbox, of no row": (sql("INSERT INTO outbox VALUES (99999)"), "journal_row_moved"),
        "evidence of no row": (sql("INSERT INTO evidence VALUES (99999, x'00')"), "journal_row_moved"),
        "another table": (sql("UPDATE journal SET name = 'table-8'"), "journal_row_moved"),
        "another key": (sql("UPDATE journal SET public_key = zeroblob(32)"), "journal_row_moved"),
    }


CASES = (
    "other dice",
    "other dice, chain anew",
    "no body",
    "other evidence",
    "no evidence",
    "evidence from nowhere",
    "a missing row",
    "the first row missing",
    "rows in another order",
    "outcomes in another order",
    "no signature",
    "a foreign signature",
    "out of the outbox",
    "into the outbox",
    "another in its place",
    "into the outbox, of no row",
    "evidence of no row",
    "another table",
    "another key",
)


@pytest.mark.parametrize("case", CASES)
def test_a_change_to_the_file_is_named(rig: Rig, case: str) -> None:
    rig.played(3)
    change, code = cases(rig)[case]
    tamper(rig.place.journal, change)
    assert fault_of(rig.place.journal).code == code


def test_a_start_finds_changes_since_the_last_checkpoint(rig: Rig) -> None:
    """A power cut leaves no closing checkpoint, so every row since the last one is verified first."""
    journal = rig.open()
    begin(journal)
    for step in play_throws(3):
        durable(append(journal, step))
    cut = rig.folder / "cut"
    cut.mkdir()
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(rig.folder / name, cut / name)
    shutil.copytree(rig.folder / "elsewhere", cut / "elsewhere")
    journal.close()
    after_cut = Rig(cut, rig.key)
    tamper(after_cut.place.journal, sql("UPDATE rows SET wall_us = 0 WHERE n = 3"))
    with pytest.raises(JournalFault, match=r"row 3.*journal_row_moved"):
        after_cut.open()


def test_a_false_index_hides_no_outcome_removed_from_the_outbox(rig: Rig) -> None:
    """A start counts the outbox with the index of outcomes, which only a full verification checks."""
    rig.played(3)
    n = called(rig)

    def change(journal: apsw.Connection) -> None:
        (index,) = journal.execute("SELECT sql FROM sqlite_master WHERE name = 'outcomes'").fetchall()[0]
        seq = journal.execute("SELECT seq FROM rows WHERE n = ?", (n,)).get
        lie = f"CASE n WHEN 1 THEN {seq} WHEN {n} THEN -1 ELSE seq END"
        journal.execute("DROP INDEX outcomes")
        journal.execute(f"CREATE UNIQUE INDEX outcomes ON rows ({lie}) WHERE seq IS NOT NULL OR n = 1")
        journal.execute("PRAGMA writable_schema = ON")
        journal.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'outcomes'", (index,))
        journal.execute("UPDATE outbox SET n = 1 WHERE n = ?", (n,))

    tamper(rig.place.journal, change)
    assert recover(rig.place, rig.key.public, NAME).session == 2
    assert fault_of(rig.place.journal).code == "journal_damaged"


def test_a_start_reads_no_further_back_than_the_last_checkpoint(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.played(6, limits=SPARSE)
    monkeypatch.setattr(opening, "MIN_VERIFIED_ROWS", 5)
    tamper(rig.place.journal, sql("UPDATE rows SET wall_us = 0 WHERE n = 3"))
    assert recover(rig.place, rig.key.public, NAME).session == 2
    assert fault_of(rig.place.journal).code == "journal_row_moved"


def test_a_deleted_checkpoint_hides_nothing(rig: Rig) -> None:
    rig.played(6, limits=SPARSE)
    tamper(rig.place.journal, sql("DELETE FROM rows WHERE name = 'journal.checkpoint'"))
    with pytest.raises(JournalFault, match="journal_row_missing"):
        recover(rig.place, rig.key.public, NAME)


def test_a_damaged_page_is_found_and_the_rows_before_it_can_be_exported(rig: Rig) -> None:
    rig.played(20)
    path = rig.place.journal
    pages = path.stat().st_size // 4096
    with path.open("r+b") as file:
        file.seek(4096 * (pages // 2))
        file.write(b"\xa5" * 4096)
    assert fault_of(path).code == "journal_damaged"


def test_overwritten_bytes_are_a_fault_or_have_no_effect(rig: Rig, tmp_path: Path) -> None:
    """Every change of a page, including invalid text, has no effect or causes a fault that reports it."""
    rig.played(20)
    whole = rig.place.journal.read_bytes()
    spoilt = tmp_path / "spoilt.db"
    found = set()
    for offset in range(100, len(whole) - 60, len(whole) // 97):
        garbage = bytes(byte ^ 0xFF for byte in whole[offset : offset + 60])
        spoilt.write_bytes(whole[:offset] + garbage + whole[offset + 60 :])
        try:
            verified(spoilt)
        except JournalFault as fault:
            found.add(fault.code)
    assert "journal_damaged" in found


def test_a_row_with_invalid_text_is_damage(rig: Rig) -> None:
    rig.played(6)
    tamper(rig.place.journal, sql("UPDATE rows SET name = CAST(x'6eff6e' AS TEXT) WHERE n = 3"))
    assert fault_of(rig.place.journal).code == "journal_damaged"


def test_a_truncated_file_is_damaged(rig: Rig) -> None:
    rig.played(20)
    path = rig.place.journal
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(JournalFault) as raised:
        verified(path)
    assert raised.value.code in {"journal_damaged", "journal_io_error"}
    assert "export what verifies" in raised.value.kind.next_step or "disk" in raised.value.kind.next_step


def test_no_statement_of_another_program_changes_rows_by_accident(rig: Rig) -> None:
    rig.played(1)
    connection = apsw.Connection(str(rig.place.journal))
    for statement in (
        "DELETE FROM rows",
        "UPDATE rows SET seq = seq + 1",
        "DELETE FROM evidence",
        "UPDATE evidence SET packed = x''",
    ):
        with pytest.raises(apsw.ConstraintError, match="append-only"):
            connection.execute(statement)
    connection.close()


def test_readers_cannot_write(rig: Rig) -> None:
    rig.played(1)
    connection = open_reader(rig.place.journal)
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM outbox")
    connection.close()
