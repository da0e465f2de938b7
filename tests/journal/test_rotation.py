"""A table's new key. The journal records the first row that it signs, and old rows verify as before."""

import shutil
from pathlib import Path

import msgspec
import pytest

from controller.journal.chain import Draft, seal
from controller.journal.contents import KEY_REPLACED, KeyReplaced, event_draft
from controller.journal.faults import JournalFault
from controller.journal.keys import Key, load_key, new_key
from controller.journal.opening import Authorization, replace_key
from controller.journal.reading import Reader
from controller.journal.recall import recall
from controller.journal.store import insert, open_writer, rows_where
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, renumbered
from tests.journal.tamper import sql, tamper

ANN = Authorization(by="root", who="ann", reason="yearly")


def another(rig: Rig, name: str = "another") -> Key:
    new_key(rig.folder / name)
    return load_key(rig.folder / name)


def rotated(rig: Rig, *, lost: bool = False, name: str = "another") -> Key:
    """Replace the table's key; return the old one."""
    old, new = rig.key, another(rig, name)
    replace_key(rig.place, None if lost else old, new, ANN, rig.wall())
    rig.key = new
    return old


def play_on(rig: Rig) -> None:
    with rig.open() as journal:
        begin(journal)
        recovered = journal.recovered
        durable(append(journal, renumbered(play_throws(1)[0], recovered.first.seq, recovered.session)))


def verified(rig: Rig) -> tuple[str, ...]:
    with Reader(rig.place.journal) as reader:
        return reader.verify_all(head=rig.place.head).unauthenticated


def test_play_continues_under_the_new_key_and_old_outcomes_verify_under_the_old_one(rig: Rig) -> None:
    rig.played(2)
    old_told = len(rig.published)
    old = rotated(rig)
    play_on(rig)
    assert verified(rig) == ()
    with Reader(rig.place.journal) as reader:
        assert all(recall(reader, f"{NAME}/1/{row.seq}").signed for row in rig.published[:old_told])
        for row in rig.published[old_told:]:
            assert row.signature is not None
            assert rig.key.public.verify(row.link, row.signature)
            assert not old.public.verify(row.link, row.signature)
        assert [key.raw for key in reader.keyring().keys] == [old.public.raw, rig.key.public.raw]


def test_a_key_may_be_replaced_repeatedly(rig: Rig) -> None:
    rig.played(1)
    for name in ("second", "third", "fourth"):
        rotated(rig, name=name)
        play_on(rig)
    assert verified(rig) == ()


def test_the_old_key_no_longer_opens_the_journal(rig: Rig) -> None:
    rig.played(1)
    rig.key = rotated(rig)
    with pytest.raises(JournalFault, match="journal_key_differs"):
        rig.open()


def test_a_repeated_rotation_changes_nothing(rig: Rig) -> None:
    """Power was lost after the journal's row was written and before the new key was in place."""
    rig.played(1)
    old, new = rig.key, another(rig)
    before = shutil.copy(rig.place.head, rig.folder / "head-before")
    first = replace_key(rig.place, old, new, ANN, rig.wall())
    shutil.copy(before, rig.place.head)
    assert replace_key(rig.place, old, new, ANN, rig.wall()) == first
    rig.key = new
    play_on(rig)
    assert verified(rig) == ()


def test_a_head_from_before_the_rotation_only_lags(rig: Rig) -> None:
    rig.played(1)
    before = shutil.copy(rig.place.head, rig.folder / "head-before")
    rotated(rig)
    shutil.copy(before, rig.place.head)
    play_on(rig)
    assert verified(rig) == ()


def test_a_lost_key_is_replaced_by_a_persons_decision_and_verify_reports_it(rig: Rig) -> None:
    rig.played(2)
    rotated(rig, lost=True)
    play_on(rig)
    (words,) = verified(rig)
    assert "the previous key was lost" in words
    with Reader(rig.place.journal) as reader:
        (row,) = reader.rows(types={KEY_REPLACED})
        assert msgspec.json.decode(row.body or b"", type=KeyReplaced).who == "ann"


def test_another_tables_key_replaces_nothing(rig: Rig) -> None:
    rig.played(1)
    stranger, new = another(rig, "stranger"), another(rig, "new")
    with pytest.raises(JournalFault, match="journal_key_differs"):
        replace_key(rig.place, stranger, new, ANN, rig.wall())


def test_no_key_is_replaced_while_the_controller_runs(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal))
        with pytest.raises(JournalFault, match="journal_in_use"):
            replace_key(rig.place, rig.key, another(rig), ANN, rig.wall())


def forged(rig: Rig, signer: Key, *, proof_by: Key, new: Key, lost: bool = False) -> None:
    """Add a row that replaces the key, but is signed by a third key."""
    old = rig.key.public.raw
    replaced = KeyReplaced(
        old=old.hex(),
        new=new.public.raw.hex(),
        proof=proof_by.sign_handover(old).hex(),
        by="root",
        who="eve",
        reason="mine",
        lost=lost,
    )
    drafts: list[Draft] = [event_draft(KEY_REPLACED, replaced, rig.wall())]
    connection = open_writer(rig.place.journal)
    last = next(rows_where(connection, rig.place.journal, "ORDER BY n DESC LIMIT 1"))
    insert(connection, seal(drafts, last.n, last.link, signer), [])
    connection.close()


def test_a_key_without_the_old_keys_signature_is_not_accepted(rig: Rig) -> None:
    rig.played(1)
    mine = another(rig, "mine")
    forged(rig, mine, proof_by=mine, new=mine)
    rig.key = mine
    with pytest.raises(JournalFault, match="expected the signatures of both keys"):
        rig.open()
    with pytest.raises(JournalFault, match="journal_bad_signature"):
        verified(rig)


def test_a_key_without_its_own_signature_is_not_accepted(rig: Rig) -> None:
    rig.played(1)
    theirs = another(rig, "theirs")
    forged(rig, rig.key, proof_by=rig.key, new=theirs)
    rig.key = theirs
    with pytest.raises(JournalFault, match="journal_bad_signature"):
        rig.open()


def test_only_the_new_key_must_sign_the_replacement_of_a_lost_key(rig: Rig) -> None:
    rig.played(1)
    mine, theirs = another(rig, "mine"), another(rig, "theirs")
    forged(rig, mine, proof_by=mine, new=theirs, lost=True)
    rig.key = theirs
    with pytest.raises(JournalFault, match=r"expected the new key's signatures"):
        rig.open()


@pytest.mark.parametrize("column", ["body", "link", "signature", "digest"])
def test_a_changed_rotation_row_is_found(rig: Rig, column: str) -> None:
    rig.played(1)
    rotated(rig)
    play_on(rig)
    change = f"UPDATE rows SET {column} = x'00' WHERE name = '{KEY_REPLACED}'"
    tamper(rig.place.journal, sql(change))
    with pytest.raises(JournalFault):
        rig.open()


def test_a_removed_rotation_row_is_found(rig: Rig, tmp_path: Path) -> None:
    rig.played(1)
    old = rotated(rig)
    play_on(rig)
    tamper(rig.place.journal, sql("UPDATE rows SET name = 'clock.noted' WHERE name = ?", KEY_REPLACED))
    for key in (old, rig.key):
        rig.key = key
        with pytest.raises(JournalFault):
            rig.open()
