"""Events while a request waits for the table's statement. The state at the time of booking counts."""

from collections.abc import Callable
from itertools import count

import pytest

from controller.journal.keys import Key
from controller.publish.betting import OpenStatement
from controller.settlement_service.account_requests import Caller, RequestIdentity
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import MissingStatement
from controller.settlement_service.http_requests import Tokens
from tests.settlement_service.rig import House, SealedTable

ANN = Caller(name="ann's", role="player", player="ann")
BOB = Caller(name="bob's", role="player", player="bob")


class Race:
    """A table with an event before each statement; ann and bob have 1,000 cents each."""

    def __init__(self, house: House, key: Key, name: str, rules: str) -> None:
        self.house = house
        self.table = SealedTable(name, key)
        house.enrol(self.table, rules)
        for player in ("ann", "bob"):
            house.player(player, 1_000)
        self.meanwhile: Callable[[], object] = lambda: None
        self._keys = count()
        house.engine.gate.connect(self._answer)

    def _answer(self, name: str, nonce: str) -> MissingStatement | None:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        word = OpenStatement(
            table=name,
            session="1",
            round=self.table.round,
            takes="wagers",
            sequence=self.table.seq - 1,
            t=0,
            until=0,
            heard={nonce: 0},
        )
        self.house.engine.gate.accept(word)
        return None

    def ante(self, caller: Caller, id_: str = "b1", seat: str = "3") -> str:
        """Bet an Ante as a player; return the refusing rule or an empty string."""
        bet: dict[str, object] = {
            "id": id_,
            "player": caller.player,
            "wager": "ante",
            "amount": 200,
            "seat": seat,
        }
        return self.refusal(lambda: self.house.desk.bet(self.asks(caller), "cards", bet))

    def change(self, caller: Caller, **change: object) -> str:
        return self.refusal(lambda: self.house.desk.change(self.asks(caller), self.table.name, change))

    def asks(self, caller: Caller) -> RequestIdentity:
        return RequestIdentity(caller, f"k{next(self._keys)}")

    def refusal(self, deed: Callable[[], object]) -> str:
        try:
            deed()
        except RequestRefused as refused:
            return refused.rule
        return ""


@pytest.fixture
def race(house: House, key: Key) -> Race:
    """Return a card table with ann seated at 3."""
    race = Race(house, key, "cards", "three-card-poker-12-014")
    house.desk.seat(house.new_identity(), "cards", "3", "ann")
    return race


def test_a_bet_waiting_while_its_seat_is_given_to_another_player_is_refused(race: Race) -> None:
    house = race.house
    race.meanwhile = lambda: house.desk.seat(house.new_identity(), "cards", "3", "bob")
    assert race.ante(ANN) == "SEATED"
    assert race.ante(BOB) == ""
    assert (house.balance("player:ann"), house.balance("player:bob")) == (1_000, 800)
    assert house.proof().faults == ()


def test_a_seat_on_which_another_player_bets_first_is_not_shared(race: Race) -> None:
    """Staff seat bob there, he bets, and they seat ann again. Bob's wager is still up at her seat."""
    house = race.house

    def happens() -> None:
        house.desk.seat(house.new_identity(), "cards", "3", "bob")
        assert race.ante(BOB, "bob") == ""

    race.meanwhile = happens
    assert race.ante(ANN) == "SEATED"
    assert house.proof().faults == ()


def test_chips_paid_out_while_a_bet_waits_cannot_be_bet(race: Race) -> None:
    house = race.house
    race.meanwhile = lambda: house.desk.pay(house.new_identity(), "ann", -900)
    assert race.ante(ANN) == "FUNDS"
    assert house.balance("player:ann") == 100


def test_a_bet_whose_token_is_revoked_while_it_waits_is_refused(race: Race) -> None:
    house = race.house
    tokens = Tokens(house.engine)
    tokens.make("ann's", "player", "secret", "ann")
    ante: dict[str, object] = {"id": "b2", "player": "ann", "wager": "ante", "amount": 200, "seat": "3"}
    race.meanwhile = lambda: tokens.revoke("ann's")
    assert race.ante(ANN) == "TOKEN"
    assert race.refusal(lambda: house.desk.bets(race.asks(ANN), "cards", [ante])) == "TOKEN"
    assert house.balance("player:ann") == 1_000


def test_the_same_wager_requested_twice_at_once_is_made_once(race: Race) -> None:
    race.meanwhile = lambda: race.ante(ANN)
    assert race.ante(ANN) == "BOOK-ID"
    assert race.house.balance("player:ann") == 800


def at_a_wheel(house: House, key: Key) -> Race:
    """Return a wheel at which ann has 200 cents on red."""
    race = Race(house, key, "wheel-1", "roulette")
    red: dict[str, object] = {"id": "b1", "player": "ann", "wager": "red", "amount": 200}
    assert race.refusal(lambda: house.desk.bet(race.asks(ANN), "wheel-1", red)) == ""
    return race


def test_a_wager_removed_twice_at_once_is_returned_once(house: House, key: Key) -> None:
    race = at_a_wheel(house, key)
    found: list[str] = []
    race.meanwhile = lambda: found.append(race.change(ANN, do="remove", id="b1"))
    assert (race.change(ANN, do="remove", id="b1"), found) == ("BOOK-ID", [""])
    assert (house.balance("player:ann"), house.balance("at_risk:wheel-1")) == (1_000, 0)
    assert house.proof().faults == ()


def test_another_players_change_while_the_owners_waits_is_refused(house: House, key: Key) -> None:
    race = at_a_wheel(house, key)
    found: list[str] = []
    race.meanwhile = lambda: found.append(race.change(BOB, do="remove", id="b1"))
    assert (race.change(ANN, do="remove", id="b1"), found) == ("", ["BOOK-ID"])
