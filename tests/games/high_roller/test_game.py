"""High Roller at the table: the button, buying cards, players who leave, corrections, a power cut."""

import pytest

from controller.machines.setup import to_json_values
from controller.model.outcomes import (
    Bets,
    CardPitched,
    CardsBought,
    GameStarted,
    GameVoid,
    GameWon,
    RollCalled,
    RollCorrected,
    RollReview,
    TableEvent,
)
from tests.games.high_roller.played_table import FACES, HighRollerTable, changed, two_players
from tests.scenes import SECOND_US, throw

# --- the button ---


def test_H_BTN_1_the_highest_card_places_the_button() -> None:
    table = HighRollerTable().button(s1="9", s2="Q", s3="T").buys("2", "7")
    assert table.state.button == "2"


@pytest.mark.parametrize("queen", ["Q", "Qh", "q", "12"])
def test_H_EQ_1_cards_for_the_button_are_lettered_or_numbered(queen: str) -> None:
    assert HighRollerTable().button(s1="11", s2=queen).buys("2", "7").state.button == "2"


@pytest.mark.parametrize("card", ["K", "A", "13", "1", "", "Qx", None])
def test_H_EQ_1_aces_and_kings_are_in_no_deck(card: str | None) -> None:
    assert HighRollerTable().enter("draw_button", seat="1", card=card).end().refusals() == ["bad_argument"]


def test_gap_H_9_only_players_with_equal_highest_cards_draw_again() -> None:
    table = HighRollerTable().button(s1="Q", s2="9", s3="Q")
    table.enter("buy", seat="1", count=1).enter("draw_button", seat="2", card="Q")
    table.button(s1="8").enter("buy", seat="1", count=1).button(s3="J").enter("buy", seat="3", count=1)
    assert table.state.button == "3"
    assert table.end().refusals() == ["button_tied", "has_drawn", "button_tied"]


def test_gap_H_9_the_card_for_the_button_is_not_a_bet() -> None:
    table = two_players(first=("7",), second=("8",))
    assert table.enter("start_roll").end().data(GameStarted)[0].cards == {"1": (7,), "2": (8,)}


def test_H_BTN_1_the_shoe_may_deal_the_cards_for_the_button() -> None:
    table = HighRollerTable().pitched("9", to="1").pitched("J", to="2").buys("2", "7")
    assert table.state.button == "2"


def test_H_BTN_1_without_a_button_no_cards_are_sold() -> None:
    assert HighRollerTable().enter("buy", seat="1", count=3).end().refusals() == ["no_button"]


# --- buying ---


def test_H_BTN_2_the_button_buys_first_or_passes() -> None:
    table = HighRollerTable().button(s1="9", s2="Q").enter("buy", seat="1", count=2)
    table.enter("buy", seat="2", count=0).buys("1", 7)
    assert table.state.cards == {"1": (7,)}
    assert table.end().refusals() == ["button_first"]


def test_H_BTN_2_the_option_goes_clockwise_once_in_the_buy_in() -> None:
    table = (
        HighRollerTable().button(s1="9", s2="Q", s3="8", s4="7").buys("2", 7).enter("buy", seat="4", count=2)
    )
    table.enter("buy", seat="3", count=1)
    assert table.end().refusals() == ["turn_passed"]
    assert table.state.owed == {"4": 2}


def test_H_DEAL_1_pitched_cards_go_to_the_player_whose_turn_it_is() -> None:
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=2)
        .enter("buy", seat="2", count=1)
    )
    table.pitched("J", "4", "Q")
    assert table.state.cards == {"1": (11, 4), "2": (12,)}


def test_H_DEAL_1_a_shoe_that_knows_the_seat_is_believed_except_for_a_card_nobody_bought() -> None:
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=1)
        .enter("buy", seat="2", count=1)
    )
    table.pitched("J", to="2").pitched("5", to="2").pitched("4", to="1").pitched("8")
    assert table.state.cards == {"1": (4,), "2": (11,)}
    assert table.end().refusals() == ["card_not_bought", "card_not_bought"]


