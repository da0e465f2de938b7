"""House policies for equipment failures and for a table that reopens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal.keys import Key
from controller.settlement_service.intake import Policies
from tests.settlement_service.rig import House, SealedTable


@pytest.fixture
def refunding(tmp_path: Path) -> Iterator[House]:
    house = House(f"sqlite:///{tmp_path}/refunding.db", Policies(malfunction="refund"))
    yield house
    house.store.close()


def with_a_pass_on_six(house: House, table: SealedTable) -> None:
    house.enrol(table, "craps-12-034")
    house.player("ann", 1_000)
    house.takes(table.takes_dice("3"))
    house.bets(table, "ann", "b1", "pass", 500)
    house.takes(table.rolls(2, 4))


def test_bets_stay_up_when_the_equipment_fails(house: House, key: Key) -> None:
    table = SealedTable("craps-1", key)
    with_a_pass_on_six(house, table)
    house.takes(table.no_roll("power_lost"))
    assert house.balance("at_risk:craps-1") == 500
    house.takes(table.rolls(3, 3))
    assert house.balance("player:ann") == 1_500


def test_bets_are_refunded_when_the_equipment_fails_and_the_point_stays(refunding: House, key: Key) -> None:
    table = SealedTable("craps-1", key)
    with_a_pass_on_six(refunding, table)
    refunding.takes(table.no_roll("power_lost"))
    assert refunding.balance("player:ann") == 1_000
    refunding.bets(table, "ann", "b2", "come", 100)
    refunding.takes(table.rolls(3, 3))
    refunding.reopen()
    refunding.takes(table.rolls(4, 4))
    assert refunding.proof().faults == ()


def test_a_throw_that_only_missed_the_wall_is_not_an_equipment_failure(refunding: House, key: Key) -> None:
    table = SealedTable("craps-1", key)
    with_a_pass_on_six(refunding, table)
    refunding.takes(table.no_roll("no_wall_hit"))
    assert refunding.balance("at_risk:craps-1") == 500


def test_a_table_that_opens_again_returns_the_bets_left_up(house: House, key: Key) -> None:
    table = SealedTable("craps-1", key)
    with_a_pass_on_six(house, table)
    house.takes(table.open_table())
    assert house.balance("player:ann") == 1_000
    house.takes(table.rolls(4, 4))
    assert house.proof().faults == ()
