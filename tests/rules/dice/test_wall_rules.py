"""Wall hits of both dice: at an end (C34), at the far end with warnings (CV1), at any wall (High Roller)."""

import msgspec
import pytest

from controller.model.readings import DeviceDown, DeviceUp, DieAt, DieReleased, DieRest, WallImpact
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Ruling
from controller.rules.dice.contact import Contact
from tests.rules.dice.tables import (
    C34,
    C34_FAR,
    CV1,
    HIGH_ROLLER,
    adding,
    dice,
    impacts,
    judged,
    of,
    release,
    ruled,
    thrown,
    track,
    without,
)
from tests.rules.dice.throws import TABLE, Body, Maker, Throw

SHORT = 24.0


def short_of_the_wall(gap: float = SHORT, die: int = 2, far: str = "right") -> Throw:
    bodies = dice(far=far)
    Maker(1).turned(bodies[die - 1], gap, kept=0.2)
    return thrown(bodies)


def stopped_at(gap: float) -> Throw:
    bodies = dice()
    Maker(1).short_stop(bodies[1], gap)
    return thrown(bodies)


@pytest.mark.parametrize("far", ["left", "right"])
def test_C34_INV_2ii_both_dice_that_hit_the_far_end_are_a_roll(far: str) -> None:
    verdict = judged(thrown(dice(far=far)))
    assert ruled(verdict) == (Ruling.VALID, [])
    assert verdict.dice == (4, 3)
    assert verdict.sentence == f"Roll 4-3: both dice hit the {far} wall"
    assert verdict.notices == ()


def test_C34_INV_2ii_a_die_first_seen_coming_to_rest_at_the_wall_goes_to_review() -> None:
    throw = thrown(dice())
    unseen = without(throw, lambda r: isinstance(r, DieAt | DieReleased | DieRest) and r.die == 2)
    rest = msgspec.structs.replace(of(throw, 2), x=TABLE.length_mm - TABLE.die_mm / 2)
    once = DieAt(t=rest.t - 50_000, dev=rest.dev, die=2, x=rest.x - 3.0, y=rest.y)
    assert judged(adding(unseen, once, rest)).ruling is Ruling.REVIEW


@pytest.mark.parametrize("peak", [0.0, 1e-300])
def test_an_impact_without_a_peak_is_judged(peak: float) -> None:
    """A sensor may report an impact at its lowest value; no division by its loudness may stop the judge."""
    for throw in (short_of_the_wall(3.0), short_of_the_wall(), stopped_at(3.0)):
        throw.readings = [
            msgspec.structs.replace(r, peak=peak) if isinstance(r, WallImpact) else r for r in throw.readings
        ]
        assert judged(throw).ruling in {Ruling.REVIEW, Ruling.VOID}


