"""C34-MK-1b at the engine: a wager made with the dice out needs the table's statement for that wager."""

from collections.abc import Callable, Mapping
from hashlib import sha256

import msgspec
import pytest

from controller.journal.keys import Key
from controller.model.outcomes import TableEvent
from controller.publish.betting import OpenStatement, statement_bytes
from controller.settlement_service.account_requests import AccountRequests
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import MAX_LATE, Gate, LateWager, MissingStatement
from controller.settlement_service.http_requests import Views
from tests.publish.house import ENGINE_KEY
from tests.settlement_service.rig import House, SealedTable

NONCE = "a" * 32


class LateWagerCase:
    """A craps table with its dice out, whose statements on late wagers the test provides."""

    def __init__(self, house: House, table: SealedTable) -> None:
        self.house, self.table = house, table
        house.player("ann", 1_000)
        self.restart()
        self.said: Callable[[LateWager], list[bytes]] = lambda wager: [self.word(wager)]
        self.asked: list[LateWager] = []
        self.bets = 0

    def restart(self) -> None:
        """Start an engine on the database; it has only the data that the database stores."""
        self.engine = Engine(self.house.store, lambda: 0, gate=Gate(lambda: NONCE, 0.0, 0.0))
        self.engine.gate.connect(lambda _table, _nonce: None, self.line)
        self.desk = AccountRequests(self.engine)

    def line(self, table: str, nonce: str, wager: LateWager) -> MissingStatement | None:
        assert (table, nonce) == (self.table.name, NONCE)
        self.asked.append(wager)
        for payload in self.said(wager):
            self.engine.gate.receive(payload)
        return None

    def word(
        self, wager: LateWager, key: Key | None = None, changed: Mapping[str, object] | None = None
    ) -> bytes:
        """Return the table's statement, with these changes."""
        word: dict[str, object] = {
            "table": self.table.name,
            "session": "1",
            "round": self.round,
            "takes": "late",
            "sequence": self.out_seq,
            "t": 5_000,
            "until": 4_000,
            "heard": {NONCE: 3_000},
            "late": {NONCE: wager.digest},
        }
        return statement_bytes(OpenStatement(**{**word, **(changed or {})}), key or self.table.key)  # type: ignore[arg-type]  # as above

    def throws(self) -> None:
        """Publish that the dice leave the hand; they will show 1-2."""
        self.out_seq, self.round = self.table.seq, self.table.round
        out, *self.landing = self.table.rolls(1, 2)
        self.engine.deliver([out])

    def lands(self) -> None:
        self.engine.deliver(self.landing)

    def bet(self, wager: str = "field", **more: object) -> str:
        """Bet late; return the refusing rule or an empty string."""
        self.bets += 1
        bet = {"id": f"b{self.bets}", "player": "ann", "wager": wager, "amount": 100, "late": True, **more}
        try:
            self.desk.bet(self.house.new_identity(), self.table.name, bet)
        except RequestRefused as refused:
            return refused.rule
        return ""

    @property
    def balance(self) -> int:
        with self.engine.work() as work:
            return work.balance("player:ann")


@pytest.fixture
def late(house: House, craps: SealedTable) -> LateWagerCase:
    one = LateWagerCase(house, craps)
    one.throws()
    return one


def test_C34_MK_1b_a_late_wager_with_the_tables_statement_is_decided_by_the_roll_in_the_air(
    late: LateWagerCase,
) -> None:
    assert late.bet() == ""
    assert late.balance == 900
    late.lands()
    assert late.balance == 1_100
    assert late.house.proof().faults == ()


def test_people_are_shown_what_they_confirm_and_the_digest_covers_all_of_it(late: LateWagerCase) -> None:
    assert late.bet("place", number=6) == ""
    (asked,) = late.asked
    assert (asked.round, asked.wager) == (1, "b1")
    assert asked.description == "ann: place 6, 100 cents"
    whole = {
        "id": "b1",
        "player": "ann",
        "wager": "place",
        "amount": 100,
        "number": 6,
        "do": "bet",
        "late": True,
        "table": "craps-1",
    }
    assert asked.digest == sha256(msgspec.json.encode(whole, order="sorted")).hexdigest()


