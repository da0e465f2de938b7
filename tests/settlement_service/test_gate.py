"""No bet is accepted or returned without a fresh statement of the table."""

from collections.abc import Callable

import pytest

from controller.journal.keys import Key
from controller.publish.betting import OpenStatement, statement_bytes
from controller.settlement_service.account_requests import AccountRequests, Caller
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import MAX_WAITING, Gate, MissingStatement
from controller.settlement_service.http_requests import Views
from tests.publish.house import ENGINE_KEY
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.statements import gate

AT_ONCE_S = 0.0
"""Zero, because expected messages have arrived before a test asks for them."""
ANN = Caller(name="ann's", role="player", player="ann")


class Wheel:
    """A roulette table whose statements the test provides, and a player with a bet on red."""

    def __init__(self, house: House, table: SealedTable) -> None:
        self.house = house
        self.table = table
        house.player("ann", 1_000)
        self.said: Callable[[str], list[bytes]] = self.true_word
        self.asked: list[str] = []
        self.engine = Engine(house.store, lambda: 0, gate=gate(AT_ONCE_S))
        self.engine.gate.connect(self.line)
        self.desk = AccountRequests(self.engine)
        self.bets = 0

    def line(self, table: str, nonce: str) -> MissingStatement | None:
        """Receive a query, and send the test's statements."""
        assert table == self.table.name
        self.asked.append(nonce)
        for payload in self.said(nonce):
            self.engine.gate.receive(payload)
        return None

    def word(self, nonce: str, key: Key | None = None, **changed: object) -> bytes:
        """Return the table's statement, with these changes."""
        word: dict[str, object] = {
            "table": self.table.name,
            "session": "1",
            "round": self.table.round,
            "takes": "wagers",
            "sequence": self.table.seq - 1,
            "t": 2_000,
            "until": 1_000,
            "heard": {nonce: 900},
        }
        return statement_bytes(OpenStatement(**{**word, **changed}), key or self.table.key)  # type: ignore[arg-type]  # as written above

    def true_word(self, nonce: str) -> list[bytes]:
        return [self.word(nonce)]

    def bet(self, number: str = "17") -> str:
        """Bet; return the refusing rule or an empty string."""
        self.bets += 1
        bet = {
            "id": f"b{self.bets}",
            "player": "ann",
            "wager": "straight",
            "amount": 100,
            "numbers": [number],
        }
        return self._refusal(lambda: self.desk.bet(self.house.new_identity(), self.table.name, bet))

    def undo_trial(self) -> str:
        """Remove the newest bet; return the refusing rule or an empty string."""
        asked: dict[str, object] = {"do": "remove", "id": f"b{self.bets}"}
        return self._refusal(lambda: self.desk.change(self.house.new_identity(), self.table.name, asked))

    def deliver(self, events: list[bytes]) -> None:
        self.engine.deliver(events)

    @property
    def balance(self) -> int:
        with self.engine.work() as work:
            return work.balance("player:ann")

    def _refusal(self, deed: Callable[[], object]) -> str:
        try:
            deed()
        except RequestRefused as refused:
            return refused.rule
        return ""


@pytest.fixture
def wheel(house: House, roulette: SealedTable) -> Wheel:
    return Wheel(house, roulette)


def test_a_bet_covered_by_the_tables_statement_is_accepted(wheel: Wheel) -> None:
    assert wheel.bet() == ""
    assert wheel.balance == 900


def test_every_bet_and_every_change_queries_the_table(wheel: Wheel) -> None:
    assert wheel.bet() == ""
    assert wheel.undo_trial() == ""
    assert len(set(wheel.asked)) == 2


def test_without_a_statement_nothing_is_accepted_and_nothing_returned(wheel: Wheel) -> None:
    """The broker is stopped after bets opened, and the wheel shows 17."""
    assert wheel.bet() == ""
    wheel.said = lambda _nonce: []
    assert wheel.bet() == "TABLE-WORD"
    wheel.bets = 1
    assert wheel.undo_trial() == "TABLE-WORD"
    assert wheel.balance == 900


def test_a_statement_made_before_the_bet_came_covers_nothing(wheel: Wheel) -> None:
    """The statement waited in a queue and was delivered with the ball in a pocket."""
    wheel.said = lambda _nonce: [wheel.word("0" * 32), wheel.word("0" * 32, heard={})]
    assert wheel.bet() == "TABLE-WORD"


def test_the_statement_for_another_bet_covers_nothing(wheel: Wheel) -> None:
    assert wheel.bet() == ""
    first = wheel.asked[0]
    wheel.said = lambda _nonce: [wheel.word(first)]
    assert wheel.bet() == "TABLE-WORD"


def test_a_statement_of_another_table_covers_nothing(wheel: Wheel) -> None:
    wheel.said = lambda nonce: [wheel.word(nonce, table="wheel-2")]
    assert wheel.bet() == "TABLE-WORD"


def test_a_forged_statement_covers_nothing_and_is_counted(wheel: Wheel) -> None:
    def forged(nonce: str) -> list[bytes]:
        with pytest.raises(ValueError, match="not signed with the table's key"):
            wheel.engine.gate.receive(wheel.word(nonce, key=ENGINE_KEY))
        return []

    wheel.said = forged
    assert wheel.bet() == "TABLE-WORD"
    assert wheel.engine.gate.forged == 1


def test_a_statement_that_ends_before_the_query_arrived_covers_nothing(wheel: Wheel) -> None:
    wheel.said = lambda nonce: [wheel.word(nonce, until=800)]
    assert wheel.bet() == "TABLE-WORD"


