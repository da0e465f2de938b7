"""Three Card Poker at the table: bets, cards, play or fold, the dealer's hand, locks and power."""

import pytest

from controller.games.three_card.machine import ThreeCardState, as_three_card_state
from controller.machines.setup import read_memory, to_json_values
from controller.model.effects import Lamp
from controller.model.outcomes import Bets, DealCalled, DealCorrected, DealReview, DealVoid, TableEvent
from tests.games.three_card.deal import HANDS, ROTATION, Table, called, changed, codes, seated
from tests.scenes import SECOND_US

# --- bets and the first card ---


def test_T_DEAL_2_no_more_bets_is_called_before_the_first_card() -> None:
    played = seated().enter("no_more_bets").deals().act(p1="play", p2="play").end()
    assert [(b.round, b.cause) for b in played.data(Bets)] == [(1, "dealer"), (2, "result")]
    assert [lamp.shows for lamp in played.effects if isinstance(lamp, Lamp)] == ["on", "off"]


def test_T_DEAL_2_without_a_call_the_first_card_out_of_the_shoe_closes_the_bets() -> None:
    table = seated().deals()
    assert table.played.types("bets") == ["bets.closed"]
    assert [b.cause for b in table.played.data(Bets)] == ["first_card"]
    assert table.played.outcomes[0].t == 15.5 * SECOND_US


def test_T_DEAL_2_the_dealer_may_open_the_bets_again_while_no_card_is_out() -> None:
    table = seated().enter("no_more_bets").enter("open_bets").enter("open_bets").enter("no_more_bets")
    played = table.enter("no_more_bets").end()
    assert [(b.round, b.cause) for b in played.data(Bets)] == [(1, "dealer"), (2, "dealer"), (2, "dealer")]
    assert played.refusals() == ["bets_open", "bets_closed"]


# --- a deal ---


def test_T_DEAL_3_everybody_gets_three_cards_and_the_deal_is_called_when_all_have_acted() -> None:
    played = seated().deals().act(p1="play", p2="fold").end()
    deal = called(played)
    assert deal.hands == {"1": ("Qh", "Jd", "2c"), "2": ("7s", "7d", "9h")}
    assert (deal.deal, deal.folds, deal.grade, deal.by) == (1, ("2",), "sensors", None)
    assert played.types("deal") == ["deal.called"]


def test_T_DEAL_3_without_positions_from_the_shoe_cards_go_in_rotation_from_the_dealers_left() -> None:
    deal = called(seated("2", "1").in_order(ROTATION).act(p1="play", p2="play").end())
    assert deal.hands == {"1": ("Qh", "Jd", "2c"), "2": ("7s", "7d", "9h")}


def test_gap_T_13_a_shuffler_deals_stacks_of_three() -> None:
    table = Table(changed(order="stacks")).enter("seats", seats=["1", "2"])
    stacks = " ".join(HANDS.values()).split()
    assert called(table.in_order(stacks).act(p1="play", p2="play").end()).hands["2"] == ("7s", "7d", "9h")


def test_T_DEAL_3_a_shoe_that_knows_the_positions_adds_positions_that_nobody_named() -> None:
    assert set(called(Table().deals().act(p1="play", p2="play").end()).hands) == {"1", "2"}


def test_T_DEAL_4_the_call_waits_until_every_position_has_played_or_folded() -> None:
    table = seated().deals().act(p1="play").quiet(100)
    assert table.played.types("deal") == []
    assert table.act(p2="play").end().types("deal") == ["deal.called"]


def test_T_DEAL_4_a_player_cannot_change_play_or_fold_but_the_dealer_can_correct_it() -> None:
    table = seated().deals().enter("fold", "player", seat="1").enter("play", "player", seat="1")
    played = table.enter("play", seat="1").enter("play", seat="1").act(p2="play").end()
    assert played.refusals() == ["has_acted", "no_change"]
    assert called(played).folds == ()


