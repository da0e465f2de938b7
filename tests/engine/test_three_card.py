"""Three Card Poker at the table: bets, cards, play or fold, the dealer's hand, and what voids a deal."""

from dataclasses import replace

import pytest

from controller.engine.setup import First, State
from controller.machines.three_card import ThreeCardState
from controller.model.effects import Lamp, Proposed
from controller.model.outcomes import Bets, DealCalled, DealCorrected, DealReview, DealVoid
from controller.model.readings import Card, DeviceDown, DeviceFault, DeviceUp, Switch
from controller.model.rulesets import RuleSet
from controller.model.verdicts import DealVerdict, Ruling
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.scenes import SECOND_US, says

RULES = load_ruleset("three-card-poker-12-014")
HANDS = {"1": "Qh Jd 2c", "2": "7s 7d 9h", "dealer": "3s Kc 8d"}
ROTATION = ["Qh", "7s", "3s", "Jd", "7d", "Kc", "2c", "9h", "8d"]
"""The same hands in the order in which a shoe that knows no positions gives them."""


def changed(**policies: object) -> RuleSet:
    """Give the shipped rules with other policies of the table."""
    assert RULES.deal is not None
    return replace(RULES, deal=replace(RULES.deal, **policies))  # type: ignore[arg-type]  # any key


class Table:
    """A Three Card Poker table, told what happens step by step."""

    def __init__(
        self, ruleset: RuleSet = RULES, state: State | None = None, first: First | None = None
    ) -> None:
        self.played = Played(state=state, first=first, ruleset=ruleset)
        self.now = 0

    def says(self, name: str, by: str = "dealer", after_s: float = 5.0, **arguments: object) -> "Table":
        """Let a person enter something."""
        self.now += round(after_s * SECOND_US)
        self.played.feed(says(self.now, name, by, **arguments))
        return self

    def card(self, text: str | None, to: str | None = None, after_s: float = 0.5) -> "Table":
        """Let a card leave the shoe; None is one that it could not read."""
        self.now += round(after_s * SECOND_US)
        rank, suit = (text[:-1], text[-1]) if text else (None, None)
        self.played.feed(Card(t=self.now, dev="shoe", rank=rank, suit=suit, to=to))  # type: ignore[arg-type]  # a suit
        return self

    def deals(self, hands: dict[str, str] | None = None) -> "Table":
        """Deal these hands from a shoe that knows the positions; a `?` could not be read."""
        self.now += 10 * SECOND_US
        for position, hand in (hands or HANDS).items():
            for text in hand.split():
                self.card(None if text == "?" else text, position)
        return self

    def in_order(self, cards: list[str]) -> "Table":
        """Deal these cards from a shoe that does not know the positions."""
        self.now += 10 * SECOND_US
        for text in cards:
            self.card(text)
        return self

    def act(self, **acts: str) -> "Table":
        """Let positions act: `act(p1="play", p2="fold")`."""
        for seat, act in acts.items():
            self.says(act, seat=seat[1:])
        return self

    def reads(self, kind: type[DeviceDown | DeviceUp | DeviceFault], dev: str = "shoe") -> "Table":
        """Let a device speak of its health."""
        self.now += SECOND_US // 10
        self.played.feed(kind(t=self.now, dev=dev, reason="unplugged"))
        return self

    def lid(self, *, name: str = "shoe_lid", is_open: bool = True) -> "Table":
        """Open the shoe, or close it."""
        self.now += SECOND_US // 10
        self.played.feed(Switch(t=self.now, dev="shoe", name=name, open=is_open))
        return self

    def quiet(self, seconds: float) -> "Table":
        """Let nothing happen for so long."""
        self.now += round(seconds * SECOND_US)
        self.played.effects += self.played.session.advance(self.now)
        return self

    def end(self, *, cut: bool = False) -> Played:
        """End the recording."""
        return self.played.finish(cut=cut)


