"""Tests of the reading of pictures of dice at rest, and of refusals."""

import re

import cv2
import numpy as np
import pytest

from drivers.sim.filming import BLACK, CASINO_RED, IVORY, DieMaterial, Light, flat_die
from drivers.vision.faces import Body, Face
from drivers.vision.reading import _other_places, read_picture
from tests.drivers.vision.scenes import (
    ASLANT_EDGE_PX,
    BLUE,
    DIM_LENS,
    DIM_LIGHT,
    EDGE_PX,
    GREY,
    pair,
    seen_aslant,
    still,
)


@pytest.mark.parametrize("look", [CASINO_RED, IVORY, BLACK], ids=["casino red", "ivory", "black"])
@pytest.mark.parametrize("faces", [(1, 2), (3, 4), (5, 6)])
def test_every_face_is_read_whatever_the_dice_are_made_of(faces: tuple[int, int], look: DieMaterial) -> None:
    reading = read_picture(still(*pair(*faces, seed=faces[0], look=look)), EDGE_PX, 2)
    assert reading.refused is None
    assert sorted(die.up or 0 for die in reading.dice) == sorted(faces)
    assert all(die.confidence >= 0.6 for die in reading.dice)


def test_a_die_is_located_where_it_lies() -> None:
    (die,) = read_picture(still(flat_die(5, 20.0, (12.0, -8.0))), EDGE_PX, 1).dice
    # The centre of the top face, 19 mm above the felt: 640 px / (190 - 19) mm from the picture's centre.
    assert die.x == pytest.approx(319.5 + 12 * 640 / 171, abs=1)
    assert die.y == pytest.approx(239.5 + 8 * 640 / 171, abs=1)


def test_two_dice_that_touch_are_two() -> None:
    touching = (flat_die(4, 30.0, (0.0, 0.0)), flat_die(6, 30.0, (19.1 * np.cos(np.pi / 6), 19.1 / 2)))
    reading = read_picture(still(*touching), EDGE_PX, 2)
    assert reading.refused is None
    assert sorted(die.up or 0 for die in reading.dice) == [4, 6]


def test_a_3_whose_pips_are_close_together_is_a_3() -> None:
    narrow = DieMaterial(
        body=(205, 225, 232), pips=(25, 25, 25), translucence=0.0, pip_fraction=0.08, pitch_fraction=0.18
    )
    reading = read_picture(still(*pair(3, 6, look=narrow)), EDGE_PX, 2)
    assert reading.refused is None
    assert sorted(die.up or 0 for die in reading.dice) == [3, 6]


@pytest.mark.parametrize("column", [-1, 1])
def test_a_6_with_three_pips_hidden_by_glare_is_not_a_3(column: int) -> None:
    picture = still(flat_die(6, 0.0, (0.0, 0.0), look=IVORY))
    (die,) = read_picture(picture, EDGE_PX, 1).dice
    x, y = round(die.x), round(die.y)
    colour = tuple(int(value) for value in picture[y, x])
    away = round(0.27 * EDGE_PX) * column
    half, wide = round(0.42 * EDGE_PX), round(0.13 * EDGE_PX)
    for low, high in (
        ((x + away - wide, y - half), (x + away + wide, y + half)),
        ((x - half, y + away - wide), (x + half, y + away + wide)),
    ):
        spoilt = picture.copy()
        cv2.rectangle(spoilt, low, high, colour, -1)
        assert 3 not in [seen.up for seen in read_picture(spoilt, EDGE_PX).dice]


def test_pips_that_shine_are_pips() -> None:
    glossy = DieMaterial(
        body=(205, 225, 232), pips=(25, 25, 25), translucence=0.0, pip_fraction=0.1, shine=0.8
    )
    reading = read_picture(still(*pair(6, 3, look=glossy)), EDGE_PX, 2)
    assert reading.refused is None
    assert sorted(die.up or 0 for die in reading.dice) == [3, 6]