def test_a_touch_that_no_single_contact_leaves_in_doubt_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several contacts together may leave a touch possible that each of them alone rules out."""
    assert judged(stopped_at(3.0)).ruling is Ruling.REVIEW
    monkeypatch.setattr(Contact, "doubtful", property(lambda _contact: False))
    verdict = judged(stopped_at(3.0))
    assert ruled(verdict) == (Ruling.REVIEW, [("wall_unclear", None)])
    assert "both dice hit a wall, or only one" in verdict.sentence


@pytest.mark.parametrize("die", [1, 2])
def test_C34_INV_2ii_a_die_turned_back_short_of_the_wall_is_a_no_roll_with_the_distance(die: int) -> None:
    verdict = judged(short_of_the_wall(die=die))
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", die)])
    reason = verdict.reasons[0]
    assert reason.rule == "C34-INV-2ii"
    measured = int(reason.seen.split(" mm short")[0].split()[-1])
    assert abs(measured - SHORT) <= 6
    assert reason.seen.startswith(f"die {die} turned back ")
    assert verdict.sentence.startswith(
        f"No Roll: die {die} turned back {measured} mm short of the right wall"
    )
    assert "both must hit an end (C34-INV-2ii)" in verdict.sentence


def test_C34_INV_2ii_both_dice_short_are_two_causes() -> None:
    bodies = dice()
    for body in bodies:
        Maker(1).short_stop(body, 700.0)
    assert ruled(judged(thrown(bodies))) == (Ruling.VOID, [("no_wall_hit", 1), ("no_wall_hit", 2)])


@pytest.mark.parametrize("gap", [8.0, 12.0])
def test_C34_INV_2ii_a_die_that_stops_millimetres_short_did_not_hit(gap: float) -> None:
    verdict = judged(stopped_at(gap))
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 2)])
    assert "die 2 stopped" in verdict.sentence


@pytest.mark.parametrize("gap", [0.5, 2.0, 3.5, 4.5])
def test_a_stop_within_reach_of_contact_is_unclear(gap: float) -> None:
    """A die at an angle touches with an upright edge, its face up to 3.9 mm from the wall.

    An edge or a corner may have reached slightly further before the die fell flat.
    """
    assert ruled(judged(stopped_at(gap))) == (Ruling.REVIEW, [("wall_unclear", 2)])


def test_one_die_that_hits_twice_is_not_two_dice() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[1], 340.0)
    bodies[0].rolling, bodies[0].bounce, bodies[0].back_blocks = 0.3, 0.35, [(3480.0, 1.0)]
    throw = thrown(bodies)
    assert [wall for _, wall, _ in throw.bodies[0].hits] == ["right", "right"]
    assert ruled(judged(throw)) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_a_knock_on_the_rail_is_not_a_hit() -> None:
    bodies = dice()
    Maker(1).turned(bodies[1], 600.0, kept=0.2)
    t = 450.0 / 4.0 + 500.0
    throw = thrown(bodies, knocks=[(t + offset, "right", 700.0) for offset in (-40.0, 0.0, 40.0)])
    assert ruled(judged(throw)) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_a_knock_at_a_die_that_almost_touches_is_unclear() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[1], 4.0)
    quiet = thrown(bodies)
    near = track(quiet, 2)[-1].t - release(quiet, 1).t
    bodies = dice()
    Maker(1).short_stop(bodies[1], 4.0)
    throw = thrown(bodies, knocks=[(near / 1000.0, "right", 700.0)])
    assert ruled(judged(throw)) == (Ruling.REVIEW, [("wall_unclear", 2)])


def test_ringing_changes_nothing() -> None:
    bodies = dice()
    Maker(1).turned(bodies[1], 200.0, kept=0.2)
    throw = thrown(bodies)
    hit = impacts(throw)[0]
    rung = adding(
        throw,
        *(
            type(hit)(t=hit.t + us, dev=hit.dev, wall="right", pos_mm=hit.pos_mm, peak=90)
            for us in (4000, 9000)
        ),
    )
    assert ruled(judged(rung)) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_dice_that_land_together_may_share_one_impact() -> None:
    throw = thrown(dice(y=(500.0, 545.0), late_ms=0.0))
    assert len({impact.t // 13_000 for impact in impacts(throw)}) == 1
    assert judged(throw).ruling is Ruling.VALID


def test_a_turn_at_the_wall_that_no_healthy_sensor_heard_is_unclear() -> None:
    throw = thrown(dice())
    own = [i for i in impacts(throw) if abs(i.pos_mm - 700) < 120]
    verdict = judged(without(throw, lambda r: r in own))
    assert ruled(verdict) == (Ruling.REVIEW, [("wall_unclear", 2)])


def test_a_turn_at_a_wall_whose_sensor_was_down_is_a_missing_reading() -> None:
    throw = thrown(dice(), failed=lambda _wall: True)
    down = adding(throw, DeviceDown(t=throw.readings[0].t + 1000, dev="wall-right", reason="unplugged"))
    assert ruled(judged(down)) == (Ruling.REVIEW, [("missing_reading", 1), ("missing_reading", 2)])


def test_a_turn_at_a_wall_that_no_sensor_is_known_to_hear_is_a_missing_reading() -> None:
    throw = thrown(dice(), failed=lambda _wall: True)
    verdict = judged(throw, sources={})
    assert ruled(verdict) == (Ruling.REVIEW, [("missing_reading", 1), ("missing_reading", 2)])


def test_a_sensor_that_came_back_before_the_throw_is_healthy() -> None:
    throw = thrown(dice(), failed=lambda _wall: True)
    start = throw.readings[0].t
    back = adding(
        throw, DeviceDown(t=start - 2000, dev="wall-right"), DeviceUp(t=start - 1000, dev="wall-right")
    )
    assert {reason.code for reason in judged(back).reasons} == {"wall_unclear"}


def test_a_wall_sensor_lost_after_the_hits_does_not_matter() -> None:
    throw = thrown(dice())
    last = impacts(throw)[-1].t
    assert judged(adding(throw, DeviceDown(t=last + 1000, dev="wall-right"))).ruling is Ruling.VALID


def test_the_other_ends_sensor_does_not_matter() -> None:
    throw = thrown(dice())
    assert judged(adding(throw, DeviceDown(t=throw.readings[0].t, dev="wall-left"))).ruling is Ruling.VALID


def test_a_die_well_short_is_a_no_roll_whatever_the_wall_sensor_says() -> None:
    throw = without(short_of_the_wall(300.0), lambda r: r in impacts(short_of_the_wall(300.0)))
    down = adding(throw, DeviceDown(t=throw.readings[0].t + 1000, dev="wall-right"))
    assert ruled(judged(down)) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_a_camera_lost_in_flight_is_a_review_never_a_void() -> None:
    throw = thrown(dice())
    lost = release(throw, 1).t + 400_000
    blind = without(throw, lambda r: r.dev == "cam" and r.t > lost)
    verdict = judged(adding(blind, DeviceDown(t=lost, dev="cam", reason="unplugged")))
    assert verdict.ruling is Ruling.REVIEW
    assert {reason.code for reason in verdict.reasons} == {"missing_reading"}
    assert "cam was down" in verdict.sentence


def test_a_track_hidden_at_the_wall_is_bridged_where_one_explanation_remains() -> None:
    throw = thrown(dice(), hidden=lambda body, t: body.number == 1 and 795.0 < t < 855.0)
    assert 800 < throw.bodies[0].hits[0][0] < 850
    assert judged(throw).ruling is Ruling.VALID


def test_a_die_hidden_where_it_may_have_hit_is_never_void() -> None:
    bodies = dice()
    Maker(1).turned(bodies[0], 40.0, kept=0.2)
    throw = thrown(bodies, hidden=lambda body, t: body.number == 1 and 720.0 < t < 840.0)
    assert ruled(judged(throw)) == (Ruling.REVIEW, [("missing_reading", 1)])


def test_a_die_hidden_too_far_from_the_wall_to_reach_it_did_not_hit() -> None:
    bodies = dice()
    Maker(1).turned(bodies[0], 900.0, kept=0.2)
    throw = thrown(bodies, hidden=lambda body, t: body.number == 1 and 500.0 < t < 600.0)
    assert ruled(judged(throw)) == (Ruling.VOID, [("no_wall_hit", 1)])


def test_a_die_hidden_before_its_speed_was_known_may_have_had_any_speed() -> None:
    bodies = dice()
    for body in bodies:
        body.x, body.vx, body.bounce, body.rolling = 2765.0, 6.0, 0.42, 1.5
    throw = thrown(bodies, hidden=lambda body, t: body.number == 1 and 5.0 < t - body.t0 < 255.0)
    assert throw.hit[0] == {"right"}
    assert ruled(judged(throw)) == (Ruling.REVIEW, [("missing_reading", 1)])


def near_end() -> list[Body]:
    bodies = dice()
    bodies[1].x, bodies[1].vx = 1000.0, -4.0
    return bodies


def test_C34_INV_2ii_any_end_counts_and_the_near_one_is_noted_34_11() -> None:
    verdict = judged(thrown(near_end()))
    assert verdict.ruling is Ruling.VALID
    assert [(notice.code, notice.die, notice.rule) for notice in verdict.notices] == [
        ("near_wall", 2, "!34-11")
    ]


def test_C34_DICE_5_the_far_end_may_be_required_by_a_setting() -> None:
    verdict = judged(thrown(near_end()), C34_FAR)
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 2)])
    assert "both must hit the far end" in verdict.sentence


def beyond_the_hand(throw: Throw, sight_mm: float = 2900.0) -> Throw:
    """Return the readings of a camera over the far end only, where the dice come into view in flight."""
    seen = without(throw, lambda r: isinstance(r, DieReleased) or (isinstance(r, DieAt) and r.x < sight_mm))
    first = {r.die: r for r in reversed(seen.readings) if isinstance(r, DieAt)}
    readings = [
        DieReleased(t=r.t, dev=r.dev, die=r.die, x=r.x, y=r.y, in_flight=True) for r in first.values()
    ]
    return adding(seen, *readings)


@pytest.mark.parametrize("rules", [C34_FAR, CV1])
def test_C34_DICE_5_a_die_first_seen_in_flight_shows_the_far_end_by_its_direction(rules: ThrowRules) -> None:
    verdict = judged(beyond_the_hand(thrown(dice())), rules)
    assert ruled(verdict) == (Ruling.VALID, [])
    assert verdict.sentence == "Roll 4-3: both dice hit the right wall"
    assert verdict.notices == ()


def test_C34_INV_2ii_dice_first_seen_in_flight_stop_short_of_the_end_that_they_were_thrown_at() -> None:
    bodies = dice()
    for body in bodies:
        Maker(1).short_stop(body, 200.0)
    verdict = judged(beyond_the_hand(thrown(bodies)))
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 1), ("no_wall_hit", 2)])
    assert "short of the right wall" in verdict.reasons[0].seen
    assert "short of the right wall" in verdict.reasons[1].seen


def test_C34_DICE_5_an_unknown_far_end_goes_to_review() -> None:
    still = beyond_the_hand(thrown(dice()), sight_mm=3580.0)
    verdict = judged(still, C34_FAR)
    assert verdict.ruling is Ruling.REVIEW
    assert "the far end is unknown" in {r.seen.split(":")[0] for r in verdict.reasons}


@pytest.mark.parametrize("given", [0, 1, 2])
def test_CV1_SHOOT_4_a_miss_stands_with_a_warning_until_three_were_given(given: int) -> None:
    bodies = dice()
    for body in bodies:
        Maker(1).short_stop(body, 500.0)
    verdict = judged(thrown(bodies), CV1, warnings=given)
    assert (verdict.ruling, verdict.warning) == (Ruling.VALID, True)
    assert "the shooter is warned" in verdict.sentence
    assert {notice.code for notice in verdict.notices} == {"wall_warning"}


def test_CV1_SHOOT_3_after_the_warnings_a_miss_is_a_no_roll() -> None:
    bodies = dice()
    for body in bodies:
        Maker(1).short_stop(body, 500.0)
    verdict = judged(thrown(bodies), CV1, warnings=3)
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 1), ("no_wall_hit", 2)])
    assert verdict.reasons[0].rule == "CV1-SHOOT-3"
    assert not verdict.warning


@pytest.mark.parametrize("given", [0, 3, 9])
def test_CV1_SHOOT_4_one_dies_hit_stands_with_a_warning(given: int) -> None:
    verdict = judged(short_of_the_wall(), CV1, warnings=given)
    assert (verdict.ruling, verdict.warning, verdict.dice) == (Ruling.VALID, True, (4, 3))


def test_V1_26_both_hits_stand_without_a_warning() -> None:
    verdict = judged(thrown(dice()), CV1)
    assert (verdict.ruling, verdict.warning) == (Ruling.VALID, False)


@pytest.mark.parametrize("given", [0, 3])
def test_CV1_SHOOT_4_doubt_about_one_die_changes_nothing_where_the_other_hit(given: int) -> None:
    verdict = judged(stopped_at(0.5), CV1, warnings=given)
    assert (verdict.ruling, verdict.warning) == (Ruling.VALID, False)
    assert [(notice.code, notice.die) for notice in verdict.notices] == [("wall_unclear", 2)]


def test_CV1_SHOOT_3_doubt_that_decides_is_a_review() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[0], 500.0)
    Maker(1).short_stop(bodies[1], 0.5)
    throw = thrown(bodies)
    assert judged(throw, CV1, warnings=0).ruling is Ruling.VALID
    assert ruled(judged(throw, CV1, warnings=3)) == (Ruling.REVIEW, [("wall_unclear", 2)])


def test_CV1_SHOOT_3_the_near_end_does_not_count() -> None:
    verdict = judged(thrown(near_end()), CV1, warnings=3)
    assert (verdict.ruling, verdict.warning) == (Ruling.VALID, True)


def side_wall() -> list[Body]:
    bodies = dice()
    bodies[1].stops_at = None
    bodies[1].x, bodies[1].vx, bodies[1].vy, bodies[1].slowing = 450.0, 1.6, 1.2, 1.6
    return bodies


def test_H_LEGAL_1_any_wall_counts() -> None:
    throw = thrown(side_wall())
    assert throw.hit[1] == {"back"}
    assert judged(throw, HIGH_ROLLER).ruling is Ruling.VALID
    assert ruled(judged(throw, C34)) == (Ruling.VOID, [("no_wall_hit", 2)])


def test_H_LEGAL_1_a_die_that_hits_no_wall_is_an_illegal_roll() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[1], 800.0)
    verdict = judged(thrown(bodies), HIGH_ROLLER)
    assert ruled(verdict) == (Ruling.VOID, [("no_wall_hit", 2)])
    assert "both must hit a wall (H-LEGAL-1)" in verdict.sentence


@pytest.mark.parametrize("rules", [C34, CV1, HIGH_ROLLER])
def test_every_verdict_names_its_evidence_in_time_order(rules: ThrowRules) -> None:
    throw = thrown(dice())
    evidence = judged(throw, rules).evidence
    assert list(evidence) == sorted(evidence, key=lambda reading: reading.t)
    assert set(map(id, evidence)) <= set(map(id, throw.readings))
    assert len(impacts(throw)) > 0
    assert len([r for r in evidence if r in impacts(throw)]) == 2
    assert release(throw, 1) in evidence
