"""High Roller at the table: the button, the cards, the rolls and the money, from readings to outcomes."""

from collections.abc import Iterable
from dataclasses import replace

import msgspec
import pytest

from controller.engine.setup import State
from controller.machines.high_roller_table import HighRollerState
from controller.model.outcomes import (
    Bets,
    BonusPaid,
    CardPitched,
    CardsBought,
    GameStarted,
    GameVoid,
    GameWon,
    PlayerEliminated,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    RollReview,
)
from controller.model.readings import Card, DieContact, DieOffTable, DieRest, Face
from controller.model.rulesets import RuleSet
from controller.rules.high_roller.money import BonusPot
from controller.rules.high_roller.rolls import policy_of
from controller.settings.paytables import load_paytable
from controller.settings.rulesets import load_ruleset
from controller.settlement.high_roller.game import HighRoller as Settled
from controller.settlement.high_roller.paytable import HighRollerPayTable
from controller.settlement.run import settle
from tests.engine.play import Played
from tests.scenes import SECOND_US, in_order, rest_of, says, throw

RULES = load_ruleset("high-roller-12-005")
FACES: dict[int, tuple[Face, Face]] = {
    2: (1, 1), 3: (1, 2), 4: (1, 3), 5: (1, 4), 6: (1, 5), 7: (1, 6),
    8: (2, 6), 9: (3, 6), 10: (4, 6), 11: (5, 6), 12: (6, 6),
}  # fmt: skip


def changed(**policies: object) -> RuleSet:
    """Give the shipped rules with other policies of the table."""
    assert RULES.high_roller is not None
    return replace(RULES, high_roller=replace(RULES.high_roller, **policies))  # type: ignore[arg-type]  # any key


class Night:
    """A High Roller table, told what happens step by step; ten seconds pass with each."""

    def __init__(self, ruleset: RuleSet = RULES, state: HighRollerState | None = None) -> None:
        self.played = Played(state=State(high_roller=state), ruleset=ruleset)
        self.now = 0

    def says(self, name: str, by: str = "dealer", **arguments: object) -> "Night":
        """Let a person enter something."""
        self.now += 10 * SECOND_US
        self.played.feed(says(self.now, name, by, **arguments))
        return self

    def button(self, **drawn: str) -> "Night":
        """Deal cards for the button: `button(s1="Q", s2="9")`."""
        for seat, card in drawn.items():
            self.says("draw_button", seat=seat[1:], card=card)
        return self

    def buys(self, seat: str, *ranks: str | int) -> "Night":
        """Sell a player these cards and pitch them."""
        self.says("buy", seat=seat, count=len(ranks))
        return self.pitched(*ranks)

    def pitched(self, *ranks: str | int | None, to: str | None = None) -> "Night":
        """Let the shoe pitch cards."""
        for rank in ranks:
            self.now += SECOND_US
            self.played.feed(Card(t=self.now, dev="shoe", rank=rank, to=to))
        return self

    def rolls(self, *totals: int) -> "Night":
        """Throw these totals."""
        for total in totals:
            self.now += 10 * SECOND_US
            self.played.feed(throw(self.now, FACES[total]))
        return self

    def illegal(self) -> "Night":
        """Throw a die short of the wall."""
        self.now += 10 * SECOND_US
        self.played.feed(throw(self.now, (3, 4), short_mm=(300, 0)))
        return self

    def end(self) -> Played:
        """End the recording."""
        return self.played.finish()

    @property
    def state(self) -> HighRollerState:
        """What the table remembers now."""
        self.played.effects += self.played.session.advance(self.now + 5 * SECOND_US)
        state = self.played.session.state().high_roller
        assert state is not None
        return state


def two_players(
    *, first: Iterable[str | int] = ("7", "8"), second: Iterable[str | int] = ("7", "9")
) -> Night:
    """Seats 1 (the button) and 2 have bought their cards."""
    return Night().button(s1="Q", s2="9").buys("1", *first).buys("2", *second)


