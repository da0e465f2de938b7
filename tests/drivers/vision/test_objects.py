"""Tests of objects that are placed on the felt between throws."""

import pytest

from controller.model.readings import DieAt, DieReleased, DieRest, Reading
from drivers.sim.filming import Filming
from drivers.vision.following import Follower
from tests.drivers.vision.films import filming, rig, sliding, thrown

RED = (40, 40, 200)
EMPTY = sliding([])


def watched(camera: Filming, follower: Follower, from_us: int, until_us: int) -> list[Reading]:
    reported: list[Reading] = []
    for t_us, picture, still in camera.frames(EMPTY, until_us - from_us):
        reported += follower.frame(from_us + t_us, picture, still)
    return reported


def test_a_chip_that_is_laid_down_is_not_a_throw() -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    camera.lay_chip((110.0, 70.0), RED, 39.0)
    assert watched(camera, follower, 0, 2_500_000) == []


@pytest.mark.parametrize("chip_mm", [(110.0, 165.0), (110.0, 60.0)], ids=["beside", "under the way of a die"])
def test_dice_are_thrown_and_read_with_a_chip_on_the_felt(chip_mm: tuple[float, float]) -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    camera.lay_chip(chip_mm, RED, 39.0)
    began_us = 500_000
    assert watched(camera, follower, 0, began_us) == []
    reported: list[Reading] = []
    for t_us, picture, still in camera.frames(thrown(6, 3), 1_000_000):
        reported += follower.frame(began_us + t_us, picture, still)
    assert {reading.die for reading in reported if isinstance(reading, DieReleased)} == {1, 2}
    assert {rest.up for rest in reported if isinstance(rest, DieRest)} == {6, 3}


def test_a_bet_paid_next_to_dice_at_rest_is_not_a_new_throw() -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    paid_us = 1_000_000
    laid = False
    reported: list[Reading] = []
    for t_us, picture, still in camera.frames(thrown(6, 3), 2_000_000):
        if t_us > paid_us and not laid:
            camera.lay_chip((110.0, 60.0), RED, 39.0)
            laid = True
        now = follower.frame(t_us, picture, still)
        reported += now if laid else []
    assert not [reading for reading in reported if isinstance(reading, DieReleased | DieAt | DieRest)]
