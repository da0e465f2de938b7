"""Spins of the second physics model: no wrong call, and no void of a valid spin."""

import random
from pathlib import Path

import pytest

from tests.sim.own_wheel import judged, write_log
from tests.sim.own_wheel_bodies import TURN, Ball, World, draw_rim, turns_of

WRONG = ("false", "wrong void", "swallowed")


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_no_spin_is_judged_wrongly(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "spins.jsonl"
    write_log(log, seed, 12)
    wrong = [(one.truth, one.published) for one in judged(log) if one.score in WRONG]
    assert not wrong


def test_on_a_level_track_the_ball_drops_at_its_critical_speed() -> None:
    rim = draw_rim(random.Random(1))
    rim.tilt = 0.0
    world = World(rim, random.Random(1))
    ball = Ball(0.0, 1.5 * TURN)
    world.balls.append(ball)
    while ball.phase == "track":
        world.step()
    assert ball.speed == pytest.approx(rim.critical(), rel=0.06)


def test_a_faster_ball_makes_more_turns() -> None:
    rim = draw_rim(random.Random(2))
    turns = [turns_of(rim, 0.0, speed * TURN) for speed in (0.8, 1.2, 2.0, 3.0)]
    assert turns == sorted(turns)
    assert turns[-1] > turns[0] + 4