def calls(played: Played) -> list[tuple[object, str, int]]:
    return [(c.player, c.call, c.total) for c in played.data(RollCalled)]


# --- the button ---


def test_H_BTN_1_the_highest_card_places_the_button() -> None:
    night = Night().button(s1="9", s2="Q", s3="T").buys("2", "7")
    assert night.state.button == "2"


@pytest.mark.parametrize("queen", ["Q", "Qh", "q", "12"])
def test_H_EQ_1_cards_for_the_button_are_lettered_or_numbered(queen: str) -> None:
    assert Night().button(s1="11", s2=queen).buys("2", "7").state.button == "2"


@pytest.mark.parametrize("card", ["K", "A", "13", "1", "", "Qx", None])
def test_H_EQ_1_aces_and_kings_are_in_no_deck(card: str | None) -> None:
    assert Night().says("draw_button", seat="1", card=card).end().refusals() == ["bad_argument"]


def test_gap_H_9_equal_highest_cards_draw_again_and_nobody_else() -> None:
    night = Night().button(s1="Q", s2="9", s3="Q")
    night.says("buy", seat="1", count=1).says("draw_button", seat="2", card="Q")
    night.button(s1="8").says("buy", seat="1", count=1).button(s3="J").says("buy", seat="3", count=1)
    assert night.state.button == "3"
    assert night.end().refusals() == ["button_tied", "has_drawn", "button_tied"]


def test_gap_H_9_the_card_for_the_button_is_no_bet() -> None:
    night = two_players(first=("7",), second=("8",))
    assert night.says("start_roll").end().data(GameStarted)[0].cards == {"1": (7,), "2": (8,)}


def test_H_BTN_1_the_shoe_may_deal_the_cards_for_the_button() -> None:
    night = Night().pitched("9", to="1").pitched("J", to="2").buys("2", "7")
    assert night.state.button == "2"


def test_H_BTN_1_without_a_button_no_cards_are_sold() -> None:
    assert Night().says("buy", seat="1", count=3).end().refusals() == ["no_button"]


# --- buying ---


def test_H_BTN_2_the_button_buys_first_or_passes() -> None:
    night = Night().button(s1="9", s2="Q").says("buy", seat="1", count=2)
    night.says("buy", seat="2", count=0).buys("1", 7)
    assert night.state.cards == {"1": (7,)}
    assert night.end().refusals() == ["button_first"]


def test_H_BTN_2_the_option_goes_clockwise_and_does_not_come_back_in_the_buy_in() -> None:
    night = Night().button(s1="9", s2="Q", s3="8", s4="7").buys("2", 7).says("buy", seat="4", count=2)
    night.says("buy", seat="3", count=1)
    assert night.end().refusals() == ["turn_passed"]
    assert night.state.owed == {"4": 2}


def test_H_DEAL_1_pitched_cards_go_to_the_player_whose_turn_it_is() -> None:
    night = Night().button(s1="Q", s2="9").says("buy", seat="1", count=2).says("buy", seat="2", count=1)
    night.pitched("J", "4", "Q")
    assert night.state.cards == {"1": (11, 4), "2": (12,)}


def test_H_DEAL_1_a_shoe_that_knows_the_seat_is_believed_and_a_card_nobody_bought_is_not() -> None:
    night = Night().button(s1="Q", s2="9").says("buy", seat="1", count=1).says("buy", seat="2", count=1)
    night.pitched("J", to="2").pitched("5", to="2").pitched("4", to="1").pitched("8")
    assert night.state.cards == {"1": (4,), "2": (11,)}
    assert night.end().refusals() == ["card_not_bought", "card_not_bought"]


def test_H_DEAL_1_an_unreadable_card_is_entered_at_the_console() -> None:
    night = Night().button(s1="Q", s2="9").says("buy", seat="1", count=2).pitched("7", None)
    night.says("start_roll").says("set_card", seat="1", card="J")
    assert night.state.cards == {"1": (7, 11)}
    assert night.end().refusals() == ["card_unread", "cards_owed"]


