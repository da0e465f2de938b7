"""Tests of the calibration with the board: lens, felt, height, and the refusal of bad pictures."""

import numpy as np
import pytest

from controller.model.geometry import DiceTable
from drivers.sim.filming import Lens
from drivers.vision.arrays import Array
from drivers.vision.calibration import (
    SQUARE_MM,
    BoardView,
    CalibrationError,
    TableCorner,
    board_page,
    find_board,
    measure_felt,
    measure_lens,
)
from drivers.vision.rig import Rig, RigFile
from tests.drivers.vision.sheets import PX_PER_MM, held, printed, seen

TABLE = DiceTable(length_mm=3600, width_mm=700, die_mm=19, wall_relief_mm=12)
LENS = Lens(
    width=1280,
    height=960,
    focal_px=1100.0,
    place_mm=(380.0, 340.0, 1100.0),
    looks_at_mm=(360.0, 350.0, 0.0),
    distortion=(-0.12, 0.03, 0.001, -0.001),
    middle_px=(650.0, 470.0),
)
SIZE = (LENS.width, LENS.height)
RIGHT, AWAY = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
LYING: dict[TableCorner, tuple[Array, Array, Array]] = {
    "left-front": (np.array([0.0, 0.0, 0.0]), RIGHT, AWAY),
    "left-back": (np.array([0.0, TABLE.width_mm, 0.0]), -AWAY, RIGHT),
}


def found(picture: Array, square_mm: float = SQUARE_MM) -> BoardView:
    view = find_board(picture, square_mm)
    assert view is not None
    return view


def flat() -> dict[TableCorner, BoardView]:
    return {corner: found(seen(LENS, *lies, walls=TABLE)) for corner, lies in LYING.items()}


@pytest.fixture(scope="module")
def views() -> list[BoardView]:
    return [found(held(LENS, number)) for number in range(9)]


def test_a_printed_page_has_its_stated_size() -> None:
    view = found(printed())
    assert len(view.pixels) == 24
    (ax, ay), (bx, by) = view.places_mm[0], view.places_mm[-1]
    (px, py), (qx, qy) = view.pixels[0], view.pixels[-1]
    assert (qx - px) / PX_PER_MM == pytest.approx(bx - ax, abs=0.2)
    assert (py - qy) / PX_PER_MM == pytest.approx(by - ay, abs=0.2)
    assert board_page().startswith(b"%PDF-")


def test_lens_felt_and_height_are_measured(views: list[BoardView]) -> None:
    boards = flat()
    lens, fit = measure_lens([*views, *boards.values()], SIZE)
    assert fit < 0.3
    assert lens.focal_px == pytest.approx((1100.0, 1100.0), rel=0.01)
    felt = measure_felt(boards, TABLE, lens)
    assert felt.worst_mm < 1.0
    rig = Rig(RigFile(camera="cam", table=TABLE, points=felt.points, lens=lens))
    assert rig.height_mm == pytest.approx(1100.0, rel=0.01)
    for place in ((350.0, 350.0), (150.0, 100.0), (500.0, 600.0)):
        x, y = LENS.project(np.array([[*place, 0.0]]))[0]
        assert rig.to_table(float(x), float(y), 0.0) == pytest.approx(place, abs=1.5)


def test_a_board_printed_too_small_is_measured_by_its_own_square(views: list[BoardView]) -> None:
    del views
    half = found(seen(LENS, *LYING["left-front"], walls=TABLE), SQUARE_MM / 2)
    whole = found(seen(LENS, *LYING["left-front"], walls=TABLE))
    assert half.places_mm * 2 == pytest.approx(whole.places_mm)


def test_a_corner_mistaken_for_another_is_refused(views: list[BoardView]) -> None:
    boards = flat()
    lens, _ = measure_lens([*views, *boards.values()], SIZE)
    mistaken: dict[TableCorner, BoardView] = {
        "left-front": boards["left-back"],
        "left-back": boards["left-front"],
    }
    with pytest.raises(CalibrationError, match="mm off its position on the felt"):
        measure_felt(mistaken, TABLE, lens)


def test_too_few_views_or_views_of_one_spot_measure_no_lens(views: list[BoardView]) -> None:
    with pytest.raises(CalibrationError, match="in 4 pictures, expected 5 or more"):
        measure_lens(views[:4], SIZE)
    with pytest.raises(CalibrationError, match="of the picture's width"):
        measure_lens([views[4]] * 6, SIZE)


def test_a_picture_without_the_board_shows_none() -> None:
    assert find_board(np.full((960, 1280, 3), 128, np.uint8)) is None
