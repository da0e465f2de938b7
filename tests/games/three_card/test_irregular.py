"""Void deals of Three Card Poker, reviews, and corrections."""

import pytest

from controller.machines.setup import State
from controller.model.effects import Proposed
from controller.model.outcomes import Awaited, Bets, DealCorrected, DealReview, DealVoid
from controller.model.readings import DeviceDown, DeviceFault, DeviceUp
from controller.model.verdicts import DealVerdict, Ruling
from tests.games.three_card.deal import HANDS, ROTATION, Table, called, codes, seated
from tests.scenes import SECOND_US

# --- T-IRR-1: void deals ---


def test_T_IRR_1_a_position_with_four_cards_voids_all_hands_at_once() -> None:
    table = seated().deals({**HANDS, "1": "Qh Jd 2c 4c"}).quiet(1)
    void = table.played.data(DealVoid)[0]
    assert [(r.code, r.rule, r.seen) for r in void.reasons] == [
        ("wrong_count", "T-IRR-1", "position 1 has 4 cards, not 3")
    ]
    assert (void.by, table.played.types("deal", "bets")) == (
        "sensors",
        ["bets.closed", "deal.void", "bets.opened"],
    )


def test_T_IRR_1_one_card_more_than_three_each_voids_the_deal() -> None:
    table = seated().in_order([*ROTATION, "4c"])
    assert codes(table.end().data(DealVoid)[0].reasons) == ["wrong_count"]


def test_T_IRR_1_a_dealer_with_two_cards_voids_the_deal_once_all_have_acted() -> None:
    table = seated().deals({**HANDS, "dealer": "Kc 8d"}).act(p1="play", p2="play").quiet(130)
    void = table.played.data(DealVoid)[0]
    assert [r.seen for r in void.reasons] == ["the dealer has 2 cards, not 3"]


def test_T_IRR_1_a_deal_that_never_gets_its_cards_goes_to_a_person() -> None:
    table = seated().deals({**HANDS, "dealer": "Kc 8d"}).quiet(125)
    assert codes(table.played.data(DealReview)[0].reasons)[0] == "wrong_count"
    table.card("3s", "dealer").act(p1="play", p2="fold")
    deal = called(table.end())
    assert (deal.dealer, deal.grade, deal.by) == (("Kc", "8d", "3s"), "person", "dealer")


def test_T_DECK_1_a_card_dealt_twice_voids_the_deal_and_is_not_published() -> None:
    played = seated().deals({**HANDS, "2": "7s Qh 9h"}).end()
    void = played.data(DealVoid)[0]
    assert [(r.code, r.rule, r.seen) for r in void.reasons] == [
        ("card_twice", "T-DECK-1", "the same card was dealt twice from one deck")
    ]


@pytest.mark.parametrize("name", ["shoe_lid", "shoe lid", "lid", "Shoe-Lid"])
def test_T_IRR_1_opening_the_shoe_during_the_deal_voids_it(name: str) -> None:
    table = seated().lid(name=name).lid(name=name, is_open=False).deals().lid(name=name, is_open=False)
    table.act(p1="play").lid(name=name)
    assert codes(table.end().data(DealVoid)[0].reasons) == ["shoe_opened"]


def test_T_IRR_1_after_a_void_deal_the_shoe_must_be_inspected() -> None:
    table = seated().deals().lid().deals().act(p1="play", p2="play").enter("inspected", what="shoe").deals()
    notices = [[n.code for n in b.notices] for b in table.act(p1="play", p2="play").end().data(Bets)]
    assert notices == [[], [], ["not_inspected"], [], [], []]


