"""A person's hand on the rotor voids the spin until the ball is at rest, but not afterwards."""

from collections.abc import Sequence

import pytest

from controller.model.readings import (
    BallBeam,
    BallDrop,
    DeviceDown,
    DeviceUp,
    PocketBall,
    Reading,
    RotorIndex,
    Turning,
)
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned
from tests.rules.wheel.judging import codes, judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin

SILENT = spin(Scene(turns_read=0, bounces=0, settle_s=30.0))
"""The ball drops, and is not read in any pocket."""


def _handled(after_us: int, direction: Turning, *, faster: float = 1.0, made: Spin = SILENT) -> list[Reading]:
    """Return the readings of a spin whose rotor is reversed, or pushed and perhaps accelerated."""
    marks = [r for r in made.of(RotorIndex) if r.t > after_us]
    first_us = marks[0].t
    new = [
        RotorIndex(t=first_us + round((r.t - first_us) / faster) + 300_000, dev="wheel", direction=direction)
        for r in marks
    ]
    return in_order([*[r for r in made.readings if r not in marks], *new])


@pytest.mark.parametrize("drop_sensed", [True, False])
def test_gap_R_8_a_rotor_reversed_long_after_the_ball_came_to_rest_voids_nothing(drop_sensed: bool) -> None:
    readings = _handled(SILENT.left_us + 8_300_000, "ccw")
    if not drop_sensed:
        readings = [r for r in readings if not isinstance(r, BallDrop)]
    table = played(SILENT, readings)
    assert (table.verdict.ruling, set(codes(table.verdict))) == (Ruling.REVIEW, {"missing_reading"})
    assert "reversed and now turns counter-clockwise" in table.verdict.sentence
    reported = [r.t for r in readings if isinstance(r, RotorIndex) and r.direction == "ccw"]
    assert table.decided_us == reported[1]


@pytest.mark.parametrize("pulses", [4, 5, 6, 7, 8])
def test_gap_R_8_a_rotor_reversed_for_the_next_launch_voids_nothing(pulses: int) -> None:
    """The dealer reverses the rotor and launches the ball before the second index pass shows the reversal."""
    readings = _handled(SILENT.left_us + 8_300_000, "ccw")
    reported = [r for r in readings if isinstance(r, RotorIndex) and r.direction == "ccw"]
    beams = [r for r in SILENT.readings if isinstance(r, BallBeam)][:pulses]
    shift_us = reported[1].t - 1 - beams[-1].t
    launched = [BallBeam(t=r.t + shift_us, dev="wheel", beam=r.beam) for r in beams]
    assert reported[0].t < launched[0].t
    table = played(SILENT, in_order([*readings, *launched]))
    assert (table.verdict.ruling, set(codes(table.verdict))) == (Ruling.REVIEW, {"missing_reading"})
    assert table.decided_us <= reported[1].t


def test_gap_R_8_a_rotor_reversed_while_the_ball_is_bouncing_is_no_spin() -> None:
    table = played(SILENT, _handled(SILENT.left_us + 1_000_000, "ccw"))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["rotor_reversed"])


def test_gap_R_8_a_rotor_pushed_again_ends_a_spin_that_was_not_read() -> None:
    readings = _handled(SILENT.left_us + 8_300_000, "cw", faster=1.6)
    table = played(SILENT, readings)
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.REVIEW, ["missing_reading"])
    anew = [r.t for r in readings if isinstance(r, RotorIndex) and r.t > SILENT.left_us + 8_300_000]
    assert table.decided_us == anew[1]


def _unseen(down_us: int, up_us: int, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of a spin whose wheel board is down between these times."""
    seen = [r for r in readings if not down_us < r.t < up_us]
    return in_order([*seen, DeviceDown(t=down_us, dev="wheel"), DeviceUp(t=up_us, dev="wheel")])


@pytest.mark.parametrize("turned_after_us", [-2_000_000, 1_000_000, 4_000_000])
def test_gap_R_8_after_an_unseen_drop_a_rotor_reversed_later_voids_nothing(
    turned_after_us: int,
) -> None:
    readings = _unseen(
        SILENT.left_us - 2_500_000,
        SILENT.left_us + 4_500_000,
        _handled(SILENT.left_us + turned_after_us, "ccw"),
    )
    table = played(SILENT, readings)
    assert (table.verdict.ruling, set(codes(table.verdict))) == (Ruling.REVIEW, {"missing_reading"})
    assert table.decided_us <= SILENT.left_us + 14_000_000


def test_gap_R_8_a_rotor_reversed_before_the_wheel_was_lost_is_no_spin() -> None:
    readings = _unseen(
        SILENT.left_us - 500_000, SILENT.left_us + 4_500_000, _handled(SILENT.left_us - 9_000_000, "ccw")
    )
    verdict = judged(SILENT, readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["rotor_reversed"])


def test_gap_R_8_a_rotor_that_stops_long_after_the_ball_came_to_rest_voids_nothing() -> None:
    made = spin(Scene(rotor_speed=0.25, rotor_deceleration=0.007, turns_read=0, bounces=0, settle_s=35.0))
    stopped_us = made.launched_us + round(1e6 * 0.25 / 0.007)
    assert stopped_us > made.left_us + 9_000_000
    verdict = judged(made, until_us=stopped_us + 2_000_000, learned=Learned())
    assert (verdict.ruling, set(codes(verdict))) == (Ruling.REVIEW, {"missing_reading"})


def test_gap_R_8_a_rotor_reversed_once_the_number_is_decided_changes_nothing() -> None:
    made = spin(Scene(bounces=0))
    stood_us = next(mark.t for mark in made.of(RotorIndex) if mark.t > made.of(PocketBall)[2].t)
    readings = [r for r in _handled(stood_us, "ccw", made=made) if r.t <= stood_us or type(r) is RotorIndex]
    verdict = judged(made, readings)
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


def test_a_ball_lost_from_sight_in_its_first_lap_gets_the_time_of_the_longest_run() -> None:
    lost_us = SILENT.of(BallBeam)[2].t + 1
    table = played(SILENT, _unseen(lost_us, lost_us + 60_000_000, SILENT.readings))
    assert (table.verdict.ruling, set(codes(table.verdict))) == (
        Ruling.REVIEW,
        {"missing_reading", "revolutions_unclear"},
    )
    assert 30_000_000 < table.decided_us - SILENT.launched_us < 45_000_000
