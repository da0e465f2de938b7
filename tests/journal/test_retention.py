"""Removal of old evidence and old bodies: the chain still verifies, and each removal is signed."""

import apsw
import msgspec
import pytest

from controller.journal.contents import PruningDecision
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.recall import find_attempt, recall
from controller.journal.writer import Limits
from tests.journal.rig import NAME, NIGHT_US, Rig, append, begin, durable, play_throws, recover
from tests.journal.tamper import sql, tamper

EVER_US = NIGHT_US * 2
NEVER_US = 0


def play_and_prune(
    rig: Rig, *, evidence_before_us: int, bodies_before_us: int, acknowledged: int = 1000
) -> PruningDecision:
    """Play eight throws, have the first outcomes acknowledged, prune, and wait until the rows are pruned."""
    with rig.open(Limits(rows_between_checkpoints=4)) as journal:
        begin(journal)
        for step in play_throws(8):
            durable(append(journal, step))
        for row in rig.published[:acknowledged]:
            durable(journal.acknowledge(f"{NAME}/1/{row.seq}", row.link.hex(), "settlement"))
        ticket = durable(
            journal.prune(
                evidence_before_us=evidence_before_us,
                bodies_before_us=bodies_before_us,
                by="manager",
                who="ann",
            )
        )
        body = ticket.rows[0].body
    assert body is not None
    return msgspec.json.decode(body, type=PruningDecision)


def left(rig: Rig) -> tuple[int, int]:
    """Return the number of rows with evidence, and of outcomes with a body."""
    with Reader(rig.place.journal) as reader:
        rows = list(reader.rows(evidence=True))
    return sum(row.evidence is not None for row in rows), sum(
        row.body is not None for row in rows if row.seq is not None
    )


def test_evidence_is_removed_and_the_chain_stays_whole(rig: Rig) -> None:
    pruned = play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=NEVER_US)
    assert pruned.bodies_below == 1
    assert left(rig) == (0, len(rig.published))
    with Reader(rig.place.journal) as reader:
        found = reader.verify_all()
        first_call = next(row for row in rig.published if row.evidence is not None)
        recalled = recall(reader, f"{NAME}/1/{first_call.seq}")
    assert (found.evidence, found.dropped) == (0, 8)
    assert recalled.evidence is None
    assert recalled.judged_again is None
    assert recalled.row.evidence_digest == first_call.evidence_digest


def test_bodies_are_removed_and_the_chain_stays_whole(rig: Rig) -> None:
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US)
    assert left(rig) == (0, 0)
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().outcomes == len(rig.published)
        with pytest.raises(JournalFault, match="because the contents were pruned") as refused:
            recall(reader, f"{NAME}/1/1")
        with pytest.raises(JournalFault, match="because the contents were pruned") as not_found:
            find_attempt(reader, member=reader.find(f"{NAME}/1/1"))
    assert refused.value.code == not_found.value.code == "journal_no_such_outcome"
    assert recover(rig.place, rig.key.public, NAME).first.seq == len(rig.published) + 1


def test_only_older_rows_are_pruned(rig: Rig) -> None:
    rig.played(8)
    middle = rig.published[len(rig.published) // 2]
    with rig.open() as journal:
        for row in rig.published:
            durable(journal.acknowledge(f"{NAME}/1/{row.seq}", row.link.hex(), "settlement"))
        durable(
            journal.prune(evidence_before_us=middle.wall.us, bodies_before_us=middle.wall.us, by="manager")
        )
    with Reader(rig.place.journal) as reader:
        for row in reader.rows(evidence=True):
            if row.seq is not None:
                assert (row.body is None) == (row.n < middle.n)
        reader.verify_all()


def test_unacknowledged_outcomes_are_kept(rig: Rig) -> None:
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US, acknowledged=3)
    with Reader(rig.place.journal) as reader:
        rows = list(reader.rows(evidence=True))
    assert [row.seq for row in rows if row.seq is not None and row.body is None] == [1, 2, 3]
    assert all(row.evidence is not None for row in rows if row.evidence_digest and row.seq and row.seq > 3)


def test_a_pruned_journal_can_be_continued(rig: Rig) -> None:
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US)
    with rig.open() as journal:
        assert journal.recovered.session == 2
        durable(journal.note("clock.noted", {}))
    with Reader(rig.place.journal) as reader:
        reader.verify_all()


def test_a_removal_without_a_decision_is_found(rig: Rig) -> None:
    rig.played(4)
    tamper(rig.place.journal, sql("DELETE FROM evidence"))
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="the row was not pruned"):
        reader.verify_all()


def test_a_removal_beyond_the_decision_is_found(rig: Rig) -> None:
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US, acknowledged=3)
    tamper(rig.place.journal, sql("UPDATE rows SET body = NULL WHERE seq = 4"))
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="the row was not pruned"):
        reader.verify_all()


def test_events_are_never_pruned(rig: Rig) -> None:
    """Records of people's actions, acknowledgements and sessions are always kept."""
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US)
    with Reader(rig.place.journal) as reader:
        assert all(row.body is not None for row in reader.rows() if row.seq is None)
    tamper(rig.place.journal, sql("UPDATE rows SET body = NULL WHERE name = 'outbox.closed'"))
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="the row was not pruned"):
        reader.verify_all()


def test_the_triggers_that_forbid_changes_are_back_after_pruning(rig: Rig) -> None:
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US)
    connection = apsw.Connection(str(rig.place.journal))
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        connection.execute("DELETE FROM rows")
    connection.close()


def test_a_journal_without_a_checkpoint_keeps_everything(rig: Rig) -> None:
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(2):
            durable(append(journal, step))
        ticket = durable(journal.prune(evidence_before_us=EVER_US, bodies_before_us=EVER_US, by="manager"))
        assert ticket.rows[0].body is not None
        pruned = msgspec.json.decode(ticket.rows[0].body, type=PruningDecision)
    assert (pruned.evidence_below, pruned.bodies_below) == (1, 1)


def test_a_state_added_to_a_pruned_outcome_is_not_recovered(rig: Rig) -> None:
    """The table made the decision, and without the contents no digest authenticates a state."""
    play_and_prune(rig, evidence_before_us=EVER_US, bodies_before_us=EVER_US)
    statement = "UPDATE rows SET after = ? WHERE n = (SELECT max(n) FROM rows WHERE body IS NULL)"
    tamper(rig.place.journal, sql(statement, b'{"state":{"point":4}}'))
    with pytest.raises(JournalFault, match="a state without contents"):
        rig.open()
    with pytest.raises(JournalFault, match="a state without contents"), Reader(rig.place.journal) as reader:
        reader.verify_all()
