"""Changes to the files without the table's key. A start uses only data that the key has signed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
import pytest

from controller.journal import opening
from controller.journal.chain import Draft, WallTime, compute_link, genesis, seal
from controller.journal.contents import (
    PRUNED,
    STATE_NOTED,
    Noted,
    PruningDecision,
    StateAfterRow,
    encode,
    event_draft,
)
from controller.journal.faults import JournalFault
from controller.journal.head import RECORD, SECTOR, Head, HeadFile, read_head
from controller.journal.keys import Key, load_key, new_key
from controller.journal.opening import ACCEPTABLE, Acceptance
from controller.journal.reading import Reader
from controller.journal.store import insert, rows_where
from controller.journal.writer import Limits
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws
from tests.journal.tamper import sql, tamper

ANN = Acceptance(by="manager", who="ann", reason="it must go on")
SPARSE = Limits(rows_between_checkpoints=20)
Attack = Callable[[Rig], None]


class KeylessSigner(Key):
    """A signer with access to the disk but without the key."""

    def __init__(self) -> None:
        """Do nothing."""

    def sign(self, link: bytes) -> bytes:
        """Return an invalid signature."""
        return hashlib.sha512(link).digest()


def add_rows(rig: Rig, drafts: list[Draft], *, signature: bool) -> None:
    """Append correctly chained rows, with an invalid signature or without one."""
    connection = apsw.Connection(str(rig.place.journal))
    last = next(rows_where(connection, rig.place.journal, "ORDER BY n DESC LIMIT 1"))
    rows = seal(drafts, last.n, last.link, KeylessSigner())
    if not signature:
        rows = [msgspec.structs.replace(row, signature=None) for row in rows]
    insert(connection, rows, [])
    connection.close()


def another_point(rig: Rig) -> list[Draft]:
    """Draft the row of a state in which the point is 4."""
    with rig.open() as journal:
        recovered = journal.recovered
    state = msgspec.structs.replace(recovered.state, point=4)
    draft = event_draft(STATE_NOTED, Noted(changed=("point",)), rig.wall())
    return [msgspec.structs.replace(draft, after=encode(StateAfterRow(state=state, first=recovered.first)))]


def a_state_without_signature(rig: Rig) -> None:
    add_rows(rig, another_point(rig), signature=False)


def a_state_with_a_strangers_signature(rig: Rig) -> None:
    add_rows(rig, another_point(rig), signature=True)


def a_state_and_a_head_that_remembers_it(rig: Rig) -> None:
    a_state_without_signature(rig)
    a_forged_head(rig)


def an_attempt_without_signature(rig: Rig) -> None:
    body = {"attempt": "roll", "number": 99, "t": 1}
    add_rows(rig, [event_draft("attempt.begun", body, rig.wall())], signature=False)


def an_acknowledgement_without_signature(rig: Rig) -> None:
    published = next(row for row in rig.published)
    body = {"id": f"{NAME}/1/{published.seq}", "chain": published.link.hex(), "by": "engine"}
    add_rows(rig, [event_draft("outbox.closed", body, rig.wall())], signature=False)
    tamper(rig.place.journal, sql("DELETE FROM outbox WHERE n = ?", published.n))


def an_older_layout(rig: Rig) -> None:
    """Mark the file as one of the layout in which rows were not signed."""
    a_state_without_signature(rig)
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute("PRAGMA user_version = 1")
    connection.close()


def an_emptied_outbox(rig: Rig) -> None:
    """Empty the outbox before the last checkpoint, where a start does not read each row."""
    tamper(rig.place.journal, sql("DELETE FROM outbox"))


def an_outcome_to_be_published_again(rig: Rig) -> None:
    with rig.open() as journal:
        published = rig.published[0]
        durable(journal.acknowledge(f"{NAME}/1/{published.seq}", published.link.hex(), "engine"))
    tamper(rig.place.journal, sql("INSERT INTO outbox VALUES (?)", rig.published[0].n))


def planted(statement: str) -> Attack:
    """Add an object to the schema."""

    def attack(rig: Rig) -> None:
        connection = apsw.Connection(str(rig.place.journal))
        connection.execute(statement)
        connection.close()

    return attack


def a_trigger_that_permits_changes(rig: Rig) -> None:
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute(
        "DROP TRIGGER no_update_of_rows; CREATE TRIGGER no_update_of_rows BEFORE UPDATE ON rows"
        " WHEN new.n = 0 BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
    )
    connection.close()


def a_forged_head(rig: Rig) -> None:
    """Write a head that matches the journal, with a valid digest."""
    connection = apsw.Connection(str(rig.place.journal))
    last = next(rows_where(connection, rig.place.journal, "ORDER BY n DESC LIMIT 1"))
    connection.close()
    old = read_head(rig.place.head)
    assert old is not None
    head = Head(
        table=NAME, n=last.n, link=last.link.hex(), seq=1, session=old.session, signature=old.signature
    )
    text = msgspec.json.encode(head)
    record = (hashlib.sha256(text).hexdigest().encode() + text).ljust(RECORD, b"\n")
    rig.place.head.write_bytes(record.ljust(SECTOR, b"\0") * 2)


def a_shorter_journal_and_its_head(rig: Rig) -> None:
    tamper(rig.place.journal, sql("DELETE FROM outbox WHERE n > 4"))
    tamper(rig.place.journal, sql("DELETE FROM evidence WHERE n > 4"))
    tamper(rig.place.journal, sql("DELETE FROM rows WHERE n > 4"))
    a_forged_head(rig)


def a_head_by_another_key(rig: Rig) -> None:
    old = read_head(rig.place.head)
    assert old is not None
    new_key(rig.folder / "mine")
    rig.place.head.unlink()
    file = HeadFile(rig.place.head, NAME, load_key(rig.folder / "mine"))
    file.begin(msgspec.structs.replace(old, signature=""))
    file.close()


def another_tables_name(rig: Rig) -> None:
    """Present this journal as another table's."""
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute("UPDATE journal SET name = 'another'")
    connection.close()


