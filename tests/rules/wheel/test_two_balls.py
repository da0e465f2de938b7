"""Two balls in the track at once are never called, whichever ball came to rest in the number."""

import pytest

from controller.model.readings import BallBeam, BallDrop, Reading
from controller.model.verdicts import Ruling
from tests.rules.wheel.judging import codes, judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin, wheel

FOUR = wheel(0.0, 90.0, 180.0, 270.0)
EIGHT = wheel(*(45.0 * beam for beam in range(8)))


def _with_second(scene: Scene, after_s: float, turns: float) -> tuple[Spin, list[Reading]]:
    """Return a spin, and its readings with a second ball launched in the same direction during its run."""
    first = spin(scene)
    again = spin(
        Scene(
            wheel=scene.wheel,
            revolutions=turns,
            seed=scene.seed + 1,
            begins_us=scene.begins_us + round(after_s * 1e6),
        )
    )
    return first, in_order([*first.readings, *again.of(BallBeam, BallDrop)])


@pytest.mark.parametrize("turns", [5.0, 6.0, 8.0])
@pytest.mark.parametrize("after_s", [0.5, 1.2, 2.5, 4.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gap_R_8_a_second_ball_in_the_track_is_never_called(seed: int, after_s: float, turns: float) -> None:
    first, readings = _with_second(Scene(wheel=FOUR, revolutions=19.0, seed=seed), after_s, turns)
    assert played(first, readings).verdict.ruling is not Ruling.VALID


@pytest.mark.parametrize(("seed", "after_s"), [(7, 3.7), (23, 3.7), (34, 2.6)])
def test_gap_R_8_two_balls_that_pass_a_beam_together_and_exchange_its_pulses_stay_two(
    seed: int, after_s: float
) -> None:
    first, readings = _with_second(Scene(wheel=EIGHT, revolutions=17.0, seed=seed), after_s, 7.0)
    assert judged(first, readings).ruling is not Ruling.VALID


def test_gap_R_8_pulses_of_a_second_ball_are_a_conflict() -> None:
    first, readings = _with_second(Scene(wheel=FOUR, revolutions=19.0), 1.2, 6.0)
    verdict = judged(first, readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])
    assert "a second ball" in verdict.sentence


@pytest.mark.parametrize("seed", range(6))
def test_R_SPIN_2_dust_is_not_a_second_ball(seed: int) -> None:
    dusty = spin(Scene(wheel=FOUR, revolutions=16.0, stray_pulses=12, missed=0.05, seed=seed))
    assert judged(dusty).ruling is Ruling.VALID
