"""A player's results over all tables: the newest first."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from controller.journal.keys import Key
from controller.settlement_service.http_requests import Views
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.rig import House, SealedTable


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    cluster = Cluster() if request.param == "postgresql" else None
    house = House(cluster.database("results") if cluster else f"sqlite:///{tmp_path}/settlement.db")
    yield house
    house.store.close()
    if cluster:
        cluster.remove()


def shown(house: House, limit: int) -> list[tuple[str, str]]:
    return [(result.table, result.wager) for result in Views(house.engine).results("ann", limit)]


def test_the_newest_results_of_every_table_come_first(house: House, key: Key) -> None:
    """The limit must not cut off a table whose name sorts last."""
    tables = [SealedTable("wheel-a", key), SealedTable("wheel-z", key)]
    for table in tables:
        house.enrol(table, "roulette")
    house.player("ann", 10_000)
    made = []
    for n in range(6):
        table = tables[(0, 0, 1, 0, 1, 1)[n]]
        house.bets(table, "ann", f"b{n}", "red", 100)
        house.takes(table.spins(("1", "2")[n % 2]))
        made.append((table.name, f"b{n}"))
    newest = made[::-1]
    for limit in (1, 2, 3, 6, 500):
        assert shown(house, limit) == newest[:limit]


def test_a_correction_that_moved_no_chips_is_as_new_as_its_ruling(house: House, key: Key) -> None:
    """A corrected number of the same colour leaves the bet on red as it was, so nothing is booked."""
    first, second = tables = [SealedTable("wheel-a", key), SealedTable("wheel-z", key)]
    for table in tables:
        house.enrol(table, "roulette")
    house.player("ann", 10_000)

    def plays(table: SealedTable, wager: str) -> None:
        house.bets(table, "ann", wager, "red", 100)
        house.takes(table.spins("1"))

    plays(first, "a1")
    plays(second, "z1")
    house.takes(first.spin_corrected("3"))
    assert [result.booked_us is None for result in Views(house.engine).results("ann", 2)] == [True, False]
    assert shown(house, 10) == [("wheel-a", "a1"), ("wheel-z", "z1")]
    plays(first, "a2")
    plays(second, "z2")
    assert shown(house, 10) == [("wheel-z", "z2"), ("wheel-a", "a2"), ("wheel-a", "a1"), ("wheel-z", "z1")]


def test_a_database_of_an_earlier_release_gets_the_index_of_movements(tmp_path: Path) -> None:
    """Without it, each result would be looked up among all movements."""
    house = House(f"sqlite:///{tmp_path}/settlement.db")
    with house.store.transaction() as connection:
        connection.execute(text("DROP INDEX movements_of_step"))
    house.reopen()
    with house.store.transaction() as connection:
        query = "SELECT id FROM movements WHERE table_name = '' AND n = 1"
        plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all())
    house.store.close()
    assert "movements_of_step" in plan
