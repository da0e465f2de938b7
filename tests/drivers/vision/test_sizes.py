"""Tests that a picture is refused if the given length of a die's edge is incorrect."""

import re
from dataclasses import replace
from typing import NamedTuple

import pytest

from drivers.sim.filming import BLACK, CASINO_RED, IVORY, DieMaterial, Lens, flat_die
from drivers.vision.arrays import Array
from drivers.vision.reading import read_picture
from tests.drivers.vision.scenes import GREEN, GREY, pair, still

NEAR = Lens(1280, 960, 1280.0, (0.0, 0.0, 190.0))
NEAR_EDGE_PX = 135.2
"""The edge of a 19 mm die under the camera, at the die's mid-height. The top face's edge is 142 px."""
DARK, PALE = (30, 30, 30), (190, 190, 195)


class Laid(NamedTuple):
    """Two dice of one kind on a cloth."""

    faces: tuple[int, int]
    seed: int
    look: DieMaterial
    pip_fraction: float
    pitch_fraction: float
    cloth: tuple[int, int, int]

    def picture(self) -> Array:
        look = replace(self.look, pip_fraction=self.pip_fraction, pitch_fraction=self.pitch_fraction)
        return still(
            *pair(*self.faces, seed=self.seed, look=look), seed=self.seed, lens=NEAR, cloth=self.cloth
        )


PALE_IVORY = Laid((4, 2), 43, IVORY, 0.0828, 0.2016, PALE)
OTHER_DICE = [
    (Laid((4, 1), 0, BLACK, 0.0975, 0.2033, GREEN), 0.65),
    (Laid((5, 4), 27, CASINO_RED, 0.1004, 0.2097, GREY), 0.65),
    (PALE_IVORY, 0.55),
    (PALE_IVORY, 0.6),
    (Laid((5, 3), 80, BLACK, 0.0812, 0.2029, DARK), 0.55),
]


@pytest.mark.parametrize(("dice", "fraction"), OTHER_DICE)
def test_two_pips_of_dice_larger_than_given_are_not_two_1s(dice: Laid, fraction: float) -> None:
    reading = read_picture(dice.picture(), fraction * NEAR_EDGE_PX, 2)
    assert reading.refused is not None
    assert not [die for die in reading.dice if die.up == 1]
    assert f"{fraction * NEAR_EDGE_PX:.0f} pixels were given" in reading.refused or (
        f"not {fraction * NEAR_EDGE_PX:.0f} as given" in reading.refused
    )


def test_the_refusal_states_the_measured_edge() -> None:
    refused = read_picture(PALE_IVORY.picture(), 0.6 * NEAR_EDGE_PX, 2).refused
    match = re.search(r"a die's edge is about (\d+) pixels, not 81 as given", refused or "")
    assert match is not None
    assert int(match[1]) == pytest.approx(NEAR_EDGE_PX, rel=0.2)


def test_some_pips_of_a_6_are_not_a_face_if_the_others_are_too_wide_for_the_given_size() -> None:
    look = replace(IVORY, pip_fraction=0.1375, pitch_fraction=0.2613)
    for turn_deg in range(0, 90, 10):
        picture = still(flat_die(6, float(turn_deg), (0.0, 0.0), look=look), lens=NEAR)
        reading = read_picture(picture, 0.9 * NEAR_EDGE_PX)
        assert {die.up for die in reading.dice} <= {6, None}


def test_a_die_that_does_not_fit_into_the_picture_is_refused() -> None:
    picture = still(flat_die(5, 20.0, (0.0, 0.0)))
    assert (
        read_picture(picture, 500.0).refused
        == "found a picture of 640 x 480 pixels, smaller than a die's edge of 500 pixels"
    )
    assert read_picture(picture[:1, :1], 70.0).refused is not None
