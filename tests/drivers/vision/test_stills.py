"""Tests of the assignment of faces in a part of a still to the die at its centre."""

import numpy as np
import pytest

from controller.model.readings import DieRest
from drivers.sim.filming import IVORY, Filming, FilmRig, Lens, Light, flat_die
from drivers.vision.following import Follower
from drivers.vision.stills import NEAR_EDGES, SHARED_EDGES, read_face_at, reduction_for
from tests.drivers.vision.films import LENS, rig, rig_through, thrown
from tests.drivers.vision.scenes import ASLANT, ASLANT_EDGE_PX, ASLANT_ZOOM, seen_aslant


@pytest.mark.parametrize(("first", "turn_deg", "off_mm"), [(2, 42.0, 4.0), (3, 44.0, 0.0), (3, 40.0, 4.0)])
def test_a_1_is_read_beside_a_die_whose_pip_makes_a_2_with_it(
    first: int, turn_deg: float, off_mm: float
) -> None:
    """The part does not contain the other die's far pips."""
    turn = np.radians(turn_deg)
    away = 19.2 * np.array([np.cos(turn), np.sin(turn)]) + off_mm * np.array([-np.sin(turn), np.cos(turn)])
    one = flat_die(1, turn_deg, (3100.0 + away[0], 500.0 + away[1]), look=IVORY)
    part = seen_aslant(one, Light(), flat_die(first, turn_deg, (3100.0, 500.0), look=IVORY))
    place = ASLANT.project(one.centre_mm[None])[0]
    low = np.round(place * ASLANT_ZOOM) - 76
    found = {
        near_edges: read_face_at(
            part, low, ASLANT_ZOOM, place, ASLANT_EDGE_PX / ASLANT_ZOOM, near_edges=near_edges
        )[0]
        for near_edges in (NEAR_EDGES, SHARED_EDGES)
    }
    assert [seen is not None and seen.up for seen in found.values()] == [1, 1]


@pytest.mark.parametrize("up", [1, 2, 5])
def test_a_face_seen_26_degrees_off_the_vertical_is_assigned_to_its_die_in_a_shared_spot_too(up: int) -> None:
    die = flat_die(up, 30.0, (2740.0, 550.0))
    part = seen_aslant(die, Light())
    place = ASLANT.project(die.centre_mm[None])[0]
    low = np.round(place * ASLANT_ZOOM) - 76
    seen, _ = read_face_at(
        part, low, ASLANT_ZOOM, place, ASLANT_EDGE_PX / ASLANT_ZOOM, near_edges=SHARED_EDGES
    )
    assert seen is not None
    assert seen.up == up


LARGE = Lens(
    1280, 960, 2 * LENS.focal_px, LENS.place_mm, LENS.looks_at_mm, distortion=(-0.08, 0.01, 0.001, -0.001)
)


def test_throws_are_tracked_in_reduced_frames_and_faces_read_in_the_full_picture() -> None:
    whole, camera = rig_through(LARGE), Filming(FilmRig(LARGE, fps=30.0, zoom=1.0), 1)
    reduction = reduction_for(whole, LARGE.width, LARGE.height)
    assert reduction.times == 2
    follower = Follower(whole.reduced(2), reduction.frame(camera.empty()))
    rests = [
        reading
        for t_us, picture, _ in camera.frames(thrown(6, 3), 900_000)
        for reading in follower.frame(t_us, reduction.frame(picture), reduction.still(picture))
        if isinstance(reading, DieRest)
    ]
    assert sorted((rest.up, round(rest.x / 10), round(rest.y / 10)) for rest in rests) == [
        (3, 16, 13),
        (6, 19, 7),
    ]
    assert all(part.part.shape[0] > 120 for die in (1, 2) for part in follower.crops(die))


def test_a_pixel_of_a_reduced_frame_is_the_same_place_on_the_table() -> None:
    whole = rig_through(LARGE)
    reduction, small = reduction_for(whole, LARGE.width, LARGE.height), whole.reduced(2)
    for frame_px in ((40.0, 30.0), (320.0, 240.0), (600.0, 450.0)):
        there = whole.to_table(*reduction.in_picture(*frame_px))
        assert small.to_table(*frame_px) == pytest.approx(there, abs=0.2)
    assert small.die_px(320.0, 240.0) == pytest.approx(whole.die_px(640.0, 480.0) / 2, rel=0.01)


def test_a_picture_of_640_pixels_is_its_own_frame() -> None:
    assert reduction_for(rig(), LENS.width, LENS.height).times == 1