def test_H_DEAL_1_every_purchase_and_every_card_is_told_so_that_nothing_paid_for_is_lost() -> None:
    night = Night().button(s1="Q", s2="9").says("buy", "player", seat="1", count=2).pitched("J")
    played = night.says("set_card", card="4").says("set_card", seat="1", card="5", what="4").end()
    assert [(b.player, b.count, b.by) for b in played.data(CardsBought)] == [("1", 2, "player")]
    assert [(c.player, c.card, c.replaces, c.by) for c in played.data(CardPitched)] == [
        ("1", 11, None, "shoe"),
        ("1", 4, None, "dealer"),
        ("1", 5, 4, "dealer"),
    ]


def test_H_DEAL_1_a_card_read_wrong_is_put_right_before_the_roll() -> None:
    night = (
        two_players()
        .says("set_card", seat="1", card="4", what="8")
        .says("set_card", seat="1", card="4", what="9")
    )
    assert night.state.cards["1"] == (7, 4)
    assert night.end().refusals() == ["bad_argument"]


def test_H_REBUY_1_after_the_deal_cards_are_bought_one_at_a_time() -> None:
    night = (
        two_players()
        .says("buy", seat="1", count=2)
        .buys("1", "4")
        .says("buy", seat="2")
        .says("buy", seat="1")
    )
    night.pitched("5")
    assert night.state.cards == {"1": (7, 8, 4), "2": (7, 9, 5)}
    assert night.end().refusals() == ["one_at_a_time", "cards_owed"]


def test_H_CAP_1_a_player_buys_at_most_the_configured_number_a_game() -> None:
    night = Night(changed(cards_per_player=3)).button(s1="Q", s2="9").says("buy", seat="1", count=4)
    night.buys("1", 4, 5, 6).buys("2", 7).says("buy", seat="1", count=1)
    assert night.end().refusals() == ["over_limit", "over_limit"]


def test_H_EQ_1_a_card_of_which_the_decks_hold_no_more_was_read_wrong() -> None:
    night = Night(changed(decks=4)).button(s1="Q", s2="9").buys("1", *["J"] * 16).buys("2", "J", "T")
    assert night.state.cards == {"1": (11,) * 16, "2": (10,)}
    assert night.end().refusals() == ["sold_out"]


def test_gap_H_8_no_more_cards_are_sold_than_the_shoe_holds() -> None:
    night = Night(changed(decks=4, cards_per_player=200)).button(s1="Q", s2="9")
    night.says("buy", seat="1", count=176).says("buy", seat="2", count=1)
    assert night.end().refusals() == ["sold_out"]


def test_H_START_1_a_game_needs_two_players_with_cards() -> None:
    night = Night().button(s1="Q", s2="9").buys("1", 7, 8).says("start_roll").rolls(7)
    played = night.end()
    assert played.refusals() == ["too_few_players", "too_few_players"]
    assert played.told("roll", "bets", "game") == []


def test_H_START_1_who_joins_between_games_sits_where_his_seat_is() -> None:
    night = Night().button(s1="Q", s3="9").buys("1", 7).buys("2", 8).buys("3", 9)
    assert night.state.names == ("1", "2", "3")


def test_buying_is_over_when_the_dice_roll() -> None:
    night = two_players().says("start_roll").says("buy", seat="1").says("start_roll")
    assert night.end().refusals() == ["buying_over", "buying_over"]


def test_gap_H_6_the_share_of_the_bonus_pot_is_entered_before_the_roll() -> None:
    night = two_players().says("start_roll", count=201).says("start_roll", count=50)
    played = night.end()
    assert played.refusals() == ["bad_argument"]
    assert played.data(GameStarted)[0].bonus_take == 50


