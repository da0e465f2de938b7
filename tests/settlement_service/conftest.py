"""Fixtures: a house with its own SQLite database, and tables with keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal.keys import Key
from tests.settlement_service.rig import House, SealedTable, key_in


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return key_in(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(f"sqlite:///{tmp_path}/settlement.db")
    yield house
    house.store.close()


@pytest.fixture
def craps(house: House, key: Key) -> SealedTable:
    table = SealedTable("craps-1", key)
    house.enrol(table, "craps-12-034")
    return table


@pytest.fixture
def roulette(house: House, key: Key) -> SealedTable:
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    return table