def test_play_and_fold_are_refused_for_a_position_not_in_the_deal() -> None:
    table = seated().enter("play", seat="1").deals().enter("fold", seat="7").enter("play")
    assert table.act(p1="play", p2="play").end().refusals() == ["no_deal", "bad_argument", "bad_argument"]


@pytest.mark.parametrize(
    ("hand", "says_so", "qualifies"),
    [
        ("Qs 9h 3d", "Dealer plays with a Queen", True),
        ("Ks 9h 3d", "Dealer plays with a King", True),
        ("As 9h 3d", "Dealer plays with an Ace", True),
        ("2s 2h 3d", "Dealer plays with a pair", True),
        ("4s 5h 6d", "Dealer plays with a straight", True),
        ("4s 4h 4d", "Dealer plays with three of a kind", True),
        ("Js 9h 3d", "Dealer doesn't play", False),
    ],
)
def test_T_DEAL_6_and_T_ANTE_1_the_call_says_whether_the_dealer_plays(
    hand: str, says_so: str, qualifies: bool
) -> None:
    deal = called(seated("1").deals({"1": "Qh Jd 2c", "dealer": hand}).act(p1="play").end())
    assert (deal.announcement, deal.qualifies) == (says_so, qualifies)


def test_T_DEAL_6_the_dealers_cards_are_listed_from_the_highest_down() -> None:
    assert called(seated().deals().act(p1="play", p2="play").end()).dealer == ("Kc", "8d", "3s")


def test_T_DEAL_7_and_T_DEAL_5_hands_are_reconciled_from_the_right_and_folds_collected() -> None:
    hands = {"1": "Ah Jd 2c", "2": "7s 7d 9h", "3": "Th 4c 3c", "4": "Td 4d 5h", "dealer": "Ts 4s 2d"}
    deal = called(
        Table().enter("seats", seats=["1", "2", "3", "4"]).deals(hands)
        .act(p1="play", p2="fold", p3="play", p4="play").end()
    )  # fmt: skip
    assert [(r.seat, r.result) for r in deal.results] == [
        ("4", "dealer_does_not_play"),
        ("3", "dealer_does_not_play"),
        ("1", "dealer_does_not_play"),
        ("2", "fold"),
    ]


def test_T_DEAL_7_gap_T_12_a_house_may_reconcile_from_the_left() -> None:
    table = Table(changed(reconcile_from="left")).enter("seats", seats=["1", "2"]).deals()
    assert [r.seat for r in called(table.act(p1="play", p2="play").end()).results] == ["1", "2"]


@pytest.mark.parametrize(
    ("held", "result"),
    [("Ah 9d 2c", "win"), ("Qh Jd 2c", "lose"), ("Kh 8s 3d", "push")],
)
def test_T_RES_2_to_4_and_gap_T_3_how_a_hand_stands_when_the_dealer_plays(held: str, result: str) -> None:
    deal = called(seated("1").deals({"1": held, "dealer": "Kc 8d 3s"}).act(p1="play").end())
    assert [r.result for r in deal.results] == [result]


def test_bets_open_again_after_the_deal_and_the_next_one_has_the_next_number() -> None:
    table = seated().deals().act(p1="play", p2="play").quiet(1).enter("settled")
    played = table.deals().act(p1="play", p2="fold").end()
    assert [d.deal for d in played.data(DealCalled)] == [1, 2]
    assert [(b.round, b.cause) for b in played.data(Bets)] == [
        (1, "first_card"), (2, "result"), (2, "first_card"), (3, "result"),
    ]  # fmt: skip


# --- two positions ---


def test_T_DEAL_1d_gap_T_15_one_player_may_play_two_adjacent_positions() -> None:
    table = Table().enter("seats", seats=["3", "4"], what="Ann").enter("seats", seats=["1", "7"], what="Bob")
    table.enter("seats", seats=["5"], what="Ann").quiet(1)
    assert table.played.refusals() == ["too_many_positions", "too_many_positions"]
    state = read_memory(table.played.session.state().three_card, as_three_card_state)
    assert state == ThreeCardState(seats=("3", "4"), players={"3": "Ann", "4": "Ann"})