def test_a_throw_closes_the_buying_where_nobody_said_so() -> None:
    played = two_players().rolls(7).end()
    assert played.data(Bets)[0].cause == "dice_released"
    assert played.told("bets", "game", "roll") == ["bets.closed", "game.started", "roll.called"]
    assert two_players().says("start_roll").end().data(Bets)[0].cause == "dealer"


# --- the elimination throw ---


def test_H_ROLL_1_the_button_throws_the_elimination_roll() -> None:
    night = Night().button(s1="9", s2="Q").buys("2", 7).buys("1", 7).rolls(7)
    assert calls(night.end()) == [("2", "elimination", 7)]


@pytest.mark.parametrize("total", range(2, 13))
def test_H_MATCH_1_players_with_a_card_of_the_total_stay_in(total: int) -> None:
    letter = {10: "T", 11: "J", 12: "Q"}.get(total, str(total))
    other = 2 if total != 2 else 3
    night = Night().button(s1="Q", s2="9", s3="8").buys("1", letter).buys("2", other).buys("3", total)
    played = night.rolls(total).end()
    assert played.data(RollCalled)[0].remaining == ("1", "3")
    assert [(e.game, e.players) for e in played.data(PlayerEliminated)] == [(1, ("2",))]


def test_gap_H_1_when_nobody_matches_the_same_player_throws_again() -> None:
    played = two_players().rolls(12, 3, 7).end()
    assert calls(played) == [("1", "no_match", 12), ("1", "no_match", 3), ("1", "elimination", 7)]
    assert played.data(RollCalled)[0].next_player == "1"


def test_gap_H_1_a_house_may_void_a_game_that_nobody_matches() -> None:
    night = Night(changed(no_match="void_game")).button(s1="Q", s2="9").buys("1", 7).buys("2", 8).rolls(12)
    assert night.state.stage == "buy_in"
    played = night.end()
    assert played.told("game", "bets") == ["bets.closed", "game.started", "game.void", "bets.opened"]
    assert played.data(GameVoid)[0].reasons[0].rule == "!H-1"


def test_gap_H_2_one_player_alone_wins_without_rolling() -> None:
    played = two_players().rolls(9).end()
    assert played.told("roll", "player", "game.won") == ["roll.called", "player.eliminated", "game.won"]
    won = played.data(GameWon)[0]
    assert (won.player, won.total, played.data(RollCalled)[0].next_player) == ("2", 9, None)


def test_gap_H_16_the_button_throws_without_a_card_of_his_own() -> None:
    night = Night().button(s1="Q", s2="9", s3="8").says("buy", seat="1", count=0).buys("2", 7).buys("3", 8)
    assert calls(night.rolls(7).end()) == [("1", "elimination", 7)]


# --- legal rolls ---


def test_H_LEGAL_1_and_4_a_die_that_misses_the_wall_is_rolled_again_by_the_same_player() -> None:
    played = two_players().illegal().rolls(9).end()
    assert [(r.code, r.rule) for r in played.data(RollNoRoll)[0].reasons] == [("no_wall_hit", "H-LEGAL-1")]
    assert calls(played) == [("1", "elimination", 9)]


def test_H_LEGAL_2_a_die_off_the_playing_surface_is_illegal() -> None:
    night = two_players()
    night.now += 10 * SECOND_US
    thrown = throw(night.now, (3, 4))
    stays = [r for r in thrown if not (isinstance(r, DieRest) and r.die == 2)]
    night.played.feed(in_order([*stays, DieOffTable(t=rest_of(thrown), dev="cam", die=2)]))
    void = night.end().data(RollNoRoll)[0]
    assert ("off_table", "H-LEGAL-2") in [(r.code, r.rule) for r in void.reasons]


