"""R-SPIN-2: spins on a worn, damp or dirty stretch of track, which slows the ball in each lap."""

import pytest

from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned
from tests.rules.wheel.judging import judged, played
from tests.rules.wheel.simulator import Scene, spin, wheel

FOUR = wheel(0.0, 90.0, 180.0, 270.0)
STRETCHES = [(0.1, 0.25, 0.08), (0.55, 0.1, 0.2), (0.8, 0.3, -0.03)]
"""Worn, damp and polished stretches: start, length, and the additional loss of speed."""


@pytest.mark.parametrize("worn", STRETCHES)
@pytest.mark.parametrize("revolutions", [4.7, 9.0, 15.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_R_SPIN_2_turns_on_a_worn_track_are_counted(
    seed: int, revolutions: float, worn: tuple[float, float, float]
) -> None:
    verdict = judged(spin(Scene(wheel=FOUR, worn=worn, revolutions=revolutions, seed=seed)))
    assert verdict.ruling is Ruling.VALID
    assert verdict.revolutions == pytest.approx(revolutions, abs=0.3)


@pytest.mark.parametrize("worn", STRETCHES)
def test_R_IRR_2_too_few_turns_on_a_worn_track_are_no_spin(worn: tuple[float, float, float]) -> None:
    assert judged(spin(Scene(wheel=FOUR, worn=worn, revolutions=2.7))).ruling is Ruling.VOID


@pytest.mark.parametrize("worn", STRETCHES)
def test_R_SPIN_3_a_worn_track_is_learned_in_a_spin(worn: tuple[float, float, float]) -> None:
    learned = played(spin(Scene(wheel=FOUR, worn=worn)), learned=Learned()).learned
    made = spin(Scene(wheel=FOUR, worn=worn, revolutions=11.0, seed=2))
    closed_us = played(made, learned=learned).closed_us
    assert closed_us is not None
    assert (made.left_us - closed_us) / 1e6 == pytest.approx(3.0, abs=0.6)