def test_H_DEAL_1_an_unreadable_card_is_entered_at_the_console() -> None:
    table = HighRollerTable().button(s1="Q", s2="9").enter("buy", seat="1", count=2).pitched("7", None)
    table.enter("start_roll").enter("set_card", seat="1", card="J")
    assert table.state.cards == {"1": (7, 11)}
    assert table.end().refusals() == ["card_unread", "cards_owed"]


def test_H_DEAL_1_the_refusal_of_a_card_says_what_its_source_can_do() -> None:
    """A shoe enters nothing again; a person does."""
    table = HighRollerTable().pitched("9").button(s1="Q", s2="9").enter("buy", seat="1", count=1)
    table.pitched("K").enter("set_card", seat="1", card="K")
    assert [told.says for told in table.end().data(TableEvent) if told.says is not None] == [
        "a card from the shoe needs a seat when players draw for the button; enter it with draw_button",
        "found the card K from the shoe, expected 2 to Queen; check the card and enter it with set_card",
        "set_card needs a card from 2 to Queen, or a number from 2 to 12; enter it again",
    ]


def test_H_DEAL_1_every_purchase_and_every_card_is_published() -> None:
    table = HighRollerTable().button(s1="Q", s2="9").enter("buy", "player", seat="1", count=2).pitched("J")
    played = table.enter("set_card", card="4").enter("set_card", seat="1", card="5", what="4").end()
    assert [(b.player, b.count, b.by) for b in played.data(CardsBought)] == [("1", 2, "player")]
    assert [(c.player, c.card, c.replaces, c.by) for c in played.data(CardPitched)] == [
        ("1", 11, None, "shoe"),
        ("1", 4, None, "dealer"),
        ("1", 5, 4, "dealer"),
    ]


def test_H_DEAL_1_a_misread_card_is_corrected_before_the_roll() -> None:
    table = (
        two_players()
        .enter("set_card", seat="1", card="4", what="8")
        .enter("set_card", seat="1", card="4", what="9")
    )
    assert table.state.cards["1"] == (7, 4)
    assert table.end().refusals() == ["bad_argument"]


def test_H_REBUY_1_after_the_deal_cards_are_bought_one_at_a_time() -> None:
    table = (
        two_players()
        .enter("buy", seat="1", count=2)
        .buys("1", "4")
        .enter("buy", seat="2")
        .enter("buy", seat="1")
    )
    table.pitched("5")
    assert table.state.cards == {"1": (7, 8, 4), "2": (7, 9, 5)}
    assert table.end().refusals() == ["one_at_a_time", "cards_owed"]


def test_H_BTN_2_the_button_is_first_in_the_re_buy_too() -> None:
    table = two_players().enter("buy", seat="2").buys("1", "4").buys("2", "5")
    assert table.state.cards == {"1": (7, 8, 4), "2": (7, 9, 5)}
    assert table.end().refusals() == ["button_first"]


def test_H_BTN_2_a_button_that_passes_lets_the_others_buy_again() -> None:
    table = two_players().enter("buy", seat="1", count=0).buys("2", "5")
    assert table.state.cards["2"] == (7, 9, 5)
    assert table.end().refusals() == []


def test_H_CAP_1_a_player_buys_at_most_the_configured_number_a_game() -> None:
    table = (
        HighRollerTable(changed(cards_per_player=3)).button(s1="Q", s2="9").enter("buy", seat="1", count=4)
    )
    table.buys("1", 4, 5, 6).buys("2", 7).enter("buy", seat="1", count=1)
    assert table.end().refusals() == ["over_limit", "over_limit"]


