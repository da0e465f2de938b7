"""Play is accepted only once the cards are out, and not at a position that folded (T-DEAL-4).

A position with both would halt the table, because the deal would contradict the wager book.
"""

import msgspec
import pytest

from controller.journal.keys import Key
from controller.model.outcomes import Bets
from controller.publish.betting import OpenStatement
from controller.settlement_service.account_requests import Caller, RequestIdentity
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import MissingStatement, PlayAt
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.test_other_games import dealt

FOLDED = ("3",)


@pytest.fixture
def table(house: House, key: Key) -> SealedTable:
    """Open a table with an Ante of ann's at position 3 and one of bob's at 1."""
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    for player, seat in (("ann", "3"), ("bob", "1")):
        house.player(player, 1_000)
        house.bets(table, player, f"{player}'s", "ante", 200, seat=seat)
    return table


def says_folded(house: House, table: SealedTable, folded: tuple[str, ...], session: str = "1") -> None:
    """Report in the table's statement that these positions have folded."""

    def answer(name: str, nonce: str) -> MissingStatement | None:
        word = OpenStatement(
            table=name,
            session=session,
            round=table.round,
            takes="play",
            sequence=table.seq - 1,
            t=0,
            until=0,
            heard={nonce: 0},
            folded=folded,
        )
        house.engine.gate.accept(word)
        return None

    house.engine.gate.connect(answer)


def refused(house: House, table: SealedTable, player: str, seat: object) -> str:
    """Bet Play; return the refusing rule or an empty string."""
    try:
        house.bets(table, player, f"{player} plays {seat}", "play", 200, seat=seat)
    except RequestRefused as refusal:
        return refusal.rule
    return ""


@pytest.mark.parametrize("seat", ["3", 3])
def test_T_DEAL_4_no_play_is_accepted_at_a_folded_position(
    house: House, table: SealedTable, seat: object
) -> None:
    closed, called = dealt(table)
    house.takes(closed)
    table.seq -= 1  # The deal is decided after the statement was made.
    says_folded(house, table, FOLDED)
    assert refused(house, table, "ann", seat) == "T-DEAL-4"
    assert refused(house, table, "bob", "1") == ""
    house.takes(called)
    assert house.proof().faults == ()


def test_T_DEAL_4_play_before_the_cards_are_out_is_refused_and_closes_no_bets(
    house: House, table: SealedTable
) -> None:
    assert refused(house, table, "ann", "3") == "T-DEAL-4"
    house.player("cat", 1_000)
    house.bets(table, "cat", "cat's", "ante", 200, seat="6")
    assert house.balance("player:cat") == 800


def test_play_is_accepted_from_a_table_that_does_not_state_folded_positions() -> None:
    word = OpenStatement(table="t", session="1", round=1, takes="play", sequence=1, t=0, until=0, heard={})
    old = {name: value for name, value in msgspec.to_builtins(word).items() if name != "folded"}
    assert msgspec.convert(old, OpenStatement) == word


class CardTable:
    """A table that receives the engine's queries for Play; the test provides its answers."""

    def __init__(self, house: House, table: SealedTable) -> None:
        self.asked: list[PlayAt] = []
        self._house = house
        self._table = table
        house.engine.gate.connect(self.plain, ask_table_play=self.play)

    def plain(self, name: str, nonce: str) -> MissingStatement | None:
        raise AssertionError(f"{name} was queried for Play as for any bet ({nonce})")

    def play(self, name: str, nonce: str, play: PlayAt) -> MissingStatement | None:
        self.asked.append(play)
        word = OpenStatement(
            table=name,
            session="1",
            round=play.round,
            takes="play",
            sequence=self._table.seq - 1,
            t=0,
            until=0,
            heard={nonce: 0},
        )
        self._house.engine.gate.accept(word)
        return None


@pytest.fixture
def cards_out(house: House, table: SealedTable) -> CardTable:
    """Close bets with the first card; all later queries are for Play."""
    house.takes(table.publish_outcome("bets.closed", Bets(round=1, cause="first_card")))
    return CardTable(house, table)


def test_T_DEAL_4_the_table_receives_the_position_for_which_play_is_requested(
    house: House, table: SealedTable, cards_out: CardTable
) -> None:
    assert refused(house, table, "ann", 3) == ""
    assert cards_out.asked == [PlayAt(1, ("3",))]