def test_T_DEAL_1d_a_house_may_allow_one_position_only() -> None:
    table = Table(changed(positions_per_player=1)).enter("seats", seats=["3", "4"], what="Ann")
    assert table.end().refusals() == ["too_many_positions"]


@pytest.mark.parametrize("seats", [None, [], ["1", "1"], ["dealer"], [""]])
def test_invalid_seats_are_refused(seats: list[str] | None) -> None:
    assert Table().enter("seats", seats=seats).end().refusals() == ["bad_argument"]


def test_seats_cannot_be_changed_while_cards_are_out() -> None:
    assert seated().deals().enter("seats", seats=["1"]).act(p1="play", p2="play").end().refusals() == [
        "under_way"
    ]


# --- locks, power, state ---


def test_a_deal_at_a_locked_table_does_not_count() -> None:
    table = seated().enter("lock").deals()
    played = table.end()
    assert played.refusals() == ["table_locked"]
    assert played.types("deal", "bets") == []


@pytest.mark.parametrize("stage", ["dealing", "acting", "held"])
def test_a_power_cut_sends_a_deal_in_flight_to_review_and_no_card_is_published(stage: str) -> None:
    table = seated().deals({"1": "Qh Jd 2c"} if stage == "dealing" else HANDS)
    if stage == "held":
        table.act(p1="play", p2="play")
    played = table.end(cut=True)
    review = played.data(DealReview)[0]
    assert [(r.code, r.rule) for r in review.reasons] == [("power_lost", "T-IRR-1")]
    assert played.types("deal") == ["deal.review"]


def test_the_table_continues_from_its_recorded_state() -> None:
    before = seated().deals().act(p1="play", p2="play").enter("settled").quiet(1)
    session = before.played.session
    assert session.state().three_card == to_json_values(ThreeCardState(seats=("1", "2")))
    assert (session.first().deal, session.first().round) == (2, 2)
    again = Table(state=session.state(), first=session.first()).deals().act(p1="play", p2="play").end()
    assert called(again).deal == 2
    assert again.types("bets") == ["bets.closed", "bets.opened"]


def test_a_new_day_begins_without_seated_players() -> None:
    table = seated().enter("close_table").enter("open_table").in_order(ROTATION).quiet(130)
    assert codes(table.played.data(DealReview)[0].reasons) == ["conflict"]


def test_T_DEAL_2_a_ruling_on_the_last_deal_opens_no_bets_that_are_closed_for_the_next() -> None:
    table = seated().in_order(ROTATION).enter("play", seat="1").enter("play", seat="2")
    table.enter("no_more_bets").enter("fold", seat="1")
    table.in_order(["4h", "5h", "6h", "4d", "5d", "6d", "4c", "5c", "6c"])
    published = table.enter("play", seat="1").enter("play", seat="2").played.finish().types("bets.", "deal.")
    assert published == [
        *("bets.closed", "deal.called", "bets.opened", "bets.closed"),
        *("deal.corrected", "deal.called", "bets.opened"),
    ]


# --- Play and fold at one position: the first one is valid ---


def test_T_DEAL_4_a_player_cannot_fold_a_position_for_which_play_was_requested() -> None:
    """Play may still be accepted there, and a fold would then contradict the wager book."""
    table = seated().deals().enter("play_asked", "settlement", seats=["1"], what="5c")
    table.enter("fold", "player", seat="1").enter("fold", "player", seat="2").enter(
        "play", "player", seat="1"
    )
    played = table.end()
    assert played.refusals() == ["play_asked"]
    assert called(played).folds == ("2",)


def test_T_DEAL_4_a_fold_that_came_first_is_valid() -> None:
    table = seated().deals().enter("fold", "player", seat="1").enter("play_asked", "settlement", seats=["1"])
    assert table.quiet(1).played.session.acted == {"1": "fold"}
    assert called(table.enter("play", "player", seat="2").end()).folds == ("1",)


