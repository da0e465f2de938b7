"""Over a real broker, whatever it does: every outcome has its effect once and in order."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.publish.mqtt import MqttSink
from controller.publish.settings import MqttSettings, PublishSettings
from tests.journal.rig import NAME
from tests.publish.broker import Mosquitto, needs_mosquitto
from tests.publish.house import House, Settlement, half, until

pytestmark = needs_mosquitto


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


def local(broker: Mosquitto) -> MqttSettings:
    return MqttSettings(host="localhost", port=broker.port)


def house_at(folder: Path, broker: Mosquitto, settings: PublishSettings | None = None) -> House:
    def sink(house: House) -> MqttSink:
        return MqttSink(NAME, local(broker), house.alarms, now_us=house.clock, chance=half)

    return House(folder, sink, settings)


def settlement_at(broker: Mosquitto) -> Settlement:
    settlement = Settlement(local(broker))
    settlement.connect()
    until(lambda: settlement.link is not None and settlement.subscribed, settlement.turn)
    return settlement


def test_an_evening_is_settled_once_and_in_order(tmp_path: Path, broker: Mosquitto) -> None:
    settlement, house = settlement_at(broker), house_at(tmp_path, broker)
    count = house.play(30)
    until(lambda: not house.waiting, house.turn, settlement.turn)
    assert settlement.books.seqs == list(range(1, count + 1))
    assert settlement.delivered == count
    assert not house.alarms.ever
    house.close()
    settlement.drop()
