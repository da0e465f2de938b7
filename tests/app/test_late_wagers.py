"""C34-MK-1b: a late wager is lodged by the engine, confirmed at consoles, journaled and paid."""

from itertools import count
from queue import SimpleQueue
from threading import Thread

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.app.messages import Enter
from controller.app.peers import Peer
from controller.app.requests import Requests
from controller.app.service import Watchdog
from controller.app.status import build_floor
from controller.console.answers import Floor
from controller.console.keys import keys_for
from controller.model.readings import AnyReading
from controller.model.tables import EmbeddedSettings, PublishSettings
from controller.publish.embedded import EngineSetup
from controller.settlement_service.account_requests import AccountRequests, Caller, RequestIdentity
from controller.settlement_service.embedded import EmbeddedEngine
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from tests.app.house import House, HouseMaker, drain, live_of, unlocked
from tests.app.rig import PATIENCE_S, until
from tests.scenes import SECOND_US, throw

THROWN_US = 10 * SECOND_US
THROW = throw(THROWN_US, (1, 2))
ADA = Peer(1, 1001, "ada", frozenset({"staff"}))
BOB = Peer(2, 1002, "bob", frozenset({"staff"}))
STAFF = Caller(name="cage", role="staff")
MS = 1000


class Table:
    """A daemon with its engine, fed reading by reading."""

    def __init__(self, house: House) -> None:
        self.within: list[EmbeddedEngine] = []
        numbers = count(1)

        def engine(setup: EngineSetup) -> EmbeddedEngine:
            self.within.append(EmbeddedEngine(setup, lambda: 0, lambda: f"{next(numbers):032x}"))
            return self.within[-1]

        house.engine = engine
        house.publish = PublishSettings(embedded=EmbeddedSettings(api_port=None))
        self.house = house
        self.daemon: Daemon = house.open()
        self.requests = Requests(self.daemon)
        unlocked(self.daemon)
        live_of(self.daemon).publish(Watchdog(self.daemon.faults))
        until(lambda: self.within[-1]._consumer is not None, "the engine")
        self.desk = AccountRequests(self.engine)
        self.desk.open_account(RequestIdentity(STAFF, "k1"), "ann")
        self.desk.pay(RequestIdentity(STAFF, "k2"), "ann", 1_000)
        self.answers: SimpleQueue[str] = SimpleQueue()
        self.fed = 0

    @property
    def engine(self) -> Engine:
        taker = self.within[-1]._consumer
        assert taker is not None
        return taker._engine

    def fly(self, after_ms: int) -> None:
        """Fly the dice for this time after release, and wait until the rows are on the disk."""
        until_us = THROWN_US + after_ms * MS
        while self.fed < len(THROW) and THROW[self.fed].t <= until_us:
            self._post(THROW[self.fed])
            self.fed += 1
        self.daemon.clock.reach(until_us)
        drain(self.daemon)

    def _post(self, reading: AnyReading) -> None:
        assert self.daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
        live_of(self.daemon).core.turn(0)

    def bet_late(self) -> None:
        """Lodge a late wager in a separate thread, as the API does."""
        until(lambda: self.closed, "the engine's close of bets")
        bet: dict[str, object] = {"id": "b1", "player": "ann", "wager": "field", "amount": 100, "late": True}

        def ask() -> None:
            try:
                self.desk.bet(RequestIdentity(STAFF, "k3"), "craps", bet)
            except RequestRefused as refused:
                self.answers.put(refused.rule)
            else:
                self.answers.put("granted")

        core = live_of(self.daemon).core
        before = core.view.readings
        Thread(target=ask, daemon=True).start()
        until(lambda: core.turn(0) or core.view.readings > before, "the lodging")

    @property
    def closed(self) -> bool:
        with self.engine.work() as work:
            standing = self.engine.table(work, "craps")
        return standing is not None and standing.dice_out

    def said(self) -> str:
        drain(self.daemon)
        rows = [row for row in self.house.rows() if row.name in ("settlement.said", "late.confirmed")]
        return b"\n".join(row.body or b"" for row in rows).decode()

    def confirms(self, peer: Peer, by: str, who: str | None = None) -> None:
        self.daemon.clock.reach(self.daemon.clock.now_us() + MS)
        self.requests.answer(Enter(name="confirm_late", by=by, who=who, what="b1"), peer)
        drain(self.daemon)

    @property
    def balance(self) -> int:
        with self.engine.work() as work:
            return work.balance("player:ann")

    def lands(self) -> None:
        """Land the dice, and wait until the engine has settled the throw."""
        self.fly(3_000)
        drain(self.daemon)
        until(lambda: not self.closed, "the settled roll")


