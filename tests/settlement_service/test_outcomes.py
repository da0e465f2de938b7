"""Outcomes are applied once each, in order, and only from the enrolled table."""

from pathlib import Path

import pytest
from msgspec import UNSET
from sqlalchemy import select

from controller.journal.keys import Key
from controller.model.outcomes import TableEvent
from controller.publish.events import read_event
from controller.settlement_service import schema
from controller.settlement_service.deliveries import AcknowledgedDelivery, HeldDelivery, RejectedDelivery
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.intake import Policies
from tests.settlement_service.rig import House, SealedTable, key_in


def test_an_acknowledgement_names_id_and_chain_hash(house: House, roulette: SealedTable) -> None:
    closed = roulette.spins("17")[0]
    chain = read_event(closed).chain
    assert house.deliver(closed) == [AcknowledgedDelivery("wheel-1", "wheel-1/1/1", chain)]


def test_a_repeated_outcome_has_no_second_effect(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    published = roulette.spins("1")
    house.takes(published)
    house.takes(published, published)
    house.reopen()
    house.takes(published)
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


def test_outcomes_ahead_of_a_gap_wait_for_the_missing_ones(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    closed, called, opened = roulette.spins("1")
    assert house.deliver(called) == [HeldDelivery("wheel-1", 2, asks_from=1)]
    assert house.deliver(opened) == [HeldDelivery("wheel-1", 3, asks_from=1)]
    assert house.balance("at_risk:wheel-1") == 100
    answers = house.deliver(closed)
    assert [answer.id for answer in answers if isinstance(answer, AcknowledgedDelivery)] == [
        "wheel-1/1/1",
        "wheel-1/1/2",
        "wheel-1/1/3",
    ]
    assert house.balance("player:ann") == 1_100


def test_the_number_of_waiting_outcomes_is_limited(tmp_path: Path, key: Key) -> None:
    house = House(f"sqlite:///{tmp_path}/small.db", Policies(hold=2))
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    first, *rest = [*table.spins("1"), *table.spins("2")]
    answers = house.deliver(rest)
    assert [type(answer) for answer in answers] == [
        HeldDelivery,
        HeldDelivery,
        RejectedDelivery,
        RejectedDelivery,
        RejectedDelivery,
    ]
    # A table sends all unacknowledged outcomes again, including refused ones.
    house.takes(first)
    house.takes(rest)
    house.store.close()


def test_waiting_outcomes_take_little_memory_whatever_a_table_signs(house: House, key: Key) -> None:
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    first = table.open_table()
    vast = [
        table.publish_outcome("device.fault", TableEvent(cause="x", says="y" * 900_000)) for _ in range(6)
    ]
    answers = house.deliver(vast)
    assert [type(answer) for answer in answers] == [HeldDelivery] * 4 + [RejectedDelivery] * 2
    house.takes(first)
    house.takes(vast)


def test_a_table_that_is_not_enrolled_is_refused(house: House, key: Key) -> None:
    (answer,) = house.deliver(SealedTable("stranger", key).open_table())
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "table_unknown"


def test_a_table_with_another_key_is_refused_and_reported(
    house: House, roulette: SealedTable, tmp_path: Path
) -> None:
    clone = SealedTable(roulette.name, key_in(tmp_path))
    (answer,) = house.deliver(clone.open_table())
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "seal_wrong"
    assert alarms(house) == [("wheel-1", "seal_wrong")]
    house.takes(roulette.open_table())


def test_an_alarm_shows_foreign_text_in_printable_form(house: House, roulette: SealedTable) -> None:
    """A database may refuse a NUL, and a terminal obeys an escape."""
    forged = roulette.open_table().replace(b'"id":"wheel-1/1/1"', b'"id":"' + rb"\u0000\u001b\n\u202e" + b'"')
    house.deliver(forged)
    with house.store.transaction() as connection:
        (says,) = connection.execute(select(schema.alarms.c.says)).scalars()
    assert r"outcome \x00\x1b\n\u202e is not signed" in says
    assert says.isprintable()


def test_a_genuine_signature_with_another_body_is_refused(house: House, roulette: SealedTable) -> None:
    _, called, _ = published = roulette.spins("17")
    forged = called.replace(b'"17"', b'"18"')
    assert forged != called
    house.takes(published[0])
    (answer,) = house.deliver(forged)
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "seal_wrong"
    house.takes(called)


def test_a_second_table_with_the_same_key_stops_the_table(house: House, key: Key) -> None:
    """A key was copied or a journal restored, and the engine does not guess which table is genuine."""
    one, other = SealedTable("wheel-1", key), SealedTable("wheel-1", key)
    house.enrol(one, "roulette")
    house.takes(one.spins("17"))
    answers = house.deliver(other.open_table())
    assert isinstance(answers[0], RejectedDelivery)
    assert answers[0].code == "outcome_conflict"
    (answer,) = house.deliver(one.open_table())
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "table_halted"
    house.reopen()
    (answer,) = house.deliver(one.publish_outcome("table.opened", _opened()))
    assert isinstance(answer, RejectedDelivery)
    house.engine.release("wheel-1", "ann", refund=False)
    assert alarms(house) == []


def test_a_new_key_is_pinned_by_a_persons_decision(
    house: House, roulette: SealedTable, tmp_path: Path
) -> None:
    house.takes(roulette.spins("17"))
    replaced = SealedTable("wheel-1", key_in(tmp_path), first_seq=roulette.seq)
    house.engine.enrol("wheel-1", "roulette", replaced.key.public.raw, anew=True)
    house.takes(replaced.spins("3"))
    assert house.proof().faults == ()


def test_an_outcome_that_does_not_fit_the_book_stops_the_table(house: House, craps: SealedTable) -> None:
    """The table has a point that is not in the book, and the engine does not guess the roll's result."""
    house.player("ann", 1_000)
    house.bets(craps, "ann", "b1", "pass", 500)
    craps.point = 6
    published = craps.rolls(2, 4)
    answers = house.deliver(published)
    assert [type(answer) for answer in answers] == [AcknowledgedDelivery, RejectedDelivery, RejectedDelivery]
    assert isinstance(answers[1], RejectedDelivery)
    assert answers[1].code == "state_differs"
    assert house.balance("at_risk:craps-1") == 500

    house.engine.release("craps-1", "ann", refund=True)
    house.takes(published)
    assert house.balance("player:ann") == 1_000
    house.takes(craps.rolls(5, 5))
    assert house.proof().faults == ()


def alarms(house: House) -> list[tuple[str, str]]:
    query = select(schema.alarms).where(schema.alarms.c.cleared_us.is_(None))
    with house.store.transaction() as connection:
        return [(row.table_name, row.code) for row in connection.execute(query)]


def _opened() -> TableEvent:
    return TableEvent(cause="open_table")


def test_a_message_that_is_not_an_event_is_refused(house: House) -> None:
    (answer,) = house.deliver(b"{}")
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "unreadable"


def test_lost_outcomes_are_skipped_only_by_a_persons_decision(house: House, roulette: SealedTable) -> None:
    """An older journal was continued, and its next outcome has a higher number than any published before."""
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    house.takes(roulette.spins("1"))
    settled = roulette.seq - 1
    roulette.seq = 37
    house.bets(roulette, "ann", "b2", "red", 100)
    published = roulette.spins("3")
    assert house.deliver(published[0]) == [HeldDelivery("wheel-1", 37, asks_from=settled + 1)]
    pinned = roulette.key.public.raw
    with pytest.raises(RequestRefused, match=f"the next is {settled + 1}"):
        house.engine.enrol("wheel-1", "roulette", pinned, first_seq=settled, anew=True)
    house.engine.enrol("wheel-1", "roulette", pinned, first_seq=37, anew=True)
    house.takes(published)
    assert house.balance("player:ann") == 1_200
    assert house.proof().faults == ()


def test_C34_CONT_2b_outcomes_say_which_rolls_are_thrown_in_a_run_out(
    house: House, craps: SealedTable
) -> None:
    """A Come bet waits for its 5 through a run-out. Once the boxperson ends it, a roll sets a point again."""
    house.player("ann", 1_000)
    house.takes(craps.takes_dice("1"), craps.rolls(2, 2))
    house.bets(craps, "ann", "b1", "come", 100)
    house.takes(craps.rolls(2, 3), craps.rolls(1, 3))
    craps.run_out = True
    house.takes(craps.rolls(3, 3), craps.rolls(5, 6), craps.rolls(4, 4))
    assert house.balance("at_risk:craps-1") == 100
    house.reopen()
    craps.run_out = False
    house.takes(craps.rolls(4, 5))
    house.takes(craps.rolls(1, 4))
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


def test_gap_34_17_a_run_out_not_ended_after_its_last_bet_stops_nothing(
    house: House, craps: SealedTable
) -> None:
    """The table does not know the bets. It sets no point, and the book follows until the run-out ends."""
    house.player("ann", 1_000)
    house.takes(craps.takes_dice("1"), craps.rolls(2, 2))
    house.bets(craps, "ann", "b1", "come", 100)
    house.takes(craps.rolls(2, 3), craps.rolls(1, 3))
    craps.run_out = True
    house.takes(craps.rolls(2, 3), craps.rolls(3, 3), craps.rolls(4, 4))
    house.reopen()
    house.takes(craps.rolls(4, 4))
    craps.run_out = False
    house.takes(craps.rolls(3, 3))
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


def test_gap_34_16_a_roll_of_a_run_out_is_corrected_as_one(house: House, craps: SealedTable) -> None:
    house.player("ann", 1_000)
    house.takes(craps.takes_dice("1"), craps.rolls(2, 2))
    house.bets(craps, "ann", "b1", "come", 100)
    house.takes(craps.rolls(2, 3), craps.rolls(1, 3))
    craps.run_out = True
    house.takes(craps.rolls(3, 3), craps.roll_corrected(2, 3))
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


def test_a_roll_without_point_or_run_out_stops_the_table(house: House, craps: SealedTable) -> None:
    """The engine does not guess why no point was set."""
    craps.run_out = UNSET
    answers = house.deliver(craps.takes_dice("1"), craps.rolls(3, 3))
    assert next(answer.code for answer in answers if isinstance(answer, RejectedDelivery)) == "state_differs"
