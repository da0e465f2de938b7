"""A ruling after the call reverses the bookings of the call and books the new result."""

from controller.settlement_service.deliveries import RejectedDelivery
from tests.settlement_service.rig import House, SealedTable


def test_a_spin_is_corrected(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "straight", 100, numbers=["17"])
    house.bets(roulette, "ann", "b2", "straight", 100, numbers=["20"])
    house.takes(roulette.spins("17"))
    assert house.balance("player:ann") == 800 + 3_600
    house.takes(roulette.spin_corrected("20"))
    assert house.balance("player:ann") == 800 + 3_600
    house.takes(roulette.spin_corrected("21"))
    assert house.balance("player:ann") == 800
    assert house.proof().faults == ()


def test_after_a_spin_corrected_to_no_spin_bets_stay_up(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    house.takes(roulette.spins("2"))
    assert house.balance("house:wheel-1") == 100
    house.takes(roulette.spin_corrected(None))
    assert house.balance("at_risk:wheel-1") == 100
    house.reopen()
    house.takes(roulette.spins("1"))
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


def test_bets_made_after_the_wrong_call_stay_up_if_still_valid(house: House, craps: SealedTable) -> None:
    """A 6 was called and odds were taken. The ruling is 7, so the Pass won and the odds are returned."""
    house.player("ann", 10_000)
    house.takes(craps.takes_dice("3"))
    house.bets(craps, "ann", "b1", "pass", 500)
    house.takes(craps.rolls(2, 4))
    house.bets(craps, "ann", "b2", "pass_odds", 500, base="b1")
    house.bets(craps, "ann", "b3", "field", 200)
    house.takes(craps.roll_corrected(3, 4))
    assert house.balance("player:ann") == 10_500 - 200
    assert house.balance("at_risk:craps-1") == 200
    house.takes(craps.rolls(6, 5))
    assert house.proof().faults == ()


def test_undone_winnings_already_spent_become_a_debt(house: House, roulette: SealedTable) -> None:
    house.player("ann", 100)
    house.bets(roulette, "ann", "b1", "straight", 100, numbers=["17"])
    house.takes(roulette.spins("17"))
    house.desk.pay(house.new_identity(), "ann", -3_600)
    house.takes(roulette.spin_corrected("18"))
    assert house.balance("player:ann") == -3_600
    assert house.proof().faults == ()


def test_a_wrong_seven_out_does_not_end_the_shooters_hand(house: House, craps: SealedTable) -> None:
    house.player("ann", 10_000)
    house.takes(craps.takes_dice("3"))
    house.bets(craps, "ann", "b1", "pass", 500)
    house.takes(craps.rolls(2, 4), craps.rolls(3, 4))
    assert house.balance("house:craps-1") == 500
    house.takes(craps.roll_corrected(3, 3))
    assert house.balance("player:ann") == 10_500
    house.reopen()
    house.takes(craps.rolls(1, 1))
    assert house.proof().faults == ()


def test_a_no_roll_ruled_to_count_is_booked(house: House, craps: SealedTable) -> None:
    house.player("ann", 10_000)
    house.bets(craps, "ann", "b1", "field", 500)
    house.takes(craps.no_roll())
    assert house.balance("at_risk:craps-1") == 500
    house.takes(craps.roll_corrected(4, 5))
    assert house.balance("player:ann") == 10_500
    assert house.proof().faults == ()


def test_an_attempt_before_the_last_cannot_be_corrected(house: House, roulette: SealedTable) -> None:
    house.takes(roulette.spins("17"))
    first = "wheel-1/1/2"
    house.takes(roulette.spins("18"))
    roulette._last = first
    (answer,) = house.deliver(roulette.spin_corrected("20"))
    assert isinstance(answer, RejectedDelivery)
    assert answer.code == "state_differs"
