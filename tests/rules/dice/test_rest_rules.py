"""The dice at rest: their places, the faces up, and contact with other objects."""

import dataclasses
from typing import Literal

import pytest
from msgspec.structs import replace

from controller.model.readings import DieAt, DieContact, DieOffTable, DieRest, Surface
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Ruling
from tests.rules.dice.tables import (
    C34,
    CV1,
    HIGH_ROLLER,
    adding,
    dice,
    judged,
    of,
    rested,
    ruled,
    thrown,
    without,
)
from tests.rules.dice.throws import Throw

BANK = {"x": 1800.0, "y": 1000.0}
CUP = {"x": 1800.0, "y": 70.0}
RAIL = {"x": 3000.0, "y": 1120.0}


def off_table() -> Throw:
    bodies = dice()
    bodies[1].leaves = True
    return thrown(bodies)


def test_C34_INV_1a_a_die_off_the_table_is_a_no_roll_without_further_causes() -> None:
    verdict = judged(off_table())
    assert ruled(verdict) == (Ruling.VOID, [("off_table", 2)])
    assert verdict.sentence == "No Roll: die 2 left the table (C34-INV-1a)"
    assert verdict.dice is None


def test_C34_INV_1a_a_die_off_the_table_before_any_hit_lists_only_that() -> None:
    bodies = dice()
    bodies[1].vy, bodies[1].leaves = 1.6, True
    throw = thrown(bodies)
    assert throw.hit[1] == frozenset()
    assert ruled(judged(throw)) == (Ruling.VOID, [("off_table", 2)])


def test_H_LEGAL_2_both_dice_must_stay_on_the_surface() -> None:
    verdict = judged(off_table(), HIGH_ROLLER)
    assert ruled(verdict) == (Ruling.VOID, [("off_table", 2)])
    assert verdict.reasons[0].rule == "H-LEGAL-2"


def test_V1_25_craps_version_1_uses_the_causes_of_the_other_craps() -> None:
    verdict = judged(off_table(), CV1)
    assert [(reason.code, reason.rule) for reason in verdict.reasons] == [("off_table", "!V1-25")]


def test_a_die_that_left_and_is_then_seen_at_rest_is_a_conflict() -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    back = adding(throw, DieOffTable(t=rest.t - 1000, dev="cam", die=2))
    assert ruled(judged(back)) == (Ruling.REVIEW, [("conflict", 2)])


@pytest.mark.parametrize("rules", [C34, HIGH_ROLLER])
def test_C34_INV_1b_H_15_a_die_on_top_of_the_other_is_stacked(rules: object) -> None:
    one = of(thrown(dice()), 1)
    throw = rested(x=one.x + 4.0, y=one.y - 2.0, on="die")
    assert ruled(judged(throw, rules)) == (Ruling.VOID, [("stacked", 2)])  # type: ignore[arg-type]  # both are ThrowRules


def test_a_die_reported_on_top_of_one_far_away_is_a_conflict() -> None:
    assert ruled(judged(rested(on="die"))) == (Ruling.REVIEW, [("conflict", 2)])


def test_two_rests_in_one_place_are_a_conflict() -> None:
    one = of(thrown(dice()), 1)
    verdict = judged(rested(x=one.x + 1.0, y=one.y))
    assert verdict.ruling is Ruling.REVIEW
    assert (
        verdict.reasons[0].seen == "both dice were seen at rest where there is room for only one, 1 mm apart"
    )


@pytest.mark.parametrize(
    ("rest", "code", "rule"),
    [
        ({**BANK, "on": "bank"}, "on_bank", "C34-INV-2iii"),
        ({**CUP, "on": "cup"}, "in_cup", "C34-INV-2iv"),
        ({**RAIL, "on": "rail"}, "on_rail", "C34-INV-2iv"),
        ({**BANK, "on": "felt"}, "on_bank", "C34-INV-2iii"),
        ({**BANK, "on": "chips"}, "on_bank", "C34-INV-2iii"),
        ({**CUP, "on": "unknown"}, "in_cup", "C34-INV-2iv"),
    ],
)
def test_C34_INV_2iii_2iv_rest_on_bank_cup_or_rail(rest: dict[str, object], code: str, rule: str) -> None:
    verdict = judged(rested(**rest))
    assert ruled(verdict) == (Ruling.VOID, [(code, 2)])
    assert verdict.reasons[0].rule == rule


def test_C34_INV_2iii_two_causes_at_once_are_both_listed() -> None:
    verdict = judged(rested(**BANK, on="bank", up=None, resting_sides=(3, 5)))
    assert ruled(verdict) == (Ruling.VOID, [("on_bank", 2), ("cocked", 2)])