def seated(*seats: str) -> Table:
    """A table with these positions named, 1 and 2 by default."""
    return Table().says("seats", seats=list(seats or ("1", "2")))


def codes(reasons: tuple[object, ...]) -> list[str]:
    return [getattr(reason, "code", "") for reason in reasons]


def called(played: Played) -> DealCalled:
    (data,) = played.data(DealCalled)
    return data


# --- bets and the first card ---


def test_T_DEAL_2_no_more_bets_is_called_before_the_first_card() -> None:
    played = seated().says("no_more_bets").deals().act(p1="play", p2="play").end()
    assert [(b.round, b.cause) for b in played.data(Bets)] == [(1, "dealer"), (2, "result")]
    assert [lamp.shows for lamp in played.effects if isinstance(lamp, Lamp)] == ["on", "off"]


def test_T_DEAL_2_else_the_first_card_out_of_the_shoe_closes_the_bets() -> None:
    table = seated().deals()
    assert table.played.told("bets") == ["bets.closed"]
    assert [b.cause for b in table.played.data(Bets)] == ["first_card"]
    assert table.played.outcomes[0].t == 15.5 * SECOND_US


def test_T_DEAL_2_the_dealer_may_open_the_bets_again_while_no_card_is_out() -> None:
    table = seated().says("no_more_bets").says("open_bets").says("open_bets").says("no_more_bets")
    played = table.says("no_more_bets").end()
    assert [(b.round, b.cause) for b in played.data(Bets)] == [(1, "dealer"), (2, "dealer"), (2, "dealer")]
    assert played.refusals() == ["bets_open", "bets_closed"]


# --- a deal ---


def test_T_DEAL_3_everybody_gets_three_cards_and_the_deal_is_called_when_all_have_acted() -> None:
    played = seated().deals().act(p1="play", p2="fold").end()
    deal = called(played)
    assert deal.hands == {"1": ("Qh", "Jd", "2c"), "2": ("7s", "7d", "9h")}
    assert (deal.deal, deal.folds, deal.grade, deal.by) == (1, ("2",), "sensors", None)
    assert played.told("deal") == ["deal.called"]


def test_T_DEAL_3_without_positions_from_the_shoe_cards_go_in_rotation_from_the_dealers_left() -> None:
    deal = called(seated("2", "1").in_order(ROTATION).act(p1="play", p2="play").end())
    assert deal.hands == {"1": ("Qh", "Jd", "2c"), "2": ("7s", "7d", "9h")}


def test_gap_T_13_a_shuffler_gives_stacks_of_three() -> None:
    table = Table(changed(order="stacks")).says("seats", seats=["1", "2"])
    stacks = " ".join(HANDS.values()).split()
    assert called(table.in_order(stacks).act(p1="play", p2="play").end()).hands["2"] == ("7s", "7d", "9h")


def test_T_DEAL_3_a_shoe_that_knows_the_positions_names_those_that_nobody_named() -> None:
    assert set(called(Table().deals().act(p1="play", p2="play").end()).hands) == {"1", "2"}


def test_T_DEAL_4_the_call_waits_until_every_position_has_played_or_folded() -> None:
    table = seated().deals().act(p1="play").quiet(100)
    assert table.played.told("deal") == []
    assert table.act(p2="play").end().told("deal") == ["deal.called"]


def test_T_DEAL_4_a_player_cannot_take_back_his_word_but_the_dealer_can_put_it_right() -> None:
    table = seated().deals().says("fold", "player", seat="1").says("play", "player", seat="1")
    played = table.says("play", seat="1").says("play", seat="1").act(p2="play").end()
    assert played.refusals() == ["has_acted", "no_change"]
    assert called(played).folds == ()


def test_play_and_fold_belong_to_a_position_of_the_deal() -> None:
    table = seated().says("play", seat="1").deals().says("fold", seat="7").says("play")
    assert table.act(p1="play", p2="play").end().refusals() == ["no_deal", "bad_argument", "bad_argument"]


