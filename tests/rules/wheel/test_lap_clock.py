"""The ball's laps, timed by one beam each."""

import pytest

from controller.model.readings import BallBeam
from controller.rules.wheel import Learned
from controller.rules.wheel.laps import LapClock
from tests.rules.wheel.simulator import Scene, Spin, spin


def clocked(made: Spin, *, until_us: int | None = None) -> LapClock:
    clock = LapClock(Learned(), made.scene.wheel.drop_rev_per_s)
    for pulse in made.of(BallBeam):
        assert isinstance(pulse, BallBeam)
        if until_us is None or pulse.t <= until_us:
            clock.see(pulse.t, pulse.beam)
    return clock


def test_every_pulse_after_the_first_lap_closes_one() -> None:
    made = spin(Scene())
    assert len(clocked(made).laps) == len(made.of(BallBeam)) - 3


def test_speed_and_deceleration_near_the_drop() -> None:
    made = spin(Scene(drop_speed=0.48))
    clock = clocked(made)
    assert clock.speed_at(made.left_us) == pytest.approx(0.48, abs=0.01)
    assert clock.deceleration == pytest.approx(0.045 + 0.022 * 0.6**2, rel=0.15)


def test_a_doubled_pulse_closes_no_lap() -> None:
    for seed in range(6):
        doubled = spin(Scene(doubled=0.3, seed=seed))
        plain = spin(Scene(seed=seed))
        assert len(clocked(doubled).laps) == len(clocked(plain).laps)


def test_a_stray_pulse_disturbs_no_lap() -> None:
    for seed in range(10):
        made = spin(Scene(stray_pulses=2, seed=seed))
        clock = clocked(made)
        assert clock.speed_at(made.left_us) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("stray_us", [-1_300_000, 260_000, 450_000])
def test_a_false_first_lap_is_given_up(stray_us: int) -> None:
    made = spin(Scene(revolutions=8.0))
    first = made.of(BallBeam)[0]
    assert isinstance(first, BallBeam)
    clock = LapClock(Learned(), 0.5)
    for pulse in made.and_also(BallBeam(t=first.t + stray_us, dev="wheel", beam=first.beam)):
        if isinstance(pulse, BallBeam):
            clock.see(pulse.t, pulse.beam)
    assert clock.speed_at(made.left_us) == pytest.approx(0.5, abs=0.02)


def test_two_laps_taken_for_one_are_found_out() -> None:
    made = spin(Scene(dead_beams=frozenset({1})))
    pulses = [r for r in made.of(BallBeam) if isinstance(r, BallBeam)]
    second = {0: 0, 2: 0}
    kept = []
    for pulse in pulses:
        second[pulse.beam] += 1
        if second[pulse.beam] != 2:
            kept.append(pulse)
    clock = LapClock(Learned(), 0.5)
    for pulse in kept:
        clock.see(pulse.t, pulse.beam)
    assert clock.speed_at(made.left_us) == pytest.approx(0.5, abs=0.02)


def test_before_the_second_lap_nothing_is_predicted() -> None:
    made = spin(Scene())
    fourth, fifth = made.of(BallBeam)[3:5]
    assert clocked(made, until_us=fourth.t).predicted_drop_us() is None
    assert clocked(made, until_us=fifth.t).predicted_drop_us() is not None
