"""Every outcome takes effect exactly once with a killed engine or a crashed database."""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import text

from controller.journal.keys import Key
from controller.settlement_service.faults import DatabaseUnavailable, SettlementFault
from controller.settlement_service.store import Store
from tests.settlement_service.listener import feed_and_kill
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.wheel_play import Line, roulette

SPINS = 6
_NUMBERS = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/killed.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.database(f"t{next(_NUMBERS)}")


def prepared(url: str, key: Key) -> None:
    house = House(url)
    house.enrol(SealedTable("wheel-1", key), "roulette")
    house.player("ann", 100_000)
    house.store.close()


def undisturbed(lines: Sequence[Line], key: Key, tmp_path: Path) -> int:
    """Return the balance after these lines without a kill."""
    url = f"sqlite:///{tmp_path}/undisturbed.db"
    prepared(url, key)
    feed_and_kill(url, lines, acks=len(lines))
    house = House(url)
    balance = house.balance("player:ann")
    house.store.close()
    return balance


def test_an_engine_killed_again_and_again_applies_each_outcome_once(
    url: str, key: Key, tmp_path: Path
) -> None:
    lines = roulette("wheel-1", key, SPINS, seed=1)
    prepared(url, key)
    chance = random.Random(7)
    done: set[str] = set()
    kills = 0
    while left := [line for line in lines if line.word not in done]:
        # Unconfirmed lines are sent again, and sometimes confirmed lines as well.
        again = [line for line in lines if line.word in done][-chance.randrange(4) :]
        words = feed_and_kill(url, [*again, *left], acks=chance.randrange(7, 14))
        assert not any(word.startswith("refused") for word in words), words
        done.update(words)
        kills += 1
    assert kills > 2
    house = House(url)
    assert house.balance("player:ann") == undisturbed(lines, key, tmp_path)
    assert house.proof().faults == ()
    house.store.close()


@needs_postgres
def test_a_database_that_crashes_in_a_transaction_loses_it_whole(cluster: Cluster, key: Key) -> None:
    house = House(cluster.database(f"t{next(_NUMBERS)}"))
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    house.player("ann", 10_000)
    house.bets(table, "ann", "b1", "red", 100)
    events = table.spins("1")
    with pytest.raises(DatabaseUnavailable):
        crash_during(house, cluster, events)
    cluster.start()
    house.takes(events)
    house.takes(events)
    assert house.balance("player:ann") == 10_100
    assert house.proof().faults == ()
    house.store.close()


def crash_during(house: House, cluster: Cluster, events: list[bytes]) -> None:
    """Crash the database after the first outcome of a transaction has been processed."""
    take = house.engine._intake.take
    calls = 0

    def crash_then_take(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            cluster.crash()
        return take(*arguments)  # type: ignore[arg-type]  # handed on as they came

    house.engine._intake.take = crash_then_take  # type: ignore[method-assign,assignment]
    try:
        house.deliver(events)
    finally:
        house.engine._intake.take = take  # type: ignore[method-assign]


@needs_postgres
def test_a_database_restarted_again_and_again_keeps_each_effect_once(
    cluster: Cluster, key: Key, tmp_path: Path
) -> None:
    url = cluster.database(f"t{next(_NUMBERS)}")
    lines = roulette("wheel-1", key, SPINS, seed=2)
    prepared(url, key)
    done: set[str] = set()
    restarts = 0
    while left := [line for line in lines if line.word not in done]:
        done.update(feed_and_kill(url, left, acks=8))
        cluster.crash()
        cluster.start()
        restarts += 1
    assert restarts > 2
    house = House(url)
    assert house.balance("player:ann") == undisturbed(lines, key, tmp_path)
    assert house.proof().faults == ()
    house.store.close()


def test_a_second_engine_is_refused(url: str, key: Key) -> None:
    house = House(url)
    with pytest.raises(SettlementFault, match="in use"):
        Store(url).open()
    house.store.close()
    again = Store(url)
    again.open()
    again.close()


@needs_postgres
def test_an_engine_whose_lock_is_held_elsewhere_waits(cluster: Cluster, key: Key) -> None:
    """The engine's lost connection may still hold the lock for some time."""
    url = cluster.database(f"t{next(_NUMBERS)}")
    house, other = House(url), Store(url)
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    house.store.close()
    other.open()
    event = table.open_table()
    with pytest.raises(DatabaseUnavailable, match="lock timeout"):
        house.deliver(event)
    other.close()
    house.takes(event)
    house.store.close()


def test_a_database_of_another_program_is_left_unchanged(url: str) -> None:
    store = Store(url)
    with store.transaction() as connection:
        connection.execute(text("CREATE TABLE theirs (a INTEGER)"))
    with pytest.raises(SettlementFault, match="another program"):
        store.open()
    store.close()


def test_a_database_of_a_newer_program_is_left_unchanged(url: str) -> None:
    store = Store(url)
    store.open()
    with store.transaction() as connection:
        connection.execute(text("UPDATE settlement_version SET version = 99"))
    with pytest.raises(SettlementFault, match="99"):
        store.open()
    store.close()
