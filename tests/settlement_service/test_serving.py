"""The engine as a service: a real process, its HTTP port and its broker."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal.keys import Key
from tests.publish.broker import Mosquitto, free_port, listens, needs_mosquitto
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.test_consuming import Line


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@needs_mosquitto
def test_the_service_settles_what_a_broker_brings(tmp_path: Path, key: Key, mosquitto: Mosquitto) -> None:
    url, port = f"sqlite:///{tmp_path}/served.db", free_port()
    table = SealedTable("wheel-1", key)
    house = House(url)
    house.enrol(table, "roulette")
    house.player("ann", 1_000)
    house.bets(table, "ann", "b1", "red", 100)
    house.store.close()
    words = ["run", "--listen", f"127.0.0.1:{port}", "--broker", f"127.0.0.1:{mosquitto.port}"]
    command = [sys.executable, "-m", "controller.cli.main", "settlement", "--database", url, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as service:
        while not listens(port):
            assert service.poll() is None, service.stderr and service.stderr.read()
        line = Line(table, mosquitto)
        line.sends(*table.spins("1"))
        assert health(port) == {"status": "ok", "tables": 1, "halted": 0, "alarms": 0}
        line.close()
        service.send_signal(signal.SIGTERM)
        assert service.wait() in (0, -signal.SIGTERM)
    house = House(url)
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()
    house.store.close()


def health(port: int) -> object:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/health")
    told = json.loads(connection.getresponse().read())
    connection.close()
    return told
