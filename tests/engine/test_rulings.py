"""People's inputs: confirmed calls, reviews, rulings before and after the call, refusals."""

import pytest

from controller.machines.setup import State
from controller.model.effects import Proposed
from controller.model.outcomes import (
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    ShooterChanged,
    TableEvent,
)
from controller.model.readings import AnyReading, DieAt, DieRest
from controller.model.verdicts import Ruling
from tests.engine.play import Played, play
from tests.scenes import FRAME_US, SECOND_US, in_order, input_at, rest_of, throw

START = SECOND_US
THROW = throw(START, (3, 3))
REST = rest_of(THROW)
MS = 1000


def test_a_call_is_held_so_that_a_no_roll_spoken_with_the_dice_still_counts() -> None:
    played = play(THROW, input_at(REST + 200 * MS, "no_roll"))
    assert played.types("roll") == ["roll.no_roll"]
    assert [(r.code, r.rule) for r in played.data(RollNoRoll)[0].reasons] == [("called", "C34-INV-2vi")]
    assert played.data(RollNoRoll)[0].by == "boxperson"


def test_at_the_end_of_the_hold_the_spoken_no_roll_still_wins_and_after_it_corrects() -> None:
    assert play(THROW, input_at(REST + 250 * MS, "no_roll")).types("roll") == ["roll.no_roll"]
    assert play(THROW, input_at(REST + 251 * MS, "no_roll")).types("roll") == [
        "roll.called",
        "roll.corrected",
    ]


def test_the_call_carries_the_time_of_the_reading_that_decided_it() -> None:
    called = next(o for o in play(THROW).outcomes if o.type == "roll.called")
    assert called.t == REST


def test_C34_INV_2vi_a_no_roll_called_in_flight_ends_the_throw_at_once() -> None:
    played = play(in_order([*THROW, input_at(START + 100 * MS, "no_roll", who="Ada")]))
    assert played.types("roll") == ["roll.no_roll"]
    void = played.data(RollNoRoll)[0]
    assert ([r.code for r in void.reasons], void.by, void.who) == (["called"], "boxperson", "Ada")


@pytest.mark.parametrize(
    ("reason", "code", "rule"),
    [
        ("cheating", "cheating", "C34-INV-2v"),
        ("disputed", "disputed", "C34-PT-3"),
        ("a hat", "called", "C34-INV-2vi"),
    ],
)
def test_C34_INV_2v_a_person_declares_a_throw_void_for_their_reason(
    reason: str, code: str, rule: str
) -> None:
    played = play(THROW, input_at(REST + 100 * MS, "void", "supervisor", reason=reason))
    assert [(r.code, r.rule) for r in played.data(RollNoRoll)[0].reasons] == [(code, rule)]


def test_C34_PT_3_the_boxperson_decides_the_face_of_a_throw_under_review() -> None:
    unsure = throw(START, (3, 3), confidence=0.4)
    played = play(unsure, input_at(REST + SECOND_US, "set_dice", dice=[5, 2]))
    assert played.types("roll") == ["roll.review", "roll.called"]
    called = played.data(RollCalled)[0]
    assert (called.dice, called.grade, called.by, called.roll) == ((5, 2), "person", "boxperson", 1)


def test_a_review_without_a_ruling_is_closed_as_a_no_roll_by_the_next_release() -> None:
    played = play(throw(START, confidence=0.4), throw(9 * SECOND_US))
    assert played.types("roll") == ["roll.review", "roll.no_roll", "roll.called"]
    void = played.data(RollNoRoll)[0]
    assert ([r.code for r in void.reasons], void.roll, void.by) == (["unruled"], 1, "nobody")
    assert played.data(RollCalled)[0].roll == 2


def test_a_review_that_saw_both_faces_can_be_accepted_by_a_person() -> None:
    played = play(throw(START, (2, 2), confidence=0.4), input_at(REST + SECOND_US, "accept"))
    review = played.data(RollReview)[0]
    if review.dice is None:
        assert played.refusals() == ["nothing_to_accept"]
    else:
        assert played.data(RollCalled)[0].grade == "person"


