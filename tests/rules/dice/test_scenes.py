"""Simulated throws: no wrong call, no void of a valid throw, and few reviews."""

import pytest

from controller.model.verdicts import Ruling
from tests.rules.dice.scenes import RIGHT, SELDOM, Scene, hit_and_blocked, lost_impacts, turned_short
from tests.rules.dice.tables import C34, judged
from tests.rules.dice.throws import LENGTH, WIDTH, Maker, Throw

SEEDS = 14
SOAK_SEEDS = 1000


def in_the_open(throw: Throw) -> bool:
    """Return whether only the walls matter: no die rests in the bank or the cup, and the dice rest apart."""
    one, two = throw.bodies
    apart = abs(one.x - two.x) + abs(one.y - two.y)
    zoned = any(1500 < b.x < 2100 and not 160 < b.y < 880 for b in throw.bodies)
    return (
        apart > 10.0
        and not zoned
        and all(b.leaves or (0 < b.x < LENGTH and 0 < b.y < WIDTH) for b in throw.bodies)
    )


def truly(throw: Throw) -> Ruling:
    """Return the correct ruling: a roll if both dice touched an end and stayed on the table."""
    both = all(hit & {"left", "right"} for hit in throw.hit)
    return Ruling.VALID if both and not any(body.leaves for body in throw.bodies) else Ruling.VOID


def judge_seeds(scene: Scene, seeds: range) -> list[Ruling]:
    rulings = []
    for seed in seeds:
        throw = scene(Maker(seed))
        if not in_the_open(throw):
            continue
        verdict = judged(throw, C34)
        place = f"{scene.__name__}, seed {seed}: {verdict.sentence}"
        assert verdict.ruling in {Ruling.REVIEW, truly(throw)}, place
        assert verdict.ruling in RIGHT[scene], place
        if verdict.ruling is Ruling.VALID:
            assert verdict.dice is not None
            assert sorted(verdict.dice) == sorted(throw.faces), place
        rulings.append(verdict.ruling)
    return rulings


@pytest.mark.parametrize("scene", list(RIGHT), ids=lambda scene: str(scene.__name__))
def test_every_kind_of_scene_gets_its_true_verdict(scene: Scene) -> None:
    rulings = judge_seeds(scene, range(SEEDS))
    assert len(rulings) > SEEDS // 2
    if scene in SELDOM:
        of_a_few = 1 if SELDOM[scene] > 0.05 else 0
        assert rulings.count(Ruling.REVIEW) <= SELDOM[scene] * len(rulings) + of_a_few


@pytest.mark.parametrize("seed", [1029, 1224, 1297, 1335, 1643, 1661, 1890])
def test_a_die_turned_by_an_obstacle_right_after_its_hit_is_not_void(seed: int) -> None:
    """The die's path back into the wall does not contradict the detected hit."""
    judge_seeds(hit_and_blocked, range(seed, seed + 1))


def test_a_sound_that_fits_no_turn_does_not_hide_a_turn_of_the_track() -> None:
    """The other die's touch, 28 ms after this die's undetected touch, is not this die's turn."""
    judge_seeds(lost_impacts, range(1566, 1567))


@pytest.mark.parametrize("seed", [1243, 1816])
def test_a_die_that_turned_short_is_not_put_at_the_wall_by_the_other_dies_sound(seed: int) -> None:
    """At the wall it would have made that sound, or its ringing; without a sound, the die turned short."""
    judge_seeds(turned_short, range(seed, seed + 1))


@pytest.mark.slow
@pytest.mark.parametrize("scene", list(RIGHT), ids=lambda scene: str(scene.__name__))
def test_thousands_of_scenes_get_their_true_verdict(scene: Scene) -> None:
    rulings = judge_seeds(scene, range(1000, 1000 + SOAK_SEEDS))
    if scene in SELDOM:
        assert rulings.count(Ruling.REVIEW) <= SELDOM[scene] * len(rulings)
