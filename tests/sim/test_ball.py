"""The simulated ball, rotor and table of laps agree with physics and with published measurements."""

from itertools import pairwise
from random import Random

import pytest

from drivers.sim.wheel_models import knee, lap_house
from drivers.sim.wheel_motion import Bearing, Bowl, LossLaw, Push, Rotor, Run, Stretch, launch_speed, run

SEEDS = range(8)
LEVEL = Bowl(drop_speed=0.5)


def launched(
    turns: float, law: LossLaw | None = None, bowl: Bowl = LEVEL, direction: int = 1, start: float = 0.1
) -> Run:
    law = law or LossLaw()
    return run(
        law, bowl, launch_s=3.0, start=start, direction=direction, speed=launch_speed(law, bowl, turns)
    )


def laps_of(ball: Run) -> list[float]:
    return [b - a for a, b in pairwise(ball.passes(ball.start))]


@pytest.mark.parametrize("turns", [1.5, 4.0, 9.25, 25.0])
def test_on_a_level_track_a_ball_makes_the_turns_of_its_launch_and_leaves_at_the_drop_speed(
    turns: float,
) -> None:
    ball = launched(turns)
    assert ball.turns == pytest.approx(turns, abs=1 / 32)
    assert ball.end_speed == pytest.approx(0.5, rel=0.02)
    assert ball.at(ball.turns_at(ball.launch_s + 1.0)) == pytest.approx(ball.launch_s + 1.0, abs=1e-3)


def test_a_ball_without_air_resistance_or_change_of_friction_loses_speed_evenly() -> None:
    ball = launched(10.0, LossLaw(friction=0.05, drag=0.0))
    took_s = ball.end_s - ball.launch_s
    assert took_s == pytest.approx((launch_speed(LossLaw(0.05, 0.0), LEVEL, 10.0) - 0.5) / 0.05, rel=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_lap_of_a_ball_on_a_level_track_takes_longer(seed: int) -> None:
    laps = laps_of(launched(20.0, knee(Random(seed))))
    assert len(laps) >= 18
    assert all(later > earlier for earlier, later in pairwise(laps))


@pytest.mark.parametrize("seed", SEEDS)
def test_in_a_tilted_bowl_the_ball_drops_where_the_track_rises(seed: int) -> None:
    """The bowl is tilted by some tenths of a degree."""
    rng = Random(seed)
    law = knee(rng)

    def ends(tilt_deg: float) -> list[float]:
        bowl = Bowl(drop_speed=0.46, tilt_deg=tilt_deg, lowest=0.0)
        return [launched(rng.uniform(8, 20), law, bowl, 1, rng.random()).end for _ in range(30)]

    assert sum(0.0 < end < 0.6 for end in ends(0.4)) > 24
    assert sum(0.0 < end < 0.6 for end in ends(0.0)) < 25


def test_a_damp_stretch_slows_the_ball_there_and_nowhere_else() -> None:
    bowl = Bowl(drop_speed=0.5, stretches=(Stretch(0.5, 0.25, 0.3),))
    ball, dry = launched(12.0, bowl=bowl), launched(12.0)
    assert ball.turns < dry.turns
    assert ball.at(0.35) == pytest.approx(dry.at(0.35), abs=1e-9)


def test_a_caught_ball_ran_so_far_and_did_not_drop() -> None:
    ball = launched(12.0).caught(3.3)
    assert (ball.turns, ball.dropped) == (3.3, False)
    assert ball.end_s == pytest.approx(launched(12.0).at(3.3))
    assert all(t <= ball.end_s for t in ball.passes(0.7))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_of_laps_agrees_with_the_deceleration_of_real_balls(seed: int) -> None:
    """The loss is 0.1 rev/s2 above 1.1 rev/s, 0.2 to 0.3 from 1.0 to 0.65, 0.015 to 0.025 at the drop."""
    rng = Random(seed)
    house = lap_house(rng)
    ball = house.launched(rng, 5.0, 18.0, 1)
    assert 0.41 < ball.end_speed < 0.5
    speeds = [0.25 / (ball.at(turn + 0.25) - ball.at(turn)) for turn in (4.0, 8.0, 17.5)]
    assert speeds == sorted(speeds, reverse=True)
    at_drop = (0.5 / (ball.at(17.5) - ball.at(17.0)) - 0.5 / (ball.at(18.0) - ball.at(17.5))) / (
        (ball.at(18.0) - ball.at(17.0)) / 2
    )
    assert 0.008 < at_drop < 0.05


def test_a_rotor_passes_a_place_when_its_mark_is_there() -> None:
    rotor = Rotor(0.0, 60.0, mark=0.2, speed=-0.3, bearing=Bearing(fraction=0.003))
    passes = rotor.passes(0.55, 0.1)
    assert len(passes) >= 15
    for t_s, direction in passes:
        assert direction == -1
        place = (rotor.mark_at(t_s) - 0.1 - 0.55) % 1.0
        assert min(place, 1 - place) < 1e-6
    assert rotor.speed_at(50.0) == pytest.approx(-0.3 * 0.997**50, rel=0.01)


def test_a_push_makes_the_rotor_faster_and_a_hand_turns_it_around() -> None:
    pushes = [Push(10.0, 0.3, times=1.1), Push(20.0, 1.0, times=-1.0)]
    rotor = Rotor(0.0, 40.0, mark=0.0, speed=0.3, bearing=Bearing(fraction=0.0), pushes=pushes)
    assert [rotor.speed_at(t) for t in (9.0, 12.0, 25.0)] == pytest.approx([0.3, 0.33, -0.33], rel=1e-6)
    assert {direction for t, direction in rotor.passes(0.5) if t > 25} == {-1}
