"""A ball caught in the track. Its revolutions after a second launch are a separate run."""

from dataclasses import replace

import pytest

from controller.model.readings import BallBeam, Reading
from controller.model.verdicts import Ruling
from tests.rules.wheel.judging import codes, judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin, wheel

FOUR = wheel(0.0, 90.0, 180.0, 270.0)
SHORT = Scene(wheel=FOUR, revolutions=3.0)
"""The run of the second launch, with too few revolutions to count."""


def launched_again(kept: int, hidden: int, pause_s: float, seed: int) -> tuple[Spin, list[Reading]]:
    """Return a ball that makes `kept` passes, is caught, and is launched again for three revolutions.

    Its first pass after the second launch comes `pause_s` after its last pass. The `hidden` beams in between
    detect nothing.
    """
    second = spin(replace(SHORT, seed=seed))
    first = spin(Scene(wheel=FOUR, revolutions=9.0, seed=seed))
    begun = second.of(BallBeam)[0]
    assert isinstance(begun, BallBeam)
    cut = [r for r in first.readings if isinstance(r, BallBeam)][:kept]
    turn = (begun.beam - hidden - cut[-1].beam) % 4
    shift_us = begun.t - round(pause_s * 1e6) - cut[-1].t
    before: list[Reading] = [
        BallBeam(t=pulse.t + shift_us, dev=pulse.dev, beam=(pulse.beam + turn) % 4) for pulse in cut
    ]
    return second, in_order([*second.readings, *before])


@pytest.mark.parametrize("kept", [5, 8, 12])
@pytest.mark.parametrize(("hidden", "pause_s"), [(2, 0.8), (3, 1.1), (3, 1.3), (4, 1.2), (4, 1.6), (5, 1.9)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_R_SPIN_2_two_runs_separated_by_a_hand_are_never_added_up(
    kept: int, hidden: int, pause_s: float, seed: int
) -> None:
    second, readings = launched_again(kept, hidden, pause_s, seed)
    assert judged(second, readings).ruling is not Ruling.VALID
    assert played(second, readings).verdict.ruling is not Ruling.VALID


@pytest.mark.parametrize("seed", range(6))
def test_R_SPIN_2_a_beam_or_two_that_missed_a_running_ball_do_not_split_the_run(seed: int) -> None:
    made = spin(Scene(wheel=FOUR, revolutions=9.0, seed=seed))
    pulses = made.of(BallBeam)
    for at in range(6, len(pulses) - 2, 5):
        missed = {id(pulses[at]), id(pulses[at + 8 if at + 8 < len(pulses) else at])}
        verdict = judged(made, [r for r in made.readings if id(r) not in missed])
        assert (verdict.ruling, codes(verdict)) == (Ruling.VALID, []), verdict.sentence