def test_a_statement_with_outcomes_not_yet_settled_covers_nothing(wheel: Wheel) -> None:
    """The wheel's last number is in transit, so the bet would precede it in the book."""
    wheel.table.spins("17")
    assert wheel.bet("17") == "TABLE-WORD"
    assert wheel.balance == 1_000


def test_once_those_outcomes_are_settled_the_bet_is_for_the_next_spin(wheel: Wheel) -> None:
    wheel.deliver(wheel.table.spins("17"))
    assert wheel.bet("17") == ""
    wheel.deliver(wheel.table.spins("3"))
    assert wheel.balance == 900


def test_a_statement_from_before_the_last_close_covers_nothing(wheel: Wheel) -> None:
    """The bet arrived in time, but the book is in the next round. The refusal costs the player nothing."""
    old = wheel.table.seq - 1
    wheel.deliver(wheel.table.spins("17"))
    wheel.said = lambda nonce: [wheel.word(nonce, sequence=old, round=1)]
    assert wheel.bet() == "TABLE-WORD"


def test_while_bets_are_closed_the_table_is_not_queried(wheel: Wheel) -> None:
    wheel.deliver(wheel.table.spins("17")[:1])
    assert wheel.bet() == "R-IRR-4"
    assert wheel.asked == []


def test_bets_that_close_while_the_bet_waits_are_closed(wheel: Wheel) -> None:
    def closes(nonce: str) -> list[bytes]:
        word = wheel.word(nonce)
        wheel.deliver(wheel.table.spins("17")[:1])
        return [word]

    wheel.said = closes
    assert wheel.bet() == "R-IRR-4"
    assert wheel.balance == 1_000


def test_a_restarted_engine_accepts_no_answer_to_its_old_queries(wheel: Wheel) -> None:
    assert wheel.bet() == ""
    old = wheel.word(wheel.asked[0])
    wheel.engine = Engine(wheel.house.store, lambda: 0, gate=Gate(lambda: "f" * 32, AT_ONCE_S))
    wheel.engine.gate.connect(wheel.line)
    wheel.desk = AccountRequests(wheel.engine)
    wheel.said = lambda _nonce: [old]
    assert wheel.bet() == "TABLE-WORD"


def test_a_table_that_never_sent_a_statement_takes_no_bets(house: House, roulette: SealedTable) -> None:
    house.player("ann", 1_000)
    house.engine.gate.connect(
        lambda _table, _nonce: MissingStatement("TABLE-WORD", "it is not at the broker")
    )
    with pytest.raises(RequestRefused, match="not at the broker"):
        house.bets(roulette, "ann", "b1", "red", 100)


def test_a_repeated_request_is_answered_as_before_without_a_query(wheel: Wheel) -> None:
    bet: dict[str, object] = {"id": "b1", "player": "ann", "wager": "red", "amount": 100}
    identity = wheel.house.new_identity()
    first = wheel.desk.bet(identity, wheel.table.name, bet)
    wheel.said = lambda _nonce: []
    assert wheel.desk.bet(identity, wheel.table.name, bet) == first
    assert len(wheel.asked) == 1


def test_a_request_refused_without_a_statement_stays_refused_when_repeated(wheel: Wheel) -> None:
    """A player could otherwise repeat the request until the number is known."""
    bet: dict[str, object] = {"id": "b1", "player": "ann", "wager": "red", "amount": 100}
    identity = wheel.house.new_identity()
    wheel.said = lambda _nonce: []
    with pytest.raises(RequestRefused):
        wheel.desk.bet(identity, wheel.table.name, bet)
    wheel.said = wheel.true_word
    with pytest.raises(RequestRefused):
        wheel.desk.bet(identity, wheel.table.name, bet)


def test_a_flood_of_waiting_bets_is_refused_at_once() -> None:
    crowded = gate(AT_ONCE_S)
    answers: list[object] = []

    def line(_table: str, _nonce: str) -> MissingStatement | None:
        answers.append(crowded.ask("wheel-1"))
        return None

    crowded.connect(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controller.settlement_service.gate.MAX_WAITING", 5)
        crowded.ask("wheel-1")
    assert MAX_WAITING > 5
    assert any(isinstance(answer, MissingStatement) and "too many" in answer.reason for answer in answers)


def test_an_accepted_bet_is_stored_with_its_time_at_the_table(wheel: Wheel) -> None:
    assert wheel.bet() == ""
    wheel.deliver(wheel.table.spins("17"))
    newest = Views(wheel.engine).rounds("wheel-1", 1)[0]
    assert (newest.round, newest.wager_to_close_ms, newest.close_to_result_ms) == (1, 999.1, 1_000.0)


def test_times_of_two_sessions_are_not_compared(wheel: Wheel) -> None:
    """Each start of the table begins a new clock."""
    wheel.said = lambda nonce: [wheel.word(nonce, session="0")]
    assert wheel.bet() == ""
    wheel.deliver(wheel.table.spins("17"))
    assert Views(wheel.engine).rounds("wheel-1", 1)[0].wager_to_close_ms is None


def test_at_a_dice_table_the_release_closes_the_bets(house: House, craps: SealedTable) -> None:
    house.player("ann", 1_000)
    house.bets(craps, "ann", "b1", "field", 100)
    house.takes(craps.rolls(1, 2))
    (first,) = Views(house.engine).rounds("craps-1", 10)[-1:]
    assert (first.round, first.close_to_move_ms) == (1, 0.0)
