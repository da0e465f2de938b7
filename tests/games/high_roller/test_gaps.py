"""Questions that High Roller's text leaves open, with settings other than the defaults."""

import msgspec
import pytest

from controller.games.high_roller.table import as_high_roller_state
from controller.games.high_roller.wagers.book import HighRollerBook as Settled
from controller.games.high_roller.wagers.paytable import HighRollerPayTable
from controller.machines.setup import read_memory
from controller.model.outcomes import (
    GameWon,
    RollCalled,
)
from controller.rules.high_roller.rolls import BonusPot, build_policy
from controller.settings.paytables import load_paytable
from controller.settlement.run import settle
from tests.games.high_roller.played_table import HighRollerTable, changed

# --- gaps in the text, with settings other than the defaults ---


def test_gap_H_2_a_house_may_require_a_roll_of_the_only_player_who_matches() -> None:
    table = HighRollerTable(changed(lone_match="rolls")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 8)
    played = table.rolls(7, 4, 9).end()
    assert [(won.player, won.total) for won in played.data(GameWon)] == [("1", 9)]
    assert [c.remaining for c in played.data(RollCalled)][:2] == [("1",), ("1",)]


def test_gap_H_3_tied_players_may_roll_once_for_each_card() -> None:
    table = HighRollerTable(changed(ties_roll="per_card")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 7)
    played = table.rolls(7, 9, 4, 9, 5, 8, 6).end()
    throwers = [call.player for call in played.data(RollCalled)]
    assert throwers == ["1", "1", "1", "2", "1", "1", "2"]
    assert [(won.player, won.total) for won in played.data(GameWon)] == [("1", 8)]


def test_gap_H_17_a_tied_player_with_a_roll_for_each_card_may_decline_one_of_them() -> None:
    table = HighRollerTable(changed(ties_roll="per_card")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 7)
    played = table.rolls(7, 9, 4, 9, 8).enter("decline").rolls(6).end()
    assert played.refusals() == []
    assert [call.player for call in played.data(RollCalled)] == ["1", "1", "1", "2", "1", "2"]
    assert [(won.player, won.total) for won in played.data(GameWon)] == [("1", 8)]
    table = HighRollerTable(changed(ties_roll="per_card")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 7)
    assert table.rolls(7, 9, 4, 9, 8, 5).enter("decline").end().refusals() == ["must_roll"]


def test_gap_H_4_the_button_may_begin_the_roll_off_whatever_the_others_hold() -> None:
    table = HighRollerTable(changed(roll_order="button")).button(s1="Q", s2="9").buys("1", 7).buys("2", 7, 7)
    played = table.rolls(7, 4, 9, 5).end()
    assert [call.player for call in played.data(RollCalled)] == ["1", "1", "2", "2"]


def test_gap_H_16_a_button_without_cards_may_pass_the_throw_to_the_next_player_with_cards() -> None:
    table = HighRollerTable(changed(button_without_cards="passes")).button(s1="Q", s2="9", s3="8")
    table.enter("buy", seat="1", count=0).buys("2", 7).buys("3", 8)
    played = table.rolls(3, 7).end()
    assert [call.player for call in played.data(RollCalled)] == ["2", "2"]
    assert [won.player for won in played.data(GameWon)] == ["2"]


@pytest.mark.parametrize(
    "policy",
    [
        {"lone_match": "rolls"},
        {"ties_roll": "per_card"},
        {"roll_order": "button"},
        {"button_without_cards": "passes"},
    ],
)
def test_gap_H_4_settlement_and_table_follow_the_same_policy(policy: dict[str, str]) -> None:
    ruleset = changed(**policy)
    assert ruleset.high_roller is not None
    table = HighRollerTable(ruleset).button(s1="Q", s2="9", s3="8").enter("buy", seat="1", count=0)
    played = table.buys("2", 7, 7).buys("3", 7).rolls(7, 9, 4, 9, 5, 8, 6, 3, 2, 11).end()
    throws = [(call.player, call.dice) for call in played.data(RollCalled)]
    (won,) = played.data(GameWon)
    asked = ['{"do":"game","seats":["1","2","3"],"button":"1"}']
    asked += [
        f'{{"do":"bet","id":"{n}","player":"{player}","card":7}}' for n, player in enumerate(("2", "2", "3"))
    ]
    asked += [f'{{"do":"throw","dice":[{one},{two}],"player":"{player}"}}' for player, (one, two) in throws]
    game = Settled(load_paytable(ruleset.name, HighRollerPayTable), build_policy(ruleset.high_roller))
    told = b"".join(settle([line.encode() for line in asked], game))
    assert f'"winner":"{won.player}"'.encode() in told
    assert b"refused" not in told


def test_gap_H_9_the_lowest_card_may_place_the_button() -> None:
    table = (
        HighRollerTable(changed(button_to="lowest"))
        .button(s1="Q", s2="3", s3="3", s4="7")
        .button(s2="9", s3="T")
    )
    assert table.buys("2", 7).state.button == "2"


def test_gap_H_12_a_games_own_share_may_begin_the_next_pot() -> None:
    table = HighRollerTable(changed(bonus_share_joins="after", wins_for_bonus=2)).button(s1="Q", s2="9")
    table.buys("1", *[7] * 10).buys("2", *[8] * 10).rolls(7).enter("settled")
    table.buys("2", *[8] * 10).buys("1", *[7] * 10).rolls(7)
    played = table.end()
    assert [won.bonus_paid for won in played.data(GameWon)] == [0, 200]
    assert read_memory(
        table.played.session.state().high_roller, as_high_roller_state
    ) == msgspec.structs.replace(table.state, pot=BonusPot(cents=200))
