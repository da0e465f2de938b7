"""A wheel's angles are found from a slowing ball and rotor, independently of the angles in the file."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.geometry import Wheel
from controller.model.readings import AnyReading, BallBeam, PocketBall, RotorIndex
from controller.replay.log import open_log
from controller.technician.calibration import CalibratedValues, UnfitError
from controller.technician.wheel_calibration import angle_difference_deg, calibrate_wheel
from drivers.sim.wheel import EUROPEAN, croupier_at, draw_wheel_geometry

LOGS = Path(__file__).parents[1] / "logs"
ANGLE_DEG = 1.0
RESTING_S = 16.0


def spins(wheel: Wheel, rng: Random, count: int = 3, missed: float = 0.03) -> list[AnyReading]:
    reported: list[AnyReading] = []
    for number in range(count):
        hand = croupier_at(rng, wheel, number * 160.0)
        spin = hand.spin(rng.uniform(14, 28))
        spin.faults.missed, spin.faults.doubled = missed, 0.02
        reported += [reading for _, reading in hand.sensed("spin", spin)[0]]
    return reported


def resting(wheel: Wheel, rng: Random, number: str) -> list[AnyReading]:
    """Return a rotor that turns slowly with the ball in a pocket."""
    hand = croupier_at(rng, wheel, 0.0)
    spin = hand.spin(7.0, longer_turns=4.0)
    hand.rest_in_pocket(spin, wheel.pockets_clockwise.index(number), spin.ball.end_s + 1.0)
    feed, _ = hand.sensed("resting", spin)
    return [reading for _, reading in feed if isinstance(reading, RotorIndex | PocketBall)]


def beams_of(found: CalibratedValues) -> Sequence[float]:
    beams = found.values["wheel", "beams_deg"]
    assert isinstance(beams, tuple)
    return [beam for beam in beams if isinstance(beam, float)]


def guessed(wheel: Wheel) -> Wheel:
    """Return the wheel with the unmeasured angles of a table's file."""
    beams = (wheel.beams_deg[0], *(0.0 for _ in wheel.beams_deg[1:]))
    return msgspec.structs.replace(wheel, beams_deg=beams, drop_rev_per_s=0.3, rotor_index_deg=0.0)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_beams_index_and_drop_of_any_wheel_are_found(seed: int) -> None:
    rng = Random(seed)
    wheel = draw_wheel_geometry(rng)
    number = rng.choice(wheel.pockets_clockwise)
    found = calibrate_wheel(
        spins(wheel, rng), guessed(wheel), resting=resting(wheel, rng, number), number=number
    )
    for told, true in zip(beams_of(found), wheel.beams_deg, strict=True):
        assert abs(angle_difference_deg(told, true)) < ANGLE_DEG
    index = found.values["wheel", "rotor_index_deg"]
    assert isinstance(index, float)
    assert abs(angle_difference_deg(index, wheel.rotor_index_deg)) < 360 / len(wheel.pockets_clockwise) / 3
    assert found.values["wheel", "drop_rev_per_s"] == pytest.approx(wheel.drop_rev_per_s, rel=0.1)


@pytest.mark.parametrize(
    "name",
    ["roulette-american", "roulette-european-rulings", "sim-roulette-american", "sim-roulette-european"],
)
def test_the_angles_in_a_recordings_header_are_found_from_its_readings(name: str) -> None:
    with open_log(str(LOGS / f"{name}.jsonl.gz")) as log:
        wheel, readings = log.header.wheel, [reading for reading in log if reading.dev == "wheel"]
    assert wheel is not None
    found = calibrate_wheel(readings, guessed(wheel))
    for measured, true in zip(beams_of(found), wheel.beams_deg, strict=True):
        assert abs(angle_difference_deg(measured, true)) < 0.5
    assert found.values["wheel", "drop_rev_per_s"] == pytest.approx(wheel.drop_rev_per_s, rel=0.05)
    assert ("wheel", "rotor_index_deg") not in found.values


def test_a_beam_that_never_saw_the_ball_is_named() -> None:
    with open_log(str(LOGS / "sim-roulette-dead-beam.jsonl.gz")) as log:
        wheel, readings = log.header.wheel, list(log)
    assert wheel is not None
    with pytest.raises(UnfitError, match=r"no pulses from beam 1, .*tablectl test"):
        calibrate_wheel(readings, wheel)


def test_one_short_spin_is_too_little() -> None:
    rng = Random(4)
    hand = croupier_at(rng, EUROPEAN, 0.0)
    readings = [reading for _, reading in hand.sensed("spin", hand.spin(5.0))[0]]
    with pytest.raises(UnfitError, match=r"found \d+ usable passes at beam \d, expected at least 12"):
        calibrate_wheel(readings, EUROPEAN)


def test_with_a_rotor_at_rest_the_balls_direction_stays_open() -> None:
    reported = [reading for reading in spins(EUROPEAN, Random(5)) if isinstance(reading, BallBeam)]
    with pytest.raises(UnfitError, match="found no pulse of the rotor's index"):
        calibrate_wheel(reported, EUROPEAN)


def test_random_pulses_are_not_a_ball() -> None:
    rng = Random(6)
    reported = [r for r in spins(EUROPEAN, rng) if not (isinstance(r, BallBeam) and r.beam == 2)]
    last_us = max(reading.t for reading in reported)
    reported += [BallBeam(t=rng.randrange(last_us), dev="wheel", beam=2) for _ in range(600)]
    with pytest.raises(UnfitError, match=r"beam 2 scatter by \d+"):
        calibrate_wheel(reported, EUROPEAN)


def test_a_ball_that_hopped_gives_no_index_angle() -> None:
    rng = Random(7)
    readings = [r for r in spins(EUROPEAN, rng) if not isinstance(r, PocketBall)]
    with pytest.raises(UnfitError, match="found 0 pocket readings while the rotor turned"):
        calibrate_wheel(readings, EUROPEAN, number="0")
    one, other = resting(EUROPEAN, rng, "0"), resting(EUROPEAN, rng, "10")
    later = [msgspec.structs.replace(reading, t=reading.t + 600_000_000) for reading in other]
    with pytest.raises(UnfitError, match="check that the ball stays in its pocket"):
        calibrate_wheel(readings, EUROPEAN, resting=[*one, *later], number="0")