@pytest.mark.parametrize("touched", ["slot", "tray", "rail", "shoe", "discard", "object"])
def test_H_LEGAL_3_contact_with_anything_but_cards_is_illegal(touched: str) -> None:
    night = two_players()
    night.now += 10 * SECOND_US
    seen = throw(night.now, (3, 4))
    contact = DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_=touched)
    night.played.feed(in_order([*seen, contact]))
    reasons = night.end().data(RollNoRoll)[0].reasons
    assert [(r.code, r.rule) for r in reasons] == [("foreign_contact", "H-LEGAL-3")]


def test_H_LEGAL_3_contact_with_cards_is_none() -> None:
    night = two_players()
    night.now += 10 * SECOND_US
    seen = throw(night.now, FACES[9])
    night.played.feed(in_order([*seen, DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_="cards")]))
    assert calls(night.end()) == [("1", "elimination", 9)]


def test_gap_H_15_a_die_that_leans_on_two_things_is_rolled_again() -> None:
    night = two_players()
    night.now += 10 * SECOND_US
    leaning = [
        msgspec.structs.replace(r, resting_sides=(1, 3), on="cards", tilt_deg=30.0, up=None)
        if isinstance(r, DieRest) and r.die == 1
        else r
        for r in throw(night.now, FACES[9])
    ]
    night.played.feed(leaning)
    reasons = night.end().data(RollNoRoll)[0].reasons
    assert [(r.code, r.rule) for r in reasons] == [("cocked", "!H-15")]


def test_gap_H_14_contact_with_loose_chips_is_for_the_dealer_to_rule() -> None:
    night = two_players()
    night.now += 10 * SECOND_US
    seen = throw(night.now, FACES[9])
    night.played.feed(in_order([*seen, DieContact(t=rest_of(seen) - 1000, dev="cam", die=1, with_="chips")]))
    assert len(night.end().data(RollReview)) == 1


def test_H_LEGAL_4_the_dealer_rules_a_roll_illegal_after_the_call() -> None:
    night = two_players().rolls(9).says("no_roll").rolls(7)
    played = night.end()
    corrected = played.data(RollCorrected)[0]
    assert (corrected.ruling, corrected.dice, corrected.next_player) == ("no_roll", None, "1")
    assert calls(played) == [("1", "elimination", 9), ("1", "elimination", 7)]


# --- the roll-off ---


def test_H_ORDER_1_the_most_matching_cards_roll_first_then_the_button_then_clockwise() -> None:
    night = Night().button(s1="9", s2="Q", s3="8", s4="7")
    night.buys("2", 7).buys("3", 7).buys("4", 7, 7).buys("1", 7)
    played = night.rolls(7, 2, 2, 3, 4, 5).end()
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


def test_gap_H_17_a_player_may_leave_out_a_roll_but_not_his_only_one() -> None:
    night = (
        two_players(first=(7, 7)).rolls(7, 4).says("decline", seat="2").says("decline", "player", seat="1")
    )
    night.says("decline", seat="2").rolls(5)
    played = night.end()
    assert played.refusals() == ["not_your_turn", "must_roll"]
    assert [(d.game, d.player, d.by) for d in played.data(RollDeclined)] == [(1, "1", "player")]
    assert played.data(GameWon)[0].player == "2"


def test_gap_H_17_the_last_roll_left_out_ends_the_game() -> None:
    night = two_players(first=(7, 7), second=(7, 7)).rolls(7, 8, 3, 4).says("decline")
    assert [(w.player, w.total) for w in night.end().data(GameWon)] == [("1", 8)]


def test_gap_H_17_a_house_may_ask_for_every_roll() -> None:
    night = Night(changed(rolls_may_be_left_out=False)).button(s1="Q", s2="9").buys("1", 7, 7).buys("2", 7)
    assert night.rolls(7, 4).says("decline").end().refusals() == ["not_offered"]