def test_a_ruling_after_the_call_corrects_it_and_the_round_continues_from_there() -> None:
    played = play(
        THROW,
        input_at(REST + SECOND_US, "set_dice", "boxperson", dice=[4, 4], who="Ada"),
        throw(9 * SECOND_US, (4, 4)),
    )
    corrected = played.data(RollCorrected)[0]
    called = next(o for o in played.outcomes if o.type == "roll.called")
    assert corrected.corrects == called.id
    assert (corrected.ruling, corrected.by, corrected.who) == ("set_dice", "boxperson", "Ada")
    assert (corrected.dice, corrected.total, corrected.call, corrected.point_after) == (
        (4, 4),
        8,
        "point_set",
        8,
    )
    assert played.data(RollCalled)[1].call == "point_made"


def test_a_seven_out_corrected_to_no_roll_restores_the_shooter_and_the_point() -> None:
    seven = throw(START, (3, 4))
    played = Played(state=State(point=6, shooter="3"))
    played.feed(seven, input_at(rest_of(seven) + SECOND_US, "no_roll"), throw(9 * SECOND_US, (2, 4))).finish()
    assert played.types("roll") == ["roll.called", "roll.corrected", "roll.called"]
    assert [(s.shooter, s.cause) for s in played.data(ShooterChanged)] == [
        (None, "seven_out"),
        ("3", "corrected"),
    ]
    last = played.data(RollCalled)[1]
    assert (last.point, last.call, last.shooter) == (6, "point_made", "3")


def test_a_no_roll_overruled_becomes_a_roll() -> None:
    short = throw(START, (3, 3), short_mm=(300, 0))
    played = play(short, input_at(rest_of(short) + SECOND_US, "set_dice", dice=[3, 3]))
    assert played.types("roll") == ["roll.no_roll", "roll.corrected"]
    assert played.data(RollCorrected)[0].point_after == 6


def test_a_second_correction_corrects_the_first() -> None:
    played = play(
        THROW, input_at(REST + SECOND_US, "no_roll"), input_at(REST + 2 * SECOND_US, "set_dice", dice=[3, 3])
    )
    first, second = (o for o in played.outcomes if o.type == "roll.corrected")
    assert played.data(RollCorrected)[1].corrects == first.id
    assert second.seq > first.seq


def test_C34_PT_5_after_settled_nothing_changes_an_outcome() -> None:
    settled = input_at(REST + SECOND_US, "settled", "dealer")
    played = play(
        THROW,
        settled,
        input_at(REST + 2 * SECOND_US, "no_roll"),
        input_at(REST + 3 * SECOND_US, "set_dice", dice=[1, 1]),
    )
    assert played.types("roll") == ["roll.called"]
    assert played.refusals() == ["already_settled", "already_settled"]


def test_a_ruling_still_counts_after_the_dice_are_collected_until_settled() -> None:
    collected = input_at(REST + SECOND_US, "dice_collected", "stickperson")
    assert play(THROW, collected, input_at(REST + 2 * SECOND_US, "no_roll")).types("roll") == [
        "roll.called",
        "roll.corrected",
    ]
    late = (input_at(REST + 2 * SECOND_US, "settled"), input_at(REST + 3 * SECOND_US, "no_roll"))
    assert play(THROW, collected, *late).refusals() == ["no_attempt"]


@pytest.mark.parametrize("dice", [None, [3], [0, 3], [3, 7], [1, 2, 3]])
def test_faces_that_make_no_sense_are_refused_and_change_nothing(dice: list[int] | None) -> None:
    played = play(throw(START, confidence=0.4), input_at(REST + SECOND_US, "set_dice", dice=dice))
    assert played.types("roll") == ["roll.review"]
    assert played.refusals() == ["bad_argument"]