def test_T_DEAL_4_play_requested_after_bets_closed_is_valid_before_a_card_is_out_too() -> None:
    table = seated().enter("no_more_bets").enter("play_asked", "settlement", seats=["1"]).deals()
    assert table.enter("fold", "player", seat="1").quiet(1).played.refusals() == ["play_asked"]


def requested(*, after_s: float = 5.0) -> Table:
    """Deal, request Play at position 1, and fold the position `after_s` later."""
    table = seated().deals().enter("play_asked", "settlement", seats=["1"])
    return table.enter("fold", "dealer", seat="1", after_s=after_s)


def placed(table: Table, *seats: str, round: int = 1) -> Table:  # noqa: A002 - the name on the wire
    """Report, as the engine, the positions with Play."""
    return table.enter("played", "settlement", seats=list(seats), what=str(round), after_s=0.5)


def test_T_DEAL_4_a_fold_after_an_unanswered_request_for_play_goes_to_review() -> None:
    """The engine either did not receive the table's answer, or its report on Play was lost."""
    table = requested(after_s=9.5)
    assert table.quiet(1).played.refusals() == ["play_asked"]
    (refused,) = table.played.data(TableEvent)
    assert refused.says == "Play was requested here and might still be granted; enter the fold again in 1 s"
    table.act(p1="fold", p2="play")
    (review,) = table.quiet(1).played.data(DealReview)
    assert review.reasons[0].seen.startswith("position 1 was folded, but Play was requested there")
    assert called(table.enter("accept").end()).folds == ("1",)


def test_T_DEAL_4_a_report_of_accepted_play_during_the_review_rules_out_the_fold() -> None:
    """The engine's report arrives after the time at which the deal would have been called."""
    table = placed(requested(after_s=10).act(p1="fold", p2="play").quiet(60), "1")
    table.enter("accept").enter("set_card", card="Qh", seat="1", what="Qh")
    played = table.quiet(1).played
    assert "played" in played.refusals()
    assert not played.data(DealCalled)
    assert played.session.awaited() is not None
    assert called(table.enter("play", seat="1").end()).folds == ()


def test_T_DEAL_4_an_unanswered_request_for_play_needs_no_ruling_if_played_or_void() -> None:
    assert called(requested().act(p1="play", p2="fold").end()).folds == ("2",)
    void = requested(after_s=10).act(p1="fold").card("4h", "1").quiet(1).played
    assert [data.reasons[0].code for data in void.data(DealVoid)] == ["wrong_count"]
    assert not void.data(DealReview)


def test_T_DEAL_4_a_repeated_request_for_play_does_not_delay_the_dealer_again() -> None:
    """A client that may write to the broker sends the engine's signed message again."""
    table = seated().deals().enter("play_asked", "settlement", seats=["1"], what="5c")
    for _ in range(5):
        table.enter("play_asked", "settlement", seats=["1"], what="5c", after_s=3)
    table.act(p1="fold", p2="play")
    assert called(table.enter("accept").end()).folds == ("1",)
    again = seated().deals().enter("play_asked", "settlement", seats=["1"], what="5c")
    again.enter("play_asked", "settlement", seats=["1"], what="5d", after_s=8).act(p1="fold")
    assert again.quiet(1).played.refusals() == ["play_asked"], "a new request may be accepted"


@pytest.mark.parametrize("by", ["dealer", "supervisor", "player"])
def test_T_DEAL_4_a_position_with_play_cannot_be_folded(by: str) -> None:
    table = placed(requested(after_s=1), "1").enter("fold", by, seat="1", after_s=60).act(p2="fold")
    assert table.quiet(1).played.session.acted == {"2": "fold"}
    assert table.played.refusals() == ["play_asked", "played"]
    assert called(table.act(p1="play").end()).folds == ("2",)


