"""Play at a Three Card Poker table: when the cards are out, and not where a position has folded (T-DEAL-4).

A player who could have both would stop the table: its deal and its wager book would contradict each other.
"""

import msgspec
import pytest

from controller.journal.keys import Key
from controller.publish.betting import OpenWord
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import NoWord
from tests.settlement_service.rig import House, SealedTable
from tests.settlement_service.test_other_games import dealt

FOLDED = ("3",)


@pytest.fixture
def table(house: House, key: Key) -> SealedTable:
    """Open a table with Antes of ann's at position 3 and bob's at 1."""
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    for player, seat in (("ann", "3"), ("bob", "1")):
        house.player(player, 1_000)
        house.bets(table, player, f"{player}'s", "ante", 200, seat=seat)
    return table


def says_folded(house: House, table: SealedTable, folded: tuple[str, ...], session: str = "1") -> None:
    """Let the table's word tell that these positions have folded."""

    def answer(name: str, nonce: str) -> NoWord | None:
        word = OpenWord(
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
        house.engine.gate.believe(word)
        return None

    house.engine.gate.connect(answer)


def refused(house: House, table: SealedTable, player: str, seat: object) -> str:
    """Bet Play; give the rule that refuses it, or nothing."""
    try:
        house.bets(table, player, f"{player} plays {seat}", "play", 200, seat=seat)
    except RequestRefused as refusal:
        return refusal.rule
    return ""


@pytest.mark.parametrize("seat", ["3", 3])
def test_T_DEAL_4_no_play_is_taken_where_a_position_has_folded(
    house: House, table: SealedTable, seat: object
) -> None:
    closed, called = dealt(table)
    house.takes(closed)
    table.seq -= 1  # The deal is decided later than the word is said.
    says_folded(house, table, FOLDED)
    assert refused(house, table, "ann", seat) == "T-DEAL-4"
    assert refused(house, table, "bob", "1") == ""
    house.takes(called)
    assert house.proof().faults == ()


def test_T_DEAL_4_play_before_the_cards_are_out_is_refused_and_closes_the_bets_for_nobody(
    house: House, table: SealedTable
) -> None:
    assert refused(house, table, "ann", "3") == "T-DEAL-4"
    house.player("cat", 1_000)
    house.bets(table, "cat", "cat's", "ante", 200, seat="6")
    assert house.balance("player:cat") == 800


def test_a_table_that_does_not_say_who_has_folded_takes_play_as_before() -> None:
    word = OpenWord(table="t", session="1", round=1, takes="play", sequence=1, t=0, until=0, heard={})
    old = {name: value for name, value in msgspec.to_builtins(word).items() if name != "folded"}
    assert msgspec.convert(old, OpenWord) == word
