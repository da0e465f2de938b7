"""Swapped identities of the dice never turn a void into a call and never produce a wrong face."""

from random import Random

import pytest
from msgspec.structs import replace

from controller.model.readings import Die, DieAt, DieReleased, DieRest, Reading, WallImpact
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Ruling
from controller.rules.dice import judge_throw
from tests.rules.dice.scenes import swap_names
from tests.rules.dice.tables import C34, CV1, adding, dice, judged, ruled, thrown, track
from tests.rules.dice.test_bodies import Cast, readings_of
from tests.rules.dice.throws import HALF, LENGTH, SOURCES, TABLE, Body, Maker, Throw


def met_and_hit_again() -> tuple[Throw, float]:
    """Return a throw and the time at which its dice meet: die 1 hits, meets die 2 and hits again."""
    bodies = dice(y=(500.0, 505.0))
    Maker(1).short_stop(bodies[1], 100.0)
    one = bodies[0]
    one.rolling, one.bounce, one.back_blocks = 0.3, 0.35, [(3480.0, 1.0)]
    throw = thrown(bodies)
    first, second = (t for t, _, _ in one.hits)
    away = min(one.points, key=lambda p: p[1] if first < p[0] < second else 9e9)
    return throw, away[0]


def test_under_its_own_name_one_die_hit_twice() -> None:
    throw, _ = met_and_hit_again()
    assert throw.hit[1] == frozenset()
    assert judged(throw).ruling is not Ruling.VALID


@pytest.mark.parametrize("late_ms", [-12.0, -6.0, 0.0, 6.0, 12.0])
def test_dice_swapped_where_they_met_are_never_a_call(late_ms: float) -> None:
    throw, met = met_and_hit_again()
    under_other_names = swap_names(throw, throw.readings[0].t + int(1000 * (met + late_ms)))
    assert judged(under_other_names).ruling is not Ruling.VALID


@pytest.mark.parametrize("rules", [C34, CV1])
@pytest.mark.parametrize("at_ms", [200.0, 700.0, 800.0, 1000.0])
def test_dice_swapped_far_from_each_other_are_recognized_by_the_jump(at_ms: float, rules: ThrowRules) -> None:
    throw = thrown(dice())
    jumped = swap_names(throw, throw.readings[0].t + int(1000 * at_ms))
    verdict = judged(jumped, rules)
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 1), ("conflict", 2)])
    assert "jumps by" in verdict.sentence


@pytest.mark.parametrize("apart_mm", [20.0, 200.0])
def test_dice_swapped_where_they_almost_touch_are_recognized_by_their_jumps(apart_mm: float) -> None:
    """Both tracks jump by 40 mm, each to the place of the other die. The camera error hides no contact."""
    near = Cast(9.0, 300.0, back=0.2), Cast(9.0, 300.0 + apart_mm, back=0.2, late_ms=100.0)
    at_us = int(1000 * (near[1].turn_ms + 120.0))
    reported = [
        replace(r, die=3 - r.die) if isinstance(r, DieAt | DieRest) and r.t > at_us else r
        for r in readings_of(near, seed=4)
    ]
    verdict = judge_throw(reported, TABLE, C34, decided_at_us=reported[-1].t, sources=SOURCES)
    if apart_mm < 2.0 * TABLE.die_mm:
        assert (ruled(verdict), verdict.dice) == ((Ruling.VALID, []), (2, 1))
    else:
        assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 1), ("conflict", 2)])


def test_one_point_far_off_the_track_is_a_conflict_and_not_a_hit() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[1], 300.0)
    throw = thrown(bodies)
    point = track(throw, 2)[-20]
    stray = adding(throw, replace(point, t=point.t + 3000, x=3590.0))
    assert ruled(judged(stray)) == (Ruling.REVIEW, [("conflict", 2)])


def first_seen_further(back_m_per_s: float, aside_m_per_s: float = 0.0) -> Throw:
    """Return a throw whose die 2, at 2.5 m/s, is faster by this much in its first step."""
    bodies = dice()
    bodies[1].vx = 2.5
    throw = thrown(bodies)
    first, second = track(throw, 2)[:2]
    wait_ms = (second.t - first.t) / 1000.0
    x, y = first.x - back_m_per_s * wait_ms, first.y + aside_m_per_s * wait_ms
    reported = [
        replace(r, x=x, y=y) if isinstance(r, DieAt | DieReleased) and r.die == 2 and r.t <= first.t else r
        for r in throw.readings
    ]
    return Throw(throw.kind, throw.bodies, reported, throw.decided_at_us, throw.hit)