def test_H_TIE_1_tied_players_roll_again_once_each_until_one_wins() -> None:
    night = Night().button(s1="Q", s2="9", s3="8").buys("1", 7, 7).buys("2", 7).buys("3", 7)
    played = night.rolls(7, 9, 9, 9, 2, 5, 5, 6, 4).end()
    assert [c.call for c in played.data(RollCalled)] == [
        "elimination", "roll_off", "roll_off", "roll_off", "tie", "roll_off", "tie", "roll_off", "roll_off",
    ]  # fmt: skip
    assert [e.players for e in played.data(PlayerEliminated)] == [("3",)]
    assert [c.player for c in played.data(RollCalled)][5:] == ["1", "2", "1", "2"]
    assert played.data(GameWon)[0].player == "1"


def test_gap_H_3_equal_best_rolls_of_one_player_are_no_tie() -> None:
    assert two_players(first=(7, 7)).rolls(7, 9, 9, 4).end().data(GameWon)[0].player == "1"


def test_a_tie_roll_cannot_be_left_out() -> None:
    night = two_players(first=(7, 7)).rolls(7, 9, 9, 9).says("decline")
    assert night.end().refusals() == ["must_roll"]


# --- money, button and Bonus Pot ---


def test_H_MONEY_1_ten_per_cent_is_rake_up_to_two_dollars_bonus_and_the_rest_the_prize() -> None:
    night = two_players(first=[7] * 20, second=[9] * 10).says("start_roll").rolls(9)
    won = night.end().data(GameWon)[0]
    assert (won.pot.gross, won.pot.rake, won.pot.bonus, won.pot.prize) == (3000, 300, 200, 2500)
    assert won.bonus_paid == 0


@pytest.mark.parametrize("cents", [100, 50])
def test_H_BET_1_and_gap_H_18_every_card_of_a_game_has_one_price(cents: int) -> None:
    played = (
        Night(changed(card_cents=cents)).button(s1="Q", s2="9").buys("1", 7, 8).buys("2", 9).rolls(9).end()
    )
    assert played.data(GameStarted)[0].card_cents == cents
    assert played.data(GameWon)[0].pot.gross == 3 * cents


def test_gap_H_5_the_rake_is_a_tenth_of_the_gross_to_the_cent() -> None:
    night = two_players(first=(7,) * 6, second=(9,)).says("start_roll", count=0).rolls(9)
    pot = night.end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (700, 70, 0, 630)


def test_gap_H_6_a_house_may_keep_the_share_below_the_rake() -> None:
    night = Night(changed(rake_above_bonus_cents=100)).button(s1="Q", s2="9").buys("1", *[7] * 11)
    pot = night.buys("2", 9).rolls(9).end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (1200, 120, 20, 1060)


def test_gap_H_7_two_cards_cannot_give_more_than_the_rake_leaves() -> None:
    pot = two_players(first=(7,), second=(9,)).rolls(9).end().data(GameWon)[0].pot
    assert (pot.gross, pot.rake, pot.bonus, pot.prize) == (200, 20, 180, 0)


def test_H_BTN_3_the_button_moves_clockwise_each_game() -> None:
    night = two_players().rolls(9).says("settled")
    assert night.state.button == "2"
    assert calls(night.buys("2", 7).buys("1", 8).rolls(7).end())[-1] == ("2", "elimination", 7)


def won_in_a_row(games: int) -> Night:
    """Seat 2 wins game after game; seats 1 and 2 have the button in turn."""
    night = two_players(first=(7,), second=(9,)).rolls(9)
    for game in range(1, games):
        order = ("2", "1") if game % 2 else ("1", "2")
        for seat in order:
            night.buys(seat, 9 if seat == "2" else 7)
        night.rolls(9)
    return night


def test_H_BONUS_1_the_bonus_pot_goes_to_the_winner_of_three_games_in_a_row() -> None:
    night = won_in_a_row(3)
    assert night.state.pot == BonusPot()
    played = night.end()
    assert [w.bonus_paid for w in played.data(GameWon)] == [0, 0, 540], (
        "the third game's own share is in it (!H-12)"
    )
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [("2", 540, "in_a_row")]