@pytest.mark.parametrize(
    ("rest", "seen"),
    [
        (
            {"x": 1800.0, "y": 901.0, "on": "felt"},
            "die 2 lies at the edge of the bank, but the camera reports it on the felt",
        ),
        (
            {"x": 600.0, "y": 500.0, "on": "bank"},
            "die 2 is reported on the bank, but the table has none at that position",
        ),
        (
            {"x": 3000.0, "y": 1130.0, "on": "felt"},
            "die 2 lies outside the walls, but is reported on the felt",
        ),
    ],
)
def test_a_place_on_which_camera_and_table_disagree_is_a_conflict(rest: dict[str, object], seen: str) -> None:
    verdict = judged(rested(**rest))
    assert verdict.ruling is Ruling.REVIEW
    assert (verdict.reasons[0].code, verdict.reasons[0].seen) == ("conflict", seen)


@pytest.mark.parametrize("rules", [C34, CV1, HIGH_ROLLER])
def test_a_die_that_rests_where_its_track_did_not_lead_is_a_conflict(rules: ThrowRules) -> None:
    """The rule also applies to Craps Version 1, because the die may be another one of the set (!V1-25)."""
    verdict = judged(rested(x=700.0, y=500.0), rules)
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 2)])
    assert "the track of die 2 jumps by" in verdict.sentence


@pytest.mark.parametrize("rules", [C34, CV1, HIGH_ROLLER])
def test_a_die_seen_beyond_the_wall_is_a_conflict(rules: ThrowRules) -> None:
    """The die left the table, or the measurement is invalid (!V1-25, C34-INV-1a)."""
    throw = thrown(dice())
    beyond = [
        replace(r, x=r.x + 60.0) if isinstance(r, DieAt | DieRest) and r.die == 2 else r
        for r in throw.readings
    ]
    verdict = judged(Throw(throw.kind, throw.bodies, beyond, throw.decided_at_us, throw.hit), rules)
    assert verdict.ruling is Ruling.REVIEW
    assert ("conflict", 2) in ruled(verdict)[1]
    assert "beyond the right wall" in verdict.sentence


@pytest.mark.parametrize(
    "surface", ["chips", "cards", "object", "tray", "shoe", "discard", "slot", "unknown"]
)
def test_C34_INV_3_rest_on_chips_and_surfaces_other_than_the_bank_is_not_a_cause(surface: Surface) -> None:
    assert judged(rested(on=surface)).ruling is Ruling.VALID


def test_C34_INV_3_contact_with_chips_in_flight_is_not_a_cause() -> None:
    throw = thrown(dice())
    touched = adding(throw, DieContact(t=of(throw, 2).t - 50_000, dev="cam", die=2, with_="chips"))
    assert ruled(judged(touched)) == (Ruling.VALID, [])
    assert judged(touched).notices == ()


def test_34_12_touching_the_bank_without_resting_there_is_noted() -> None:
    throw = thrown(dice())
    touched = adding(throw, DieContact(t=of(throw, 2).t - 50_000, dev="cam", die=2, with_="bank"))
    verdict = judged(touched)
    assert verdict.ruling is Ruling.VALID
    assert [(notice.code, notice.rule) for notice in verdict.notices] == [("bank_touched", "!34-12")]


def test_C34_PT_1_the_upper_faces_are_the_roll() -> None:
    assert judged(thrown(dice())).dice == (4, 3)


@pytest.mark.parametrize("up", [None, 2])
def test_C34_PT_1i_a_cocked_die_shows_the_face_opposite_the_side_on_chips(up: int | None) -> None:
    verdict = judged(rested(up=up, resting_sides=(5,), on="chips", tilt_deg=31.0))
    assert (verdict.ruling, verdict.dice) == (Ruling.VALID, (4, 2))


def test_C34_PT_1i_a_face_that_contradicts_the_resting_side_is_a_conflict() -> None:
    verdict = judged(rested(up=6, resting_sides=(5,), on="chips", tilt_deg=31.0))
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 2)])
    assert verdict.dice is None


def test_C34_PT_2_more_than_one_resting_side_is_void() -> None:
    verdict = judged(rested(up=None, resting_sides=(3, 5), on="chips", tilt_deg=40.0))
    assert ruled(verdict) == (Ruling.VOID, [("cocked", 2)])
    assert verdict.reasons[0].seen == "die 2 rests on sides 3 and 5"


def test_34_13_a_tilted_die_without_a_face_or_resting_side_is_a_review() -> None:
    verdict = judged(rested(up=None, confidence=0.0, tilt_deg=33.0))
    assert ruled(verdict) == (Ruling.REVIEW, [("low_confidence", 2)])
    assert verdict.reasons[0].seen == "no face of die 2 was read: it is tilted by 33 degrees"


def test_34_13_a_tilted_die_reported_as_flat_is_a_conflict() -> None:
    assert ruled(judged(rested(tilt_deg=33.0))) == (Ruling.REVIEW, [("conflict", 2)])


@pytest.mark.parametrize(("confidence", "ruling"), [(0.6, Ruling.VALID), (0.59, Ruling.REVIEW)])
def test_C34_PT_1_a_face_below_the_least_confidence_is_not_believed(
    confidence: float, ruling: Ruling
) -> None:
    verdict = judged(rested(confidence=confidence))
    assert verdict.ruling is ruling
    assert verdict.dice == ((4, 3) if ruling is Ruling.VALID else None)