@pytest.mark.parametrize("rules", [C34, CV1])
def test_a_die_that_strikes_the_felt_in_the_very_first_step_of_its_track_does_not_jump(
    rules: ThrowRules,
) -> None:
    verdict = judged(first_seen_further(4.0), rules)
    assert ruled(verdict) == (Ruling.VALID, [])


@pytest.mark.parametrize(("back", "aside"), [(7.0, 0.0), (-10.0, 0.0), (0.0, 7.0), (3.5, 5.0)])
def test_a_change_of_speed_that_no_landing_causes_is_a_jump_in_the_first_step_too(
    back: float, aside: float
) -> None:
    assert ruled(judged(first_seen_further(back, aside))) == (Ruling.REVIEW, [("conflict", 2)])


def test_a_first_step_that_leaves_a_wall_too_fast_is_a_jump() -> None:
    """The die's motion before it left the wall is unknown."""
    bodies = dice()
    bodies[1].vx, bodies[1].x = 2.5, 60.0
    throw = thrown(bodies)
    first, second = track(throw, 2)[:2]
    reported = [
        replace(r, x=second.x - 6.5 * (second.t - first.t) / 1000.0) if r is first else r
        for r in throw.readings
    ]
    assert ruled(judged(Throw(throw.kind, throw.bodies, reported, throw.decided_at_us, throw.hit))) == (
        Ruling.REVIEW,
        [("conflict", 2)],
    )


def parallel(gap_ms: float) -> list[Body]:
    return dice(y=(500.0, 545.0), late_ms=gap_ms)


@pytest.mark.parametrize("gap_ms", [0.0, 3.0, 30.0, 100.0])
def test_dice_side_by_side_that_both_hit_are_a_roll_under_either_name(gap_ms: float) -> None:
    assert judged(thrown(parallel(gap_ms))).ruling is Ruling.VALID


def test_a_swap_in_mid_table_changes_no_total() -> None:
    bodies = dice(y=(400.0, 700.0), late_ms=0.0)
    bodies[0].vy, bodies[1].vy = 0.4, -0.4
    throw = thrown(bodies)
    meet = min(
        zip(bodies[0].points, bodies[1].points, strict=False), key=lambda pair: abs(pair[0][2] - pair[1][2])
    )
    swapped = swap_names(throw, throw.readings[0].t + int(1000 * meet[0][0]))
    verdict = judged(swapped, C34)
    assert ruled(verdict) == (Ruling.VALID, [])
    assert verdict.dice == (3, 4)
    assert judged(throw, C34).dice == (4, 3)


Leg = tuple[float, float, float]
"""The end of the leg (ms), then its start and end as distances of the centre from the right end."""


def thrown_along(legs: tuple[list[Leg], list[Leg]], apart_mm: float = 6.0) -> Throw:
    """Return a throw whose dice move straight from place to place and hit the wall where a leg ends.

    Their lines are parallel, `apart_mm` from each other.
    """
    rng = Random(3)
    readings: list[Reading] = []
    places: tuple[tuple[Die, float], ...] = ((1, 500.0), (2, 500.0 + apart_mm))
    for index, (die, y) in enumerate(places):
        t = 0.0
        readings.append(DieReleased(t=0, dev="cam", die=die, x=LENGTH - legs[index][0][1], y=y))
        for until, start, end in legs[index]:
            first = t
            while t < until:
                gap = start + (end - start) * (t - first) / (until - first)
                x = LENGTH - gap + rng.gauss(0.0, 2.0)
                readings.append(DieAt(t=int(t * 1000), dev="cam", die=die, x=x, y=y + rng.gauss(0.0, 2.0)))
                t += 11.0
            if end == HALF:
                at = int((until + 1.2) * 1000)
                readings.append(WallImpact(t=at, dev="wall-right", wall="right", pos_mm=y, peak=500.0))
        x = LENGTH - legs[index][-1][2]
        readings.append(
            DieRest(t=int(t * 1000) + 50_000, dev="cam", die=die, x=x, y=y, up=die, confidence=0.99)
        )
    readings.sort(key=lambda reading: reading.t)
    return Throw("legs", [], readings, readings[-1].t, (frozenset(), frozenset()))


