"""Where High Roller's text leaves a question open, and a house decides it otherwise."""

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
from tests.games.high_roller.night import Night, changed

# --- the gaps of the text, decided otherwise ---


def test_gap_H_2_a_house_may_require_a_roll_of_the_only_player_who_matches() -> None:
    night = Night(changed(lone_match="rolls")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 8)
    played = night.rolls(7, 4, 9).end()
    assert [(won.player, won.total) for won in played.data(GameWon)] == [("1", 9)]
    assert [c.remaining for c in played.data(RollCalled)][:2] == [("1",), ("1",)]


def test_gap_H_3_tied_players_may_roll_once_for_each_card() -> None:
    night = Night(changed(ties_roll="per_card")).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 7)
    played = night.rolls(7, 9, 4, 9, 5, 8, 6).end()
    throwers = [call.player for call in played.data(RollCalled)]
    assert throwers == ["1", "1", "1", "2", "1", "1", "2"]
    assert [(won.player, won.total) for won in played.data(GameWon)] == [("1", 8)]


def test_gap_H_4_the_button_may_begin_the_roll_off_whatever_the_others_hold() -> None:
    night = Night(changed(roll_order="button")).button(s1="Q", s2="9").buys("1", 7).buys("2", 7, 7)
    played = night.rolls(7, 4, 9, 5).end()
    assert [call.player for call in played.data(RollCalled)] == ["1", "1", "2", "2"]


def test_gap_H_16_a_button_without_cards_may_pass_the_throw_to_the_next_player_with_cards() -> None:
    night = Night(changed(button_without_cards="passes")).button(s1="Q", s2="9", s3="8")
    night.says("buy", seat="1", count=0).buys("2", 7).buys("3", 8)
    played = night.rolls(3, 7).end()
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
    night = Night(ruleset).button(s1="Q", s2="9", s3="8").says("buy", seat="1", count=0)
    played = night.buys("2", 7, 7).buys("3", 7).rolls(7, 9, 4, 9, 5, 8, 6, 3, 2, 11).end()
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
    night = Night(changed(button_to="lowest")).button(s1="Q", s2="3", s3="3", s4="7").button(s2="9", s3="T")
    assert night.buys("2", 7).state.button == "2"


def test_gap_H_12_a_games_own_share_may_begin_the_next_pot() -> None:
    night = Night(changed(bonus_share_joins="after", wins_for_bonus=2)).button(s1="Q", s2="9")
    night.buys("1", *[7] * 10).buys("2", *[8] * 10).rolls(7).says("settled")
    night.buys("2", *[8] * 10).buys("1", *[7] * 10).rolls(7)
    played = night.end()
    assert [won.bonus_paid for won in played.data(GameWon)] == [0, 200]
    assert read_memory(
        night.played.session.state().high_roller, as_high_roller_state
    ) == msgspec.structs.replace(night.state, pot=BonusPot(cents=200))
