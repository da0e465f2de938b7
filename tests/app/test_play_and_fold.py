"""Play and fold at one position, at a table with its engine. The first action at the table is valid.

A position with both would make the deal and the wagers contradict each other, and stop the table.
"""

from itertools import count
from queue import SimpleQueue
from threading import Thread

import msgspec
import pytest

from controller.app.service import Watchdog
from controller.model.outcomes import DealCalled, TableEvent
from controller.model.readings import AnyReading
from controller.model.tables import EmbeddedSettings, PublishSettings
from controller.publish.embedded import EngineSetup
from controller.publish.events import PlayQuery
from controller.settlement_service.account_requests import AccountRequests, Caller, RequestIdentity
from controller.settlement_service.embedded import EmbeddedEngine
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from tests.app.house import House, HouseMaker, drain, live_of, unlocked
from tests.app.rig import PATIENCE_S, until
from tests.app.test_card_tables import NO_MORE_BETS, SEATS, cards
from tests.scenes import SECOND_US, input_at

STAFF = Caller(name="cage", role="staff")
MS = 1000
ACT_US = 30 * SECOND_US
"""Time at which the positions act, after all cards are dealt."""
ANTE = 200


class Table:
    """A Three Card Poker table with its engine, fed reading by reading. Ann has an Ante at position 1."""

    def __init__(self, house: House) -> None:
        self.within: list[EmbeddedEngine] = []
        numbers = count(1)

        def engine(setup: EngineSetup) -> EmbeddedEngine:
            self.within.append(EmbeddedEngine(setup, lambda: 0, lambda: f"{next(numbers):032x}"))
            return self.within[-1]

        house.engine = engine
        house.publish = PublishSettings(embedded=EmbeddedSettings(api_port=None, word_wait_s=PATIENCE_S))
        self.house = house
        self.daemon = house.open()
        unlocked(self.daemon)
        live_of(self.daemon).publish(Watchdog(self.daemon.faults))
        until(lambda: self.within[-1]._consumer is not None, "the engine")
        self.desk = AccountRequests(self.engine)
        self.desk.open_account(RequestIdentity(STAFF, "account"), "ann")
        self.desk.pay(RequestIdentity(STAFF, "chips"), "ann", 1_000)
        self.answers: SimpleQueue[str] = SimpleQueue()
        self.comes(SEATS)
        self.asks("ante")
        self.runs_to(self.now_us + SECOND_US)
        assert self.answers.get(timeout=PATIENCE_S) == "granted"
        self.comes(NO_MORE_BETS, *cards())
        self.runs_to(ACT_US)
        until(lambda: self.betting == "closed", "the engine's close of bets")

    @property
    def engine(self) -> Engine:
        taker = self.within[-1]._consumer
        assert taker is not None
        return taker._engine

    @property
    def betting(self) -> str:
        with self.engine.work() as work:
            standing = self.engine.table(work, "three-card")
        assert standing is not None
        return "halted" if standing.halted else standing.betting

    @property
    def now_us(self) -> int:
        return self.daemon.clock.now_us()

    def comes(self, *readings: AnyReading) -> None:
        """Post readings without advancing time past the last."""
        for reading in readings:
            assert self.daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
            live_of(self.daemon).core.turn(0)

    def runs_to(self, t: int) -> None:
        self.daemon.clock.reach(t)
        drain(self.daemon)

    def acts(self, act: str, seat: str, after_ms: int, by: str = "player") -> None:
        self.comes(input_at(self.now_us + after_ms * MS, act, by, seat=seat))

    def asks(self, wager: str) -> None:
        """Request a wager at position 1 in a separate thread, and wait until the table has received it."""
        bet: dict[str, object] = {
            "id": wager, "player": "ann", "wager": wager, "amount": ANTE, "seat": "1",
        }  # fmt: skip

        def ask() -> None:
            try:
                self.desk.bet(RequestIdentity(STAFF, wager), "three-card", bet)
            except RequestRefused as refused:
                self.answers.put(f"{refused.rule}: {refused.reason}")
            else:
                self.answers.put("granted")

        core = live_of(self.daemon).core
        before = core.view.readings
        Thread(target=ask, daemon=True).start()
        if wager == "play":
            until(lambda: core.turn(0) or core.view.readings > before, "the table to receive Play")
        else:
            until(lambda: self.engine.gate.waiting > 0, "the request")

    def settles(self) -> list[tuple[str, ...]]:
        """Wait until the deal is called and settled; return the folded positions."""
        self.acts("play", "2", 200, by="dealer")
        self.runs_to(self.now_us + SECOND_US)
        until(lambda: self.betting != "closed", "the settled deal")
        assert self.betting == "open", "the table must not wait for a person"
        return [o.data.folds for o in self.house.outcomes() if isinstance(o.data, DealCalled)]

    @property
    def said(self) -> list[object]:
        """Return the journal's inputs about bets from the engine, by name."""
        rows = (row.body for row in self.house.rows() if row.name == "settlement.said")
        return [msgspec.json.decode(body)["input"] for body in rows if body is not None]

    @property
    def refusals(self) -> list[str]:
        published = [o.data for o in self.house.outcomes() if o.type == "input.refused"]
        return [data.cause for data in published if isinstance(data, TableEvent)]


