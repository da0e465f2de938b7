"""Two simultaneous faults: a stopped database, and an engine that is killed or started meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from controller.model.outcomes import SpinCalled
from drivers.sim import wheel
from tests.app.money import CHIPS, MoneySession, proved
from tests.app.rig import lines_of, until
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.service import Service
from tests.settlement_service.test_stalled_database import stopped


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


@contextmanager
def frozen(mosquitto: Mosquitto) -> Iterator[None]:
    mosquitto.freeze()
    try:
        yield
    finally:
        mosquitto.thaw()


def types(live: MoneySession) -> list[str]:
    return [row.name for row in live.table.rows() if row.seq is not None]


@pytest.mark.slow
@needs_mosquitto
@needs_postgres
@pytest.mark.parametrize("stalled", ["database", "broker"])
def test_a_stall_over_a_spin_and_an_engine_killed_meanwhile_pay_no_bet_made_after_it(
    tmp_path: Path, cluster: Cluster, mosquitto: Mosquitto, stalled: str
) -> None:
    """The bet came before the spin was settled anywhere, and is repeated under its key later."""
    _, feed, _ = wheel.simulate(12, {"valid": 1.0}, 2, wheel=wheel.AMERICAN)
    live = MoneySession(
        tmp_path,
        "roulette",
        feed,
        lambda _after, _made: [],
        broker=mosquitto,
        database=cluster.database(stalled),
    )
    service = live.service
    assert service is not None
    try:
        service.start()
        live.start()
        live.ask("POST", "/players", {"player": "ann"})
        live.ask("POST", "/players/ann/deposits", {"cents": CHIPS})
        closes, shows = live._next_part(), live._next_part()
        assert closes is not None
        assert shows is not None
        (number,) = [one.data.number for one in shows.published if isinstance(one.data, SpinCalled)]
        bet = {"id": "b1", "player": "ann", "wager": "straight", "numbers": [number], "amount": 100}
        answers: list[tuple[int, object]] = []

        def asks() -> None:
            with suppress(OSError):
                path = f"/tables/{live.name}/wagers"
                answers.append(service.ask("POST", path, bet, token="a secret of this test's own", key="k"))

        with stopped(cluster) if stalled == "database" else frozen(mosquitto):
            live.table.feed(lines_of([*closes.feed, *shows.feed]))
            until(lambda: "spin.called" in types(live), "the spin")
            asking = Thread(target=asks)
            asking.start()
            if stalled == "database":
                asking.join()
            service.kill()
            asking.join()
            service.start(ready=False)
        until(live.agree, "the engine to have settled the spin")
        asks()
        status, _ = answers[-1]
        assert status in (200, 409)
        balance = live.ask("GET", "/players/ann")
        assert isinstance(balance, dict)
        assert balance["balance"] == CHIPS - (100 if status == 200 else 0)
        assert live.table.terminate() == 0
        assert service.terminate() == 0
        assert proved(live)["at_risk"] == (100 if status == 200 else 0)
    finally:
        live.close()


@pytest.mark.slow
def test_a_database_that_accepts_the_connection_and_never_answers_does_not_block_a_start(
    tmp_path: Path,
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        service = Service(tmp_path, f"postgresql://settlement@127.0.0.1:{silent.getsockname()[1]}/books")
        service.start(ready=False)
        try:
            until(lambda: "timeout expired" in service.log, "a message about it")
            assert service.process is not None
            assert service.process.poll() is None, "the engine must keep trying"
        finally:
            service.close()
