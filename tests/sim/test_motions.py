"""A ball and a rotor move as their closed forms promise."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.sim.motions import BallRun, RotorRun

BALLS = st.builds(
    BallRun,
    launch_s=st.floats(0, 100),
    start=st.floats(0, 1, exclude_max=True),
    way=st.sampled_from((1, -1)),
    turns=st.floats(1.5, 30),
    drop_speed=st.floats(0.4, 0.6),
    friction=st.floats(0.02, 0.06),
    drag=st.floats(0.008, 0.03),
    wobble=st.floats(0, 0.003),
)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(BALLS)
def test_a_ball_passes_a_place_once_a_turn_and_ever_more_slowly(ball: BallRun) -> None:
    passes = ball.passes(0.25)
    assert abs(len(passes) - ball.turns) <= 1
    assert all(ball.launch_s <= t <= ball.drop_s + 1e-6 for t in passes)
    laps = [later - earlier for earlier, later in itertools.pairwise(passes)]
    assert all(longer > shorter for shorter, longer in itertools.pairwise(laps))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(BALLS)
def test_a_ball_leaves_the_track_at_its_drop_speed(ball: BallRun) -> None:
    last = ball.turns - 0.01
    even = BallRun(**{name: getattr(ball, name) for name in ball.__slots__} | {"wobble": 0.0})
    assert 0.01 / (even.drop_s - even.at(last)) == pytest.approx(ball.drop_speed, rel=0.02)


def test_a_ball_that_starts_just_past_a_beam_reaches_it_a_turn_later() -> None:
    ball = BallRun(launch_s=0, start=0.26, way=1, turns=3, drop_speed=0.5, friction=0.04, drag=0.02)
    assert ball.passes(0.25)[0] == pytest.approx(ball.at(0.99))
    backward = BallRun(launch_s=0, start=0.26, way=-1, turns=3, drop_speed=0.5, friction=0.04, drag=0.02)
    assert backward.passes(0.25)[0] == pytest.approx(backward.at(0.01))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    st.floats(0, 1, exclude_max=True), st.sampled_from((1, -1)), st.floats(0.2, 0.5), st.floats(0.0005, 0.004)
)
def test_the_mark_is_at_the_sensor_when_it_passes(
    mark: float, way: int, speed: float, slowing: float
) -> None:
    rotor = RotorRun(begin_s=2.0, end_s=40.0, mark=mark, way=way, speed=speed, slowing=slowing)
    passes = rotor.passes(0.3)
    assert passes
    for t_s in passes:
        assert math.remainder(rotor.mark_at(t_s) - 0.3, 1.0) == pytest.approx(0, abs=1e-6)


def test_a_pocket_behind_the_mark_is_clockwise_of_it() -> None:
    rotor = RotorRun(begin_s=0.0, end_s=10.0, mark=0.0, way=1, speed=0.5, slowing=0.001)
    assert rotor.passes(0.0, behind=0.25)[0] == pytest.approx(0.5, abs=0.01)
