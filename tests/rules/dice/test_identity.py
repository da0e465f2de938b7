"""Swapping the dice's identities never turns a void into a call, nor shows a wrong face."""

import pytest
from msgspec.structs import replace

from controller.model.verdicts import Ruling
from tests.rules.dice.scenes import exchanged
from tests.rules.dice.tables import C34, adding, dice, judged, ruled, thrown, track
from tests.rules.dice.throws import Body, Maker, Throw


def met_and_hit_again() -> tuple[Throw, float]:
    """Die 1 hits, comes back to die 2, short of the wall, and hits again; give also when they met."""
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
def test_exchanged_where_they_met_it_is_never_a_call(late_ms: float) -> None:
    throw, met = met_and_hit_again()
    under_other_names = exchanged(throw, throw.readings[0].t + int(1000 * (met + late_ms)))
    assert judged(under_other_names).ruling is not Ruling.VALID


@pytest.mark.parametrize("at_ms", [200.0, 700.0, 800.0, 1000.0])
def test_dice_exchanged_far_from_each_other_are_told_by_the_jump(at_ms: float) -> None:
    throw = thrown(dice())
    jumped = exchanged(throw, throw.readings[0].t + int(1000 * at_ms))
    verdict = judged(jumped)
    assert ruled(verdict) == (Ruling.REVIEW, [("conflict", 1), ("conflict", 2)])
    assert "jumps by" in verdict.sentence


def test_one_point_far_off_the_track_is_a_conflict_not_a_hit() -> None:
    bodies = dice()
    Maker(1).short_stop(bodies[1], 300.0)
    throw = thrown(bodies)
    point = track(throw, 2)[-20]
    stray = adding(throw, replace(point, t=point.t + 3000, x=3590.0))
    assert ruled(judged(stray)) == (Ruling.REVIEW, [("conflict", 2)])


def parallel(gap_ms: float) -> list[Body]:
    return dice(y=(500.0, 545.0), late_ms=gap_ms)


@pytest.mark.parametrize("gap_ms", [0.0, 3.0, 30.0, 100.0])
def test_dice_side_by_side_that_both_hit_are_a_roll_whoever_is_who(gap_ms: float) -> None:
    assert judged(thrown(parallel(gap_ms))).ruling is Ruling.VALID


def test_an_exchange_in_mid_table_changes_no_total() -> None:
    bodies = dice(y=(400.0, 700.0), late_ms=0.0)
    bodies[0].vy, bodies[1].vy = 0.4, -0.4
    throw = thrown(bodies)
    meet = min(
        zip(bodies[0].points, bodies[1].points, strict=False), key=lambda pair: abs(pair[0][2] - pair[1][2])
    )
    swapped = exchanged(throw, throw.readings[0].t + int(1000 * meet[0][0]))
    verdict = judged(swapped, C34)
    assert ruled(verdict) == (Ruling.VALID, [])
    assert verdict.dice == (3, 4)
    assert judged(throw, C34).dice == (4, 3)