def test_with_calls_confirm_the_boxperson_accepts_the_proposal() -> None:
    played = (
        Played(state=State(calls="confirm")).feed(THROW, input_at(REST + 3 * SECOND_US, "accept")).finish()
    )
    assert [p.verdict.ruling for p in played.effects if isinstance(p, Proposed)] == [Ruling.VALID]
    called = played.data(RollCalled)[0]
    assert (called.grade, called.by) == ("person", "boxperson")
    assert next(o for o in played.outcomes if o.type == "roll.called").t == REST + 3 * SECOND_US


def test_with_calls_confirm_nothing_is_called_until_a_person_confirms() -> None:
    assert Played(state=State(calls="confirm")).feed(THROW).finish().types("roll") == []


def test_with_calls_confirm_a_proposed_no_roll_is_accepted_or_overruled() -> None:
    short = throw(START, (3, 3), short_mm=(300, 0))
    then = rest_of(short) + SECOND_US
    accepted = Played(state=State(calls="confirm")).feed(short, input_at(then, "accept")).finish()
    assert accepted.data(RollNoRoll)[0].by == "boxperson"
    assert [r.code for r in accepted.data(RollNoRoll)[0].reasons] == ["no_wall_hit"]
    overruled = (
        Played(state=State(calls="confirm")).feed(short, input_at(then, "set_dice", dice=[3, 3])).finish()
    )
    assert overruled.data(RollCalled)[0].grade == "person"


def test_with_calls_confirm_an_unconfirmed_proposal_lapses_at_the_next_release() -> None:
    played = Played(state=State(calls="confirm")).feed(THROW, throw(9 * SECOND_US)).finish()
    assert [r.code for r in played.data(RollNoRoll)[0].reasons] == ["unruled"]


def test_a_player_may_not_rule() -> None:
    assert play(THROW, input_at(REST + 100 * MS, "no_roll", "player")).refusals() == ["not_staff"]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("no_roll", "no_attempt"),
        ("set_dice", "no_attempt"),
        ("accept", "nothing_to_accept"),
        ("dice_collected", "nothing_to_clear"),
        ("settled", "nothing_to_settle"),
        ("open_table", "already_open"),
        ("unlock", "not_locked"),
        ("new_shooter", "bad_argument"),
        ("inspected", "nothing_to_inspect"),
        ("no_spin", "unknown_input"),
        ("jump", "unknown_input"),
    ],
)
def test_an_input_that_makes_no_sense_now_is_refused_with_its_reason(name: str, cause: str) -> None:
    played = play(input_at(SECOND_US, name))
    assert played.refusals() == [cause]
    refused = played.data(TableEvent)[0]
    assert (refused.what, refused.by) == (name, "boxperson")
    assert refused.says


def test_faces_entered_while_the_dice_fly_are_refused() -> None:
    early = input_at(START + 400 * MS, "set_dice", dice=[1, 1])
    played = play(in_order([*THROW, early]))
    assert played.refusals() == ["result_not_in"]
    assert played.data(RollCalled)[0].dice == (3, 3)


def test_faces_entered_for_dice_that_the_camera_lost_count_as_a_ruling_at_once() -> None:
    lost = [r for r in THROW if r.t < REST - 200 * MS]
    ruled = input_at(REST + SECOND_US, "set_dice", dice=[5, 1])
    called = play(lost, ruled).data(RollCalled)[0]
    assert (called.dice, called.grade) == ((5, 1), "person")


def test_dice_collected_before_both_are_seen_at_rest_ends_the_throw_under_review() -> None:
    collected = input_at(START + 300 * MS, "dice_collected", "stickperson")
    played = play([r for r in THROW if r.t < START + 300 * MS], collected)
    assert played.types("roll") == ["roll.review"]
    assert {r.code for r in played.data(RollReview)[0].reasons} == {"missing_reading"}


def moving_off(t: int) -> list[AnyReading]:
    """Return a track on which the die that rested last moves again, without later readings."""
    rest = max((reading for reading in THROW if isinstance(reading, DieRest)), key=lambda rest: rest.t)
    return [
        DieAt(t=t + i * FRAME_US, dev=rest.dev, die=rest.die, x=rest.x - 20.0 - 15.0 * i, y=rest.y)
        for i in range(5)
    ]