@pytest.mark.parametrize(
    ("hand", "says_so", "qualifies"),
    [
        ("Qs 9h 3d", "Dealer plays with a Queen", True),
        ("Ks 9h 3d", "Dealer plays with a King", True),
        ("As 9h 3d", "Dealer plays with an Ace", True),
        ("2s 2h 3d", "Dealer plays with a pair", True),
        ("4s 5h 6d", "Dealer plays with a straight", True),
        ("Js 9h 3d", "Dealer doesn't play", False),
    ],
)
def test_T_DEAL_6_and_T_ANTE_1_the_dealer_announces_whether_he_plays(
    hand: str, says_so: str, qualifies: bool
) -> None:
    deal = called(seated("1").deals({"1": "Qh Jd 2c", "dealer": hand}).act(p1="play").end())
    assert (deal.announcement, deal.qualifies) == (says_so, qualifies)


def test_T_DEAL_6_the_dealers_cards_run_from_the_highest_down() -> None:
    assert called(seated().deals().act(p1="play", p2="play").end()).dealer == ("Kc", "8d", "3s")


def test_T_DEAL_7_and_T_DEAL_5_hands_are_reconciled_from_the_right_and_folds_collected() -> None:
    hands = {"1": "Ah Jd 2c", "2": "7s 7d 9h", "3": "Th 4c 3c", "4": "Td 4d 5h", "dealer": "Ts 4s 2d"}
    deal = called(
        Table().says("seats", seats=["1", "2", "3", "4"]).deals(hands)
        .act(p1="play", p2="fold", p3="play", p4="play").end()
    )  # fmt: skip
    assert [(r.seat, r.result) for r in deal.results] == [
        ("4", "dealer_does_not_play"),
        ("3", "dealer_does_not_play"),
        ("1", "dealer_does_not_play"),
        ("2", "fold"),
    ]


def test_T_DEAL_7_gap_T_12_a_house_may_reconcile_from_the_left() -> None:
    table = Table(changed(reconcile_from="left")).says("seats", seats=["1", "2"]).deals()
    assert [r.seat for r in called(table.act(p1="play", p2="play").end()).results] == ["1", "2"]


@pytest.mark.parametrize(
    ("held", "result"),
    [("Ah 9d 2c", "win"), ("Qh Jd 2c", "lose"), ("Kh 8s 3d", "push")],
)
def test_T_RES_2_to_4_and_gap_T_3_how_a_hand_stands_when_the_dealer_plays(held: str, result: str) -> None:
    deal = called(seated("1").deals({"1": held, "dealer": "Kc 8d 3s"}).act(p1="play").end())
    assert [r.result for r in deal.results] == [result]


def test_bets_open_again_after_the_deal_and_the_next_one_has_the_next_number() -> None:
    table = seated().deals().act(p1="play", p2="play").quiet(1).says("settled")
    played = table.deals().act(p1="play", p2="fold").end()
    assert [d.deal for d in played.data(DealCalled)] == [1, 2]
    assert [(b.round, b.cause) for b in played.data(Bets)] == [
        (1, "first_card"), (2, "result"), (2, "first_card"), (3, "result"),
    ]  # fmt: skip


# --- two positions ---


def test_T_DEAL_1d_gap_T_15_one_player_may_play_two_adjacent_positions() -> None:
    table = Table().says("seats", seats=["3", "4"], what="Ann").says("seats", seats=["1", "7"], what="Bob")
    table.says("seats", seats=["5"], what="Ann").quiet(1)
    assert table.played.refusals() == ["too_many_positions", "too_many_positions"]
    state = table.played.session.state().three_card
    assert state == ThreeCardState(seats=("3", "4"), players={"3": "Ann", "4": "Ann"})


def test_T_DEAL_1d_a_house_may_allow_one_position_only() -> None:
    table = Table(changed(positions_per_player=1)).says("seats", seats=["3", "4"], what="Ann")
    assert table.end().refusals() == ["too_many_positions"]


