"""Tests of two dice in a rendered video: tracks, resting positions and faces."""

from bisect import bisect_left

import msgspec
import numpy as np
import pytest

from controller.model.readings import DieAt, DieLost, DieReleased, DieRest, Reading
from drivers.sim.filming import Motion, flat_die
from drivers.vision.following import Follower
from drivers.vision.rig import Rig
from tests.drivers.vision.films import filming, rig, sliding, thrown


def followed(way: Motion, until_us: int = 1_000_000, hand_at_us: int | None = None) -> list[Reading]:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    reported: list[Reading] = []
    for t_us, picture, still in camera.frames(way, until_us):
        if hand_at_us is not None and t_us >= hand_at_us:
            picture[:260, 60:420] = (120, 150, 200)
            reported += follower.frame(t_us, picture)
            continue
        reported += follower.frame(t_us, picture, still)
    return reported


def rests(reported: list[Reading]) -> list[DieRest]:
    return [reading for reading in reported if isinstance(reading, DieRest)]


@pytest.mark.parametrize(("first", "second"), [(1, 6), (3, 4)])
def test_two_dice_are_tracked_to_rest_and_read(first: int, second: int) -> None:
    readings = followed(thrown(first, second))
    assert [reading.die for reading in readings if isinstance(reading, DieReleased)] == [1, 2]
    lying = {int(rest.up or 0): rest for rest in rests(readings)}
    assert set(lying) == {first, second}
    assert lying[first].x == pytest.approx(190, abs=1)
    assert lying[first].y == pytest.approx(70, abs=1)
    assert lying[second].x == pytest.approx(160, abs=1)
    assert lying[second].y == pytest.approx(130, abs=1)
    assert len({rest.die for rest in rests(readings)}) == 2
    assert not [reading for reading in readings if isinstance(reading, DieLost)]


def test_a_die_that_comes_into_view_slowly_is_at_rest_only_where_it_stops() -> None:
    die = flat_die(5, 20.0, (190.0, 100.0))
    times = list(range(0, 3_300_000, 10_000))
    ahead = [max(0.0, 2.7 - t_us / 1e6) for t_us in times]
    way = Motion(
        times, [((die.centre_mm - (150.0 * left, 0.0, 0.0))[None], die.axes[None]) for left in ahead]
    )
    (rest,) = rests(followed(way, 3_200_000))
    assert rest.up == 5
    assert rest.x == pytest.approx(190.0, abs=1)


def test_each_point_of_a_track_lies_within_its_error() -> None:
    way = thrown(2, 5)
    readings = followed(way)
    names = {rest.up: rest.die for rest in rests(readings)}
    for reading in readings:
        if not isinstance(reading, DieAt):
            continue
        after = min(bisect_left(way.t_us, reading.t), len(way.t_us) - 1)
        true = way.poses[after][0][0 if reading.die == names[2] else 1][:2]
        assert reading.error_mm is not None
        # One frame's motion blur plus three times the stated error.
        assert np.hypot(reading.x - true[0], reading.y - true[1]) < 3 * reading.error_mm + 10


def test_a_rest_is_reported_while_the_table_still_waits_for_it() -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    for t_us, picture, still in camera.frames(thrown(2, 5), 1_000_000):
        for reading in follower.frame(t_us, picture, still):
            assert t_us - reading.t <= (1_000 if isinstance(reading, DieRest) else 100_000)


def test_a_hand_over_the_dice_is_not_a_face() -> None:
    readings = followed(thrown(2, 5), hand_at_us=300_000)
    assert all(rest.up is None or rest.up in {2, 5} for rest in rests(readings))
    assert len([rest for rest in rests(readings) if rest.up is not None]) < 2


def test_one_die_is_one_die() -> None:
    readings = followed(sliding([(flat_die(6, 10.0, (170.0, 100.0)), 0.4)]))
    assert [(rest.die, rest.up) for rest in rests(readings)] == [(1, 6)]


def test_an_empty_table_gives_no_readings() -> None:
    assert followed(sliding([(flat_die(6, 10.0, (-500.0, 100.0)), 0.0)]), 400_000) == []


@pytest.mark.parametrize("hand_in_sight", [True, False])
def test_a_die_that_comes_late_from_a_hand_out_of_view_was_not_thrown_late(hand_in_sight: bool) -> None:
    seen_rig = Rig(msgspec.structs.replace(rig().file, hand_in_sight=hand_in_sight))
    camera = filming()
    follower = Follower(seen_rig, camera.empty())
    way = sliding([(flat_die(6, 20.0, (190.0, 70.0)), 0.25), (flat_die(3, 65.0, (160.0, 130.0)), 0.55)])
    readings = [
        reading
        for t_us, picture, still in camera.frames(way, 700_000)
        for reading in follower.frame(t_us, picture, still)
    ]
    released = [reading for reading in readings if isinstance(reading, DieReleased)]
    assert [reading.die for reading in released] == [1, 2][: 1 + hand_in_sight]
    assert {reading.in_flight for reading in released} == {not hand_in_sight}
    assert {reading.die for reading in readings if isinstance(reading, DieAt)} == {1, 2}


def test_a_die_that_parts_late_from_the_others_spot_is_released_where_both_were_then() -> None:
    """By default, a table accepts no release older than 120 ms. A later time with the position at the hand
    would make the die appear to jump."""
    times = list(range(0, 900_000, 10_000))
    one, two = flat_die(6, 0.0, (0.0, 80.0)), flat_die(3, 0.0, (0.0, 99.2))
    poses = []
    for t_us in times:
        along = min(40.0 + 600.0 * t_us / 1e6, 230.0)
        apart = min(max(0.0, 400.0 * (t_us / 1e6 - 0.2)), 50.0)
        steps = np.array([(along, 0.0, 0.0), (along, apart, 0.0)])
        middles = np.array([one.centre_mm, two.centre_mm]) + steps
        poses.append((middles, np.array([one.axes, two.axes])))
    readings = followed(Motion(times, poses), 700_000)
    first, second = (reading for reading in readings if isinstance(reading, DieReleased))
    assert second.t - first.t > 50_000
    assert second.x == pytest.approx(40.0 + 600.0 * second.t / 1e6, abs=25.0)
    assert second.x > first.x + 30.0
