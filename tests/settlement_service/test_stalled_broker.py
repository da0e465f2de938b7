"""Mosquitto is suspended while the wheel shows its number. Nobody is paid for knowing the number."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from controller.model.tables import MqttSettings
from controller.publish.betting import Announcer, BetKind, Betting
from controller.publish.events import Message, TableStatus, read_event
from controller.publish.mqtt import MqttSink
from controller.publish.sink import Report
from controller.settlement_service.account_requests import AccountRequests
from controller.settlement_service.consuming import BrokerClient
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.key import EngineKey
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.publish.house import ENGINE_KEY, Alarms, pinned, until
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.statements import PATIENCE_S, gate
from tests.settlement_service.test_consuming import now_us

TURN_S = 0.005
LATENESS_US = 120_000
pytestmark = needs_mosquitto


class Live:
    """A wheel and an engine at a real broker, each in its own thread."""

    def __init__(self, house: House, table: SealedTable, mosquitto: Mosquitto, wait_s: float) -> None:
        settings = MqttSettings(host="127.0.0.1", port=mosquitto.port, timeout_s=PATIENCE_S)
        self.house, self.table = house, table
        self.engine = Engine(house.store, lambda: 0, gate=gate(wait_s))
        self.desk = AccountRequests(self.engine)
        self.alarms = Alarms()
        self.takes: BetKind | None = "wagers"
        self.announcer = Announcer(table.name, "1", now_us)
        self.sink = MqttSink(
            table.name, settings, self.alarms, now_us=now_us, random_fraction=lambda: 0.0, pin=pinned()
        )
        self.announcer.say = lambda word: self.sink.send_open_statement(word, table.key)
        self.reports: list[Report] = []
        self.sink.report_to(self._hear)
        self.sink.send_status(TableStatus(table=table.name, state="online", session=1, says_open=True))
        self.said: list[str] = []
        key = EngineKey(ENGINE_KEY)
        self.broker = BrokerClient(self.engine, settings, "settlement", now_us, self.said.append, key=key)
        self._stop = Event()
        self._threads = [Thread(target=self._run_table), Thread(target=self.broker.run, args=(self._stop,))]
        for thread in self._threads:
            thread.start()
        self.made = 0

    def _hear(self, report: Report) -> None:
        self.reports.append(report)
        if nonce := getattr(report, "nonce", None):
            self.announcer.note_query(nonce)

    def _run_table(self) -> None:
        while not self._stop.is_set():
            now = now_us()
            betting = Betting(self.takes, self.table.round, self.table.seq - 1, now - LATENESS_US)
            self.announcer.note(betting, now)
            self.sink.turn(TURN_S)
        self.sink.leave()

    def shows(self, number: str) -> None:
        """Close bets now, by the clock of the table's statement, and publish a spin as the pump does."""
        self.table.moment_us = now_us()
        read = [(read_event(event), event) for event in self.table.spins(number)]
        self.sink.offer([Message(one.seq, one.seq, one.id, one.chain, event, None) for one, event in read])

    def bet(self, number: str = "5") -> str:
        """Bet on a number; return the result."""
        self.made += 1
        bet = {
            "id": f"b{self.made}",
            "player": "ann",
            "wager": "straight",
            "amount": 100,
            "numbers": [number],
        }
        return self._result_of(lambda: self.desk.bet(self.house.new_identity(), self.table.name, bet))

    def undo_trial(self, id_: str) -> str:
        """Remove a bet; return the result."""
        asked: dict[str, object] = {"do": "remove", "id": id_}
        return self._result_of(lambda: self.desk.change(self.house.new_identity(), self.table.name, asked))

    def _result_of(self, deed: Callable[[], object]) -> str:
        try:
            deed()
        except RequestRefused as refused:
            return refused.rule
        return "granted"

    def meets(self) -> None:
        """Wait until bets are accepted, after both have connected and exchanged reports."""
        until(lambda: self.bet() == "granted")

    def settles(self) -> None:
        """Wait until every published outcome is settled."""
        newest = self.table.seq - 1

        def settled() -> bool:
            reached = self.engine.newest_settled(self.table.name)
            return reached is not None and reached[0] == newest

        until(settled)

    @property
    def balance(self) -> int:
        with self.engine.work() as work:
            return work.balance("player:ann")

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


@pytest.fixture
def live(
    request: pytest.FixtureRequest, house: House, roulette: SealedTable, mosquitto: Mosquitto
) -> Iterator[Live]:
    house.player("ann", 1_000_000)
    live = Live(house, roulette, mosquitto, request.param)
    yield live
    mosquitto.thaw()
    live.close()


@pytest.mark.parametrize("live", [0.5], indirect=True)
def test_while_the_broker_is_stopped_nothing_is_accepted_and_nothing_returned(
    live: Live, mosquitto: Mosquitto
) -> None:
    live.meets()
    losing = f"b{live.made}"
    before = live.balance
    mosquitto.freeze()
    live.takes = None
    live.shows("17")
    assert live.bet("17") == "TABLE-WORD"
    assert live.undo_trial(losing) == "TABLE-WORD"
    mosquitto.thaw()
    live.settles()
    assert live.balance == before
    assert live.bet("17") == "TABLE-WORD"  # it has not published that bets are open again
    live.takes = "wagers"
    live.meets()


@pytest.mark.parametrize("live", [PATIENCE_S / 2], indirect=True)
def test_a_bet_still_waiting_after_the_stop_is_never_for_the_number_shown(
    live: Live, mosquitto: Mosquitto
) -> None:
    """The table receives the query after bets have reopened, so the bet is for the next spin or refused."""
    live.meets()
    before = live.balance
    mosquitto.freeze()
    live.takes = None
    live.shows("17")
    said: list[str] = []
    thread = Thread(target=lambda: said.append(live.bet("17")))
    thread.start()
    until(lambda: live.engine.gate.waiting == 1)
    live.takes = "wagers"
    mosquitto.thaw()
    thread.join(PATIENCE_S)
    live.settles()
    assert live.balance == before - (100 if said == ["granted"] else 0)
    live.shows("3")
    live.settles()
    assert live.balance == before - (100 if said == ["granted"] else 0)
