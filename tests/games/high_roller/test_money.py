"""High Roller's pot, button and Bonus Pot from game to game, and the end of the hours."""

import pytest

from controller.model.outcomes import (
    BonusPaid,
    GameStarted,
    GameWon,
)
from controller.rules.high_roller.rolls import BonusPot
from tests.games.high_roller.played_table import HighRollerTable, calls, changed, two_players, won_in_a_row

# --- money, button and Bonus Pot ---


def test_H_MONEY_1_ten_per_cent_is_rake_up_to_two_dollars_bonus_and_the_rest_the_prize() -> None:
    table = two_players(first=[7] * 20, second=[9] * 10).enter("start_roll").rolls(9)
    won = table.end().data(GameWon)[0]
    assert (won.pot.gross, won.pot.rake, won.pot.bonus, won.pot.prize) == (3000, 300, 200, 2500)
    assert won.bonus_paid == 0


@pytest.mark.parametrize("cents", [100, 50])
def test_H_BET_1_and_gap_H_18_every_card_of_a_game_has_one_price(cents: int) -> None:
    played = (
        HighRollerTable(changed(card_cents=cents))
        .button(s1="Q", s2="9")
        .buys("1", 7, 8)
        .buys("2", 9)
        .rolls(9)
        .end()
    )
    assert played.data(GameStarted)[0].card_cents == cents
    assert played.data(GameWon)[0].pot.gross == 3 * cents


def test_gap_H_5_the_rake_is_a_tenth_of_the_gross_to_the_cent() -> None:
    table = two_players(first=(7,) * 6, second=(9,)).enter("start_roll", count=0).rolls(9)
    pot = table.end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (700, 70, 0, 630)


def test_gap_H_6_a_house_may_keep_the_share_below_the_rake() -> None:
    table = HighRollerTable(changed(rake_above_bonus_cents=100)).button(s1="Q", s2="9").buys("1", *[7] * 11)
    pot = table.buys("2", 9).rolls(9).end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (1200, 120, 20, 1060)


def test_gap_H_7_two_cards_cannot_give_more_than_the_rake_leaves() -> None:
    pot = two_players(first=(7,), second=(9,)).rolls(9).end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (200, 20, 180, 0)


def test_H_BTN_3_the_button_moves_clockwise_each_game() -> None:
    table = two_players().rolls(9).enter("settled")
    assert table.state.button == "2"
    assert calls(table.buys("2", 7).buys("1", 8).rolls(7).end())[-1] == ("2", "elimination", 7)


def test_H_BONUS_1_the_bonus_pot_goes_to_the_winner_of_three_games_in_a_row() -> None:
    table = won_in_a_row(3)
    assert table.state.pot == BonusPot()
    played = table.end()
    assert [w.bonus_paid for w in played.data(GameWon)] == [0, 0, 540], (
        "the pot must include the third game's contribution (!H-12)"
    )
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [("2", 540, "in_a_row")]


def test_gap_H_12_the_row_of_wins_restarts_after_the_pot_is_won() -> None:
    assert [w.bonus_paid for w in won_in_a_row(5).end().data(GameWon)] == [0, 0, 540, 0, 0]


def test_H_CLOSE_1_gap_H_10_the_first_game_after_closing_is_announced_is_final_and_pays_the_pot() -> None:
    table = two_players(first=(7,), second=(9,)).enter("closing").rolls(9)
    table.buys("2", 9).buys("1", 7).rolls(7).enter("buy", seat="1", count=1)
    played = table.end()
    assert [s.final for s in played.data(GameStarted)] == [False, True], (
        "a game in progress must be finished first (!H-10)"
    )
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [("1", 360, "final_game")]
    assert played.refusals() == ["final_game_over"]


def test_H_CLOSE_2_gap_H_11_with_fewer_than_two_players_at_the_end_the_pot_is_recorded_as_rake() -> None:
    table = two_players(first=(7,), second=(9,)).rolls(9).enter("settled").enter("closing")
    table.enter("closing").enter("leave", seat="1").enter("closing")
    played = table.end()
    assert played.refusals() == ["final_game_due"]
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [
        (None, 180, "recorded_as_rake")
    ]


def test_H_CLOSE_2_the_dealer_may_enter_how_many_players_are_left() -> None:
    table = two_players(first=(7,), second=(9,)).rolls(9).enter("settled").enter("closing", count=1)
    assert table.end().data(BonusPaid)[0].cause == "recorded_as_rake"


def test_the_hours_do_not_end_during_a_game() -> None:
    assert two_players().enter("closing", count=1).end().refusals() == ["game_running"]
