"""A journal of 0.1.0 stays unchanged until a named person has accepted its unsigned rows."""

from hashlib import sha256
from pathlib import Path

import apsw
import msgspec
import pytest

from controller.cli.main import main
from controller.engine.resume import InFlight
from controller.journal.chain import WallTime
from controller.journal.contents import AcceptedJournal
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation, read_head
from controller.journal.journal import Journal
from controller.journal.keys import load_key
from controller.journal.opening import Acceptance
from controller.journal.reading import Reader

ANN = Acceptance(by="manager", who="ann", reason="upgraded from 0.1.0")
NOW = WallTime(1_800_000_000_000_000, synced=True)


def place_of(folder: Path) -> JournalLocation:
    return JournalLocation(folder / "journal.db", folder / "journal.head")


def opened(folder: Path, accept: Acceptance | None = None) -> Journal:
    return Journal.open(
        place_of(folder),
        load_key(folder / "table.key"),
        table="craps",
        wall=lambda: NOW,
        on_durable=lambda _: None,
        alarm=lambda _: None,
        accept=accept,
    )


def layout(folder: Path) -> object:
    connection = apsw.Connection(str(folder / "journal.db"))
    try:
        return connection.pragma("user_version")
    finally:
        connection.close()


def rows_digest(folder: Path) -> str:
    with Reader(folder / "journal.db") as reader:
        return sha256(msgspec.json.encode(list(reader.rows()))).hexdigest()


def test_the_old_release_can_continue_until_a_person_has_accepted(old_table: Path) -> None:
    before = rows_digest(old_table), (old_table / "journal.head").read_bytes()
    with pytest.raises(JournalFault) as raised:
        opened(old_table)
    assert raised.value.code == "journal_old_layout"
    assert "the last 2 of its 46 rows unsigned" in str(raised.value)
    assert "tablectl approve journal" in str(raised.value)
    assert layout(old_table) == 1
    assert (rows_digest(old_table), (old_table / "journal.head").read_bytes()) == before


def test_a_named_person_accepts_once_and_the_whole_state_is_kept(old_table: Path) -> None:
    with opened(old_table, ANN) as journal:
        recovered = journal.recovered
        assert (recovered.session, recovered.last_n) == (2, 47)
        (cut,) = recovered.in_flight
        assert isinstance(cut, InFlight)
        assert (cut.attempt, cut.number) == ("roll", 5)
    assert layout(old_table) == 2, "0.1.0 must refuse a newer version and name the next step"
    head = read_head(old_table / "journal.head")
    assert head is not None
    assert head.signature
    with Reader(old_table / "journal.db") as reader:
        (row,) = reader.rows(types={"journal.accepted"})
        found = reader.verify_all(head=old_table / "journal.head")
    assert row.body is not None
    accepted = msgspec.json.decode(row.body, type=AcceptedJournal)
    assert (accepted.code, accepted.who, accepted.reason) == ("journal_old_layout", "ann", ANN.reason)
    assert found.unauthenticated == ()
    opened(old_table).close()


def test_a_changed_row_in_an_old_journal_cannot_be_accepted(old_table: Path) -> None:
    connection = apsw.Connection(str(old_table / "journal.db"))
    connection.execute("DROP TRIGGER no_update_of_rows")
    connection.execute("UPDATE rows SET wall_us = wall_us + 1 WHERE n = 5")
    connection.execute(
        "CREATE TRIGGER no_update_of_rows BEFORE UPDATE ON rows"
        " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
    )
    connection.close()
    with pytest.raises(JournalFault, match="journal_row_moved"):
        opened(old_table, ANN)


def test_verify_reports_the_rows_that_no_signature_authenticates(
    old_table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["journal", "verify", "--journal", str(old_table)])
    printed = capsys.readouterr().out
    assert code == 0
    assert "sound" not in printed
    assert "in order, but not all signed" in printed
    assert "not authenticated: rows 45 to 46, after the last signature" in printed
    assert "journal.head is unsigned" in printed
    assert "only the journal itself names" in printed
