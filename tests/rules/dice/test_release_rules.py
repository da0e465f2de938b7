"""The simultaneous release of both dice, and the judgement after a person's call."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.model.readings import DeviceDown, DeviceFault, DieAt, DieReleased
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Ruling
from tests.rules.dice.tables import (
    C34,
    CALLED,
    CV1,
    HIGH_ROLLER,
    adding,
    dice,
    judged,
    of,
    release,
    rested,
    ruled,
    thrown,
    track,
    without,
)
from tests.rules.dice.throws import Maker, Throw


def only_die_1() -> Throw:
    return thrown(dice()[:1])


@pytest.mark.parametrize(("late_ms", "ruling"), [(150.0, Ruling.VALID), (152.0, Ruling.VOID)])
def test_C34_INV_2i_dice_more_than_150_ms_apart_did_not_leave_together(
    late_ms: float, ruling: Ruling
) -> None:
    verdict = judged(thrown(dice(late_ms=late_ms)))
    assert verdict.ruling is ruling
    if ruling is Ruling.VOID:
        assert ruled(verdict) == (Ruling.VOID, [("not_simultaneous", 2)])
        assert verdict.reasons[0].rule == "C34-INV-2i"
        assert "152 ms after die 1" in verdict.reasons[0].seen


@pytest.mark.parametrize(("late_ms", "noted"), [(48.0, False), (51.0, True), (140.0, True)])
def test_C34_INV_2i_from_50_ms_on_it_is_noted(late_ms: float, noted: bool) -> None:
    verdict = judged(thrown(dice(late_ms=late_ms)))
    assert verdict.ruling is Ruling.VALID
    assert [notice.code for notice in verdict.notices] == (["staggered_release"] if noted else [])


@pytest.mark.parametrize("late_ms", [140.0, 400.0])
def test_H_ROLL_1_dice_that_leave_the_hand_apart_are_noted_and_count(late_ms: float) -> None:
    verdict = judged(thrown(dice(late_ms=late_ms)), HIGH_ROLLER)
    assert verdict.ruling is Ruling.VALID
    assert [(notice.code, notice.rule) for notice in verdict.notices] == [("staggered_release", "H-ROLL-1")]


def test_CV1_INV_1_both_dice_in_one_throw() -> None:
    verdict = judged(thrown(dice(late_ms=400.0)), CV1)
    assert [(reason.code, reason.rule) for reason in verdict.reasons] == [("not_simultaneous", "CV1-INV-1")]


def test_CV1_INV_2_one_die_thrown_is_invalid_and_no_cause_is_listed_for_the_other() -> None:
    verdict = judged(only_die_1(), CV1)
    assert ruled(verdict) == (Ruling.VOID, [("one_die_thrown", 2)])
    assert verdict.reasons[0].rule == "CV1-INV-2"
    assert verdict.reasons[0].seen == "only die 1 left the hand"


def test_C34_DICE_5_the_one_die_that_was_thrown_is_judged_too() -> None:
    bodies = dice()[:1]
    Maker(1).short_stop(bodies[0], 300.0)
    verdict = judged(thrown(bodies))
    assert ruled(verdict) == (Ruling.VOID, [("one_die_thrown", 2), ("no_wall_hit", 1)])


@pytest.mark.parametrize("rules", [C34, CV1], ids=["C34-DICE-5", "CV1-INV-2"])
def test_a_hand_out_of_the_cameras_sight_may_have_thrown_both_dice(rules: ThrowRules) -> None:
    throw = only_die_1()
    seen = release(throw, 1)
    late = adding(without(throw, lambda r: r is seen), replace(seen, in_flight=True))
    never = without(throw, lambda r: r is seen)
    for unseen_hand in (late, never):
        verdict = judged(unseen_hand, rules)
        ruling, reasons = ruled(verdict)
        assert ruling is Ruling.REVIEW
        assert reasons[0] == ("missing_reading", 2)
        assert "out of its view" in verdict.reasons[0].seen


def test_one_die_seen_by_a_camera_that_was_down_meanwhile_is_a_review() -> None:
    throw = only_die_1()
    down = adding(throw, DeviceDown(t=release(throw, 1).t + 1000, dev="cam"))
    assert ruled(judged(down)) == (Ruling.REVIEW, [("missing_reading", 2)])


def test_a_die_in_flight_long_before_the_other_left_the_hand_did_not_leave_with_it() -> None:
    throw = thrown(dice(late_ms=400.0))
    unseen = without(throw, lambda r: isinstance(r, DieReleased) and r.die == 1)
    verdict = judged(unseen)
    assert verdict.ruling is Ruling.VOID
    assert [(reason.code, reason.die) for reason in verdict.reasons] == [("not_simultaneous", 2)]


def test_a_release_that_was_not_seen_is_a_review() -> None:
    throw = thrown(dice())
    unseen = without(throw, lambda r: isinstance(r, DieReleased) and r.die == 2)
    assert ruled(judged(unseen)) == (Ruling.REVIEW, [("missing_reading", 2)])


def test_a_release_reported_twice_is_one_release_and_a_second_one_a_conflict() -> None:
    throw = thrown(dice())
    first = release(throw, 1)
    assert judged(adding(throw, replace(first, t=first.t + 20_000))).ruling is Ruling.VALID
    again = judged(adding(throw, replace(first, t=first.t + 400_000)))
    assert ruled(again) == (Ruling.REVIEW, [("conflict", 1)])


def test_nothing_seen_at_all_is_a_review() -> None:
    verdict = judged(Throw("none", [], [], 0, (frozenset(), frozenset())))
    assert ruled(verdict) == (Ruling.REVIEW, [("missing_reading", None)])


def test_C34_INV_2vi_a_call_with_the_dice_at_rest_is_listed_with_the_sensed_causes() -> None:
    assert ruled(judged(thrown(dice()), called=CALLED)) == (Ruling.VOID, [("called", None)])
    bodies = dice()
    Maker(1).short_stop(bodies[1], 300.0)
    verdict = judged(thrown(bodies), called=CALLED)
    assert ruled(verdict) == (Ruling.VOID, [("called", None), ("no_wall_hit", 2)])


def test_C34_INV_2vi_a_call_in_flight_lists_no_causes_of_walls_and_rests() -> None:
    throw = thrown(dice(late_ms=60.0))
    verdict = judged(throw, called=CALLED, decided_at_us=release(throw, 1).t + 300_000)
    assert ruled(verdict) == (Ruling.VOID, [("called", None)])


def test_C34_INV_2vi_a_call_in_flight_lists_what_was_proven_by_then() -> None:
    throw = thrown(dice(late_ms=200.0))
    verdict = judged(throw, called=CALLED, decided_at_us=release(throw, 1).t + 400_000)
    assert ruled(verdict) == (Ruling.VOID, [("called", None), ("not_simultaneous", 2)])


def test_C34_INV_2vi_a_call_before_the_other_release_does_not_list_the_die_as_never_released() -> None:
    throw = only_die_1()
    at = release(throw, 1).t + 300_000
    assert ruled(judged(throw, called=CALLED, decided_at_us=at)) == (Ruling.VOID, [("called", None)])


def test_C34_INV_2vi_a_call_lists_the_rest_of_a_die_already_at_rest() -> None:
    throw = rested(x=1800.0, y=70.0, on="cup")
    one, two = of(throw, 1), of(throw, 2)
    still_moving = without(throw, lambda r: r is one)
    verdict = judged(still_moving, called=CALLED, decided_at_us=max(one.t, two.t))
    assert ruled(verdict) == (Ruling.VOID, [("called", None), ("in_cup", 2)])


def test_readings_after_the_decision_are_ignored() -> None:
    throw = thrown(dice())
    late = adding(throw, replace(of(throw, 2), t=throw.decided_at_us + 1, up=6))
    assert judged(late, decided_at_us=throw.decided_at_us).dice == (4, 3)


def test_readings_out_of_order_are_judged_by_their_own_time() -> None:
    throw = thrown(dice())
    shuffled = Throw("shuffled", throw.bodies, throw.readings[::-1], throw.decided_at_us, throw.hit)
    assert judged(shuffled) == judged(throw)


def test_a_die_reported_far_from_the_table_is_a_conflict() -> None:
    throw = thrown(dice())
    point = track(throw, 1)[20]
    odd = adding(throw, DieAt(t=point.t + 1, dev="cam", die=1, x=1e9, y=-1e9))
    assert ruled(judged(odd, C34)) == (Ruling.REVIEW, [("conflict", None)])


def blind_to_die_2(throw: Throw, *, until_ms: float = 1e9) -> Throw:
    """Remove the camera's readings of die 2 up to this time after the first release."""
    until_us = release(throw, 1).t + until_ms * 1000
    return without(throw, lambda r: getattr(r, "die", 0) == 2 and r.t < until_us)


