"""Bets, wins and returns, from outcomes to balances."""

import pytest

from controller.settlement_service.faults import RequestRefused
from tests.settlement_service.rig import House, SealedTable


def test_a_pass_bet_wins_on_a_natural(house: House, craps: SealedTable) -> None:
    house.player("ann", 10_000)
    house.takes(craps.takes_dice("3"))
    house.bets(craps, "ann", "b1", "pass", 500)
    assert house.balance("player:ann") == 9_500
    assert house.balance("at_risk:craps-1") == 500
    house.takes(craps.rolls(3, 4))
    assert house.balance("player:ann") == 10_500
    assert house.balance("house:craps-1") == -500
    assert house.balance("at_risk:craps-1") == 0
    assert house.proof().faults == ()


def test_a_lost_stake_goes_to_the_house(house: House, craps: SealedTable) -> None:
    house.player("ann", 10_000)
    house.bets(craps, "ann", "b1", "pass", 500)
    house.takes(craps.rolls(6, 6))
    assert house.balance("player:ann") == 9_500
    assert house.balance("house:craps-1") == 500
    assert house.proof().faults == ()


def test_the_remainder_of_rounding_down_is_breakage(house: House, craps: SealedTable) -> None:
    """Place 4 pays 7 to 4, so 101 cents win 176 and three quarters. Four of them leave three whole cents."""
    house.player("ann", 10_000)
    house.takes(craps.takes_dice("3"), craps.rolls(4, 4))
    for number in range(4):
        house.bets(craps, "ann", f"b{number}", "place", 101, number=4)
    house.takes(craps.rolls(1, 3))
    assert house.balance("player:ann") == 10_000 + 4 * 176
    assert house.balance("breakage:craps-1") == 3
    assert house.balance("house:craps-1") == -4 * 176 - 3
    assert house.proof().faults == ()


def test_a_bet_above_the_balance_is_refused(house: House, roulette: SealedTable) -> None:
    house.player("ann", 300)
    with pytest.raises(RequestRefused, match="300 cents"):
        house.bets(roulette, "ann", "b1", "red", 400)
    assert house.balance("player:ann") == 300


def test_a_bet_after_the_dice_left_the_hand_is_refused(house: House, craps: SealedTable) -> None:
    house.player("ann", 1_000)
    house.takes(craps.dice_out())
    with pytest.raises(RequestRefused):
        house.bets(craps, "ann", "b1", "field", 500)


def test_a_straight_bet_pays(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "straight", 100, numbers=["17"])
    house.takes(roulette.spins("17"))
    assert house.balance("player:ann") == 1_000 + 3_500
    assert house.proof().faults == ()


def test_after_a_no_spin_bets_stay_up(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    house.takes(roulette.no_spin())
    assert house.balance("at_risk:wheel-1") == 100
    house.takes(roulette.spins("1"))
    assert house.balance("player:ann") == 1_100
