"""Tests of dice that lie flat on the felt or lean, and of their measured tilt."""

import msgspec
import numpy as np
import pytest

from controller.model.readings import DieRest
from drivers.sim.filming import Die, Filming, flat_die, leaning
from drivers.vision.following import Follower
from drivers.vision.rig import Rig
from tests.drivers.vision.films import FILM_RIG, LENS, filming, rig, sliding

PATIENT_US = 2_400_000
"""Longer than REREAD_US, after which an unclear face is reported as unknown."""


def lying(die: Die, camera: Filming, seen_by: Rig, until_us: int = PATIENT_US) -> tuple[DieRest, str]:
    """Make a die slide into view; return its rest, and the reason why its face was not read."""
    follower = Follower(seen_by, camera.empty())
    for t_us, picture, still in camera.frames(sliding([(die, 0.2)]), until_us):
        for reading in follower.frame(t_us, picture, still):
            if isinstance(reading, DieRest):
                return reading, follower.unread_reason(reading.die)
    raise AssertionError("no die came to rest")


@pytest.mark.parametrize("up", [1, 6])
def test_a_die_flat_on_the_felt_is_reported_there(up: int) -> None:
    rest, _ = lying(flat_die(up, 25.0, (175.0, 120.0)), filming(), rig())
    assert (rest.up, rest.on, rest.tilt_deg) == (up, "felt", 0.0)


def test_each_unread_die_has_its_own_reason() -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    dice = [
        (leaning(flat_die(5, 30.0, (190.0, 70.0)), 20.0, 30.0), 0.2),
        (leaning(flat_die(3, 30.0, (160.0, 130.0)), 40.0, 0.0), 0.2),
    ]
    reasons: dict[int, str] = {}
    for t_us, picture, still in camera.frames(sliding(dice), PATIENT_US):
        for reading in follower.frame(t_us, picture, still):
            if isinstance(reading, DieRest):
                reasons[reading.die] = follower.unread_reason(reading.die)
    assert len(set(reasons.values()) - {""}) == 2


@pytest.mark.parametrize(("up", "towards"), [(5, 30.0), (3, 120.0), (4, 210.0), (6, 300.0)])
def test_C34_PT_2_a_die_that_leans_is_never_reported_as_flat(up: int, towards: float) -> None:
    rest, why = lying(leaning(flat_die(up, 30.0, (165.0, 115.0)), 20.0, towards), filming(), rig())
    assert (rest.up, rest.on, rest.confidence) == (None, "unknown", 0.0)
    assert rest.tilt_deg == pytest.approx(20.0, abs=4.0)
    assert "its outline differs from that of a flat die" in why


def test_C34_PT_1_a_side_that_reads_as_a_face_is_not_a_face() -> None:
    """A die that leans by 40 degrees shows two faces about equally. Neither is a flat die's face."""
    for towards in (0.0, 90.0, 180.0, 270.0):
        rest, _ = lying(leaning(flat_die(2, 0.0, (150.0, 100.0)), 40.0, towards), filming(), rig())
        assert (rest.up, rest.on) == (None, "unknown")


def test_H_LEGAL_3_a_die_on_a_chip_is_not_reported_as_on_the_felt() -> None:
    camera = filming()
    seen_by = rig()
    follower = Follower(seen_by, camera.empty())
    rests = []
    for t_us, picture, still in camera.frames(
        sliding([(flat_die(4, 10.0, (170.0, 110.0)), 0.2)]), PATIENT_US
    ):
        if t_us == 0:
            camera.lay_chip((176.0, 104.0), (40, 40, 200), 39.0)
        else:
            rests += [r for r in follower.frame(t_us, picture, still) if isinstance(r, DieRest)]
    assert [(rest.up, rest.on) for rest in rests if rest.x > 140.0] in ([], [(None, "unknown")])


def test_two_flat_dice_that_touch_are_both_flat() -> None:
    beside = (170.0 + 19.2 * np.cos(np.radians(30.0)), 100.0 + 19.2 * np.sin(np.radians(30.0)))
    dice = [(flat_die(4, 30.0, (170.0, 100.0)), 0.2), (flat_die(5, 30.0, beside), 0.3)]
    camera = filming()
    follower = Follower(rig(), camera.empty())
    rests = [
        (reading.up, reading.on)
        for t_us, picture, still in camera.frames(sliding(dice), 1_000_000)
        for reading in follower.frame(t_us, picture, still)
        if isinstance(reading, DieRest)
    ]
    assert sorted(rests, key=str) == [(4, "felt"), (5, "felt")]


def test_without_a_lens_a_camera_does_not_report_whether_a_die_is_flat() -> None:
    plain = Rig(msgspec.structs.replace(rig().file, lens=None))
    rest, _ = lying(flat_die(6, 25.0, (175.0, 120.0)), filming(), plain)
    assert (rest.up, rest.on) == (6, "unknown")


def test_a_printed_line_is_not_part_of_the_die_on_it() -> None:
    below = LENS.looks_at_mm[1] - FILM_RIG.lens.height * 0.25 / LENS.focal_px * LENS.place_mm[2]
    rest, _ = lying(flat_die(3, 40.0, (160.0, below)), filming(), rig())
    assert (rest.up, rest.on) == (3, "felt")
