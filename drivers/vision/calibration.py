"""Calibrates a camera with pictures of the printed calibration board.

The lens is measured from tilted views of the board, the felt's plane from boards on the felt.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import cv2
import numpy as np

from controller.model.geometry import DiceTable
from drivers.vision.arrays import Array
from drivers.vision.board import BoardView
from drivers.vision.rig import MAX_POINT_ERROR_MM, LensSettings

TableCorner = Literal["left-front", "left-back", "right-front", "right-back"]
"""An inside corner of the table from the stickperson's position, whose rail is the front (y = 0)."""

MIN_VIEWS = 5
"""Minimum number of differently tilted views of the board from which a lens is measured."""
MIN_SPREAD = 0.6
"""Minimum fraction of the picture's width and height that the views cover. A lens distorts most at the
border."""
MAX_FIT_ERROR_PX = 1.0
"""Maximum RMS error of the corners. In a sharp picture, corners are located to a tenth of a pixel. A larger
error indicates a bent board, a blurred picture or pictures from two cameras."""
KEPT_POINTS = 8


class CalibrationError(ValueError):
    """Raised if pictures are unsuitable for calibration."""


class FeltPoint(NamedTuple):
    """A corner of a board on the felt: its pixel, its actual position and its computed position (mm)."""

    pixel: tuple[float, float]
    place_mm: tuple[float, float]
    solved_mm: tuple[float, float]

    @property
    def miss_mm(self) -> float:
        """Distance between the actual and the computed position."""
        return float(np.hypot(self.solved_mm[0] - self.place_mm[0], self.solved_mm[1] - self.place_mm[1]))


class Felt(NamedTuple):
    """The felt's plane: the points for a rig file, and all measured corners."""

    points: tuple[tuple[float, float, float, float], ...]
    corners: tuple[FeltPoint, ...]

    @property
    def worst_mm(self) -> float:
        """Largest error of a corner."""
        return max(corner.miss_mm for corner in self.corners)


def measure_lens(views: Sequence[BoardView], size: tuple[int, int]) -> tuple[LensSettings, float]:
    """Return the lens that produced these views, and the RMS error of the fit in pixels.

    Args:
        views: The board in each picture.
        size: The pictures' width and height.

    Raises:
        CalibrationError: If there are too few views, the views cover too little of the picture, or the
            fit's error exceeds MAX_FIT_ERROR_PX.
    """
    if len(views) < MIN_VIEWS:
        raise CalibrationError(
            f"found the board in {len(views)} pictures, expected {MIN_VIEWS} or more; take more pictures with"
            " different tilts"
        )
    seen = np.concatenate([view.pixels for view in views])
    spread = (seen.max(axis=0) - seen.min(axis=0)) / np.array(size, float)
    if spread.min() < MIN_SPREAD:
        raise CalibrationError(
            f"found views of the board that cover {spread[0]:.0%} of the picture's width and {spread[1]:.0%}"
            f" of its height, expected {MIN_SPREAD:.0%} or more of both; hold the board near the picture's"
            " borders too"
        )
    flat = [np.column_stack([view.places_mm, np.zeros(len(view.places_mm))]) for view in views]
    fit, matrix, distortion, _, _ = cv2.calibrateCamera(
        [places.astype(np.float32) for places in flat],
        [view.pixels.astype(np.float32) for view in views],
        size,
        np.eye(3),
        np.zeros(5),
        flags=cv2.CALIB_FIX_K3,
    )
    if not fit <= MAX_FIT_ERROR_PX:
        raise CalibrationError(
            f"found an RMS error of {fit:.1f} px between the corners and the best lens model, expected"
            f" {MAX_FIT_ERROR_PX:g} px or less; keep the board flat and still, and take all pictures with one"
            " camera at one setting"
        )
    k1, k2, p1, p2 = (float(value) for value in np.asarray(distortion).ravel()[:4])
    lens = LensSettings(
        focal_px=(float(matrix[0][0]), float(matrix[1][1])),
        middle_px=(float(matrix[0][2]), float(matrix[1][2])),
        distortion=(k1, k2, p1, p2),
    )
    return lens, float(fit)


def measure_felt(laid: Mapping[TableCorner, BoardView], table: DiceTable, lens: LensSettings | None) -> Felt:
    """Return the felt's plane, computed from boards in the table's corners.

    Raises:
        CalibrationError: If a corner's error exceeds MAX_POINT_ERROR_MM.
    """
    pixels = np.concatenate([view.pixels for view in laid.values()])
    places = np.concatenate([_on_table(corner, view.places_mm, table) for corner, view in laid.items()])
    straight = _undistort(pixels, lens)
    plane, _ = cv2.findHomography(straight, places)
    solved = cv2.perspectiveTransform(straight.reshape(-1, 1, 2), plane).reshape(-1, 2)
    corners = tuple(
        FeltPoint((px[0], px[1]), (at[0], at[1]), (found[0], found[1]))
        for px, at, found in zip(pixels.tolist(), places.tolist(), solved.tolist(), strict=True)
    )
    worst = max(corner.miss_mm for corner in corners)
    if not worst <= MAX_POINT_ERROR_MM:
        raise CalibrationError(
            f"found a corner of the boards in {', '.join(laid)} {worst:.0f} mm off its position on the felt,"
            f" expected {MAX_POINT_ERROR_MM:g} mm or less; check the corner in each picture, the table's size"
            " and that each board lies flat"
        )
    return Felt(_points(places, np.linalg.inv(plane), lens), corners)


def _on_table(corner: TableCorner, board_mm: Array, table: DiceTable) -> Array:
    """Convert positions on a board, whose lower left corner is in this table corner, to table positions."""
    x, y = board_mm[:, 0], board_mm[:, 1]
    match corner:
        case "left-front":
            return np.column_stack([x, y])
        case "right-front":
            return np.column_stack([table.length_mm - y, x])
        case "right-back":
            return np.column_stack([table.length_mm - x, table.width_mm - y])
        case "left-back":
            return np.column_stack([y, table.width_mm - x])


def _undistort(pixels: Array, lens: LensSettings | None) -> Array:
    if lens is None:
        return np.asarray(pixels, float)
    distortion = np.array(lens.distortion)
    return cv2.undistortPoints(pixels.reshape(-1, 1, 2), lens.matrix, distortion).reshape(-1, 2)


def _points(
    places: Array, to_picture: Array, lens: LensSettings | None
) -> tuple[tuple[float, float, float, float], ...]:
    """Return points for a rig file: the outermost positions, with their pixels according to the fit."""
    hull = cv2.convexHull(places.astype(np.float32)).reshape(-1, 2)
    step = max(1.0, len(hull) / KEPT_POINTS)
    kept = [hull[int(number * step)] for number in range(min(KEPT_POINTS, len(hull)))]
    straight = cv2.perspectiveTransform(np.array(kept, float).reshape(-1, 1, 2), to_picture).reshape(-1, 2)
    pixels = straight
    if lens is not None:
        ahead = np.column_stack([straight, np.ones(len(straight))])
        drawn, _ = cv2.projectPoints(ahead, np.zeros(3), np.zeros(3), lens.matrix, np.array(lens.distortion))
        pixels = drawn.reshape(-1, 2)
    return tuple(
        (round(float(u), 2), round(float(v), 2), round(float(x), 2), round(float(y), 2))
        for (u, v), (x, y) in zip(pixels, kept, strict=True)
    )
