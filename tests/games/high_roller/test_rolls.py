"""High Roller's dice at the table: the elimination throw, illegal rolls, and the roll-off."""

import msgspec
import pytest

from controller.model.outcomes import (
    GameVoid,
    GameWon,
    PlayerEliminated,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    RollReview,
)
from controller.model.readings import DieContact, DieOffTable, DieRest
from tests.games.high_roller.played_table import FACES, HighRollerTable, calls, changed, two_players
from tests.scenes import SECOND_US, in_order, rest_of, throw

# --- the elimination throw ---


def test_H_ROLL_1_the_button_throws_the_elimination_roll() -> None:
    table = HighRollerTable().button(s1="9", s2="Q").buys("2", 7).buys("1", 7).rolls(7)
    assert calls(table.end()) == [("2", "elimination", 7)]


@pytest.mark.parametrize("total", range(2, 13))
def test_H_MATCH_1_players_with_a_card_of_the_total_stay_in(total: int) -> None:
    letter = {10: "T", 11: "J", 12: "Q"}.get(total, str(total))
    other = 2 if total != 2 else 3
    table = (
        HighRollerTable().button(s1="Q", s2="9", s3="8").buys("1", letter).buys("2", other).buys("3", total)
    )
    played = table.rolls(total).end()
    assert played.data(RollCalled)[0].remaining == ("1", "3")
    assert [(e.game, e.players) for e in played.data(PlayerEliminated)] == [(1, ("2",))]


def test_gap_H_1_when_nobody_matches_the_same_player_throws_again() -> None:
    played = two_players().rolls(12, 3, 7).end()
    assert calls(played) == [("1", "no_match", 12), ("1", "no_match", 3), ("1", "elimination", 7)]
    assert played.data(RollCalled)[0].next_player == "1"


def test_gap_H_1_a_house_may_void_a_game_that_nobody_matches() -> None:
    table = (
        HighRollerTable(changed(no_match="void_game"))
        .button(s1="Q", s2="9")
        .buys("1", 7)
        .buys("2", 8)
        .rolls(12)
    )
    assert table.state.stage == "buy_in"
    played = table.end()
    assert played.types("game", "bets") == ["bets.closed", "game.started", "game.void", "bets.opened"]
    assert played.data(GameVoid)[0].reasons[0].rule == "!H-1"


def test_gap_H_2_one_player_alone_wins_without_rolling() -> None:
    played = two_players().rolls(9).end()
    assert played.types("roll", "player", "game.won") == ["roll.called", "player.eliminated", "game.won"]
    won = played.data(GameWon)[0]
    assert (won.player, won.total, played.data(RollCalled)[0].next_player) == ("2", 9, None)


def test_a_roll_that_wins_the_game_leaves_only_the_winner() -> None:
    table = HighRollerTable().button(s1="Q", s2="9", s3="8").buys("1", 7).buys("2", 7).buys("3", 8)
    played = table.rolls(8).enter("set_dice", dice=list(FACES[7])).rolls(9, 4).enter("settled").end()
    assert [call.remaining for call in played.data(RollCalled)] == [("3",), ("1", "2"), ("1",)]
    assert [corrected.remaining for corrected in played.data(RollCorrected)] == [("1", "2")]


def test_a_correction_after_which_a_player_alone_matches_leaves_only_the_winner() -> None:
    played = two_players().rolls(7).enter("set_dice", dice=list(FACES[9])).end()
    (corrected,) = played.data(RollCorrected)
    assert (corrected.remaining, corrected.next_player) == (("2",), None)


def test_gap_H_16_the_button_throws_even_without_cards() -> None:
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9", s3="8")
        .enter("buy", seat="1", count=0)
        .buys("2", 7)
        .buys("3", 8)
    )
    assert calls(table.rolls(7).end()) == [("1", "elimination", 7)]


# --- legal rolls ---


def test_H_LEGAL_1_and_4_a_die_that_misses_the_wall_is_rolled_again_by_the_same_player() -> None:
    played = two_players().illegal().rolls(9).end()
    assert [(r.code, r.rule) for r in played.data(RollNoRoll)[0].reasons] == [("no_wall_hit", "H-LEGAL-1")]
    assert calls(played) == [("1", "elimination", 9)]


def test_H_LEGAL_2_a_die_off_the_playing_surface_is_illegal() -> None:
    table = two_players()
    table.now += 10 * SECOND_US
    thrown = throw(table.now, (3, 4))
    stays = [r for r in thrown if not (isinstance(r, DieRest) and r.die == 2)]
    table.played.feed(in_order([*stays, DieOffTable(t=rest_of(thrown), dev="cam", die=2)]))
    void = table.end().data(RollNoRoll)[0]
    assert ("off_table", "H-LEGAL-2") in [(r.code, r.rule) for r in void.reasons]


@pytest.mark.parametrize("touched", ["slot", "tray", "rail", "shoe", "discard", "object"])
def test_H_LEGAL_3_contact_with_anything_but_cards_is_illegal(touched: str) -> None:
    table = two_players()
    table.now += 10 * SECOND_US
    seen = throw(table.now, (3, 4))
    contact = DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_=touched)
    table.played.feed(in_order([*seen, contact]))
    reasons = table.end().data(RollNoRoll)[0].reasons
    assert [(r.code, r.rule) for r in reasons] == [("foreign_contact", "H-LEGAL-3")]