def test_gap_H_12_the_row_begins_anew_after_the_pot_is_won() -> None:
    assert [w.bonus_paid for w in won_in_a_row(5).end().data(GameWon)] == [0, 0, 540, 0, 0]


def test_H_CLOSE_1_gap_H_10_the_first_game_after_closing_is_said_is_the_final_one_and_pays_the_pot() -> None:
    night = two_players(first=(7,), second=(9,)).says("closing").rolls(9)
    night.buys("2", 9).buys("1", 7).rolls(7).says("buy", seat="1", count=1)
    played = night.end()
    assert [s.final for s in played.data(GameStarted)] == [False, True], (
        "a running game is finished first (!H-10)"
    )
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [("1", 360, "final_game")]
    assert played.refusals() == ["final_game_over"]


def test_H_CLOSE_2_gap_H_11_with_fewer_than_two_players_at_the_end_the_pot_is_recorded_as_rake() -> None:
    night = two_players(first=(7,), second=(9,)).rolls(9).says("settled").says("closing")
    night.says("closing").says("leave", seat="1").says("closing")
    played = night.end()
    assert played.refusals() == ["final_game_due"]
    assert [(b.player, b.amount, b.cause) for b in played.data(BonusPaid)] == [
        (None, 180, "recorded_as_rake")
    ]


def test_H_CLOSE_2_the_dealer_may_say_how_many_are_left() -> None:
    night = two_players(first=(7,), second=(9,)).rolls(9).says("settled").says("closing", count=1)
    assert night.end().data(BonusPaid)[0].cause == "recorded_as_rake"


def test_hours_do_not_end_over_a_game() -> None:
    assert two_players().says("closing", count=1).end().refusals() == ["game_running"]


# --- leaving, void games, corrections, power ---


def test_gap_H_19_a_leavers_cards_stay_in_and_the_dealer_rolls_for_him() -> None:
    night = two_players().rolls(7).says("leave", seat="1").rolls(11, 3)
    played = night.end()
    assert [n.code for n in played.data(RollCalled)[1].notices] == ["dealer_rolls"]
    assert played.data(GameWon)[0].player == "1"
    assert Night(state=night.state).says("buy", seat="2").state.names == ("2",)


def test_gap_H_19_a_house_may_void_the_game_of_a_leaver() -> None:
    night = Night(changed(leaver="void_game")).button(s1="Q", s2="9").buys("1", 7).buys("2", 8)
    night.says("start_roll").says("leave", seat="2")
    assert night.end().told("game", "bets") == ["bets.closed", "game.started", "game.void", "bets.opened"]


def test_gap_H_19_a_supervisor_voids_the_game_and_all_stakes_go_back() -> None:
    night = two_players().rolls(7).says("void", "supervisor", what="game", reason="a fire alarm")
    void = night.end().data(GameVoid)[0]
    assert (void.game, void.by, void.reasons[0].rule) == (1, "supervisor", "!H-19")
    assert (night.state.cards, night.state.button, night.state.game) == ({}, "1", 2)


def test_a_player_who_leaves_between_games_takes_the_button_along() -> None:
    night = Night().button(s1="Q", s2="9", s3="8").says("buy", seat="1", count=0).says("leave", seat="1")
    assert night.state.button == "2"
    assert night.state.names == ("2", "3")


def test_a_ruling_after_the_call_undoes_what_followed_from_the_roll() -> None:
    night = two_players().rolls(9).says("set_dice", dice=[3, 4]).rolls(5, 9)
    played = night.end()
    assert played.told("roll", "player", "game.won") == [
        "roll.called", "player.eliminated", "game.won", "roll.corrected",
        "roll.called", "roll.called", "game.won",
    ]  # fmt: skip
    corrected = played.data(RollCorrected)[0]
    assert (corrected.call, corrected.remaining, corrected.next_player) == ("elimination", ("1", "2"), "1")
    assert night.state.pot.cents == played.data(GameWon)[1].pot.bonus, (
        "the undone game gave nothing to the pot"
    )