def test_T_DEAL_4_the_table_receives_the_positions_with_play_and_the_round(
    house: House, table: SealedTable, cards_out: CardTable
) -> None:
    """The table then refuses a fold of such a position by any role."""
    reports: list[PlayAt] = []
    house.engine.played = lambda _table, play, _at: reports.append(play)
    assert refused(house, table, "bob", "6") != ""
    assert reports == []
    for player, seat in (("ann", "3"), ("bob", "1")):
        assert refused(house, table, player, seat) == ""
    assert reports == [PlayAt(1, ("3",)), PlayAt(1, ("1", "3"))]
    bets = house.engine.bets(table.name)
    assert bets is not None
    assert bets.played == reports[-1], "it must be reported again with each progress report"
    house.takes(*dealt(table))
    bets = house.engine.bets(table.name)
    assert bets is not None
    assert bets.played is None
    assert reports[2:] == []


def test_T_DEAL_4_play_still_up_is_reported_again_in_the_next_round_of_bets(
    house: House, table: SealedTable, cards_out: CardTable
) -> None:
    """Bets reopen after the first card closed them. A Play wager made in between stays up."""
    reports: list[PlayAt] = []
    assert refused(house, table, "ann", "3") == ""
    house.engine.played = lambda _table, play, _at: reports.append(play)
    house.takes(table.publish_outcome("bets.opened", Bets(round=2, cause="dealer")))
    assert reports == [PlayAt(2, ("3",))]


def player_asks(house: House, table: SealedTable, player: str, **bet: object) -> str:
    """Request Play with the player's token; return the refusing rule or an empty string."""
    caller = Caller(name=f"{player}'s phone", role="player", player=player)
    wager = {"id": "p1", "player": player, "wager": "play", "amount": 200, **bet}
    try:
        house.desk.bet(RequestIdentity(caller, f"{player}{bet}"), table.name, wager)
    except RequestRefused as refusal:
        return refusal.rule
    return ""


@pytest.mark.parametrize(
    ("bet", "rule"),
    [
        ({"seat": "1"}, "SEATED"),
        ({"seat": "6"}, "SEATED"),
        ({"seat": "3", "amount": 100}, "T-BOTH-1"),
        ({"seat": "3", "id": "ann's"}, "BOOK-ID"),
    ],
)
def test_T_DEAL_4_a_request_that_would_be_refused_binds_no_position_at_the_table(
    house: House, table: SealedTable, cards_out: CardTable, bet: dict[str, object], rule: str
) -> None:
    """A request for Play at another player's position must not prevent that player's fold."""
    for player, seat in (("ann", "3"), ("bob", "1")):
        house.desk.seat(house.new_identity(), table.name, seat, player)
    assert player_asks(house, table, "ann", **bet) == rule
    assert cards_out.asked == []
    assert player_asks(house, table, "ann", seat="3", id="p2") == ""


def test_T_DEAL_4_play_above_the_balance_is_refused_without_a_query(
    house: House, table: SealedTable, cards_out: CardTable
) -> None:
    house.desk.pay(house.new_identity(), "ann", -700)
    assert refused(house, table, "ann", "3") == "FUNDS"
    assert cards_out.asked == []
    assert refused(house, table, "bob", "1") == "", "the book must be unchanged"
    assert house.proof().faults == ()


def test_T_DEAL_4_bets_of_one_request_query_exactly_their_positions(
    house: House, table: SealedTable, cards_out: CardTable
) -> None:
    bets = [
        {"id": f"p{seat}", "player": player, "wager": "play", "amount": cents, "seat": seat}
        for player, seat, cents in (("ann", "3", 200), ("bob", "1", 100), ("bob", "1", 200))
    ]
    bets[2]["id"] = "p1 again"
    answers = house.desk.bets(house.new_identity(), table.name, bets)
    assert cards_out.asked == [PlayAt(1, ("3", "1"))]
    refusals = [answer.rule if isinstance(answer, RequestRefused) else "" for answer in answers]
    assert refusals == ["", "T-BOTH-1", ""]
    assert house.proof().faults == ()
    again = [{**bet, "id": f"{bet['id']}, once more"} for bet in bets]
    answers = house.desk.bets(house.new_identity(), table.name, again)
    assert all(isinstance(answer, RequestRefused) for answer in answers)
    assert len(cards_out.asked) == 1, "each position must have its Play"