def test_T_IRR_1_cards_that_follow_a_void_deal_at_once_belong_to_it() -> None:
    table = seated().deals({"1": "Qh Qh", "2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).quiet(20)
    played = table.deals().act(p1="play", p2="play").end()
    assert played.types("deal") == ["deal.void", "deal.called"]
    assert called(played).deal == 2


def test_T_IRR_1_the_dealer_calls_a_misdeal() -> None:
    played = seated().deals().act(p1="play").enter("misdeal", reason="a card was exposed").end()
    void = played.data(DealVoid)[0]
    assert [(r.code, r.rule) for r in void.reasons] == [("called", "T-IRR-1")]
    assert "a card was exposed" in void.reasons[0].seen
    assert void.by == "dealer"


def test_after_a_misdeal_for_cheating_the_shoe_must_be_inspected_and_not_the_dice() -> None:
    table = seated().deals().enter("misdeal", reason="cheating").enter("inspected", what="dice")
    assert table.enter("inspected", what="shoe").end().refusals() == ["nothing_to_inspect"]


def test_a_misdeal_called_as_the_dealers_hand_is_shown_still_counts() -> None:
    table = seated().deals().act(p1="play", p2="play").enter("misdeal", after_s=0.2)
    assert table.end().types("deal") == ["deal.void"]


def test_T_IRR_1_before_the_first_pay_out_the_whole_deal_can_still_be_voided_and_not_after() -> None:
    table = seated().deals().act(p1="play", p2="play").enter("misdeal").enter("settled").enter("misdeal")
    played = table.end()
    assert played.types("deal") == ["deal.called", "deal.corrected"]
    assert codes(played.data(DealCorrected)[0].reasons) == ["called"]
    assert played.refusals() == ["already_settled"]


def test_a_misdeal_without_cards_is_refused() -> None:
    assert seated().enter("misdeal").end().refusals() == ["no_attempt"]


# --- reviews and rulings ---


def test_gap_T_14_an_unreadable_card_goes_to_review_and_the_dealer_enters_it() -> None:
    table = seated().deals({**HANDS, "2": "7s ? 9h"}).act(p1="play", p2="play")
    table.enter("accept").enter("set_card", card="7d", seat="2")
    played = table.end()
    assert [(r.code, r.rule) for r in played.data(DealReview)[0].reasons] == [("unread_card", "!T-14")]
    assert played.refusals() == ["nothing_to_accept"]
    assert (called(played).hands["2"], called(played).grade, called(played).by) == (
        ("7s", "7d", "9h"), "person", "dealer",
    )  # fmt: skip


def still_open(table: Table) -> Awaited:
    """Return the missing actions of the deal under review."""
    table.played.session.advance(table.now + SECOND_US)
    awaited = table.played.session.awaited()
    assert awaited is not None
    return awaited


@pytest.mark.parametrize("named", ["9h", "1 9h"])
def test_gap_T_14_a_review_lists_exactly_the_cards_still_to_be_entered(
    named: str,
) -> None:
    table = seated().deals(HANDS | {"2": "7s 7d ?", "dealer": "? Kc 8d"}).act(p1="play", p2="play")
    assert still_open(table).lacks == ("2", "dealer")
    awaited = still_open(table.enter("set_card", card="9h", seat="2"))
    assert awaited.lacks == ("dealer",)
    assert [one.seen for one in awaited.reasons] == ["a card of the dealer could not be read"]
    awaited = still_open(table.enter("set_card", card="9h", seat="dealer"))
    assert awaited.lacks == ()
    assert [one.code for one in awaited.reasons] == ["conflict"]
    assert awaited.entered == (("2", "9h"), ("dealer", "9h")), "the deal must count with one card replaced"
    table.enter("set_card", card="3s", seat="dealer", what=named)
    assert called(table.end()).dealer == ("Kc", "8d", "3s")


def test_gap_T_14_no_entered_card_is_published_before_all_have_acted() -> None:
    table = seated().deals({**HANDS, "dealer": "3s Kc ?"}).enter("set_card", card="9h", seat="dealer")
    table.act(p1="play").quiet(700)
    assert still_open(table).entered == ()
    assert still_open(table.act(p2="play")).entered == (("dealer", "9h"),)


def test_gap_T_14_the_dealer_may_enter_an_unreadable_card_as_soon_as_he_knows_it() -> None:
    table = seated().deals({**HANDS, "dealer": "3s Kc ?"}).enter("set_card", card="8d", seat="dealer")
    played = table.act(p1="play", p2="play").end()
    assert played.types("deal") == ["deal.called"]
    assert (called(played).grade, called(played).by) == ("person", "dealer"), "the shoe must not have read it"


def test_gap_T_14_a_card_that_no_deck_holds_is_unreadable() -> None:
    table = seated().deals({**HANDS, "2": "7s 1d 9h"}).act(p1="play", p2="play")
    assert codes(table.end().data(DealReview)[0].reasons) == ["unread_card"]


def test_a_deal_during_which_the_shoe_was_down_goes_to_review() -> None:
    table = seated().deals({"1": "Qh Jd 2c"}).reads(DeviceDown).reads(DeviceUp)
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play").enter("accept")
    played = table.end()
    assert codes(played.data(DealReview)[0].reasons) == ["missing_reading"]
    assert (called(played).grade, called(played).by) == ("person", "dealer")


def test_a_deal_with_a_shoe_fault_goes_to_review_and_is_never_void_by_itself() -> None:
    table = seated().deals({"1": "Qh Jd 2c", "2": "7s 7d 9h 9h"}).reads(DeviceFault).quiet(1)
    assert table.played.types("deal") == ["deal.void"], "four cards before the fault are certain"
    table = seated().deals({"1": "Qh Jd 2c"}).reads(DeviceFault)
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play").quiet(500)
    assert table.played.types("deal") == ["deal.review"]


def test_a_card_missed_by_a_shoe_that_knows_no_positions_cannot_be_entered() -> None:
    table = (
        seated().in_order(ROTATION[:8]).act(p1="play", p2="play").enter("set_card", card="8d", seat="dealer")
    )
    played = table.quiet(130).end()
    assert played.refusals() == ["order_broken"]
    assert played.types("deal") == ["deal.void"]


def test_a_card_to_a_position_that_is_not_dealt_in_goes_to_review() -> None:
    table = seated().deals({"1": "Qh Jd 2c", "5": "4c"})
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play")
    played = table.enter("accept").end()
    assert codes(played.data(DealReview)[0].reasons) == ["conflict"]
    assert played.refusals() == ["nothing_to_accept"]


def test_cards_without_any_named_position_go_to_review() -> None:
    table = Table().in_order(ROTATION).quiet(130)
    assert codes(table.played.data(DealReview)[0].reasons) == ["conflict"]
    assert table.enter("misdeal").end().types("deal") == ["deal.review", "deal.void"]


def test_a_missing_fold_is_requested_and_its_entry_calls_the_deal() -> None:
    table = seated().deals().act(p1="play").quiet(310)
    review = table.played.data(DealReview)[0]
    assert [(r.code, r.seen) for r in review.reasons] == [
        ("missing_reading", "position 2 has neither played nor folded")
    ]
    assert called(table.act(p2="fold").end()).folds == ("2",)


def test_a_review_without_a_ruling_is_void_when_the_next_deal_begins() -> None:
    table = seated().deals({**HANDS, "2": "7s ? 9h"}).act(p1="play", p2="play").quiet(1)
    played = table.deals().act(p1="play", p2="play").end()
    assert played.types("deal") == ["deal.review", "deal.void", "deal.called"]
    void = played.data(DealVoid)[0]
    assert (codes(void.reasons), void.by) == (["unruled"], "nobody")


def test_a_misread_card_is_corrected_after_the_call() -> None:
    table = seated().deals().act(p1="play", p2="play").enter("set_card", card="4h", seat="1", what="Jd")
    table.enter("set_card", card="4h", seat="1", what="Ad")
    played = table.end()
    corrected = played.data(DealCorrected)[0]
    assert corrected.hands == {"1": ("Qh", "4h", "2c"), "2": ("7s", "7d", "9h")}
    assert corrected.corrects == next(o.id for o in played.outcomes if o.type == "deal.called")
    assert corrected.ruling == "set_card"
    assert played.refusals() == ["bad_argument"]


def test_a_wrong_fold_is_corrected_after_the_call_but_not_by_a_player() -> None:
    table = (
        seated().deals().act(p1="play", p2="fold").enter("play", "player", seat="2").enter("play", seat="2")
    )
    played = table.end()
    assert played.refusals() == ["has_acted"]
    assert played.data(DealCorrected)[0].folds == ()


def test_a_dealers_ruling_makes_a_void_deal_count() -> None:
    hands = {**HANDS, "2": "7s Qh 9h"}
    table = seated().deals(hands).act().quiet(5).enter("set_card", card="7d", seat="2", what="Qh")
    # Nobody has acted yet, so the deal is not complete.
    assert table.end().refusals() == ["bad_argument"]


def test_with_calls_confirm_the_dealer_confirms_the_proposal() -> None:
    table = Table(state=State(calls="confirm")).enter("seats", seats=["1", "2"]).deals()
    table.act(p1="play", p2="play").enter("accept")
    played = table.end()
    (proposed,) = [effect for effect in played.effects if isinstance(effect, Proposed)]
    assert isinstance(proposed.verdict, DealVerdict)
    assert proposed.verdict.ruling is Ruling.VALID
    assert (called(played).by, called(played).grade) == ("dealer", "person")


def test_T_IRR_1_a_technician_may_not_call_a_misdeal() -> None:
    played = seated().deals().enter("misdeal", "technician").end()
    assert (played.types("deal.void"), played.refusals()) == ([], ["not_technicians"])