def test_T_DEAL_4_a_position_with_play_reported_without_its_request_cannot_be_folded() -> None:
    """The engine may have received the table's answer before a restart that lost the request."""
    table = placed(seated().deals(), "1").enter("fold", "dealer", seat="1")
    assert table.quiet(1).played.refusals() == ["played"]


def test_T_DEAL_4_no_correction_folds_a_position_that_had_play() -> None:
    """Play was accepted and paid, so the wager book could not follow such a correction."""
    table = placed(seated().deals(), "1").act(p1="play", p2="play").enter("fold", "dealer", seat="1")
    table.enter("no_more_bets").enter("fold", "dealer", seat="1").enter("fold", "dealer", seat="2")
    played = table.quiet(1).played
    assert played.refusals() == ["played", "played"]
    assert [corrected.folds for corrected in played.data(DealCorrected)] == [("2",)]


def test_T_DEAL_4_a_new_recording_keeps_the_positions_with_play() -> None:
    before = placed(seated().deals(), "1").act(p1="play", p2="play").end().session
    table = Table(state=before.state(), first=before.first())
    assert table.enter("fold", "dealer", seat="1").quiet(1).played.refusals() == ["played"]


def test_T_DEAL_4_a_position_folded_before_its_play_was_reported_goes_to_review() -> None:
    """The engine's report took longer than the dealer waited, and the table does not guess which is wrong."""
    table = requested(after_s=20)
    table = placed(table, "1").act(p2="play")
    (review,) = table.quiet(1).played.data(DealReview)
    assert review.reasons[0].seen.endswith("position 1 was folded but has a Play wager (T-DEAL-4)")
    assert called(table.enter("play", seat="1").end()).folds == ()


def test_T_DEAL_4_each_position_folded_after_an_unanswered_request_for_play_is_named() -> None:
    table = seated().deals().enter("play_asked", "settlement", seats=["1", "2"])
    table.enter("fold", "dealer", seat="1", after_s=20).enter("fold", "dealer", seat="2")
    (review,) = table.quiet(1).played.data(DealReview)
    assert review.reasons[0].seen.startswith("positions 1 and 2 were folded, but Play was requested there")


def test_T_DEAL_4_play_is_kept_if_the_dealer_reopens_bets_before_the_cards() -> None:
    """The engine reports Play again in the new round, before bets close."""
    table = placed(seated().enter("no_more_bets"), "1").enter("open_bets")
    table = placed(table, "1", round=2).enter("no_more_bets").deals().enter("fold", "dealer", seat="1")
    assert table.quiet(1).played.refusals() == ["played"]


def test_T_DEAL_4_play_of_another_round_binds_nobody() -> None:
    table = placed(seated().deals(), "1", round=2).act(p1="fold", p2="play")
    assert called(table.end()).folds == ("1",)
    table = placed(seated().deals(), "1").enter("misdeal").enter("seats", seats=["1", "2"]).deals()
    assert table.act(p1="fold").quiet(1).played.session.acted == {"1": "fold"}


def test_T_DEAL_4_the_next_deal_begins_without_it() -> None:
    table = seated().deals().enter("play_asked", "settlement", seats=["1"]).enter("misdeal")
    table.enter("seats", seats=["1", "2"]).enter("no_more_bets").deals()
    assert table.enter("fold", "player", seat="1").quiet(1).played.session.acted == {"1": "fold"}


def test_T_DEAL_4_while_bets_are_open_a_request_for_play_is_refused() -> None:
    table = seated().enter("play_asked", "settlement", seats=["1"]).deals()
    assert table.enter("fold", "player", seat="1").quiet(1).played.session.acted == {"1": "fold"}


def test_T_DEAL_4_no_person_may_enter_a_request_for_play() -> None:
    table = seated().deals().enter("play_asked", "player", seats=["1"]).enter("fold", "player", seat="1")
    assert table.quiet(1).played.refusals() == ["unknown_input"]
    assert table.played.session.acted == {"1": "fold"}
