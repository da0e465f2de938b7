"""A partly failing PostgreSQL server: a hanging process, an ended session, a full disk."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

from controller.settlement_service import store as store_module
from controller.settlement_service.faults import DatabaseUnavailable
from controller.settlement_service.http_requests import Tokens
from controller.settlement_service.store import Store
from tests.app.rig import until
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.rig import House
from tests.settlement_service.service import Service

pytestmark = needs_postgres
NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE FUNCTION no_room_for_tables() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not create file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON movements EXECUTE FUNCTION no_room();
CREATE EVENT TRIGGER no_room_for_tables ON ddl_command_start WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS')
EXECUTE FUNCTION no_room_for_tables();
"""
"""Fails any write that needs a new page, as a full disk does; an update in place still succeeds."""
ROOM = "DROP EVENT TRIGGER no_room_for_tables; DROP TRIGGER no_room ON movements;"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture
def url(cluster: Cluster, tmp_path: Path) -> str:
    return cluster.database(tmp_path.name.replace("-", "_"))


def another(url: str) -> Engine:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def owner_of(url: str) -> int:
    """Return the server's process that holds the engine's advisory lock."""
    query = (
        "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
    )
    with another(url).connect() as connection:
        pid: int = connection.execute(text(query)).scalar_one()
    return pid


def tell(url: str, words: str) -> None:
    with another(url).connect() as connection:
        connection.exec_driver_sql(words)


def deposited(service: Service, key: str) -> int:
    return service.ask("POST", "/players/ann/deposits", {"cents": 5}, token="staff-secret", key=key)[0]


@pytest.fixture
def service(url: str, tmp_path: Path) -> Iterator[Service]:
    house = House(url)
    house.player("ann", 1_000)
    Tokens(house.engine).make("till", "staff", "staff-secret")
    house.store.close()
    service = Service(tmp_path, url)
    service.start()
    yield service
    service.close()


def test_a_stopped_process_of_the_server_is_reported_and_nothing_is_booked_twice(
    url: str, service: Service
) -> None:
    """The server accepts new connections, but the stopped process keeps the engine's lock."""
    until(lambda: service.ask("GET", "/health")[0] == 200, "health to be good")
    pid = owner_of(url)
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: service.ask("GET", "/health")[0] == 503, "health to report it")
        assert deposited(service, "while-stopped") == 503
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: service.ask("GET", "/health")[0] == 200, "health to recover")
    assert [deposited(service, "while-stopped") for _ in range(2)] == [200, 200]
    account = service.ask("GET", "/players/ann", token="staff-secret")[1]
    assert isinstance(account, dict)
    assert account["balance"] == 1_005
    assert service.terminate() == 0


@pytest.fixture
def engine(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Yield an engine on this database in the test's process, with time limits for a busy machine."""
    monkeypatch.setattr(store_module, "STATEMENT_TIMEOUT_S", 60.0)
    house = House(url)
    yield house
    house.store.close()


def test_an_engine_whose_session_was_ended_writes_nothing_once_another_has_its_place(
    url: str, engine: House
) -> None:
    engine.player("bob", 10)
    tell(url, f"SELECT pg_terminate_backend({owner_of(url)}, 5000)")
    other = Store(url)
    other.open()
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            engine.engine.probe()
        with pytest.raises(DatabaseUnavailable):
            engine.player("eve", 10)
        assert trouble(engine) is not None
    other.close()
    engine.engine.probe()
    assert trouble(engine) is None
    engine.player("eve", 10)
    assert engine.proof().faults == ()


@pytest.mark.parametrize("moment", ["between two", "within one"])
def test_a_session_that_ends_takes_its_transaction_with_it(url: str, engine: House, moment: str) -> None:
    engine.player("bob", 10)
    if moment == "between two":
        tell(url, f"SELECT pg_terminate_backend({owner_of(url)}, 5000)")
        with pytest.raises(DatabaseUnavailable):
            engine.player("eve", 10)
    else:
        with pytest.raises(DatabaseUnavailable):
            asked_while_its_session_ends(url, engine)
    engine.player("eve", 10)
    assert engine.balance("player:eve") == 10
    assert engine.proof().faults == ()


def asked_while_its_session_ends(url: str, engine: House) -> None:
    with engine.engine.work() as work:
        work.balance("player:bob")
        tell(url, f"SELECT pg_terminate_backend({owner_of(url)}, 5000)")
        work.balance("player:bob")


def test_a_full_disk_is_reported_as_long_as_there_is_no_room_for_a_new_page(url: str, engine: House) -> None:
    """An update in place needs no new page, so a probe by an update alone would report `ok` between bets."""
    engine.player("bob", 10)
    tell(url, NO_ROOM)
    with pytest.raises(DatabaseUnavailable, match="No space left"):
        engine.player("eve", 10)
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable, match="No space left"):
            engine.engine.probe()
        assert "No space left" in (trouble(engine) or "")
    tell(url, ROOM)
    engine.engine.probe()
    assert trouble(engine) is None
    engine.player("fay", 10)
    assert engine.proof().faults == ()


def trouble(of: House) -> str | None:
    """Return the present fault, if any."""
    reported: Callable[[], str | None] = lambda: of.engine.write_fault  # noqa: E731 - evaluated each time
    return reported()