def evidence_of_another_outcome(rig: Rig) -> None:
    """Exchange the evidence of two outcomes."""
    connection = apsw.Connection(str(rig.place.journal))
    one, other = [n for (n,) in connection.execute("SELECT n FROM evidence ORDER BY n LIMIT 2")]
    connection.close()
    for old, new in ((one, -1), (other, one), (-1, other)):
        tamper(rig.place.journal, sql("UPDATE evidence SET n = ? WHERE n = ?", new, old))


def contents_left_out(rig: Rig) -> None:
    """Present a row as one whose contents were pruned for age."""
    tamper(rig.place.journal, sql("UPDATE rows SET body = NULL WHERE n = 3"))


def a_state_left_out(rig: Rig) -> None:
    """Make a start find the last state but one."""
    newest = "(SELECT max(n) FROM rows WHERE after IS NOT NULL)"
    tamper(rig.place.journal, sql(f"UPDATE rows SET after = NULL WHERE n = {newest}"))


def everything_signed_again(rig: Rig) -> None:
    """Replace the key that the journal names, and sign every row and the head with the new key."""
    new_key(rig.folder / "anew")
    mine = load_key(rig.folder / "anew")
    connection = apsw.Connection(str(rig.place.journal))
    name, created_us, synced = connection.execute("SELECT name, created_us, synced FROM journal").get
    connection.close()
    link = genesis(name, mine.public.raw, WallTime(created_us, synced=bool(synced)))
    tamper(rig.place.journal, sql("UPDATE journal SET public_key = ?", mine.public.raw))
    connection = apsw.Connection(str(rig.place.journal))
    rows = list(rows_where(connection, rig.place.journal, "ORDER BY n"))
    connection.close()
    for row in rows:
        link = compute_link(link, row)
        signed = mine.sign(link) if row.signature else b""
        change = "UPDATE rows SET link = ?, signature = nullif(?, x'') WHERE n = ?"
        tamper(rig.place.journal, sql(change, link, signed, row.n))
    a_head_by_another_key(rig)


def a_row_before_the_first(rig: Rig) -> None:
    """Add a row before the first: an index finds it by its number, but a walk from the first row does not."""
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute(
        "INSERT INTO rows SELECT -5, name, 999, wall_us, synced, body, after, digest, evidence_digest, link,"
        " signature FROM rows WHERE n = 3"
    )
    connection.close()


def a_place_that_the_next_outcome_needs(rig: Rig) -> None:
    connection = apsw.Connection(str(rig.place.journal))
    connection.execute("INSERT INTO evidence VALUES ((SELECT max(n) + 3 FROM rows), x'00')")
    connection.close()


ATTACKS: dict[Attack, str] = {
    a_state_without_signature: "journal_end_unsigned",
    a_state_with_a_strangers_signature: "journal_bad_signature",
    a_state_and_a_head_that_remembers_it: "journal_end_unsigned",
    an_attempt_without_signature: "journal_end_unsigned",
    an_acknowledgement_without_signature: "journal_end_unsigned",
    an_older_layout: "journal_downgraded",
    an_emptied_outbox: "journal_outbox_differs",
    an_outcome_to_be_published_again: "journal_outbox_differs",
    planted(
        "CREATE TRIGGER helper AFTER INSERT ON outbox BEGIN DELETE FROM outbox; END"
    ): "journal_schema_changed",
    planted("CREATE TEMP TABLE t (n); CREATE VIEW waiting AS SELECT n FROM outbox"): "journal_schema_changed",
    planted("CREATE INDEX rows_by_time ON rows (wall_us)"): "journal_schema_changed",
    planted("CREATE TABLE notes (text)"): "journal_schema_changed",
    planted("DROP INDEX landmarks"): "journal_schema_changed",
    a_trigger_that_permits_changes: "journal_schema_changed",
    a_shorter_journal_and_its_head: "journal_head_forged",
    a_forged_head: "journal_head_forged",
    a_head_by_another_key: "journal_head_forged",
    another_tables_name: "journal_other_table",
    evidence_of_another_outcome: "journal_row_changed",
    contents_left_out: "journal_row_changed",
    a_state_left_out: "journal_row_changed",
    everything_signed_again: "journal_key_differs",
    a_row_before_the_first: "journal_row_moved",
    a_place_that_the_next_outcome_needs: "journal_row_moved",
}


