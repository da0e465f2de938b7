"""Answers are dropped after a month, and a later repeat of the request is not accepted twice."""

from collections.abc import Callable

import pytest
from sqlalchemy import func, select

from controller.journal.keys import Key
from controller.settlement_service import schema, upkeep
from controller.settlement_service.account_requests import RequestIdentity
from controller.settlement_service.faults import DatabaseUnavailable, RequestRefused
from controller.settlement_service.upkeep import CALLS_PER_SLICE, KEEP_DAYS, Pruning
from controller.settlement_service.work import Work
from tests.settlement_service.postgres import Cluster, needs_postgres
from tests.settlement_service.rig import STAFF, House, SealedTable

DAY_US = 86_400_000_000
Deed = Callable[[], object]


class Desk:
    """A craps table's desk whose requests can be repeated with their keys."""

    def __init__(self, house: House, table: SealedTable) -> None:
        self.house, self.table = house, table
        house.player("ann", 10_000)
        self.keys = 0

    def asks(self, **asked: object) -> Deed:
        """Return a request that is the same, byte for byte, each time it is sent."""
        self.keys += 1
        identity = RequestIdentity(STAFF, f"request {self.keys}")
        name = self.table.name
        if asked["do"] == "bet":
            bet = {word: value for word, value in asked.items() if word != "do"}
            return lambda: self.house.desk.bet(identity, name, {"player": "ann", **bet})
        if asked["do"] == "pay":
            return lambda: self.house.desk.pay(identity, "ann", 500)
        return lambda: self.house.desk.change(identity, name, asked)

    def refusal(self, deed: Deed) -> str:
        """Send a request; return the refusing rule or an empty string."""
        try:
            deed()
        except RequestRefused as refused:
            return refused.rule
        return ""

    def kept(self) -> int:
        """Return the number of answers kept, except those about accounts and chips."""
        with self.house.store.transaction() as connection:
            count: int = connection.execute(select(func.count()).select_from(schema.requests)).scalar_one()
        return count - 2

    def prune(self, days: float = KEEP_DAYS + 1) -> int:
        """Advance the clock by this many days, and drop old answers."""
        self.house.now_us += round(days * DAY_US)
        return Pruning(self.house.engine).drop_slice()

    @property
    def balance(self) -> int:
        return self.house.balance("player:ann")


@pytest.fixture
def desk(house: House, craps: SealedTable) -> Desk:
    return Desk(house, craps)


def test_a_request_repeated_within_a_month_is_answered_as_before(desk: Desk) -> None:
    bet = desk.asks(do="bet", id="b1", wager="field", amount=100)
    assert desk.refusal(bet) == ""
    assert desk.prune(KEEP_DAYS - 1) == 0
    assert desk.refusal(bet) == ""
    assert desk.balance == 9_900


@pytest.mark.parametrize("decided", [False, True])
def test_a_bet_repeated_later_is_refused_by_its_id(desk: Desk, decided: bool) -> None:
    bet = desk.asks(do="bet", id="b1", wager="field", amount=100)
    assert desk.refusal(bet) == ""
    if decided:
        desk.house.takes(desk.table.rolls(3, 4))
    before = desk.balance
    assert desk.prune() == 1
    assert desk.kept() == 0
    assert desk.refusal(bet) == "BOOK-ID"
    assert desk.balance == before


def test_a_refusal_is_dropped_too(desk: Desk) -> None:
    assert desk.refusal(desk.asks(do="bet", id="b1", wager="field", amount=10**9)) == "FUNDS"
    assert desk.prune() == 1


def test_the_answer_of_a_change_is_kept_while_its_wager_could_be_changed_again(desk: Desk) -> None:
    """A wager is reduced and increased. The repeat of the reduction a month later must have no effect."""
    place = {"id": "b1", "wager": "place", "number": 6, "amount": 600}
    assert desk.refusal(desk.asks(do="bet", **place)) == ""
    reduce = desk.asks(do="reduce", id="b1", to=300)
    assert desk.refusal(reduce) == ""
    assert desk.refusal(desk.asks(do="increase", id="b1", to=600)) == ""
    balance = desk.balance
    assert desk.prune() == 1, "only the bet's answer may be dropped, because its id is used"
    assert desk.refusal(reduce) == ""
    assert desk.balance == balance
    assert desk.house.proof().faults == ()


def test_the_answer_of_a_change_is_kept_while_a_correction_could_restore_its_wager(desk: Desk) -> None:
    assert desk.refusal(desk.asks(do="bet", id="b1", wager="field", amount=600)) == ""
    reduce = desk.asks(do="reduce", id="b1", to=300)
    assert desk.refusal(reduce) == ""
    desk.house.takes(desk.table.rolls(3, 4))
    assert desk.prune() == 1
    desk.house.takes(desk.table.roll_corrected())
    balance = desk.balance
    assert desk.refusal(desk.asks(do="increase", id="b1", to=600)) == ""
    assert desk.refusal(reduce) == ""
    assert desk.balance == balance - 300