def test_H_EQ_1_a_card_beyond_those_in_the_decks_is_a_misread() -> None:
    table = (
        HighRollerTable(changed(decks=4)).button(s1="Q", s2="9").buys("1", *["J"] * 16).buys("2", "J", "T")
    )
    assert table.state.cards == {"1": (11,) * 16, "2": (10,)}
    assert table.end().refusals() == ["sold_out"]


def test_gap_H_8_no_more_cards_are_sold_than_the_shoe_holds() -> None:
    table = HighRollerTable(changed(decks=4, cards_per_player=200)).button(s1="Q", s2="9")
    table.enter("buy", seat="1", count=176).enter("buy", seat="2", count=1)
    assert table.end().refusals() == ["sold_out"]


def test_H_START_1_a_game_needs_two_players_with_cards() -> None:
    table = HighRollerTable().button(s1="Q", s2="9").buys("1", 7, 8).enter("start_roll").rolls(7)
    played = table.end()
    assert played.refusals() == ["too_few_players", "too_few_players"]
    assert played.types("roll", "bets", "game") == []


def test_H_START_1_a_player_who_joins_between_games_is_ordered_by_his_seat() -> None:
    table = HighRollerTable().button(s1="Q", s3="9").buys("1", 7).buys("2", 8).buys("3", 9)
    assert table.state.names == ("1", "2", "3")


def test_buying_ends_when_the_dice_are_thrown() -> None:
    table = two_players().enter("start_roll").enter("buy", seat="1").enter("start_roll")
    assert table.end().refusals() == ["buying_over", "buying_over"]


def test_gap_H_6_the_share_of_the_bonus_pot_is_entered_before_the_roll() -> None:
    table = two_players().enter("start_roll", count=201).enter("start_roll", count=50)
    played = table.end()
    assert played.refusals() == ["bad_argument"]
    assert played.data(GameStarted)[0].bonus_take == 50


def test_a_throw_closes_buying_if_no_input_closed_it() -> None:
    played = two_players().rolls(7).end()
    assert played.data(Bets)[0].cause == "dice_released"
    assert played.types("bets", "game", "roll") == ["bets.closed", "game.started", "roll.called"]
    assert two_players().enter("start_roll").end().data(Bets)[0].cause == "dealer"


# --- leaving, void games, corrections, power ---


def test_gap_H_19_the_cards_of_a_player_who_leaves_stay_in_and_the_dealer_rolls_for_him() -> None:
    table = two_players().rolls(7).enter("leave", seat="1").rolls(11, 3)
    played = table.end()
    assert [n.code for n in played.data(RollCalled)[1].notices] == ["dealer_rolls"]
    assert played.data(GameWon)[0].player == "1"
    assert HighRollerTable(state=table.state).enter("buy", seat="2").state.names == ("2",)


def test_a_player_who_leaves_is_named_by_a_seat_in_the_game() -> None:
    table = two_players().enter("leave", seat="5").enter("leave")
    unknown, missing = table.end().data(TableEvent)
    assert (
        unknown.says
        == "leave: found seat 5, expected the seat of a player at the table (1, 2); enter it again"
    )
    assert missing.says == "leave needs a seat; enter it again"


def test_gap_H_19_a_house_may_void_the_game_of_a_player_who_leaves() -> None:
    table = HighRollerTable(changed(leaver="void_game")).button(s1="Q", s2="9").buys("1", 7).buys("2", 8)
    table.enter("start_roll").enter("leave", seat="2")
    assert table.end().types("game", "bets") == ["bets.closed", "game.started", "game.void", "bets.opened"]


def test_gap_H_19_a_supervisor_voids_the_game_and_all_stakes_are_returned() -> None:
    table = two_players().rolls(7).enter("void", "supervisor", what="game", reason="a fire alarm")
    void = table.end().data(GameVoid)[0]
    assert (void.game, void.by, void.reasons[0].rule) == (1, "supervisor", "!H-19")
    assert (table.state.cards, table.state.button, table.state.game) == ({}, "1", 2)