@pytest.fixture
def table(house: HouseMaker) -> Table:
    return Table(house(table="three-card"))


def test_T_DEAL_4_play_that_the_table_hears_first_stands_and_the_fold_is_refused(table: Table) -> None:
    """The table answers only after the fold, because earlier readings could still arrive."""
    table.asks("play")
    table.acts("fold", "1", 30)
    assert table.answers.empty(), "no answer may come before the fold"
    table.runs_to(table.now_us + SECOND_US)
    assert table.answers.get(timeout=PATIENCE_S) == "granted"
    until(lambda: "played" in table.said, "the engine's report that Play is placed there")
    table.acts("fold", "1", 5_000)
    table.acts("fold", "1", 15_000, by="dealer")
    table.acts("play", "1", 100)
    assert table.settles() == [()]
    assert table.refusals == ["play_asked", "played", "played"]
    table.acts("fold", "1", 1_000, by="dealer")
    table.runs_to(table.now_us + SECOND_US)
    assert table.refusals[-1] == "played", "no correction may fold the position"
    assert table.betting == "open"


def test_T_DEAL_4_a_fold_that_the_table_hears_first_stands_and_play_is_refused(table: Table) -> None:
    table.acts("fold", "1", 30)
    table.asks("play")
    assert table.answers.empty(), "no answer may come before the fold counts"
    table.runs_to(table.now_us + SECOND_US)
    assert table.answers.get(timeout=PATIENCE_S) == "T-DEAL-4: position 1 has folded"
    assert table.settles() == [("1",)]
    assert table.refusals == []


def test_T_DEAL_4_a_repeated_old_request_for_play_binds_no_position(table: Table) -> None:
    first = live_of(table.daemon).core.view.first
    old = PlayQuery(table="three-card", round=first.round - 1, nonce="0" * 32, seats=("1",), by="settlement")
    assert not live_of(table.daemon)._query_play(old)
    assert live_of(table.daemon)._query_play(msgspec.structs.replace(old, round=first.round))
    drain(table.daemon)


def test_T_DEAL_4_a_fold_after_the_engines_answer_on_play_was_lost_goes_to_review(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A called fold would contradict the wager and stop the table."""
    monkeypatch.setattr(table.daemon.publishing, "_played", None)
    table.asks("play")
    table.runs_to(table.now_us + SECOND_US)
    assert table.answers.get(timeout=PATIENCE_S) == "granted"
    table.acts("fold", "1", 15_000, by="dealer")
    table.acts("play", "2", 200, by="dealer")
    table.runs_to(table.now_us + SECOND_US)
    assert table.house.types()[-1] == "deal.review"
    assert table.refusals == []
    table.acts("play", "1", 1_000, by="dealer")
    table.runs_to(table.now_us + SECOND_US)
    until(lambda: table.betting != "closed", "the settled deal")
    assert table.betting == "open"
    assert [o.data.folds for o in table.house.outcomes() if isinstance(o.data, DealCalled)] == [()]