@pytest.mark.parametrize("seats", [None, [], ["1", "1"], ["dealer"], [""]])
def test_seats_that_make_no_sense_are_refused(seats: list[str] | None) -> None:
    assert Table().says("seats", seats=seats).end().refusals() == ["bad_argument"]


def test_seats_are_not_changed_while_cards_are_out() -> None:
    assert seated().deals().says("seats", seats=["1"]).act(p1="play", p2="play").end().refusals() == [
        "under_way"
    ]


# --- T-IRR-1: what voids a deal ---


def test_T_IRR_1_a_position_with_four_cards_voids_all_hands_at_once() -> None:
    table = seated().deals({**HANDS, "1": "Qh Jd 2c 4c"}).quiet(1)
    void = table.played.data(DealVoid)[0]
    assert [(r.code, r.rule, r.seen) for r in void.reasons] == [
        ("wrong_count", "T-IRR-1", "position 1 has 4 cards, not 3")
    ]
    assert (void.by, table.played.told("deal", "bets")) == (
        "sensors",
        ["bets.closed", "deal.void", "bets.opened"],
    )


def test_T_IRR_1_a_card_more_than_three_each_voids_the_deal() -> None:
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


def test_T_DECK_1_a_card_that_comes_twice_voids_the_deal_and_is_not_named() -> None:
    played = seated().deals({**HANDS, "2": "7s Qh 9h"}).end()
    void = played.data(DealVoid)[0]
    assert [(r.code, r.rule, r.seen) for r in void.reasons] == [
        ("card_twice", "T-DECK-1", "one card came twice from one deck")
    ]


@pytest.mark.parametrize("name", ["shoe_lid", "shoe lid", "lid", "Shoe-Lid"])
def test_T_IRR_1_a_shoe_that_is_opened_during_the_deal_voids_it(name: str) -> None:
    table = seated().lid(name=name).lid(name=name, is_open=False).deals().lid(name=name, is_open=False)
    table.act(p1="play").lid(name=name)
    assert codes(table.end().data(DealVoid)[0].reasons) == ["shoe_opened"]


def test_T_IRR_1_after_a_void_deal_the_shoe_must_be_seen_to() -> None:
    table = seated().deals().lid().deals().act(p1="play", p2="play").says("inspected", what="shoe").deals()
    notices = [[n.code for n in b.notices] for b in table.act(p1="play", p2="play").end().data(Bets)]
    assert notices == [[], [], ["not_inspected"], [], [], []]