def test_a_die_that_moves_on_during_the_hold_and_is_lost_leads_to_review() -> None:
    played = play(THROW, moving_off(REST + 100 * MS), throw(START + 20 * SECOND_US, (2, 2)))
    assert played.types("roll") == ["roll.review", "roll.no_roll", "roll.called"]
    review = next(o for o in played.outcomes if o.type == "roll.review")
    assert review.t == START + 8 * SECOND_US
    assert {reason.code for reason in played.data(RollReview)[0].reasons} == {"missing_reading"}


def test_dice_collected_during_the_hold_have_not_moved_on() -> None:
    played = play(THROW, input_at(REST + 50 * MS, "dice_collected"), moving_off(REST + 100 * MS))
    assert played.types("roll") == ["roll.called"]


def test_dice_collected_and_thrown_again_during_the_hold_are_the_next_throw() -> None:
    again = throw(REST + 100 * MS, (2, 2))
    played = play(in_order([*THROW, input_at(REST + 50 * MS, "dice_collected"), *again]))
    assert [data.dice for data in played.data(RollCalled)] == [(3, 3), (2, 2)]


@pytest.mark.parametrize("later_us", [1, 1000, SECOND_US])
def test_the_reading_that_opens_a_review_of_a_throw_never_closes_it(later_us: int) -> None:
    without_rest = [r for r in THROW if not (isinstance(r, DieRest) and r.die == 2)]
    until = START + 8 * SECOND_US
    openings: list[tuple[int, list[AnyReading]]] = [
        (until, without_rest),
        (until - SECOND_US, [*without_rest, input_at(until - SECOND_US, "dice_collected")]),
        (REST, throw(START, (3, 3), confidence=0.4)),
    ]
    for opened, scene in openings:
        played = play(in_order([*scene, *throw(opened + later_us, (2, 2))]))
        rolls = [outcome for outcome in played.outcomes if outcome.type.startswith("roll")]
        assert [outcome.type for outcome in rolls] == ["roll.review", "roll.no_roll", "roll.called"]
        assert (rolls[0].t, rolls[1].t) == (opened, opened + later_us)


def test_a_release_at_the_moment_that_opens_a_review_does_not_close_it() -> None:
    unread = throw(START, (3, 3), confidence=0.4)
    assert play(in_order([*unread, *throw(REST, (2, 2))])).types("roll") == ["roll.review"]


def test_C34_PT_3_the_boxperson_decides_the_faces_and_the_dealer_does_not() -> None:
    unsure = throw(START, (3, 3), confidence=0.4)
    played = play(unsure, input_at(REST + SECOND_US, "set_dice", "dealer", dice=[5, 2]))
    assert (played.types("roll"), played.refusals()) == (["roll.review"], ["not_theirs"])


@pytest.mark.parametrize("by", ["boxperson", "supervisor", "manager"])
def test_C34_PT_3_a_role_above_the_boxperson_may_decide_the_faces_too(by: str) -> None:
    unsure = throw(START, (3, 3), confidence=0.4)
    assert play(unsure, input_at(REST + SECOND_US, "set_dice", by, dice=[5, 2])).data(RollCalled)[0].by == by


def test_where_a_table_has_no_boxperson_the_dealer_decides_the_faces() -> None:
    unsure = throw(START, (3, 3), confidence=0.4)
    word = input_at(REST + SECOND_US, "set_dice", "dealer", dice=[5, 2])
    assert play(unsure, word, rules="craps-v1").data(RollCalled)[0].by == "dealer"
    stick = input_at(REST + SECOND_US, "set_dice", "stickperson", dice=[5, 2])
    assert play(unsure, stick, rules="craps-v1").refusals() == ["not_theirs"]


@pytest.mark.parametrize("name", ["no_roll", "void", "accept", "set_dice"])
def test_a_technician_may_not_rule(name: str) -> None:
    played = play(throw(START, (3, 3), confidence=0.4), input_at(REST + SECOND_US, name, "technician"))
    assert (played.types("roll"), played.refusals()) == (["roll.review"], ["not_technicians"])
