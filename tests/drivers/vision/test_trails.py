"""Tests of a die's trail: its reach, and the assignment of spots to dice."""

import numpy as np
import pytest

from drivers.vision.arrivals import Sighting
from drivers.vision.moving import Spot
from drivers.vision.trails import Trail, assign_spots

FRAME_US = 16_667
DIE_PX = 16.0


def trail(*xs: float) -> Trail:
    places = [np.array([x, 100.0]) for x in xs]
    times = [at * FRAME_US for at in range(len(xs))]
    return Trail(1, 0, places[0], t_us=times, places=places)


def spot(x: float, y: float = 100.0, faces: float = 1.0) -> Spot:
    """Return a spot with an area of `faces` die faces."""
    return Spot(x, y, x - 8, y - 8, x + 8, y + 8, faces * DIE_PX**2, False, np.ones((8, 8), np.uint8))


def test_a_die_that_turned_at_a_wall_between_two_frames_is_searched_as_far_as_it_flew() -> None:
    """The die moves at 60 px per frame and bounces between two frames: 2 px farther, then 26 px back."""
    seen = trail(40.0, 100.0, 160.0, 162.0)
    next_us = 4 * FRAME_US
    assert abs(136.0 - float(seen.predicted_at(next_us)[0])) < seen.reach(next_us, DIE_PX)


def test_a_die_at_rest_is_not_searched_across_the_table() -> None:
    assert trail(*[160.0] * 8).reach(8 * FRAME_US, DIE_PX) < 2 * DIE_PX


def test_a_die_seen_once_may_be_as_far_as_a_throw_takes_it() -> None:
    seen = trail(40.0)
    assert seen.reach(FRAME_US, DIE_PX) == pytest.approx(1.2 * DIE_PX + 7.0 * DIE_PX, rel=0.05)
    assert seen.reach(4 * FRAME_US, DIE_PX) > 3 * seen.reach(FRAME_US, DIE_PX)


def test_a_single_sighting_where_a_die_came_from_is_that_die_and_not_another() -> None:
    came = Trail(1, 0, np.array([100.0, 100.0]))
    came.t_us, came.places = [FRAME_US, 2 * FRAME_US], [np.array([100.0, 100.0]), np.array([140.0, 100.0])]
    assert came.may_be_sighting(Sighting(0, spot(40.0)), DIE_PX)
    assert not came.may_be_sighting(Sighting(0, spot(60.0, 220.0)), DIE_PX)


def test_a_single_sighting_between_two_of_a_die_is_that_die_and_not_another() -> None:
    """Between the sightings, the spot was too large for one die, as if two dice near the camera formed it."""
    seen = trail(40.0, 100.0)
    seen.t_us[1] = 5 * FRAME_US
    assert seen.may_be_sighting(Sighting(3 * FRAME_US, spot(80.0)), DIE_PX)
    assert not seen.may_be_sighting(Sighting(3 * FRAME_US, spot(80.0, 160.0)), DIE_PX)
    assert not seen.may_be_sighting(Sighting(6 * FRAME_US, spot(112.0)), DIE_PX)
    assert not seen.may_be_sighting(Sighting(0, spot(60.0)), DIE_PX)


def test_a_die_is_where_it_was_last_seen_by_a_time() -> None:
    seen = trail(40.0, 100.0, 160.0)
    places = [float(seen.place_at(t_us)[0]) for t_us in (-1, 0, FRAME_US + 5, 9 * FRAME_US)]
    assert places == [40.0, 40.0, 100.0, 160.0]


def beside(faces: float) -> tuple[list[Trail], list[Spot]]:
    """Return two dice that move towards each other, then their common spot and a spot of `faces` faces."""
    one, two = trail(40.0, 60.0), trail(110.0, 100.0)
    two.die = 2
    one.spot, two.spot = spot(60.0, faces=1.9), spot(100.0, faces=2.0)
    return [one, two], [spot(80.0, faces=3.8), spot(95.0, faces=faces)]


def test_a_shadow_beside_two_dice_in_one_spot_is_neither_of_them() -> None:
    trails, spots = beside(0.5)
    assert assign_spots(trails, spots, 2 * FRAME_US, DIE_PX) == {1: spots[0], 2: spots[0]}


def test_a_die_beside_a_blurred_one_is_a_die() -> None:
    trails, spots = beside(1.7)
    assert assign_spots(trails, spots, 2 * FRAME_US, DIE_PX) == {1: spots[0], 2: spots[1]}


@pytest.mark.parametrize("faces", [2.1, 3.8])
def test_a_die_that_left_the_picture_is_in_the_others_spot_only_if_that_has_grown(faces: float) -> None:
    trails, _ = beside(0.5)
    trails[1].spot, trails[1].at_border = None, True
    one = spot(82.0, faces=faces)
    assert assign_spots(trails, [one], 2 * FRAME_US, DIE_PX) == (
        {1: one, 2: one} if faces > 3.0 else {1: one}
    )


def test_a_die_separated_late_was_in_the_others_spot() -> None:
    trails, _ = beside(0.5)
    trails[1].spot = None
    one = spot(82.0, faces=2.1)
    assert assign_spots(trails, [one], 2 * FRAME_US, DIE_PX) == {1: one, 2: one}
