"""The engine's reports to a Three Card Poker table about positions without Pair Plus (T-DEAL-2b)."""

from controller.journal.keys import Key
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.test_other_games import dealt

Told = list[tuple[str, tuple[str, ...]]]


def cards(house: House, key: Key) -> tuple[SealedTable, Told]:
    """Open a Three Card Poker table, and collect the reports to it."""
    reports: Told = []
    house.engine.pair_plus = lambda table, without, _at: reports.append((table, without))
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    for player in ("ann", "bob"):
        house.player(player, 10_000)
    return table, reports


def test_positions_without_pair_plus_are_reported_from_left_to_right_and_then_the_remaining_ones(
    house: House, key: Key
) -> None:
    table, reports = cards(house, key)
    house.bets(table, "ann", "a1", "ante", 200, seat="3")
    house.bets(table, "bob", "b1", "ante", 200, seat="1")
    house.bets(table, "ann", "a2", "pair_plus", 200, seat="3")
    assert reports == [("cards", ("3",)), ("cards", ("1", "3")), ("cards", ("1",))]


def test_once_the_deal_is_settled_no_position_is_reported(house: House, key: Key) -> None:
    table, reports = cards(house, key)
    house.bets(table, "ann", "a1", "ante", 200, seat="3")
    closed, called = dealt(table)
    house.takes(closed)
    house.bets(table, "ann", "p1", "play", 200, seat="3")
    assert reports == [("cards", ("3",))], "Play must change nothing"
    house.takes(called)
    assert reports[-1] == ("cards", ())


def test_other_games_report_no_positions_without_pair_plus(
    house: House, craps: SealedTable, key: Key
) -> None:
    _, reports = cards(house, key)
    house.bets(craps, "ann", "c1", "field", 100)
    assert reports == []