@pytest.fixture
def table(house: HouseMaker) -> Table:
    return Table(house(table="craps"))


def test_C34_MK_1b_two_people_confirm_it_in_flight_and_the_roll_in_the_air_decides_it(table: Table) -> None:
    table.fly(200)
    table.bet_late()
    table.confirms(ADA, "dealer")
    table.confirms(BOB, "boxperson")
    table.fly(400)
    assert table.said().count('"who":') == 2
    table.fly(600)
    table.fly(800)
    assert table.answers.get(timeout=PATIENCE_S) == "granted"
    assert table.balance == 900
    table.lands()
    assert table.balance == 1_100
    assert '"digest"' in table.said()


def test_one_person_at_two_roles_under_two_names_is_one_person(table: Table) -> None:
    table.fly(200)
    table.bet_late()
    table.confirms(ADA, "dealer", "ann")
    table.confirms(ADA, "boxperson", "bob")
    table.lands()
    assert table.answers.get(timeout=PATIENCE_S) == "C34-MK-1b"
    assert table.balance == 1_000
    assert "same_person" in [getattr(outcome.data, "cause", "") for outcome in table.house.outcomes()]


def test_screens_show_a_late_wager_to_dealer_and_boxperson_only_and_a_touch_confirms_it(table: Table) -> None:
    table.fly(200)
    table.bet_late()
    table.fly(400)
    told = msgspec.json.encode(build_floor(table.daemon))
    floor = msgspec.json.decode(told, type=Floor)
    keys = {
        role: [dict(key.say) for key in keys_for(floor, role).now if key.say["name"] == "confirm_late"]
        for role in floor.may
    }
    assert {role for role, shown in keys.items() if shown} == {"dealer", "boxperson"}
    assert keys["dealer"] == [{"name": "confirm_late", "what": "b1"}]
    assert [late.says for late in floor.late] == ["ann: field, 100 cents"]
    enter = Enter(name="confirm_late", by="dealer", who="cleo", what="b1")
    table.requests._enter(enter, ADA, live_of(table.daemon), console="screen-1")
    drain(table.daemon)
    table.fly(600)
    assert '"who":"cleo"' in table.said()


def test_a_confirmation_after_the_dice_are_at_rest_is_too_late(table: Table) -> None:
    table.fly(200)
    table.bet_late()
    table.confirms(ADA, "dealer")
    table.fly(1_050)
    table.confirms(BOB, "boxperson")
    table.lands()
    assert table.answers.get(timeout=PATIENCE_S) == "C34-MK-1b"
    assert table.balance == 1_000


def test_a_confirmation_not_on_the_disk_before_the_dice_came_to_rest_does_not_count(table: Table) -> None:
    """The confirmation is entered in flight, but written after a die has stopped moving."""
    table.fly(200)
    table.bet_late()
    table.confirms(ADA, "dealer")
    table.fly(940)
    table.confirms(BOB, "boxperson")
    table.fly(990)
    table.lands()
    assert "boxperson" in table.said()
    assert table.answers.get(timeout=PATIENCE_S) == "C34-MK-1b"
    assert table.balance == 1_000
