"""A database that is stopped or accepts no writes. `/health` reports it, and no request hangs."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from controller.journal.keys import Key
from controller.settlement_service import store as store_module
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import DatabaseUnavailable, SettlementFault
from controller.settlement_service.http_requests import Tokens
from controller.settlement_service.store import STATEMENT_TIMEOUT_S, Store
from tests.app.rig import until
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.service import Service

OK = {"status": "ok", "tables": 0, "halted": 0, "alarms": 0, "broker": "none"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture
def service(cluster: Cluster, tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path, cluster.database(tmp_path.name.replace("-", "_")))
    house = House(service.url)
    house.player("ann", 1_000)
    Tokens(house.engine).make("till", "staff", "staff-secret")
    house.store.close()
    service.start()
    yield service
    service.close()


@contextmanager
def stopped(cluster: Cluster) -> Iterator[None]:
    """Stop every process of the server, whose sockets stay open, as on a frozen machine."""
    pids = [cluster.pid, *children(cluster.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tell(cluster: Cluster, *words: str) -> None:
    engine = create_engine(cluster.url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for word in words:
            connection.execute(text(word))


def trouble(of: Store | Engine) -> str | None:
    """Return the present fault, if any."""
    return of.write_fault


def is_well(service: Service) -> bool:
    return service.ask("GET", "/health") == (200, OK)


def deposit(service: Service, key: str) -> tuple[int, object]:
    return service.ask("POST", "/players/ann/deposits", {"cents": 5}, token="staff-secret", key=key)


@needs_postgres
def test_a_stopped_server_is_reported_at_the_next_health_request_until_it_resumes(
    cluster: Cluster, service: Service
) -> None:
    until(lambda: is_well(service), "health to be well")
    with stopped(cluster):
        status, reported = service.ask("GET", "/health")
        assert (status, reported["rule"]) == (503, "DATABASE")  # type: ignore[index]  # a refusal
        status, reported = deposit(service, "while-stopped")
        assert (status, reported["rule"]) == (503, "DATABASE")  # type: ignore[index]  # a refusal
        while "database: NOT WRITABLE" not in service.hear_any():
            pass
    until(lambda: is_well(service), "health to be well")
    assert deposit(service, "while-stopped")[0] == 200
    assert deposit(service, "while-stopped")[0] == 200
    assert service.ask("GET", "/players/ann", token="staff-secret")[1]["balance"] == 1_005  # type: ignore[index]  # an account
    assert service.terminate() == 0


@needs_postgres
def test_a_server_that_became_read_only_is_reported_without_any_bet(
    cluster: Cluster, service: Service
) -> None:
    until(lambda: is_well(service), "health to be good")
    tell(cluster, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        until(lambda: service.ask("GET", "/health")[0] == 503, "health to report it")
        _, reported = service.ask("GET", "/health")
        assert "read-only" in reported["reason"]  # type: ignore[index]  # a refusal
        assert deposit(service, "read-only")[0] == 503
        while "database: NOT WRITABLE" not in service.hear_any():
            pass
    finally:
        tell(
            cluster,
            "SET default_transaction_read_only = off",
            "ALTER SYSTEM RESET default_transaction_read_only",
            "SELECT pg_reload_conf()",
        )
    until(lambda: is_well(service), "health to be good")
    assert deposit(service, "read-only")[0] == 200


@needs_postgres
def test_the_watchdog_is_not_fed_while_the_database_accepts_no_writes(
    cluster: Cluster, service: Service
) -> None:
    service.hear("WATCHDOG=1")
    with stopped(cluster):
        while "database: NOT WRITABLE" not in service.hear_any():
            pass
        assert all("WATCHDOG=1" not in service.hear_any() for _ in range(4))
    service.hear("WATCHDOG=1")


@needs_postgres
def test_no_sql_statement_waits_indefinitely_for_a_stopped_server(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "STATEMENT_TIMEOUT_S", 0.3)
    store = Store(cluster.database("stall"))
    store.open()
    with stopped(cluster):
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable), store.transaction() as connection:
                connection.execute(text("SELECT 1"))
            assert trouble(store) is not None
    with store.transaction() as connection:
        store.prove_writable(connection)
    assert trouble(store) is None
    store.close()


@needs_postgres
def test_a_lock_held_elsewhere_is_awaited_no_longer_than_an_sql_statement(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "STATEMENT_TIMEOUT_S", 0.3)
    store = Store(cluster.database("locked"))
    store.open()
    other = create_engine(
        cluster.database("locked").replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool
    )
    with other.begin() as holder:
        holder.execute(text("LOCK TABLE settlement_version IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(DatabaseUnavailable), store.transaction() as connection:
            store.prove_writable(connection)
    store.close()


def test_an_sqlite_file_that_accepts_no_writes_is_reported_until_one_is_committed(tmp_path: Path) -> None:
    house = House(f"sqlite:///{tmp_path}/s.db")
    with house.store.transaction() as connection:
        connection.execute(text("PRAGMA query_only = ON"))
    with pytest.raises(DatabaseUnavailable, match="readonly"):
        house.engine.probe()
    assert trouble(house.engine) is not None
    house.engine.probe()  # a new connection writes again, and commits
    assert house.engine.write_fault is None
    house.store.close()


def fill(house: House) -> None:
    for number in range(1000):
        house.player(f"player-{number}", 1)


def test_a_full_disk_is_reported_until_it_has_room(tmp_path: Path) -> None:
    house = House(f"sqlite:///{tmp_path}/s.db")
    with house.store.transaction() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
    with pytest.raises(DatabaseUnavailable, match="full"):
        fill(house)
    assert "full" in (house.engine.write_fault or "")
    house.engine.probe()
    assert house.engine.write_fault is None
    assert house.proof().faults == ()
    house.store.close()


def test_a_successful_read_does_not_clear_a_write_fault(tmp_path: Path) -> None:
    house = House(f"sqlite:///{tmp_path}/s.db")
    house.store.write_fault = "the last write failed"
    with house.engine.work() as work:
        work.balance("player:ann")
    assert trouble(house.engine) is not None
    house.player("ann", 5)
    assert house.engine.write_fault is None
    house.store.close()


def test_the_waits_are_shorter_than_systemds_timeouts() -> None:
    unit = (Path(__file__).parents[2] / "systemd" / "table-settlement.service").read_text()
    assert f"WatchdogSec={60}" in unit
    assert STATEMENT_TIMEOUT_S < 60 / 4


def test_a_removed_or_replaced_database_file_is_reported_without_any_bet(tmp_path: Path) -> None:
    """A later write to the removed file is lost when the engine ends."""
    house = House(f"sqlite:///{tmp_path}/s.db")
    house.engine.probe()
    file = tmp_path / "s.db"
    file.rename(tmp_path / "moved")
    with pytest.raises(DatabaseUnavailable, match="is gone"):
        house.engine.probe()
    assert trouble(house.engine) is not None
    file.write_bytes((tmp_path / "moved").read_bytes())
    with pytest.raises(DatabaseUnavailable, match="another file"):
        house.engine.probe()
    file.unlink()
    (tmp_path / "moved").rename(file)
    house.engine.probe()
    assert house.engine.write_fault is None
    house.store.close()


def unlinked(file: Path) -> None:
    file.unlink()


def renamed(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def replaced(file: Path) -> None:
    """Replace the file with a copy, which another engine may open at the same time."""
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


@pytest.mark.parametrize("name", ["s.db", "s.db-wal"])
@pytest.mark.parametrize("take_away", [unlinked, renamed, replaced])
def test_nothing_in_a_removed_file_is_accepted_or_acknowledged(
    tmp_path: Path, key: Key, name: str, take_away: Callable[[Path], None]
) -> None:
    house = House(f"sqlite:///{tmp_path}/s.db")
    table = SealedTable("wheel-1", key)
    house.enrol(table, "roulette")
    house.player("ann", 1_000)
    take_away(tmp_path / name)
    with pytest.raises(DatabaseUnavailable):
        house.bets(table, "ann", "b1", "red", 100)
    with pytest.raises(DatabaseUnavailable):
        house.deliver(table.spins("17"))
    assert house.engine.write_fault is not None
    house.store.close()
    if name == "s.db":
        with pytest.raises(DatabaseUnavailable):
            house.bets(table, "ann", "b2", "red", 100)
    else:  # the next connection has a new log
        house.bets(table, "ann", "b2", "red", 100)
        assert house.proof().faults == ()
    house.store.close()


def test_an_engine_whose_file_was_replaced_accepts_nothing_once_another_opened_the_copy(
    tmp_path: Path, key: Key
) -> None:
    first = House(f"sqlite:///{tmp_path}/s.db")
    table = SealedTable("wheel-1", key)
    first.enrol(table, "roulette")
    first.player("ann", 100)
    first.reopen()  # moves all data from the log to the file
    with pytest.raises(SettlementFault, match="in use"):
        House(first.url)
    replaced(tmp_path / "s.db")
    (tmp_path / "s.db-wal").rename(tmp_path / "old-wal")
    second = House(first.url)
    second.bets(table, "ann", "b1", "red", 100)
    with pytest.raises(DatabaseUnavailable):
        first.bets(table, "ann", "b1", "red", 100)
    second.store.close()
    first.store.close()


@pytest.mark.parametrize(
    ("flag", "free", "says"), [(os.ST_RDONLY, 10**9, "read-only"), (0, 100, "409600 bytes of free space")]
)
def test_a_disk_that_became_read_only_or_full_is_reported_without_any_bet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: int, free: int, says: str
) -> None:
    """The kernel remounts a worn-out card read-only, and no write happens until a bet comes."""
    house = House(f"sqlite:///{tmp_path}/s.db")
    true = os.statvfs(tmp_path)

    def statvfs(_path: object) -> object:
        return SimpleNamespace(f_flag=true.f_flag | flag, f_bavail=free, f_frsize=4096)

    with monkeypatch.context() as disk:
        disk.setattr(os, "statvfs", statvfs)
        with pytest.raises(DatabaseUnavailable, match=says):
            house.engine.probe()
        assert trouble(house.engine) is not None
    house.engine.probe()
    assert house.engine.write_fault is None
    house.store.close()
