"""Every publishing fault is in the catalogue, is raised by a test, and clears once its cause is gone."""

import re
from pathlib import Path

import pytest

import controller.app.publishing
import controller.publish
from controller.model.tables import MqttSettings
from controller.publish.embedded import SETTLEMENT_FAULTS
from controller.publish.faults import FAULTS, PublishFault
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import SESSION_TAKEN_OVER, ConnectionLost
from controller.publish.pump import PROGRESS_FAULTS
from controller.publish.sink import Report
from tests.publish.broker import free_port, needs_mosquitto, running
from tests.publish.house import PATIENCE_S, Alarms, Clock, half, pinned, until

SOURCES = (*Path(controller.publish.__path__[0]).glob("*.py"), Path(controller.app.publishing.__file__))


def test_exactly_the_publishing_faults_of_the_catalogue_are_raised() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in SOURCES)
    raised = set(re.findall(r'(?:PublishFault|_drop_connection)\(\s*"(\w+)"', source))
    assert raised | SETTLEMENT_FAULTS == set(FAULTS)
    cleared = set(re.findall(r'\.clear\("(\w+)"\)', source))
    connection = {"broker_unreachable", "broker_refused", "broker_files_bad", "sink_failed"}
    assert cleared | connection | SETTLEMENT_FAULTS | PROGRESS_FAULTS | {"settlement_missing"} == set(FAULTS)


def test_every_fault_says_what_it_is_what_to_do_and_when_it_clears() -> None:
    for code, kind in FAULTS.items():
        assert all((kind.what, kind.cause, kind.next_step, kind.clears)), code
    assert {code for code, kind in FAULTS.items() if kind.locks} == {
        "settlement_behind",
        "settlement_ahead",
        "settlement_differs",
        "identity_taken",
        "answer_unsigned",
    }


def test_a_fault_reads_as_one_line_that_ends_with_its_code() -> None:
    line = str(PublishFault("broker_unreachable", "10.0.0.5:8883", "connection refused"))
    assert line.startswith("10.0.0.5:8883: there is no connection to the broker: connection refused; check")
    assert line.endswith("[broker_unreachable]")


@needs_mosquitto
def test_an_exception_in_the_connection_does_not_end_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as broker:
        alarms, clock = Alarms(), Clock()
        settings = MqttSettings(host="localhost", port=broker.port)
        sink = MqttSink("table-7", settings, alarms, now_us=clock, random_fraction=half, pin=pinned())
        turn = sink.turn
        calls: list[float] = []

        def broken_once(timeout_s: float) -> None:
            calls.append(timeout_s)
            if len(calls) == 1:
                raise RuntimeError("raised by the test")
            turn(0.01)

        monkeypatch.setattr(sink, "turn", broken_once)
        reports: list[Report] = []
        sink.start(reports.append)
        until(lambda: "sink_failed" in alarms.ever)
        clock.forward(60)
        until(lambda: bool(reports))
        assert not alarms.holding
        assert sink.stop(PATIENCE_S)


def test_a_brokers_reason_for_a_taken_over_connection_is_reported() -> None:
    alarms = Alarms()
    sink = MqttSink(
        "table-7", MqttSettings(host="localhost"), alarms, now_us=Clock(), random_fraction=half, pin=pinned()
    )
    sink._handle_lost_connection(ConnectionLost(SESSION_TAKEN_OVER, "Session taken over"))
    assert set(alarms.holding) == {"identity_taken", "broker_unreachable"}
    sink.leave()


def test_a_broker_that_was_never_there_is_a_fault_and_the_thread_ends_on_request() -> None:
    alarms, clock = Alarms(), Clock()
    settings = MqttSettings(host="localhost", port=free_port())
    sink = MqttSink("table-7", settings, alarms, now_us=clock, random_fraction=half, pin=pinned())
    sink.start(lambda _: None)
    until(lambda: "broker_unreachable" in alarms.holding)
    assert not sink.ready
    assert sink.stop(PATIENCE_S)