def test_a_correction_gives_back_a_roll_that_was_left_out_since() -> None:
    night = two_players(first=(7, 7)).rolls(7, 4).says("decline").says("set_dice", dice=[5, 5])
    assert night.state.roll_off is not None
    assert [card.player for card in night.state.roll_off.turns] == ["1", "2"]


def test_a_correction_forgets_neither_who_left_nor_that_the_hours_end() -> None:
    night = two_players(first=(7, 7)).rolls(7, 4).says("leave", seat="1").says("closing")
    night.says("set_dice", dice=[5, 5])
    assert (night.state.gone, night.state.closing) == (("1",), True)


def test_a_pot_recorded_as_rake_closes_the_last_game_for_good() -> None:
    night = two_players(first=(7,), second=(9,)).rolls(9).says("closing", count=1).says("no_roll")
    assert night.end().refusals() == ["already_settled"]


def test_once_the_winner_is_paid_or_the_next_game_begins_nothing_changes_the_last() -> None:
    assert two_players().rolls(9).says("settled").says("set_dice", dice=[3, 4]).end().refusals() == [
        "already_settled"
    ]
    bought = two_players().rolls(9).says("buy", seat="2", count=1).says("no_roll")
    assert bought.end().refusals() == ["already_settled"]


def test_nothing_of_craps_is_told_of_a_roll() -> None:
    called = two_players().rolls(7).end().data(RollCalled)[0]
    assert (called.phase, called.point, called.point_after, called.shooter) == (None, None, None, None)


def test_a_new_day_keeps_the_bonus_pot_and_a_game_that_is_being_played() -> None:
    night = two_players(first=(7,), second=(9,)).rolls(9).says("close_table").says("open_table")
    assert (night.state.pot.cents, night.state.seats) == (180, ())
    playing = two_players().rolls(7).says("close_table").says("open_table").rolls(5, 9)
    assert playing.end().data(GameWon)[0].player == "2"


STAGES = {
    "button": Night().button(s1="Q", s2="Q"),
    "bought": two_players(),
    "owed": two_players().says("buy", seat="1"),
    "elimination": two_players().says("start_roll"),
    "no match": two_players().rolls(3),
    "roll-off": two_players(first=(7, 7)).rolls(7, 9),
    "tied": two_players().rolls(7, 9, 9),
    "won": two_players().rolls(9),
    "next game": two_players().rolls(9).says("settled").buys("2", 5),
}


@pytest.mark.parametrize("stage", STAGES)
def test_the_game_comes_back_where_it_was_after_a_power_cut(stage: str) -> None:
    before = STAGES[stage].state
    again = Night(state=before)
    assert again.state == before
    night = again if before.stage in ("elimination", "roll_off", "tied") else None
    if night is not None:
        night.now += 10 * SECOND_US
        cut = [r for r in throw(night.now, FACES[11]) if r.t < night.now + 400_000]
        played = night.played.feed(cut).finish(cut=True)
        assert [(r.code, r.rule) for r in played.data(RollReview)[0].reasons] == [("power_lost", "H-LEGAL-4")]
        assert played.session.state().high_roller == before, "a throw cut off changes nothing"


# --- the gaps of the text, read otherwise ---


def test_gap_H_2_one_player_who_alone_matches_may_have_to_roll_all_the_same() -> None:
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


def test_gap_H_16_a_button_without_cards_may_pass_the_throw_to_the_next_who_has_some() -> None:
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
def test_gap_H_4_settlement_reads_the_text_as_the_table_does(policy: dict[str, str]) -> None:
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
    game = Settled(load_paytable(ruleset.name, HighRollerPayTable), policy_of(ruleset.high_roller))
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
    assert night.played.session.state().high_roller == msgspec.structs.replace(
        night.state, pot=BonusPot(cents=200)
    )
