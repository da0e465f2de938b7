"""Outcomes received through a broker, or within the table's process."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from controller.journal.keys import Key
from controller.model.outcomes import TableEvent
from controller.model.tables import EmbeddedSettings, MqttSettings
from controller.publish.embedded import EngineBlocked, EngineSetup, Enrolment
from controller.publish.events import (
    Acknowledgement,
    Answer,
    LineBet,
    Message,
    ProgressReport,
    ResendRequest,
    TableStatus,
    read_event,
)
from controller.publish.identity import Pin
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import MqttLink, Outgoing, Received
from controller.publish.sink import Acknowledged, Report
from controller.publish.wire import topics_of
from controller.settlement_service.consuming import BrokerClient
from controller.settlement_service.embedded import EmbeddedConsumer, EmbeddedEngine, RefusedOutcome
from controller.settlement_service.key import EngineKey
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.publish.house import ENGINE_KEY, Alarms, pinned, until
from tests.settlement_service.rig import House, SealedTable, key_in
from tests.settlement_service.statements import answer_queries

TURNS = 10
"""Turns of both sides before unacknowledged outcomes are offered again."""


def now_us() -> int:
    return time.monotonic_ns() // 1000


def message(event: bytes) -> Message:
    """Return an event as a sink takes it."""
    read = read_event(event)
    return Message(read.seq, read.seq, read.id, read.chain, event, None)


class Line:
    """A table's sink at a broker, and the engine's broker client if the engine is in this process too."""

    def __init__(self, table: SealedTable, mosquitto: Mosquitto, house: House | None = None) -> None:
        settings = MqttSettings(host="127.0.0.1", port=mosquitto.port)
        pin = Pin() if house is None else pinned()
        self.reports: list[Report] = []
        self.said: list[str] = []
        self.sink = MqttSink(
            table.name, settings, Alarms(), now_us=now_us, random_fraction=lambda: 0.0, pin=pin
        )
        self.sink.send_status(TableStatus(table=table.name, state="online", session=1, says_open=True))
        self.sink.report_to(self.reports.append)
        say, key = self.said.append, EngineKey(ENGINE_KEY)
        self.broker = (
            None
            if house is None
            else BrokerClient(house.engine, settings, "settlement", now_us, say, key=key)
        )
        if house is not None:
            answer_queries(house.engine)  # Other tests cover delays at the broker.
        self.until(self.ready)

    def ready(self) -> bool:
        return self.sink.ready and (self.broker is None or self.broker.ready)

    def until(self, done: Callable[[], bool]) -> None:
        """Run both until the condition is true."""
        until(done, self.turn)

    def turn(self) -> None:
        """Run both until they are idle."""
        self.sink.turn(0.02)
        if self.broker and (self.broker._link is not None or self.broker._connect()):
            self.broker.turn(0.02)

    def close(self) -> None:
        self.sink.leave()
        if self.broker:
            self.broker.close()

    def sends(self, *events: bytes) -> None:
        """Publish events, repeating as a table does, until each is acknowledged."""
        wanted = {read_event(event).id for event in events}

        def offer_and_turn() -> None:
            self.sink.offer([message(event) for event in events])
            for _ in range(TURNS):
                if not wanted <= self.acknowledged:
                    self.turn()

        until(lambda: wanted <= self.acknowledged, offer_and_turn)

    @property
    def acknowledged(self) -> set[str]:
        return {report.ack.id for report in self.reports if isinstance(report, Acknowledged)}


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


@pytest.fixture
def line(house: House, roulette: SealedTable, mosquitto: Mosquitto) -> Iterator[Line]:
    line = Line(roulette, mosquitto, house)
    yield line
    line.close()


@needs_mosquitto
def test_outcomes_arrive_through_the_broker_and_are_answered(
    house: House, roulette: SealedTable, mosquitto: Mosquitto, line: Line
) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    events = roulette.spins("1")
    line.sends(*events)
    assert house.balance("player:ann") == 1_100
    chains = {report.ack.chain for report in line.reports if isinstance(report, Acknowledged)}
    assert chains == {read_event(event).chain for event in events}


STRANGE = (
    b'{"x":' + b"[" * 30_000,
    b'{"table":"\xff"}',
    b'{"table":"\\ud800"}',
    b'{"x":' + b"1" * 6_000 + b"}",
    b"",
    b" " * 2_000_000,
)
"""Payloads that are not messages: too deep, invalid UTF-8, half a character, a huge number, empty, long."""


@needs_mosquitto
def test_no_invalid_message_costs_the_engine_its_connection(
    roulette: SealedTable, mosquitto: Mosquitto, line: Line
) -> None:
    """The engine would receive a retained message again at each connection."""
    with pytest.MonkeyPatch.context() as patch:
        lost: list[str] = []
        patch.setattr(BrokerClient, "_drop_connection", lambda _broker, reason: lost.append(reason))
        stranger = Line(SealedTable("stranger", roulette.key), mosquitto)
        topics = topics_of("stranger", line.sink._settings.prefix)
        for topic in (topics.outcome, topics.status, topics.open):
            for payload in STRANGE:
                assert stranger.sink._link is not None
                stranger.sink._link.publish(Outgoing(topic, payload, retain=True))
                stranger.turn()
        line.sends(*roulette.spins("1"))
        stranger.close()
    assert lost == []
    assert any("ignored a message" in said for said in line.said)


def test_text_from_a_topic_or_message_is_logged_in_printable_form(
    house: House, roulette: SealedTable
) -> None:
    said: list[str] = []
    settings, key = MqttSettings(host="127.0.0.1"), EngineKey(ENGINE_KEY)
    broker = BrokerClient(house.engine, settings, "settlement", now_us, said.append, key=key)
    link = MqttLink(settings, "settlement", None)
    topic = f"{settings.prefix}/\x1b[2J\nover: {'x' * 5_000}/status"
    broker._handle_event(link, Received(topic, b"{}", retained=False))
    event = roulette.open_table().replace(b'"id":"wheel-1/1/1"', b'"id":"' + rb"\u001b\n\u202e" + b'"')
    broker._handle_event(link, Received(f"{settings.prefix}/wheel-1/outcome", event, retained=False))
    broker._settle()
    broker.close()
    assert all(line.isprintable() and len(line) < 600 for line in said)
    assert rf"{settings.prefix}/\x1b[2J\nover: xxx" in said[0]
    assert r"outcome \x1b\n\u202e is not signed" in said[1]


def test_a_table_that_is_too_old_is_logged_when_it_connects_and_named_when_it_refuses_a_bet(
    house: House, roulette: SealedTable
) -> None:
    said: list[str] = []
    settings, key = MqttSettings(host="127.0.0.1"), EngineKey(ENGINE_KEY)
    broker = BrokerClient(house.engine, settings, "settlement", now_us, said.append, key=key)
    broker.ready = True
    status = TableStatus(table="wheel-1", state="online", session=1, says_open=False)
    topic = topics_of("wheel-1", settings.prefix).status
    link = MqttLink(settings, "settlement", None)
    broker._handle_event(link, Received(topic, msgspec.json.encode(status), retained=False))
    refusal = broker.ask("wheel-1", "0" * 32)
    broker.close()
    too_old = "the table's controller is too old to state that bets are open"
    assert said == [f"table wheel-1: {too_old}, so every bet at this table is refused; update the controller"]
    assert refusal == ("TABLE-WORD", f"{too_old}; nothing was accepted; update the controller")


@needs_mosquitto
def test_missing_outcomes_are_requested(roulette: SealedTable, line: Line) -> None:
    closed, *rest = roulette.spins("1")
    line.sink.offer([message(event) for event in rest])
    line.until(lambda: any(isinstance(report, ResendRequest) for report in line.reports))
    asked = [report for report in line.reports if isinstance(report, ResendRequest)]
    assert [report.from_seq for report in asked] == [1]
    line.sends(closed, *rest)


@needs_mosquitto
def test_a_broker_killed_with_its_sessions_loses_nothing(
    house: House, roulette: SealedTable, mosquitto: Mosquitto, line: Line
) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    events = roulette.spins("1")
    line.sends(events[0])
    mosquitto.kill()
    mosquitto.start()
    line.until(lambda: not line.ready())
    line.until(line.ready)
    line.sends(*events)
    assert house.balance("player:ann") == 1_100
    assert house.proof().faults == ()


@needs_mosquitto
def test_an_event_on_another_tables_topic_is_ignored(
    house: House, roulette: SealedTable, mosquitto: Mosquitto, line: Line
) -> None:
    assert line.sink._link is not None
    line.sink._link.publish(Outgoing("tables/other/outcome", roulette.open_table()))
    line.until(lambda: bool(line.said))
    assert "not an event from this topic's table" in line.said[0]
    assert line.acknowledged == set()


def test_within_the_process_an_answer_follows_the_commit(house: House, roulette: SealedTable) -> None:
    answers: list[Answer] = []
    consumer = EmbeddedConsumer(house.engine, "embedded")
    event = roulette.open_table()
    consumer.take(event, answers.append)
    consumer.take(event, answers.append)
    read = read_event(event)
    assert answers == [Acknowledgement(id=read.id, chain=read.chain, by="embedded")] * 2


def test_within_the_process_a_refusal_is_raised(house: House, key: Key, tmp_path: Path) -> None:
    clone = SealedTable("wheel-1", key_in(tmp_path))
    house.enrol(SealedTable("wheel-1", key), "roulette")
    answers: list[Answer] = []
    with pytest.raises(RefusedOutcome, match="not signed") as refused:
        EmbeddedConsumer(house.engine, "embedded").take(clone.open_table(), answers.append)
    assert refused.value.code == "settlement_refused"
    assert answers == []


def test_within_the_process_a_foreign_database_waits_for_a_person(tmp_path: Path) -> None:
    """The cause is neither a full disk nor a bug, and only a person can clear it."""
    with closing(sqlite3.connect(tmp_path / "settlement.db")) as other:
        other.execute("CREATE TABLE notes (text)")
    enrolment = Enrolment(b"\1" * 32, never_settled=True)
    setup = EngineSetup("craps", "craps-12-034", EmbeddedSettings(), tmp_path, lambda: enrolment)
    with pytest.raises(EngineBlocked, match="another program") as blocked:
        EmbeddedEngine(setup, lambda: 0).begin()
    assert blocked.value.code == "settlement_unfit"


@needs_mosquitto
def test_a_table_that_closes_gets_a_progress_report_once_its_closing_is_settled(
    roulette: SealedTable, line: Line
) -> None:
    line.until(lambda: any(isinstance(report, ProgressReport) for report in line.reports))
    line.reports.clear()
    closed = roulette.publish_outcome("table.closed", TableEvent(cause="close_table"))
    line.sends(closed)
    event = read_event(closed)
    newest = (event.seq, event.chain)
    line.until(
        lambda: (
            newest in {(one.sequence, one.chain) for one in line.reports if isinstance(one, ProgressReport)}
        )
    )


@needs_mosquitto
def test_reports_on_bets_name_the_tables_present_session(
    house: House, craps: SealedTable, mosquitto: Mosquitto
) -> None:
    line = Line(craps, mosquitto, house)

    def reported() -> list[tuple[int, bool]]:
        return [(one.session, one.has) for one in line.reports if isinstance(one, LineBet)]

    line.sends(craps.takes_dice("3"))
    line.until(lambda: reported()[-1:] == [(1, False)])
    line.sink.send_status(TableStatus(table=craps.name, state="online", session=2, says_open=True))
    line.until(lambda: reported()[-1:] == [(2, False)])
    line.close()