def test_T_IRR_1_cards_that_follow_a_void_deal_at_once_are_still_its_own() -> None:
    table = seated().deals({"1": "Qh Qh", "2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).quiet(20)
    played = table.deals().act(p1="play", p2="play").end()
    assert played.told("deal") == ["deal.void", "deal.called"]
    assert called(played).deal == 2


def test_T_IRR_1_the_dealer_calls_a_misdeal() -> None:
    played = seated().deals().act(p1="play").says("misdeal", reason="a card was exposed").end()
    void = played.data(DealVoid)[0]
    assert [(r.code, r.rule) for r in void.reasons] == [("called", "T-IRR-1")]
    assert "a card was exposed" in void.reasons[0].seen
    assert void.by == "dealer"


def test_a_misdeal_spoken_with_the_dealers_hand_still_counts() -> None:
    table = seated().deals().act(p1="play", p2="play").says("misdeal", after_s=0.2)
    assert table.end().told("deal") == ["deal.void"]


def test_T_IRR_1_before_the_first_pay_out_the_whole_deal_can_still_be_voided_and_not_after() -> None:
    table = seated().deals().act(p1="play", p2="play").says("misdeal").says("settled").says("misdeal")
    played = table.end()
    assert played.told("deal") == ["deal.called", "deal.corrected"]
    assert codes(played.data(DealCorrected)[0].reasons) == ["called"]
    assert played.refusals() == ["already_settled"]


def test_a_misdeal_without_cards_is_refused() -> None:
    assert seated().says("misdeal").end().refusals() == ["no_attempt"]


# --- reviews and rulings ---


def test_gap_T_14_an_unreadable_card_goes_to_review_and_the_dealer_enters_it() -> None:
    table = seated().deals({**HANDS, "2": "7s ? 9h"}).act(p1="play", p2="play")
    table.says("accept").says("set_card", card="7d", seat="2")
    played = table.end()
    assert [(r.code, r.rule) for r in played.data(DealReview)[0].reasons] == [("unread_card", "!T-14")]
    assert played.refusals() == ["nothing_to_accept"]
    assert (called(played).hands["2"], called(played).grade, called(played).by) == (
        ("7s", "7d", "9h"), "person", "dealer",
    )  # fmt: skip


def test_gap_T_14_the_dealer_may_enter_an_unreadable_card_as_soon_as_he_knows_it() -> None:
    table = seated().deals({**HANDS, "dealer": "3s Kc ?"}).says("set_card", card="8d", seat="dealer")
    assert table.act(p1="play", p2="play").end().told("deal") == ["deal.called"]


def test_gap_T_14_a_card_that_no_deck_holds_is_unreadable() -> None:
    table = seated().deals({**HANDS, "2": "7s 1d 9h"}).act(p1="play", p2="play")
    assert codes(table.end().data(DealReview)[0].reasons) == ["unread_card"]


def test_a_shoe_that_was_down_during_the_deal_leaves_it_to_a_person() -> None:
    table = seated().deals({"1": "Qh Jd 2c"}).reads(DeviceDown).reads(DeviceUp)
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play").says("accept")
    played = table.end()
    assert codes(played.data(DealReview)[0].reasons) == ["missing_reading"]
    assert (called(played).grade, called(played).by) == ("person", "dealer")


def test_a_shoe_fault_leaves_the_deal_to_a_person_and_never_voids_it() -> None:
    table = seated().deals({"1": "Qh Jd 2c", "2": "7s 7d 9h 9h"}).reads(DeviceFault).quiet(1)
    assert table.played.told("deal") == ["deal.void"], "four cards before the fault are certain"
    table = seated().deals({"1": "Qh Jd 2c"}).reads(DeviceFault)
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play").quiet(500)
    assert table.played.told("deal") == ["deal.review"]


def test_a_missed_card_of_a_shoe_that_knows_no_positions_cannot_be_entered() -> None:
    table = (
        seated().in_order(ROTATION[:8]).act(p1="play", p2="play").says("set_card", card="8d", seat="dealer")
    )
    played = table.quiet(130).end()
    assert played.refusals() == ["order_broken"]
    assert played.told("deal") == ["deal.void"]


def test_a_card_to_a_position_that_is_not_dealt_in_is_for_a_person_to_rule() -> None:
    table = seated().deals({"1": "Qh Jd 2c", "5": "4c"})
    table.now -= 10 * SECOND_US
    table.deals({"2": "7s 7d 9h", "dealer": "Kc 8d 3s"}).act(p1="play", p2="play")
    played = table.says("accept").end()
    assert codes(played.data(DealReview)[0].reasons) == ["conflict"]
    assert played.refusals() == ["nothing_to_accept"]


def test_cards_without_any_position_named_are_for_a_person_to_rule() -> None:
    table = Table().in_order(ROTATION).quiet(130)
    assert codes(table.played.data(DealReview)[0].reasons) == ["conflict"]
    assert table.says("misdeal").end().told("deal") == ["deal.review", "deal.void"]


def test_a_forgotten_fold_is_asked_for_and_then_calls_the_deal() -> None:
    table = seated().deals().act(p1="play").quiet(310)
    review = table.played.data(DealReview)[0]
    assert [(r.code, r.seen) for r in review.reasons] == [
        ("missing_reading", "neither play nor fold is known of position 2")
    ]
    assert called(table.act(p2="fold").end()).folds == ("2",)


def test_a_review_that_nobody_ruled_on_is_void_when_the_next_deal_begins() -> None:
    table = seated().deals({**HANDS, "2": "7s ? 9h"}).act(p1="play", p2="play").quiet(1)
    played = table.deals().act(p1="play", p2="play").end()
    assert played.told("deal") == ["deal.review", "deal.void", "deal.called"]
    void = played.data(DealVoid)[0]
    assert (codes(void.reasons), void.by) == (["unruled"], "nobody")


def test_a_card_read_wrong_is_corrected_after_the_call() -> None:
    table = seated().deals().act(p1="play", p2="play").says("set_card", card="4h", seat="1", what="Jd")
    table.says("set_card", card="4h", seat="1", what="Ad")
    played = table.end()
    corrected = played.data(DealCorrected)[0]
    assert corrected.hands == {"1": ("Qh", "4h", "2c"), "2": ("7s", "7d", "9h")}
    assert corrected.corrects == next(o.id for o in played.outcomes if o.type == "deal.called")
    assert corrected.ruling == "set_card"
    assert played.refusals() == ["bad_argument"]


def test_a_fold_entered_wrong_is_corrected_after_the_call_but_not_by_a_player() -> None:
    table = seated().deals().act(p1="play", p2="fold").says("play", "player", seat="2").says("play", seat="2")
    played = table.end()
    assert played.refusals() == ["has_acted"]
    assert played.data(DealCorrected)[0].folds == ()


def test_a_dealers_word_makes_a_void_deal_count() -> None:
    hands = {**HANDS, "2": "7s Qh 9h"}
    table = seated().deals(hands).act().quiet(5).says("set_card", card="7d", seat="2", what="Qh")
    # Nobody has acted yet, so the deal is not whole.
    assert table.end().refusals() == ["bad_argument"]


def test_with_calls_confirm_the_dealer_confirms_the_proposal() -> None:
    table = Table(state=State(calls="confirm")).says("seats", seats=["1", "2"]).deals()
    table.act(p1="play", p2="play").says("accept")
    played = table.end()
    (proposed,) = [effect for effect in played.effects if isinstance(effect, Proposed)]
    assert isinstance(proposed.verdict, DealVerdict)
    assert proposed.verdict.ruling is Ruling.VALID
    assert (called(played).by, called(played).grade) == ("dealer", "sensors")


# --- locks, power, state ---


def test_a_deal_at_a_locked_table_does_not_count() -> None:
    table = seated().says("lock").deals()
    played = table.end()
    assert played.refusals() == ["table_locked"]
    assert played.told("deal", "bets") == []


@pytest.mark.parametrize("stage", ["dealing", "acting", "held"])
def test_a_power_cut_leaves_a_deal_in_flight_to_a_person_and_names_no_card(stage: str) -> None:
    table = seated().deals({"1": "Qh Jd 2c"} if stage == "dealing" else HANDS)
    if stage == "held":
        table.act(p1="play", p2="play")
    played = table.end(cut=True)
    review = played.data(DealReview)[0]
    assert [(r.code, r.rule) for r in review.reasons] == [("power_lost", "T-IRR-1")]
    assert played.told("deal") == ["deal.review"]


def test_the_table_goes_on_from_its_recorded_state() -> None:
    before = seated().deals().act(p1="play", p2="play").says("settled").quiet(1)
    session = before.played.session
    assert session.state().three_card == ThreeCardState(seats=("1", "2"))
    assert (session.first().deal, session.first().round) == (2, 2)
    again = Table(state=session.state(), first=session.first()).deals().act(p1="play", p2="play").end()
    assert called(again).deal == 2
    assert again.told("bets") == ["bets.closed", "bets.opened"]


def test_a_new_day_begins_with_nobody_seated() -> None:
    table = seated().says("close_table").says("open_table").in_order(ROTATION).quiet(130)
    assert codes(table.played.data(DealReview)[0].reasons) == ["conflict"]
