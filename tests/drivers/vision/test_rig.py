"""Tests of the error that a die's unknown height causes towards the walls that dice must hit."""

from math import hypot

import msgspec
import numpy as np
import pytest

from controller.model.readings import DieAt
from drivers.sim.filming import Filming, FilmRig
from drivers.vision.following import Follower
from drivers.vision.rig import UNKNOWN_HEIGHT_MM, Rig
from tests.drivers.vision.test_pairing import LENSES, RIGS, tossed, true_place, two_dice

PLACE_MM = np.array([500.0, 400.0])
EYE_MM = (300.0, 120.0, 600.0)


def test_an_unknown_height_is_an_error_towards_the_walls_that_count() -> None:
    ends = RIGS[0]
    every = Rig(msgspec.structs.replace(ends.file, walls="all"))
    along, across = (float(PLACE_MM[axis] - EYE_MM[axis]) for axis in (0, 1))
    seen_from = UNKNOWN_HEIGHT_MM / EYE_MM[2]
    assert ends.height_error_mm(PLACE_MM) == pytest.approx(along * seen_from, rel=0.01)
    assert every.height_error_mm(PLACE_MM) == pytest.approx(hypot(along, across) * seen_from, rel=0.01)
    assert ends.height_error_mm(PLACE_MM, 3.0) == pytest.approx(along * 3.0 / EYE_MM[2], rel=0.01)


def test_without_a_lens_the_effect_of_a_height_is_unknown() -> None:
    plain = Rig(msgspec.structs.replace(RIGS[0].file, lens=None))
    assert plain.height_error_mm(PLACE_MM) == 0.0


def test_a_die_110_mm_high_is_within_three_times_the_stated_error_of_one_camera() -> None:
    way = tossed(two_dice())
    camera = Filming(FilmRig(LENSES[0], fps=60.0, zoom=2.0), 1)
    follower = Follower(RIGS[0], camera.empty())
    misses = [
        abs(point.x - float(true_place(way, point)[0])) / (3 * (point.error_mm or 0.0) + 2.0)
        for t_us, picture, still in camera.frames(way, 700_000)
        for point in follower.frame(t_us, picture, still)
        if isinstance(point, DieAt)
    ]
    assert len(misses) > 20
    assert max(misses) < 1.0
