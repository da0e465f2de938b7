"""R-SPIN-4: a pushed rotor, or an index sensor that detects two marks, never produces a wrong number."""

from itertools import pairwise

import pytest

from controller.model.readings import PocketBall, Reading, RotorIndex
from controller.model.verdicts import Ruling
from tests.rules.wheel.judging import judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin

TURN_S = 2.6


def with_rotor(made: Spin, pushed_us: int, times: float) -> list[Reading]:
    """Return the spin's readings with a rotor at constant speed, multiplied by `times` at a push.

    The ball's pocket stays the same.
    """
    scene = made.scene
    step_deg = 360.0 / len(scene.wheel.pockets_clockwise)
    mark_deg = scene.wheel.pocket_reader_deg + scene.pocket * step_deg
    offset = -(mark_deg - scene.wheel.rotor_index_deg) / 360.0 % 1.0
    phase = 0.37

    def when_us(turns: float) -> int:
        after = turns - phase
        return pushed_us + round(after * TURN_S * 1e6 / (times if after > 0 else 1.0))

    marks: list[Reading] = [RotorIndex(t=when_us(n), dev="wheel", direction="cw") for n in range(-12, 30)]
    settled_us = made.left_us + 2_000_000
    passes_us = [when_us(n + offset) for n in range(-12, 30)]
    reads_us = [t for t in passes_us if t > settled_us][:6]
    last_us = reads_us[-1] + 3_000_000
    reads: list[Reading] = [PocketBall(t=t, dev="wheel") for t in reads_us]
    return in_order([*made.without(RotorIndex, PocketBall), *(m for m in marks if m.t < last_us), *reads])


@pytest.mark.parametrize("times", [1.03, 1.07, 1.15])
@pytest.mark.parametrize("before_s", [0.5, 2.0, 4.5, 7.0, 11.0])
@pytest.mark.parametrize("pocket", [0, 13])
def test_R_SPIN_4_a_rotor_pushed_before_the_launch_gives_the_right_number(
    pocket: int, before_s: float, times: float
) -> None:
    made = spin(Scene(revolutions=12.0, pocket=pocket, bounces=0))
    readings = with_rotor(made, made.launched_us - round(before_s * 1e6), times)
    verdict = played(made, readings).verdict
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


@pytest.mark.parametrize("times", [0.9, 0.96, 1.04, 1.1, 1.4])
@pytest.mark.parametrize("after_s", [0.5, 3.0, 4.2, 5.5, 6.9, 8.0])
def test_R_SPIN_4_a_rotor_touched_while_its_pocket_is_read_gives_no_wrong_number(
    after_s: float, times: float
) -> None:
    made = spin(Scene(revolutions=12.0, pocket=13, bounces=0))
    verdict = played(made, with_rotor(made, made.left_us + round(after_s * 1e6), times)).verdict
    assert verdict.number in (None, made.number)


@pytest.mark.parametrize("fraction", [0.1, 0.31, 0.5, 0.77])
@pytest.mark.parametrize("seen", [1.0, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_R_SPIN_4_a_second_mark_on_the_rotor_is_detected(seed: int, seen: float, fraction: float) -> None:
    made = spin(Scene(seed=seed, bounces=0))
    marks = [mark.t for mark in made.of(RotorIndex)]
    shown = round(seen * 10)
    second: list[Reading] = [
        RotorIndex(t=t + round(fraction * (later - t)), dev="wheel", direction="cw")
        for i, (t, later) in enumerate(pairwise(marks))
        if (i * 7 + seed) % 10 < shown
    ]
    for verdict in (judged(made, made.and_also(*second)), played(made, made.and_also(*second)).verdict):
        assert verdict.ruling is not Ruling.VOID
        assert verdict.ruling is Ruling.REVIEW or verdict.number == made.number
