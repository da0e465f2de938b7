"""Tests of the detection of view faults."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from drivers.vision.arrays import Array
from drivers.vision.view import View
from tests.drivers.vision.films import filming, thrown

FRAME_US = 33_333
BUMPED_PX = 16.0


def shifted(picture: Array, count: int) -> Array:
    return cv2.warpAffine(
        picture, np.array([[1, 0, 32.0], [0, 1, 9.0]]), picture.shape[1::-1], borderMode=cv2.BORDER_REFLECT
    )


def lit(picture: Array, count: int) -> Array:
    return cv2.convertScaleAbs(picture, alpha=1.2 if count % 2 else 0.8)


FAULTS: dict[str, Callable[[Array, int], Array]] = {
    "covered": lambda picture, _: cv2.convertScaleAbs(picture, alpha=0.03),
    "blinded": lambda picture, _: cv2.convertScaleAbs(picture, alpha=4.0, beta=120),
    "bumped": shifted,
    "out_of_focus": lambda picture, _: cv2.GaussianBlur(picture, (0, 0), 12),
    "flickering": lit,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_view_is_a_named_fault_that_clears_when_it_is_back(fault: str) -> None:
    camera = filming()
    view = View(camera.empty(), BUMPED_PX)
    t_us = 0
    for _ in range(20):
        assert view.look(t_us, camera.empty()).fault is None
        t_us += FRAME_US
    for count in range(30):
        verdict = view.look(t_us, FAULTS[fault](camera.empty(), count))
        t_us += FRAME_US
    assert verdict.fault == fault
    assert verdict.seen
    for _ in range(40):
        verdict = view.look(t_us, camera.empty())
        t_us += FRAME_US
    assert verdict.fault is None
    assert not view.doubtful


def test_frames_that_repeat_are_a_fault() -> None:
    camera = filming()
    view = View(camera.empty(), BUMPED_PX)
    stuck = camera.empty()
    verdicts = [view.look(count * FRAME_US, stuck).fault for count in range(10)]
    assert verdicts[-1] == "frozen"


def test_a_throw_is_not_a_view_fault() -> None:
    camera = filming()
    view = View(camera.empty(), BUMPED_PX)
    for t_us, picture, _ in camera.frames(thrown(3, 5), 1_000_000):
        assert view.look(t_us, picture).fault is None
        assert not view.doubtful


def test_a_moment_of_darkness_is_doubtful_and_not_a_fault() -> None:
    camera = filming()
    view = View(camera.empty(), BUMPED_PX)
    view.look(0, camera.empty())
    readings = []
    for at, picture in enumerate((np.zeros_like(camera.empty()), camera.empty()), 1):
        readings.append((view.look(at * FRAME_US, picture).fault, view.doubtful))
    assert readings == [(None, True), (None, False)]
