"""Two dice are solid. Readings that put both in the same space are a conflict (C34-PT-3)."""

from random import Random

import pytest
from msgspec.structs import replace

from controller.model.readings import DieAt, DieRest
from controller.model.verdicts import Ruling
from tests.rules.dice.tables import C34, dice, judged, of, ruled, thrown, track
from tests.rules.dice.throws import EDGE, NOISE, Throw

CONFLICT = (Ruling.REVIEW, [("conflict", None)])


def beside(apart_mm: float, *, all_the_way: bool = True, seed: int = 1) -> Throw:
    """Return a throw with die 2 at this distance next to die 1, all the way or only at rest."""
    throw, rng = thrown(dice(y=(500.0, 545.0), late_ms=0.0)), Random(seed)
    rest = of(throw, 1)
    readings = [
        r
        for r in throw.readings
        if not (isinstance(r, DieRest) or (isinstance(r, DieAt) and all_the_way)) or r.die == 1
    ]
    if all_the_way:
        readings += [
            replace(p, die=2, x=p.x + rng.gauss(0, NOISE), y=500.0 + apart_mm + rng.gauss(0, NOISE))
            for p in track(throw, 1)
        ]
    readings.append(replace(rest, die=2, y=rest.y + apart_mm, up=3))
    return Throw("beside", [], sorted(readings, key=lambda r: r.t), throw.decided_at_us, throw.hit)


@pytest.mark.parametrize("apart_mm", [0.0, 8.0, 12.0])
def test_dice_at_rest_nearer_than_an_edge_are_a_conflict(apart_mm: float) -> None:
    verdict = judged(beside(apart_mm, all_the_way=False), C34)
    assert verdict.ruling is Ruling.REVIEW
    assert (
        f"both dice were seen at rest where there is room for only one, {apart_mm:.0f} mm apart"
        in verdict.sentence
    )


def test_one_die_reported_twice_is_recognized_by_the_mean_distance() -> None:
    verdict = judged(beside(17.0))
    assert ruled(verdict) == CONFLICT
    assert "apart on average" in verdict.sentence


@pytest.mark.parametrize("seed", range(5))
def test_dice_an_edge_apart_throughout_are_two_dice(seed: int) -> None:
    assert judged(beside(EDGE + 1.0, seed=seed)).ruling is Ruling.VALID


def test_dice_that_fly_above_each_other_for_a_while_are_two_dice() -> None:
    throw = beside(60.0)
    start = throw.readings[0].t
    above = [
        replace(r, y=r.y - 55.0) if isinstance(r, DieAt) and r.die == 2 and r.t < start + 300_000 else r
        for r in throw.readings
    ]
    verdict = judged(Throw("above", [], above, throw.decided_at_us, throw.hit))
    assert "apart on average" not in verdict.sentence
