"""A Sharp Shooter bet counts the points of one hand, which ends with a seven-out or a pass (CV1-SHARP-2)."""

import pytest

from controller.journal.keys import Key
from controller.model.outcomes import ShooterChanged
from tests.settlement_service.rig import House, SealedTable


@pytest.fixture
def craps(house: House, key: Key) -> SealedTable:
    """Return a Craps Version 1 table with a $1 Sharp Shooter bet before the hand of an unnamed shooter."""
    table = SealedTable("craps-1", key)
    house.enrol(table, "craps-v1")
    house.player("ann", 1_000)
    house.bets(table, "ann", "s1", "sharp_shooter", 100)
    return table


def passed(table: SealedTable) -> bytes:
    """Publish that the dice are passed, without a named shooter."""
    table.shooter = None
    return table.publish_outcome("shooter.changed", ShooterChanged(shooter=None, cause="pass_dice"))


def points(table: SealedTable, count: int) -> list[bytes]:
    """Return the events of this many points of 4, each made."""
    return [event for _ in range(2 * count) for event in table.rolls(2, 2)]


def test_a_seat_named_late_names_the_hand_in_progress(house: House, craps: SealedTable) -> None:
    house.takes(craps.rolls(2, 2), craps.takes_dice("4"), craps.rolls(2, 2), points(craps, 3))
    house.takes(craps.rolls(2, 2), craps.rolls(3, 4))
    assert house.balance("player:ann") == 1_000 + 800
    assert house.proof().faults == ()


@pytest.mark.parametrize("reopened", [False, True])
def test_a_pass_of_the_dice_ends_a_hand_without_a_named_shooter(
    house: House, craps: SealedTable, reopened: bool
) -> None:
    house.takes(points(craps, 2), passed(craps))
    if reopened:
        house.reopen()
    house.takes(points(craps, 2), craps.rolls(2, 2), craps.rolls(3, 4))
    assert house.balance("player:ann") == 900
    assert house.proof().faults == ()


def test_a_shooter_who_takes_passed_dice_begins_a_new_hand(house: House, craps: SealedTable) -> None:
    house.takes(craps.rolls(2, 2), craps.rolls(1, 2), passed(craps))
    house.bets(craps, "ann", "s2", "sharp_shooter", 100)
    house.takes(craps.takes_dice("5"), craps.rolls(2, 2), points(craps, 3))
    house.reopen()
    house.takes(craps.rolls(2, 2), craps.rolls(3, 4))
    assert house.balance("player:ann") == 800 + 100 + 800


def test_a_correction_that_returns_the_dice_to_an_unnamed_shooter_is_not_a_pass(
    house: House, craps: SealedTable
) -> None:
    house.takes(points(craps, 3), craps.rolls(2, 2), craps.rolls(3, 4))
    assert house.balance("player:ann") == 900 + 600
    house.takes(craps.roll_corrected(1, 3))
    house.takes(craps.rolls(2, 2), craps.rolls(3, 4))
    assert house.balance("player:ann") == 900 + 900
    assert house.proof().faults == ()