def test_CV1_INV_2_two_impacts_and_one_die_in_sight_are_a_missing_reading_and_not_one_die_thrown() -> None:
    verdict = judged(blind_to_die_2(thrown(dice())), CV1)
    assert ruled(verdict) == (Ruling.REVIEW, [("missing_reading", 2)])
    assert "die 1 does not account for an impact on the right wall" in verdict.reasons[0].seen


@given(st.integers(0, 200))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_C34_DICE_5_one_die_thrown_and_heard_once_never_goes_to_review(seed: int) -> None:
    maker = Maker(seed)
    verdict = judged(maker.sense("one", maker.bodies()[:1], drop=0.02))
    assert ruled(verdict) == (Ruling.VOID, [("one_die_thrown", 2)])


def test_CV1_INV_2_a_faulty_camera_does_not_prove_that_one_die_was_thrown() -> None:
    throw = only_die_1()
    faulty = adding(throw, DeviceFault(t=release(throw, 1).t + 1000, dev="cam", reason="lens covered"))
    assert ruled(judged(faulty)) == (Ruling.REVIEW, [("missing_reading", 2)])


def test_C34_INV_2i_a_die_hidden_until_after_its_hit_may_have_left_with_the_other() -> None:
    throw = thrown(dice())
    late = blind_to_die_2(throw, until_ms=900.0)
    seen_first = next(r for r in late.readings if isinstance(r, DieAt) and r.die == 2)
    told_late = DieReleased(t=seen_first.t, dev="cam", die=2, x=seen_first.x, y=seen_first.y)
    verdict = judged(adding(late, told_late))
    assert verdict.ruling is Ruling.REVIEW
    assert ("missing_reading", 2) in ruled(verdict)[1]


def test_C34_INV_2i_a_die_in_flight_before_its_reported_release_left_the_hand_earlier() -> None:
    throw = thrown(dice())
    first = release(throw, 2)
    late = adding(without(throw, lambda r: r is first), replace(first, t=first.t + 200_000))
    verdict = judged(late)
    assert verdict.ruling is Ruling.REVIEW
    assert ruled(verdict)[1][0] == ("missing_reading", 2)
    assert "it was seen in flight" in verdict.reasons[0].seen


def test_C34_INV_2i_a_die_at_rest_before_the_other_was_thrown_was_not_in_flight() -> None:
    throw = thrown(dice(late_ms=20.0))
    first = release(throw, 1)
    lay = [DieAt(t=first.t - 11_000 * n, dev="cam", die=1, x=first.x, y=first.y) for n in range(1, 30)]
    unseen = adding(without(throw, lambda r: r is first), *lay)
    verdict = judged(unseen)
    assert verdict.ruling is Ruling.REVIEW
    assert ("missing_reading", 1) in ruled(verdict)[1]