def test_the_answer_of_a_change_is_dropped_once_its_wager_is_finally_decided(desk: Desk) -> None:
    assert desk.refusal(desk.asks(do="bet", id="b1", wager="field", amount=600)) == ""
    reduce = desk.asks(do="reduce", id="b1", to=300)
    assert desk.refusal(reduce) == ""
    desk.house.takes(desk.table.rolls(3, 4), desk.table.rolls(3, 4), desk.table.rolls(3, 4))
    balance = desk.balance
    assert desk.prune() == 2
    assert desk.refusal(reduce) == "BOOK-ID"
    assert desk.balance == balance


def test_answers_about_chips_paid_in_and_out_are_kept_for_ever(desk: Desk) -> None:
    pay = desk.asks(do="pay")
    assert desk.refusal(pay) == ""
    assert desk.prune(3_650) == 0
    assert desk.refusal(pay) == ""
    assert desk.balance == 10_500


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 3)


@pytest.mark.usefixtures("short")
def test_a_slice_is_limited_and_the_next_continues_after_what_is_kept(desk: Desk) -> None:
    for n in range(10):
        desk.asks(do="bet", id=f"b{n}", wager="field", amount=100)()
        desk.asks(do="pay")()
    desk.house.now_us += (KEEP_DAYS + 1) * DAY_US
    going = Pruning(desk.house.engine)
    dropped = [going.drop_slice() for _ in range(10)]
    assert max(dropped) <= 3
    assert sum(dropped) == 10
    assert desk.kept() == 10


def dies(_work: Work) -> None:
    raise DatabaseUnavailable("the engine died with its rows deleted, before the commit")


@pytest.mark.usefixtures("short")
def test_a_crash_within_a_slice_loses_no_answer_and_the_next_run_drops_what_is_old(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    bets = [desk.asks(do="bet", id=f"b{n}", wager="field", amount=100) for n in range(6)]
    assert [desk.refusal(bet) for bet in bets] == [""] * 6
    desk.house.now_us += (KEEP_DAYS + 1) * DAY_US
    going = Pruning(desk.house.engine)
    assert going.drop_slice() > 0
    before = desk.kept()
    with monkeypatch.context() as dying:
        dying.setattr(Work, "flush", dies)
        with pytest.raises(DatabaseUnavailable):
            going.drop_slice()
    assert desk.kept() == before
    desk.house.reopen()
    again = Pruning(desk.house.engine)
    while again.drop_slice():
        pass
    assert desk.kept() == 0
    assert {desk.refusal(bet) for bet in bets} == {"BOOK-ID"}
    assert desk.balance == 10_000 - 600


def test_pruning_runs_by_itself_periodically(desk: Desk) -> None:
    desk.asks(do="bet", id="b1", wager="field", amount=100)()
    desk.house.now_us += (KEEP_DAYS + 1) * DAY_US
    going = Pruning(desk.house.engine)
    for _ in range(CALLS_PER_SLICE - 1):
        going.prune_if_due()
    assert desk.kept() == 1
    going.prune_if_due()
    assert desk.kept() == 0


@pytest.mark.parametrize("jump_days", [-10_000, 10_000])
def test_a_changed_wall_clock_costs_no_player_any_money(desk: Desk, jump_days: int) -> None:
    bet = desk.asks(do="bet", id="b1", wager="field", amount=100)
    pay = desk.asks(do="pay")
    assert [desk.refusal(bet), desk.refusal(pay)] == ["", ""]
    desk.prune(jump_days)
    assert desk.refusal(pay) == ""
    assert desk.refusal(bet) in ("", "BOOK-ID")
    assert desk.balance == 10_400
    assert desk.house.proof().faults == ()


@needs_postgres
def test_on_postgresql_pruning_also_covers_all_rows(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 3)
    cluster = Cluster()
    try:
        house = House(cluster.database("pruned"))
        table = SealedTable("craps-1", key)
        house.enrol(table, "craps-12-034")
        desk = Desk(house, table)
        for n in range(5):
            desk.asks(do="bet", id=f"b{n}", wager="field", amount=100)()
        house.now_us += (KEEP_DAYS + 1) * DAY_US
        going = Pruning(house.engine)
        assert sum(going.drop_slice() for _ in range(4)) == 5
        assert desk.kept() == 0
        house.store.close()
    finally:
        cluster.remove()
