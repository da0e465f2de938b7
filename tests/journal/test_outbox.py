"""The outbox is in order, and only settlement's journaled acknowledgement closes an entry."""

import pytest

from controller.journal.contents import decode_outcome
from controller.journal.reading import Reader
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws


def waiting(rig: Rig, limit: int = 100, after_n: int = 0) -> list[int | None]:
    with Reader(rig.place.journal) as reader:
        return [row.seq for row in reader.outbox(limit, after_n)]


def events(rig: Rig, name: str) -> int:
    with Reader(rig.place.journal) as reader:
        return len(list(reader.rows(types={name})))


def test_every_outcome_waits_in_order(rig: Rig) -> None:
    rig.played(2)
    seqs = [row.seq for row in rig.published]
    assert waiting(rig) == seqs
    assert waiting(rig, limit=2) == seqs[:2]
    assert waiting(rig, after_n=rig.published[1].n) == seqs[2:]


def test_an_acknowledgement_closes_its_outcome_and_is_journaled(rig: Rig) -> None:
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(2):
            durable(append(journal, step))
        second = rig.published[1]
        assert second.body is not None
        outcome_id = decode_outcome(second.body).id
        durable(journal.acknowledge(outcome_id, second.link.hex(), "settlement"))
        durable(journal.acknowledge(outcome_id, second.link.hex(), "settlement"))
        assert waiting(rig) == [row.seq for row in rig.published if row.seq != 2]
        assert events(rig, "outbox.closed") == 1
    assert waiting(rig) == [row.seq for row in rig.published if row.seq != 2]
    assert rig.alarms == []


def test_acknowledgements_that_come_together_close_once_each(rig: Rig) -> None:
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(3):
            durable(append(journal, step))
        tickets = [
            journal.acknowledge(f"{NAME}/1/{row.seq}", row.link.hex(), "settlement")
            for row in rig.published
            for _ in range(2)
        ]
        for ticket in tickets:
            durable(ticket)
    assert waiting(rig) == []
    assert events(rig, "outbox.closed") == len(rig.published)
    with Reader(rig.place.journal) as reader:
        reader.verify_all()


@pytest.mark.parametrize(
    ("outcome_id", "chain", "code"),
    [
        (f"{NAME}/1/1", "00" * 32, "journal_ack_differs"),
        (f"{NAME}/1/999", "00" * 32, "journal_ack_unknown"),
        (f"{NAME}/9/1", "00" * 32, "journal_ack_unknown"),
        ("nonsense", "", "journal_ack_unknown"),
        ("a/b/" + "9" * 30, "", "journal_ack_unknown"),
        ("a/b/²", "", "journal_ack_unknown"),
    ],
)
def test_an_acknowledgement_that_does_not_match_closes_nothing_and_is_a_fault(
    rig: Rig, outcome_id: str, chain: str, code: str
) -> None:
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(1):
            durable(append(journal, step))
        before = waiting(rig)
        durable(journal.acknowledge(outcome_id, chain, "settlement"))
        assert rig.alarms == [code]
        assert waiting(rig) == before
        assert events(rig, "outbox.refused") == 1
        durable(journal.acknowledge(f"{NAME}/1/1", rig.published[0].link.hex(), "settlement"))
        assert rig.alarms == [code, None]


def test_a_refused_acknowledgement_is_named_in_printable_form(rig: Rig) -> None:
    """Whoever can write to the table's topic chooses the id and the name."""
    with rig.open() as journal:
        begin(journal)
        refused = durable(journal.acknowledge("\x1b[2J\n" + "x" * 190, "00" * 32, "eve\n\u202e"))
    assert refused.fault is not None
    assert refused.fault.where.startswith(r"acknowledgement of \x1b[2J\nxxx")
    assert refused.fault.where.endswith(r"... by eve\n\u202e")
    assert len(refused.fault.where) < 200


def test_waiting_outcomes_still_wait_after_a_restart(rig: Rig) -> None:
    rig.played(1)
    before = waiting(rig)
    rig.open().close()
    assert before
    assert waiting(rig) == before