@pytest.mark.parametrize("turn_deg", [7.3, 40.0, 63.7, 74.8])
@pytest.mark.parametrize("up", [1, 2, 3])
def test_a_dark_side_whose_foot_stands_out_more_than_its_top_is_not_part_of_the_face(
    up: int, turn_deg: float
) -> None:
    die = flat_die(up, turn_deg, (3228.0, 131.0))
    reading = read_picture(seen_aslant(die, Light(lamp=(0.1, 0.5, 0.9))), ASLANT_EDGE_PX, 1)
    assert reading.refused is None
    assert [seen.up for seen in reading.dice] == [up]


@pytest.mark.parametrize(
    ("up", "turn_deg", "place_mm"),
    [(2, 55.2, (3481.2, 240.2)), (3, 6.4, (3270.0, 240.0)), (3, 14.1, (3465.0, 278.0))],
)
def test_the_pips_of_a_side_hardly_darker_than_the_top_are_not_part_of_its_face(
    up: int, turn_deg: float, place_mm: tuple[float, float]
) -> None:
    die = flat_die(up, turn_deg, place_mm, look=BLUE)
    reading = read_picture(seen_aslant(die, DIM_LIGHT, lens=DIM_LENS, cloth=GREY), 60.3, 1)
    assert reading.refused is None
    assert [seen.up for seen in reading.dice] == [up]


@pytest.mark.parametrize(
    ("turn_deg", "side", "along_mm", "other"),
    [(35.0, 0, -8.0, 5), (35.0, 1, 8.0, 6), (60.0, 1, 4.0, 5), (10.0, 1, 0.0, 3)],
)
def test_a_1_and_a_pip_of_a_die_that_touches_it_are_not_a_2(
    turn_deg: float, side: int, along_mm: float, other: int
) -> None:
    assert _face_beside(turn_deg, side, along_mm, other) == [1]


@pytest.mark.parametrize(
    ("turn_deg", "side", "along_mm", "other"), [(10.0, 3, 4.0, 5), (60.0, 2, 8.0, 6), (35.0, 1, 0.0, 3)]
)
def test_a_1_whose_side_does_not_show_where_another_die_touches_it_is_read(
    turn_deg: float, side: int, along_mm: float, other: int
) -> None:
    assert _face_beside(turn_deg, side, along_mm, other) == [1]


def _face_beside(turn_deg: float, side: int, along_mm: float, other: int) -> list[int | None]:
    """Return the reading of a 1 with another die flush at one side, shifted along that side."""
    x, y = 3228.0, 131.0
    out = np.radians(turn_deg + 90.0 * side)
    place = (
        x + 19.1 * np.cos(out) - along_mm * np.sin(out),
        y + 19.1 * np.sin(out) + along_mm * np.cos(out),
    )
    picture = seen_aslant(flat_die(1, turn_deg, (x, y)), Light(), flat_die(other, turn_deg, place))
    middle = picture.shape[0] / 2
    dice = read_picture(picture, ASLANT_EDGE_PX).dice
    return [die.up for die in dice if np.hypot(die.x - middle, die.y - middle) < 0.35 * ASLANT_EDGE_PX]


@pytest.mark.parametrize(
    ("look", "faces", "seed"),
    [(IVORY, (3, 5), 556), (CASINO_RED, (5, 5), 525), (BLACK, (1, 5), 532), (IVORY, (2, 2), 2)],
)
@pytest.mark.parametrize("fraction", [0.7, 0.8, 1.25])
def test_a_wrong_size_makes_no_other_face(
    look: DieMaterial, faces: tuple[int, int], seed: int, fraction: float
) -> None:
    reading = read_picture(still(*pair(*faces, seed=seed, look=look)), fraction * EDGE_PX, 2)
    assert reading.refused is not None or sorted(die.up or 0 for die in reading.dice) == sorted(faces)