def name_of(attack: Attack) -> str:
    return attack.__name__


@pytest.mark.parametrize("attack", ATTACKS, ids=name_of)
def test_a_start_continues_from_nothing_that_the_key_did_not_sign(rig: Rig, attack: Attack) -> None:
    rig.played(4, limits=SPARSE)
    attack(rig)
    with pytest.raises(JournalFault) as raised:
        rig.open()
    assert raised.value.code == ATTACKS[attack]
    if ATTACKS[attack] not in ACCEPTABLE:
        with pytest.raises(JournalFault, match=ATTACKS[attack]):
            rig.open(accept=ANN)


_ONLY_A_START_TELLS = (
    a_place_that_the_next_outcome_needs,  # a running controller writes the same
    everything_signed_again,  # a reader uses and reports the key that the journal names
    another_tables_name,  # a reader finds that the first row does not follow from it
)
FOR_A_READER = [attack for attack in ATTACKS if attack not in _ONLY_A_START_TELLS]


@pytest.mark.parametrize("attack", FOR_A_READER, ids=name_of)
def test_verify_reports_each_unsigned_change(rig: Rig, attack: Attack) -> None:
    rig.played(4, limits=SPARSE)
    attack(rig)
    with pytest.raises(JournalFault) as raised, Reader(rig.place.journal) as reader:
        reader.verify_all(head=rig.place.head)
    assert raised.value.code == ATTACKS[attack]


def test_whenever_the_power_fails_the_last_row_on_the_disk_is_signed(rig: Rig) -> None:
    with rig.open(SPARSE) as journal:
        durable(begin(journal))
        durable(journal.note("clock.noted", {"by_us": 1}))
        for step in play_throws(2):
            durable(append(journal, step))
            durable(journal.note("control.used", {"did": "nothing"}))
            with Reader(rig.place.journal) as reader:
                last_n = reader.last_n()
                (row,) = reader.rows(last_n, last_n)
                assert row.signature is not None
                assert rig.key.public.verify(row.link, row.signature)


def test_verify_lists_rows_that_no_signature_authenticates(rig: Rig) -> None:
    rig.played(2)
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all(head=rig.place.head).unauthenticated == ()
        (words,) = reader.verify_all().unauthenticated
        assert "without a head file" in words


def test_after_a_person_accepts_a_forged_head_its_numbers_do_not_count(rig: Rig, tmp_path: Path) -> None:
    """The true numbers are the journal's, and a forged head must not raise them."""
    rig.played(3)
    published = len(rig.published)
    a_forged_head(rig)
    with rig.open(accept=ANN) as journal:
        assert journal.recovered.first.seq == published + 1


def as_power_failed(rig: Rig, folder: Path) -> Rig:
    """Continue play, with checkpoints, and copy the files just after the last outcome was published."""
    with rig.open(SPARSE) as journal:
        durable(begin(journal))
        for step in play_throws(14):
            durable(append(journal, step))
        (folder / "elsewhere").mkdir(parents=True)
        for file in rig.folder.glob("journal.db*"):
            shutil.copy(file, folder)
        shutil.copy(rig.place.head, folder / "elsewhere")
    return Rig(folder, rig.key)


def another_last_state(connection: apsw.Connection) -> None:
    """Remove the contents of the last outcome, and add a forged state in their place."""
    published = connection.execute("SELECT max(n) FROM rows WHERE seq IS NOT NULL AND after IS NOT NULL").get
    after = json.loads(connection.execute("SELECT after FROM rows WHERE n = ?", (published,)).get)
    after["state"]["point"] = 4
    forged = json.dumps(after).encode()
    connection.execute("UPDATE rows SET body = NULL, after = ? WHERE n = ?", (forged, published))


def a_decision_to_prune_all(connection: apsw.Connection) -> None:
    """Forge the decision in an old signed row, before those that a start reads."""
    body = encode(PruningDecision(evidence_below=10**9, bodies_below=10**9, by="nobody", who=None))
    old = connection.execute("SELECT min(n) FROM rows WHERE seq IS NULL AND signature IS NOT NULL AND n > 1")
    connection.execute("UPDATE rows SET name = ?, body = ? WHERE n = ?", (PRUNED, body, old.get))


def test_a_forged_decision_to_prune_makes_no_forged_state_valid(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is in a row that a start does not walk, and it prunes the last outcome's contents."""
    monkeypatch.setattr(opening, "MIN_VERIFIED_ROWS", 20)
    stopped = as_power_failed(rig, tmp_path / "stopped")
    tamper(stopped.place.journal, a_decision_to_prune_all)
    tamper(stopped.place.journal, another_last_state)
    with pytest.raises(JournalFault, match="journal_row_changed"):
        stopped.open()