STRUCK_AND_BACK = [(700.0, 3150.0, HALF), (1000.0, HALF, 160.0)]


def test_a_knock_may_have_swapped_the_names_of_dice_that_both_seem_to_have_hit() -> None:
    """Die 2 knocks die 1 back to the wall, and a camera that tracks speeds confuses the two."""
    after = ([(1500.0, 177.0, 127.0)], [(1107.0, 160.0, HALF), (1500.0, HALF, 80.0)])
    throw = thrown_along((STRUCK_AND_BACK + after[0], [(1000.0, 2450.0, 179.0), *after[1]]))
    verdict = judged(throw)
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", None)])
    assert "may have swapped the dice" in verdict.sentence


def flown(legs: tuple[list[Leg], list[Leg]], impacts_ms: list[float]) -> list[Reading]:
    """Return the readings of two dice in line. A leg has a time, a gap from the right end, and a speed."""
    rng = Random(9)
    reported: list[Reading] = []
    numbers: tuple[Die, Die] = (1, 2)
    for die, own, y in zip(numbers, legs, (502.0, 504.0), strict=True):
        reported.append(DieReleased(t=0, dev="cam", die=die, x=LENGTH - own[0][1], y=y))
        for frame in range(100):
            t = 11.1 * frame + 3.0
            start, gap, speed = max(leg for leg in own if leg[0] <= t)
            x = LENGTH - gap - speed * (t - start)
            reported.append(
                DieAt(t=int(1000 * t), dev="cam", die=die, x=x + rng.gauss(0, 2), y=y + rng.gauss(0, 2))
            )
        reported.append(
            DieRest(t=1_160_000, dev="cam", die=die, x=x, y=y, up=die, confidence=0.98, on="felt")
        )
    reported += [
        WallImpact(t=int(1000 * at) + 1200, dev="wall-right", wall="right", pos_mm=505.0, peak=700.0)
        for at in impacts_ms
    ]
    return sorted(reported, key=lambda reading: reading.t)


def test_dice_that_fly_at_each_other_may_have_passed_where_they_seem_to_turn_back() -> None:
    """Both dice turn in one step without room for a knock, so one may have flown above the other."""
    back = [(0.0, 3150.0, -4.5), (698.0, 9.0, 2.6), (752.2, 150.0, -4.6), (782.9, 9.0, 1.5)]
    short = [(0.0, 3476.0, -4.42), (752.2, 150.0, 2.6)]
    readings = flown((back, short), [698.0, 782.9])
    verdict = judge_throw(readings, TABLE, C34, decided_at_us=readings[-1].t, sources=SOURCES)
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", None)])


PASSING = (
    [(700.0, 3150.0, HALF), (1600.0, HALF, 9.5 + 450.0)],
    [(1066.0, 2450.0, HALF), (1600.0, HALF, 250.0)],
)


def test_dice_that_pass_beside_each_other_keep_their_names() -> None:
    assert ruled(judged(thrown_along(PASSING, apart_mm=34.0))) == (Ruling.VALID, [])


def test_dice_that_seem_to_pass_through_each_other_may_have_taken_each_others_speed_and_name() -> None:
    """The second die may have knocked the first back into the wall without touching a wall itself."""
    assert ruled(judged(thrown_along(PASSING))) == (Ruling.REVIEW, [("conflict", None)])


@pytest.mark.parametrize("later_ms", [25.6, 30.0])
@pytest.mark.parametrize("seed", range(12))
def test_dice_swapped_as_one_comes_from_the_wall_and_one_flies_at_it_make_no_void(
    seed: int, later_ms: float
) -> None:
    """The dice pass between two frames at 60 frames/s. In both frames they are too far apart to touch."""
    out = Cast(9.0, 300.0, speed=4.4, back=1.75)
    into = Cast(9.0, 320.0, speed=4.9, back=1.0)
    into.late_ms = out.turn_ms + later_ms - into.turn_ms
    passed_us = int(1000 * (out.turn_ms + 16.0))
    reported = [
        replace(r, die=3 - r.die) if isinstance(r, DieAt | DieRest) and r.t > passed_us else r
        for r in readings_of((out, into), seed, frame_ms=16.7)
    ]
    verdict = judge_throw(reported, TABLE, C34, decided_at_us=reported[-1].t, sources=SOURCES)
    assert verdict.ruling is not Ruling.VOID, verdict.sentence