def test_H_LEGAL_3_contact_with_cards_is_legal() -> None:
    table = two_players()
    table.now += 10 * SECOND_US
    seen = throw(table.now, FACES[9])
    table.played.feed(in_order([*seen, DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_="cards")]))
    assert calls(table.end()) == [("1", "elimination", 9)]


def test_gap_H_15_a_die_that_leans_on_two_objects_is_rolled_again() -> None:
    table = two_players()
    table.now += 10 * SECOND_US
    leaning = [
        msgspec.structs.replace(r, resting_sides=(1, 3), on="cards", tilt_deg=30.0, up=None)
        if isinstance(r, DieRest) and r.die == 1
        else r
        for r in throw(table.now, FACES[9])
    ]
    table.played.feed(leaning)
    reasons = table.end().data(RollNoRoll)[0].reasons
    assert [(r.code, r.rule) for r in reasons] == [("cocked", "!H-15")]


def test_gap_H_14_contact_with_loose_chips_is_for_the_dealer_to_rule() -> None:
    table = two_players()
    table.now += 10 * SECOND_US
    seen = throw(table.now, FACES[9])
    table.played.feed(in_order([*seen, DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_="chips")]))
    assert len(table.end().data(RollReview)) == 1


def test_H_LEGAL_4_the_dealer_rules_a_roll_illegal_after_the_call() -> None:
    table = two_players().rolls(9).enter("no_roll").rolls(7)
    played = table.end()
    corrected = played.data(RollCorrected)[0]
    assert (corrected.ruling, corrected.dice, corrected.next_player) == ("no_roll", None, "1")
    assert calls(played) == [("1", "elimination", 9), ("1", "elimination", 7)]


# --- the roll-off ---


def test_H_ORDER_1_the_most_matching_cards_roll_first_then_the_button_then_clockwise() -> None:
    table = HighRollerTable().button(s1="9", s2="Q", s3="8", s4="7")
    table.buys("2", 7).buys("3", 7).buys("4", 7, 7).buys("1", 7)
    played = table.rolls(7, 2, 2, 3, 4, 5).end()
    assert [c.player for c in played.data(RollCalled)] == ["2", "4", "4", "2", "3", "1"]
    assert played.data(RollCalled)[0].remaining == ("4", "2", "3", "1")


def test_H_WIN_1_the_highest_roll_wins() -> None:
    played = two_players().rolls(7, 5, 9).end()
    assert [(w.player, w.total) for w in played.data(GameWon)] == [("2", 9)]
    assert calls(played) == [("1", "elimination", 7), ("1", "roll_off", 5), ("2", "roll_off", 9)]


def test_H_MULTI_1_a_player_rolls_once_for_each_matching_card() -> None:
    played = two_players(first=(7, 7, 7)).rolls(7, 4, 5, 6, 3).end()
    assert [c.player for c in played.data(RollCalled)] == ["1", "1", "1", "1", "2"]
    assert played.data(GameWon)[0].total == 6


def test_gap_H_17_a_player_may_decline_a_roll_but_not_his_only_one() -> None:
    table = (
        two_players(first=(7, 7)).rolls(7, 4).enter("decline", seat="2").enter("decline", "player", seat="1")
    )
    table.enter("decline", seat="2").rolls(5)
    played = table.end()
    assert played.refusals() == ["not_your_turn", "must_roll"]
    assert [(d.game, d.player, d.by) for d in played.data(RollDeclined)] == [(1, "1", "player")]
    assert played.data(GameWon)[0].player == "2"


def test_gap_H_17_declining_the_last_roll_ends_the_game() -> None:
    table = two_players(first=(7, 7), second=(7, 7)).rolls(7, 8, 3, 4).enter("decline")
    assert [(w.player, w.total) for w in table.end().data(GameWon)] == [("1", 8)]


def test_gap_H_17_a_house_may_require_every_roll() -> None:
    table = (
        HighRollerTable(changed(rolls_may_be_left_out=False))
        .button(s1="Q", s2="9")
        .buys("1", 7, 7)
        .buys("2", 7)
    )
    assert table.rolls(7, 4).enter("decline").end().refusals() == ["not_offered"]


def test_H_TIE_1_tied_players_roll_again_once_each_until_one_wins() -> None:
    table = HighRollerTable().button(s1="Q", s2="9", s3="8").buys("1", 7, 7).buys("2", 7).buys("3", 7)
    played = table.rolls(7, 9, 9, 9, 2, 5, 5, 6, 4).end()
    assert [c.call for c in played.data(RollCalled)] == [
        "elimination", "roll_off", "roll_off", "roll_off", "tie", "roll_off", "tie", "roll_off", "roll_off",
    ]  # fmt: skip
    assert [e.players for e in played.data(PlayerEliminated)] == [("3",)]
    assert [c.player for c in played.data(RollCalled)][5:] == ["1", "2", "1", "2"]
    assert played.data(GameWon)[0].player == "1"


def test_gap_H_3_equal_best_rolls_of_one_player_are_not_a_tie() -> None:
    assert two_players(first=(7, 7)).rolls(7, 9, 9, 4).end().data(GameWon)[0].player == "1"


def test_a_tie_roll_cannot_be_declined() -> None:
    table = two_players(first=(7, 7)).rolls(7, 9, 9, 9).enter("decline")
    assert table.end().refusals() == ["must_roll"]
