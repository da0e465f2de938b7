"""The daemon publishes durable outcomes to settlement, and play waits if settlement falls too far behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.money import MoneySession
from tests.app.rig import Table, lines_of, tick, until
from tests.app.test_daemon import kinds
from tests.publish.broker import Mosquitto, needs_mosquitto
from tests.scenes import SECOND_US, throw


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


def publish_of(table: Table) -> dict[str, object]:
    publish = table.status()["publish"]
    assert isinstance(publish, dict)
    return publish


def test_the_outbox_and_the_status_agree_on_the_unsettled_outcomes(table: Table) -> None:
    table.start()
    table.unlock()
    table.feed([tick(SECOND_US)])
    until(lambda: "table.unlocked" in kinds(table), "table.unlocked to be published")
    waiting = table.ask(do="outbox")["outbox"]
    assert isinstance(waiting, list)
    assert len(waiting) > 1
    assert publish_of(table) == {
        "to": "socket",
        "ready": False,
        "unacknowledged": len(waiting),
        "oldest_seq": 1,
    }


def test_a_table_settles_within_its_own_process_by_default(table: Table) -> None:
    table.publish = "{}"
    table.start()
    table.unlock()
    until(lambda: publish_of(table)["unacknowledged"] == 0, "the engine to settle")
    assert publish_of(table) == {"to": "embedded", "ready": True, "unacknowledged": 0, "oldest_seq": None}


@needs_mosquitto
def test_too_many_unsettled_outcomes_lock_the_table_and_the_throw_in_progress_is_still_called(
    table: Table, mosquitto: Mosquitto
) -> None:
    table.arguments = ("--data-time", "--no-self-test-devices")
    table.publish = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {mosquitto.port}}}, max_unacknowledged: 3}}"
    mosquitto.kill()
    table.start()
    table.feed([tick(SECOND_US)])
    now_us = SECOND_US

    def goes_on(lock: str) -> bool:
        nonlocal now_us
        now_us += 1000
        table.feed([tick(now_us)])
        return table.status()["lock"] == lock

    until(lambda: goes_on("unlocked"), "the table to unlock itself")
    # The third outcome is the release of the dice. The fourth, the call, exceeds the limit.
    readings = throw(now_us + 2 * SECOND_US, (4, 6))
    table.feed(lines_of([(reading.t, reading) for reading in readings]))
    now_us = readings[-1].t + SECOND_US
    table.feed([tick(now_us)])
    until(lambda: "roll.called" in kinds(table), "the call")
    until(lambda: goes_on("locked"), "the table to lock itself")
    until(lambda: "table.locked" in kinds(table)[-3:], "table.locked to be published")
    faults = table.ask(do="faults")["faults"]
    assert "settlement_behind" in str(faults)
    locked = [line["outcome"] for line in table.published if "settlement_behind" in str(line)]
    assert len(locked) == 1
    assert table.terminate() == 0


@needs_mosquitto
def test_play_goes_on_by_itself_once_settlement_has_caught_up(tmp_path: Path, mosquitto: Mosquitto) -> None:
    session = MoneySession(tmp_path, "craps", [], lambda _after, _made: [], broker=mosquitto)
    file = Path(session.table.name)
    text = file.read_text(encoding="utf-8").replace("retry_s: 0.5", "retry_s: 0.5, max_unacknowledged: 1")
    file.write_text(text, encoding="utf-8")
    assert session.service is not None
    table = session.table
    now_us = 0

    def goes_on(lock: str) -> bool:
        nonlocal now_us
        now_us += 1000
        table.feed([tick(now_us)])
        return table.status()["lock"] == lock

    try:
        table.start(watch=False)
        until(lambda: goes_on("unlocked") or "settlement_behind" in str(table.status()["faults"]), "a start")
        until(lambda: goes_on("locked"), "the lock, because no engine settles yet")
        session.service.start()
        until(lambda: goes_on("unlocked"), "the table to unlock itself")
        until(session.agree, "everything to be settled")
        assert table.terminate() == 0
        assert session.service.terminate() == 0
    finally:
        session.close()