def test_the_button_moves_on_when_its_player_leaves_between_games() -> None:
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9", s3="8")
        .enter("buy", seat="1", count=0)
        .enter("leave", seat="1")
    )
    assert table.state.button == "2"
    assert table.state.names == ("2", "3")


def test_a_ruling_after_the_call_undoes_what_followed_from_the_roll() -> None:
    table = two_players().rolls(9).enter("set_dice", dice=[3, 4]).rolls(5, 9)
    played = table.end()
    assert played.types("roll", "player", "game.won") == [
        "roll.called", "player.eliminated", "game.won", "roll.corrected",
        "roll.called", "roll.called", "game.won",
    ]  # fmt: skip
    corrected = played.data(RollCorrected)[0]
    assert (corrected.call, corrected.remaining, corrected.next_player) == ("elimination", ("1", "2"), "1")
    assert table.state.pot.cents == played.data(GameWon)[1].pot.bonus, (
        "the undone game must give nothing to the pot"
    )


def test_a_correction_keeps_who_left_and_the_end_of_hours() -> None:
    table = two_players(first=(7, 7)).rolls(7, 4).enter("leave", seat="1").enter("closing")
    table.enter("set_dice", dice=[5, 5])
    assert (table.state.gone, table.state.closing) == (("1",), True)


def test_no_correction_of_the_last_game_is_accepted_once_the_pot_is_recorded_as_rake() -> None:
    table = two_players(first=(7,), second=(9,)).rolls(9).enter("closing", count=1).enter("no_roll")
    assert table.end().refusals() == ["already_settled"]


def test_no_correction_is_accepted_once_the_winner_is_paid_or_the_next_game_begins() -> None:
    assert two_players().rolls(9).enter("settled").enter("set_dice", dice=[3, 4]).end().refusals() == [
        "already_settled"
    ]
    bought = two_players().rolls(9).enter("buy", seat="2", count=1).enter("no_roll")
    assert bought.end().refusals() == ["already_settled"]


def test_a_high_roller_roll_is_published_without_craps_fields() -> None:
    called = two_players().rolls(7).end().data(RollCalled)[0]
    assert (called.phase, called.point, called.point_after, called.shooter) == (None, None, None, None)


def test_a_new_day_keeps_the_bonus_pot_and_a_game_in_progress() -> None:
    table = two_players(first=(7,), second=(9,)).rolls(9).enter("close_table").enter("open_table")
    assert (table.state.pot.cents, table.state.seats) == (180, ())
    playing = two_players().rolls(7).enter("close_table").enter("open_table").rolls(5, 9)
    assert playing.end().data(GameWon)[0].player == "2"


STAGES = {
    "button": HighRollerTable().button(s1="Q", s2="Q"),
    "bought": two_players(),
    "owed": two_players().enter("buy", seat="1"),
    "elimination": two_players().enter("start_roll"),
    "no match": two_players().rolls(3),
    "roll-off": two_players(first=(7, 7)).rolls(7, 9),
    "tied": two_players().rolls(7, 9, 9),
    "won": two_players().rolls(9),
    "next game": two_players().rolls(9).enter("settled").buys("2", 5),
}


@pytest.mark.parametrize("stage", STAGES)
def test_the_game_resumes_where_it_was_after_a_power_cut(stage: str) -> None:
    before = STAGES[stage].state
    again = HighRollerTable(state=before)
    assert again.state == before
    table = again if before.stage in ("elimination", "roll_off", "tied") else None
    if table is not None:
        table.now += 10 * SECOND_US
        cut = [r for r in throw(table.now, FACES[11]) if r.t < table.now + 400_000]
        played = table.played.feed(cut).finish(cut=True)
        assert [(r.code, r.rule) for r in played.data(RollReview)[0].reasons] == [("power_lost", "H-LEGAL-4")]
        assert played.session.state().high_roller == to_json_values(before), (
            "an interrupted throw must not change the game"
        )
