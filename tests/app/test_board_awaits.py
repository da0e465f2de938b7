"""An MQTT client that connects during a review receives the attempt that waits for a person."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import msgspec
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from controller.publish.events import TableStatus
from controller.publish.players import BoardAwaited, TableBoard
from tests.app.rig import PATIENCE_S, Table, lines_of, tick, until
from tests.publish.broker import Mosquitto, needs_mosquitto
from tests.scenes import SECOND_US, throw

pytestmark = needs_mosquitto


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


class Display:
    """A client that knows only the topic."""

    def __init__(self, port: int, topic: str = "tables/+/board") -> None:
        self._heard: Queue[bytes] = Queue()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self._client.on_connect = lambda client, *_: client.subscribe(topic)
        self._client.on_message = lambda _client, _userdata, message: self._heard.put(bytes(message.payload))
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def awaited(self) -> BoardAwaited | None:
        """Return the awaited attempt in the next board message."""
        return msgspec.json.decode(self.heard(), type=TableBoard).awaited

    def heard(self) -> bytes:
        return self._heard.get(timeout=PATIENCE_S)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def plays(table: Table, mosquitto: Mosquitto, confidence: float) -> int:
    """Unlock a table on this broker, throw the dice, and return the table's time."""
    table.publish = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {mosquitto.port}}}}}"
    table.start()
    table.unlock()
    readings = throw(10 * SECOND_US, (3, 4), confidence=confidence)
    table.feed(lines_of([(reading.t, reading) for reading in readings]))
    now_us = readings[-1].t + 5 * SECOND_US
    table.feed([tick(now_us)])
    until(lambda: table.status()["awaited"] is not None, "an attempt that waits for a person")
    return now_us


def finds(port: int, state: str) -> BoardAwaited:
    """Reconnect until the broker holds a board with an awaited attempt in this state."""
    found: list[BoardAwaited] = []

    def look() -> bool:
        display = Display(port)
        try:
            awaited = display.awaited()
        finally:
            display.close()
        if awaited is not None and awaited.state == state:
            found.append(awaited)
        return bool(found)

    until(look, f"a board with a {state}")
    return found[0]


def test_a_client_that_connects_during_a_review_receives_it_and_then_its_end(
    table: Table, mosquitto: Mosquitto
) -> None:
    now_us = plays(table, mosquitto, confidence=0.4)
    awaited = finds(mosquitto.port, "review")
    assert (awaited.attempt, awaited.number) == ("roll", 1)
    assert [reason.code for reason in awaited.missing] == ["low_confidence", "low_confidence"]
    until(
        lambda: list(finds(mosquitto.port, "review").may) == status_says(table),
        "the board to agree with the status",
    )
    display = Display(mosquitto.port)
    assert display.awaited() is not None
    assert table.enter("no_roll", what=1)["ok"] is True
    table.feed([tick(now_us + SECOND_US)])
    until(lambda: display.awaited() is None, "the ruling on the board")
    display.close()


def test_a_client_that_connects_while_a_call_is_proposed_receives_the_proposal(
    table: Table, mosquitto: Mosquitto
) -> None:
    table.name = "craps-v1"  # CV1-INV-3: a dealer or supervisor declares
    plays(table, mosquitto, confidence=1.0)
    awaited = finds(mosquitto.port, "proposed")
    assert (awaited.number, awaited.missing) == (1, ())
    assert "accept" in awaited.may


def test_a_watcher_that_reconnects_after_a_kill_finds_the_attempt_that_was_cut_off(
    table: Table, mosquitto: Mosquitto
) -> None:
    plays(table, mosquitto, confidence=0.4)
    assert watched(table) == ("review", "low_confidence")
    table.kill()
    table.start()
    assert watched(table) == ("review", "power_lost")


def watched(table: Table) -> tuple[object, object]:
    """Return the awaited attempt's state and reasons from the first line of `tablectl watch`."""
    command = [
        sys.executable,
        "-m",
        "controller.cli.main",
        "watch",
        "outcomes",
        "--json",
        "--socket",
        table.socket,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        awaited = msgspec.json.decode(watch.stdout.readline())["awaited"]
        watch.terminate()
    return awaited["state"], awaited["reasons"][0]["code"]


def test_a_table_stopped_in_order_leaves_the_status_stopped(table: Table, mosquitto: Mosquitto) -> None:
    plays(table, mosquitto, confidence=0.4)
    until(lambda: status_at(mosquitto.port).state == "online", "the table to be online")
    assert table.terminate() == 0
    assert (status_at(mosquitto.port).state, status_at(mosquitto.port).headline) == ("offline", "stopped")


def status_at(port: int) -> TableStatus:
    """Return the broker's retained status, as a new client receives it."""
    display = Display(port, "tables/+/status")
    try:
        return msgspec.json.decode(display.heard(), type=TableStatus)
    finally:
        display.close()


def status_says(table: Table) -> object:
    """Return the allowed inputs in the table's status."""
    awaited = table.status()["awaited"]
    assert isinstance(awaited, dict)
    return awaited["may"]
