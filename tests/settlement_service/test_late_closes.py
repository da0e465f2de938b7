"""A close of bets that is reported late. Bets made after it are returned."""

import pytest

from controller.journal.keys import Key
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.http_requests import Views
from tests.settlement_service.histories import SECOND_US, Trouble, World
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.test_gate import Wheel
from tests.settlement_service.test_histories import SECONDS, kept_margins

CLOSED_US = 5 * SECOND_US
BEFORE_US = CLOSED_US
AFTER_US = CLOSED_US + 1
"""Just after the ball's drop, when a sender may know the number."""


@pytest.fixture
def wheel(house: House, roulette: SealedTable) -> Wheel:
    return Wheel(house, roulette)


def heard_at(wheel: Wheel, t: int, session: str = "1") -> None:
    """Set the time at which the table receives all later queries."""
    wheel.said = lambda nonce: [wheel.word(nonce, heard={nonce: t}, until=t, session=session)]


def closes_late(wheel: Wheel) -> None:
    wheel.table.moment_us = CLOSED_US
    wheel.deliver([wheel.table.close_bets()])
    wheel.table.moment_us = None


def test_a_bet_received_after_a_close_that_is_reported_late_is_returned(wheel: Wheel) -> None:
    heard_at(wheel, BEFORE_US)
    assert wheel.bet("20") == ""
    heard_at(wheel, AFTER_US)
    assert wheel.bet("17") == ""
    closes_late(wheel)
    assert wheel.balance == 1_000 - 100
    wheel.deliver(wheel.table.shows("17"))
    assert wheel.balance == 1_000 - 100
    assert wheel.house.proof().faults == ()


def test_a_close_reported_again_with_an_earlier_time_undoes_what_came_in_between(
    wheel: Wheel,
) -> None:
    """A shoe reports the first card after the second one. Bets had closed with the first."""
    heard_at(wheel, BEFORE_US)
    assert wheel.bet("20") == ""
    heard_at(wheel, AFTER_US)
    assert wheel.bet("17") == ""
    wheel.table.moment_us = AFTER_US + SECOND_US
    wheel.deliver([wheel.table.close_bets()])
    assert wheel.balance == 1_000 - 200
    closes_late(wheel)
    assert wheel.balance == 1_000 - 100
    wheel.deliver(wheel.table.shows("17"))
    assert wheel.balance == 1_000 - 100
    assert wheel.house.proof().faults == ()


def test_a_bet_removed_after_such_a_close_stays_up_and_loses(wheel: Wheel) -> None:
    heard_at(wheel, BEFORE_US)
    assert wheel.bet("20") == ""
    heard_at(wheel, AFTER_US)
    assert wheel.undo_trial() == ""
    assert wheel.balance == 1_000
    closes_late(wheel)
    assert wheel.balance == 1_000 - 100
    wheel.deliver(wheel.table.shows("17"))
    assert wheel.balance == 1_000 - 100
    assert wheel.house.proof().faults == ()


def test_a_stake_removed_late_and_paid_out_at_the_cage_becomes_a_debt_that_can_be_paid(wheel: Wheel) -> None:
    """The chips have been paid out, so the wager is up again, and the debt prevents further bets."""
    heard_at(wheel, BEFORE_US)
    assert wheel.bet("20") == ""
    heard_at(wheel, AFTER_US)
    assert wheel.undo_trial() == ""
    wheel.desk.pay(wheel.house.new_identity(), "ann", -1_000)
    closes_late(wheel)
    wheel.deliver(wheel.table.shows("17"))
    assert wheel.balance == -100
    heard_at(wheel, CLOSED_US + 10 * SECOND_US)
    assert wheel.bet("20") == "FUNDS"
    wheel.desk.pay(wheel.house.new_identity(), "ann", 60)
    with pytest.raises(RequestRefused, match="-40 cents"):
        wheel.desk.pay(wheel.house.new_identity(), "ann", -10)
    wheel.desk.pay(wheel.house.new_identity(), "ann", 140)
    assert wheel.bet("20") == ""
    assert wheel.house.proof().faults == ()


def test_a_winning_bet_removed_after_such_a_close_still_wins(wheel: Wheel) -> None:
    heard_at(wheel, BEFORE_US)
    assert wheel.bet("17") == ""
    heard_at(wheel, AFTER_US)
    assert wheel.undo_trial() == ""
    closes_late(wheel)
    wheel.deliver(wheel.table.shows("17"))
    assert wheel.balance == 1_000 - 100 + 3_600


def test_an_undone_request_is_reported_to_player_and_staff_and_is_in_no_margin(wheel: Wheel) -> None:
    heard_at(wheel, AFTER_US)
    assert wheel.bet("17") == ""
    closes_late(wheel)
    views = Views(wheel.engine)
    assert [alarm.code for alarm in views.alarms()] == ["bets_struck"]
    (shown,) = views.results("ann", 10)
    assert "void" in str(shown)
    assert "reported the close too late" in str(shown)
    assert [r.wager_to_close_ms for r in views.rounds(wheel.table.name, 10)] == [None]
    with pytest.raises(RequestRefused, match="is not halted; nothing was refunded"):
        wheel.engine.release(wheel.table.name, "bob", refund=True)
    wheel.engine.release(wheel.table.name, "bob", refund=False)
    assert views.alarms() == []
    with pytest.raises(RequestRefused):
        wheel.engine.release(wheel.table.name, "bob", refund=False)


def test_a_restarted_engine_still_undoes_late_requests(wheel: Wheel) -> None:
    """The engine was killed between the bet and the close."""
    heard_at(wheel, AFTER_US)
    assert wheel.bet("17") == ""
    wheel.house.reopen()
    wheel.table.moment_us = CLOSED_US
    wheel.house.takes(wheel.table.close_bets())
    wheel.table.moment_us = None
    assert wheel.house.balance("player:ann") == 1_000
    wheel.house.reopen()
    wheel.house.takes(wheel.table.shows("17"))
    assert wheel.house.balance("player:ann") == 1_000
    assert wheel.house.proof().faults == ()


def test_times_of_another_session_are_not_compared(wheel: Wheel) -> None:
    """A restarted table has a new clock, and its attempt in progress is void."""
    heard_at(wheel, AFTER_US, session="0")
    assert wheel.bet("17") == ""
    closes_late(wheel)
    assert wheel.balance == 1_000 - 100


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_cable_holds_back_no_bet_from_after_the_close_counts(key: Key, seed: int) -> None:
    world = World(key, seed, Trouble(cable=0.4, cable_us=5 * SECOND_US, stalls=0.02, stall_us=SECOND_US))
    world.run(SECONDS)
    assert world.past_posted() == []
    assert world.granted
    assert kept_margins(world) >= 0
    proof = world.house.proof()
    assert proof.faults == ()
    world.end()


def test_with_such_cables_some_late_requests_are_accepted_at_first(key: Key) -> None:
    world = World(key, 1, Trouble(cable=0.4, cable_us=5 * SECOND_US))
    world.run(SECONDS)
    assert world.struck()
    world.end()