def test_a_face_of_which_a_part_looks_like_another_is_refused_with_the_measured_edge() -> None:
    picture = still(flat_die(5, 20.0, (0.0, 0.0), look=CASINO_RED))
    reading = read_picture(picture, 0.7 * EDGE_PX, 1)
    assert reading.refused is not None
    match = re.search(r"a die's edge is about (\d+) pixels, not 47 as given", reading.refused)
    assert match is not None
    assert int(match[1]) == pytest.approx(EDGE_PX, rel=0.15)


def test_the_holes_of_a_grid_are_not_pips() -> None:
    picture = still(flat_die(3, 20.0, (-30.0, 0.0), look=CASINO_RED))
    pitch = round(0.39 * EDGE_PX)
    picture[:, 380:] = (210, 245, 250)
    for left in range(400, 620, pitch):
        for top in range(60, 420, pitch):
            cv2.circle(picture, (left, top), round(0.14 * EDGE_PX), (10, 20, 15), -1, cv2.LINE_AA)
    assert read_picture(picture, EDGE_PX, 2).refused is not None
    assert {die.up for die in read_picture(picture, EDGE_PX).dice} <= {3, None}


@pytest.mark.parametrize("expected", [1, 3])
def test_dice_other_than_the_expected_are_refused(expected: int) -> None:
    reading = read_picture(still(*pair(4, 5)), EDGE_PX, expected)
    assert reading.refused == f"found 2 dice, expected {expected}"


def test_an_empty_table_has_no_dice() -> None:
    reading = read_picture(still(), EDGE_PX, 0)
    assert reading.dice == ()
    assert reading.refused is None


def test_a_pip_half_hidden_by_glare_is_a_doubt_and_not_another_number() -> None:
    picture = still(flat_die(3, 0.0, (0.0, 0.0), look=IVORY))
    (die,) = read_picture(picture, EDGE_PX, 1).dice
    glare = picture.astype(np.float32)
    spot = np.zeros(picture.shape[:2], np.float32)
    cv2.circle(spot, (round(die.x), round(die.y)), 9, 1.0, -1)
    glare += 110 * cv2.GaussianBlur(spot, (0, 0), 3)[..., None]
    reading = read_picture(np.clip(glare, 0, 255).astype(np.uint8), EDGE_PX, 1)
    assert [seen.up for seen in reading.dice] in ([3], [None], [])
    assert reading.refused is not None or reading.dice[0].up == 3


def test_a_die_cut_by_the_border_is_not_reported() -> None:
    for x in range(46, 64, 2):
        reading = read_picture(still(flat_die(5, 0.0, (float(x), 0.0))), EDGE_PX, 1)
        assert reading.refused is not None or [die.up for die in reading.dice] == [5]


def test_a_blurred_picture_is_refused_or_right() -> None:
    picture = still(*pair(2, 6))
    for sigma in (2, 4, 8):
        reading = read_picture(cv2.GaussianBlur(picture, (0, 0), sigma), EDGE_PX, 2)
        assert reading.refused is not None or sorted(die.up or 0 for die in reading.dice) == [2, 6]
    assert read_picture(cv2.GaussianBlur(picture, (0, 0), 12), EDGE_PX, 2).refused is not None


def test_dice_too_small_to_read_are_refused() -> None:
    reading = read_picture(still(*pair(2, 6)), 40.0, 2)
    assert reading.refused is not None
    assert "expected 45 or more" in reading.refused


def test_a_doubt_names_a_number_without_blanks() -> None:
    """A 1 can become a 3 along either diagonal, and a 4 a 6 along either side."""
    body = Body(axes=np.eye(2), sides=np.ones(4), steps=np.ones(4))
    for up, others in ((1, [3, 3]), (2, [3, 4]), (3, [5]), (4, [5, 6, 6]), (5, []), (6, [])):
        face = Face(up, (), np.zeros(2), np.eye(2), 0.0)
        assert [other for other, _ in _other_places(face, body)] == others
