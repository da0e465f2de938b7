"""The engine as a service: a real process, its HTTP port and its broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.journal.keys import Key
from tests.publish.broker import Mosquitto, needs_mosquitto
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.service import Service
from tests.settlement_service.test_consuming import Line

OK = {"status": "ok", "tables": 1, "halted": 0, "alarms": 0, "broker": "connected"}


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def service(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Service]:
    service = Service(tmp_path, f"sqlite:///{tmp_path}/served.db", mosquitto.port)
    yield service
    service.close()


@pytest.fixture
def wheel(service: Service, key: Key) -> SealedTable:
    """Return an enrolled wheel with a bet of one dollar on red."""
    table = SealedTable("wheel-1", key)
    house = House(service.url)
    house.enrol(table, "roulette")
    house.player("ann", 1_000)
    house.bets(table, "ann", "b1", "red", 100)
    house.store.close()
    return table


@needs_mosquitto
def test_the_service_settles_outcomes_from_a_broker(
    service: Service, wheel: SealedTable, mosquitto: Mosquitto
) -> None:
    service.start()
    line = Line(wheel, mosquitto)
    line.sends(*wheel.spins("1"))
    assert service.health() == OK
    line.close()
    assert service.terminate() == 0
    house = House(service.url)
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()
    house.store.close()


@needs_mosquitto
def test_systemd_is_notified_of_ready_only_once_outcomes_can_arrive_and_then_of_every_turn(
    service: Service, wheel: SealedTable, mosquitto: Mosquitto
) -> None:
    mosquitto.kill()
    service.start(ready=False)
    assert "broker: not connected" in service.hear("EXTEND_TIMEOUT_USEC=60000000")
    while "HTTP API responds" not in service.hear("EXTEND_TIMEOUT_USEC=60000000"):
        pass
    assert service.health() == {**OK, "status": "attention", "broker": "away"}
    mosquitto.start()
    assert "HTTP API responds, broker: connected" in service.hear("READY=1")
    service.hear("WATCHDOG=1")
    assert service.health() == OK
    mosquitto.kill()
    while "broker: not connected" not in service.hear("WATCHDOG=1"):
        pass
    assert service.terminate() == 0


def test_a_port_in_use_by_another_program_is_named(
    tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.broker = None
    service.start()
    where = f"127.0.0.1:{service.port}"
    other = f"sqlite:///{tmp_path}/other.db"
    assert main(["settlement", "--database", other, "run", "--listen", where]) == 2
    assert f"{where}: found Address already in use" in capsys.readouterr().err
    assert service.terminate() == 0