@pytest.mark.parametrize(
    "changed",
    [
        {"late": {NONCE: "0" * 64}},
        {"late": {}},
        {"takes": "wagers"},
        {"heard": {NONCE: 4_001}},
        {"table": "craps-2"},
        {"round": 2},
        {"sequence": 0},
        {"sequence": 9},
    ],
)
def test_a_statement_for_anything_else_covers_nothing(
    late: LateWagerCase, changed: dict[str, object]
) -> None:
    late.said = lambda wager: [late.word(wager, changed=changed)]
    assert late.bet() in ("C34-MK-1b", "TABLE-WORD")
    assert late.balance == 1_000


def test_a_forged_statement_on_a_late_wager_covers_nothing(late: LateWagerCase) -> None:
    def forged(wager: LateWager) -> list[bytes]:
        with pytest.raises(ValueError, match="not signed with the table's key"):
            late.engine.gate.receive(late.word(wager, ENGINE_KEY))
        return []

    late.said = forged
    assert late.bet() == "C34-MK-1b"


def test_an_unconfirmed_late_wager_is_refused_with_the_rule(late: LateWagerCase) -> None:
    late.said = lambda _wager: []
    assert late.bet() == "C34-MK-1b"
    assert late.balance == 1_000


def test_a_callers_claim_of_confirmation_is_ignored(late: LateWagerCase) -> None:
    late.said = lambda _wager: []
    assert late.bet(confirmed=True) == "C34-MK-1b"
    assert late.bet(late=False, confirmed=True) == "C34-MK-1a"


def test_once_the_roll_is_settled_the_statement_is_too_late(late: LateWagerCase) -> None:
    """Bets are not open again yet, so the wager would count for another roll."""

    def called(wager: LateWager) -> list[bytes]:
        word = late.word(wager)
        late.engine.deliver(late.landing[:1])
        return [word]

    late.said = called
    assert late.bet() == "C34-MK-1b"
    assert late.balance == 1_000
    assert late.bet() == "C34-MK-1b"


def test_while_bets_are_open_or_after_a_restart_between_rolls_no_late_bet_is_accepted(
    late: LateWagerCase,
) -> None:
    late.lands()
    assert late.bet() == "C34-MK-1b"
    assert late.asked == []


@pytest.mark.parametrize("restarts", [False, True])
def test_at_a_closed_table_a_late_bet_is_refused_without_asking_the_table(
    late: LateWagerCase, *, restarts: bool
) -> None:
    late.lands()
    late.engine.deliver([late.table.publish_outcome("table.closed", TableEvent(cause="close_table"))])
    if restarts:
        late.restart()
    assert late.bet() == "C34-MK-1b"
    assert late.asked == []


def test_a_restart_with_the_dice_out_knows_that_they_are(late: LateWagerCase) -> None:
    late.restart()
    assert late.bet() == ""


def test_a_statement_for_open_bets_covers_no_late_wager_and_the_reverse(late: LateWagerCase) -> None:
    late.lands()
    payload = late.word(
        LateWager(2, "b1", "0" * 64, ""), changed={"round": 2, "sequence": late.table.seq - 1}
    )
    late.engine.gate.connect(lambda _table, _nonce: late.engine.gate.receive(payload), late.line)
    assert late.bet(late=False) == "TABLE-WORD"


@pytest.mark.parametrize(("rules", "rule"), [("craps-v1", "CV1-BET-2"), ("roulette", "C34-MK-1b")])
def test_where_the_rules_allow_no_late_bets_the_table_is_not_queried(
    house: House, key: Key, rules: str, rule: str
) -> None:
    table = SealedTable("other", key)
    house.enrol(table, rules)
    one = LateWagerCase(house, table)
    one.throws()
    assert one.bet("pass" if rules == "craps-v1" else "red") == rule
    assert one.asked == []


def test_a_late_wager_does_not_move_the_last_wager_before_the_close(late: LateWagerCase) -> None:
    assert late.bet() == ""
    late.lands()
    assert Views(late.engine).rounds("craps-1", 1)[0].wager_to_close_ms is None


def test_few_late_wagers_may_wait_for_one_table(late: LateWagerCase) -> None:
    gate = Gate(lambda: NONCE, 0.0, 0.0)
    taken = [gate.expect("craps-1", f"{i:032x}", "0" * 64) for i in range(MAX_LATE + 1)]
    assert taken == [True] * MAX_LATE + [False]
    assert gate.expect("craps-1", "f" * 32)