def test_a_doubtful_face_needs_no_ruling_in_a_throw_that_is_void_anyway() -> None:
    bodies = dice()
    bodies[1].stops_at = 2500.0
    verdict = judged(thrown(bodies, rests={2: {"confidence": 0.2}}))
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_C34_PT_3_a_die_that_has_not_moved_but_shows_another_face_is_a_conflict() -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    again = adding(throw, replace(rest, t=rest.t + 300_000, up=6))
    assert ruled(judged(again)) == (Ruling.REVIEW, [("conflict", 2)])


def test_the_same_rest_reported_twice_is_one_rest() -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    assert judged(adding(throw, replace(rest, t=rest.t + 300_000, x=rest.x + 1.0))).ruling is Ruling.VALID


def test_a_nudged_die_counts_where_it_finally_rests() -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    nudged = replace(rest, t=rest.t + 300_000, x=rest.x - 30.0, up=6)
    assert judged(adding(throw, nudged)).dice == (4, 6)


def test_a_die_never_seen_at_rest_is_a_missing_reading() -> None:
    throw = without(thrown(dice()), lambda r: isinstance(r, DieRest) and r.die == 2)
    verdict = judged(throw)
    assert verdict.ruling is Ruling.REVIEW
    assert [(reason.code, reason.die) for reason in verdict.reasons] == [("missing_reading", 2)]


@pytest.mark.parametrize("surface", ["rail", "tray", "slot", "shoe", "discard", "bank", "cup", "object"])
def test_H_LEGAL_3_rest_on_anything_but_cards_is_illegal(surface: Surface) -> None:
    verdict = judged(rested(on=surface), HIGH_ROLLER)
    if surface in {"bank", "cup"}:
        assert verdict.ruling is Ruling.REVIEW
    else:
        assert ruled(verdict) == (Ruling.VOID, [("foreign_contact", 2)])


@pytest.mark.parametrize("surface", ["felt", "cards"])
def test_H_LEGAL_3_felt_and_cards_may_be_touched(surface: Surface) -> None:
    assert judged(rested(on=surface), HIGH_ROLLER).ruling is Ruling.VALID


@pytest.mark.parametrize("thing", ["rail", "tray", "rake slot", "shoe", "discard"])
def test_H_LEGAL_3_contact_in_flight_with_a_foreign_object_is_illegal(thing: str) -> None:
    throw = thrown(dice())
    touch = DieContact(t=of(throw, 2).t - 50_000, dev="cam", die=2, with_=thing)
    verdict = judged(adding(throw, touch, replace(touch, t=touch.t + 1000)), HIGH_ROLLER)
    assert ruled(verdict) == (Ruling.VOID, [("foreign_contact", 2)])
    assert verdict.reasons[0].seen == f"die 2 touched the {thing}"
    assert touch in verdict.evidence


def test_H_14_loose_chips_go_to_review() -> None:
    throw = thrown(dice())
    touch = DieContact(t=of(throw, 2).t - 50_000, dev="cam", die=2, with_="chips")
    for verdict in (judged(adding(throw, touch), HIGH_ROLLER), judged(rested(on="chips"), HIGH_ROLLER)):
        assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 2)])
        assert verdict.reasons[0].rule == "H-LEGAL-3"


@pytest.mark.parametrize(
    ("reading", "ruling", "reasons"),
    [("no_roll", Ruling.VOID, [("foreign_contact", 2)]), ("ignore", Ruling.VALID, [])],
)
def test_H_14_a_house_may_void_at_loose_chips_or_ignore_them(
    reading: Literal["no_roll", "ignore"], ruling: Ruling, reasons: list[tuple[str, int]]
) -> None:
    house = dataclasses.replace(HIGH_ROLLER, loose_chips=reading)
    throw = thrown(dice())
    touch = DieContact(t=of(throw, 2).t - 50_000, dev="cam", die=2, with_="chips")
    for verdict in (judged(adding(throw, touch), house), judged(rested(on="chips"), house)):
        assert ruled(verdict) == (ruling, reasons)


def test_H_15_a_house_may_leave_stacked_and_cocked_dice_to_the_dealer() -> None:
    house = dataclasses.replace(HIGH_ROLLER, aslant="review")
    cocked = judged(rested(on="cards", resting_sides=(1, 3), up=None), house)
    one = of(thrown(dice()), 1)
    stacked = judged(rested(x=one.x + 4.0, y=one.y - 2.0, on="die"), house)
    for verdict in (cocked, stacked):
        assert verdict.ruling is Ruling.REVIEW
        assert ("conflict", "!H-15") in [(reason.code, reason.rule) for reason in verdict.reasons]


def test_H_LEGAL_3_a_surface_that_is_not_recognized_is_a_review() -> None:
    assert ruled(judged(rested(on="unknown"), HIGH_ROLLER)) == (Ruling.REVIEW, [("missing_reading", 2)])
