"""The engine's reports to a craps table about its shooter's Pass or Don't Pass bet."""

from tests.settlement_service.rig import House, SealedTable

Told = list[tuple[str, str, bool]]


def listening(house: House) -> Told:
    reports: Told = []
    house.engine.line_bet = lambda table, seat, has, _at: reports.append((table, seat, has))
    return reports


def test_a_shooter_without_a_line_bet_is_reported_and_then_that_he_has_one(
    house: House, craps: SealedTable
) -> None:
    reports = listening(house)
    house.player("ann", 10_000)
    house.desk.seat(house.new_identity(), "craps-1", "3", "ann")
    house.takes(craps.takes_dice("3"))
    assert reports == [("craps-1", "3", False)]
    house.bets(craps, "ann", "b1", "field", 100)
    assert len(reports) == 1
    house.bets(craps, "ann", "b2", "dont_pass", 100)
    assert reports[1:] == [("craps-1", "3", True)]


def test_once_the_line_bet_is_decided_the_shooter_needs_another(house: House, craps: SealedTable) -> None:
    reports = listening(house)
    house.player("ann", 10_000)
    house.desk.seat(house.new_identity(), "craps-1", "3", "ann")
    house.takes(craps.takes_dice("3"))
    house.bets(craps, "ann", "b1", "pass", 100)
    house.takes(craps.rolls(3, 4))
    assert reports[-1] == ("craps-1", "3", False)


def test_a_seat_without_an_account_is_reported_by_its_number(house: House, craps: SealedTable) -> None:
    reports = listening(house)
    house.takes(craps.takes_dice("7"))
    assert reports == [("craps-1", "7", False)]


def test_a_wheel_has_no_shooter(house: House, roulette: SealedTable) -> None:
    reports = listening(house)
    house.takes(roulette.spins("17"))
    assert reports == []
