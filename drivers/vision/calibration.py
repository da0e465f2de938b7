"""Calibrates a camera with pictures of the printed calibration board.

The board is a ChArUco board; this module also generates its printable page. The lens is measured from tilted
views of the board, and the felt's plane from boards on the felt.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import cv2
import numpy as np

from controller.model.geometry import DiceTable
from drivers.vision.arrays import Array
from drivers.vision.rig import MAX_POINT_ERROR_MM, LensSettings

COLUMNS, ROWS = 7, 5
SQUARE_MM = 36.0
"""Edge of a square. The board and its margin leave the outer 5 mm of an A4 page free, where printers cannot
print."""
MARKER_FRACTION = 0.75
CUT_MM = 10.0
"""Distance of the cut from the outer squares. The cut edges are pushed against the table's walls."""
PAGE_MM = (297.0, 210.0)
"""A4, landscape."""
MIN_CORNERS = 12
"""Minimum number of corners in a view: half of the board's 24. Fewer corners might lie on one line, which
does not determine a lens."""

_DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
_MARKER_CELLS = 6
"""Four bits in each direction, plus a border on both sides."""
_POINTS_PER_MM = 72 / 25.4


class BoardView(NamedTuple):
    """The board's corners in one picture: pixels (n, 2) and positions on the board (n, 2).

    Positions are in millimetres from the lower left corner of the cut page, x to the right, y up.
    """

    pixels: Array
    places_mm: Array


def find_board(picture: Array, square_mm: float = SQUARE_MM) -> BoardView | None:
    """Return the corners of the board in a picture; None if fewer than MIN_CORNERS are found."""
    corners, ids, _, _ = cv2.aruco.CharucoDetector(_board()).detectBoard(picture)
    if ids is None or len(ids) < MIN_CORNERS:
        return None
    numbers = np.asarray(ids).ravel()
    columns, rows = numbers % (COLUMNS - 1) + 1, numbers // (COLUMNS - 1) + 1
    scale = square_mm / SQUARE_MM
    places = np.column_stack(
        [CUT_MM * scale + columns * square_mm, CUT_MM * scale + (ROWS - rows) * square_mm]
    )
    return BoardView(np.asarray(corners, float).reshape(-1, 2), places)


def board_page() -> bytes:
    """Return the board as a PDF of one A4 page. Printed without scaling, its squares measure SQUARE_MM."""
    left, low = (PAGE_MM[0] - COLUMNS * SQUARE_MM) / 2, (PAGE_MM[1] - ROWS * SQUARE_MM) / 2
    drawn = ["0 g"]
    drawn += [_rectangle(left + x, low + y, wide, high) for x, y, wide, high in _black()]
    cut = (left - CUT_MM, low - CUT_MM, COLUMNS * SQUARE_MM + 2 * CUT_MM, ROWS * SQUARE_MM + 2 * CUT_MM)
    drawn.append(f"0.3 w {' '.join(f'{_pt(side):.3f}' for side in cut)} re S")
    caption = (
        "Cut along the line. Push this corner into the table's corner. "
        f"Check that a square measures {SQUARE_MM:g} mm."
    )
    drawn.append(f"BT /F1 8 Tf {_pt(left):.3f} {_pt(low - 6):.3f} Td ({caption}) Tj ET")
    drawn.append(_rectangle(left - CUT_MM + 2, low - CUT_MM + 2, 4, 4))
    return _pdf("\n".join(drawn).encode("ascii"))


def _board() -> cv2.aruco.CharucoBoard:
    return cv2.aruco.CharucoBoard((COLUMNS, ROWS), SQUARE_MM, SQUARE_MM * MARKER_FRACTION, _DICTIONARY)


def _black() -> Iterator[tuple[float, float, float, float]]:
    """Yield the black rectangles: x, y, width and height in mm, from the outer squares' lower left corner."""
    number = 0
    cell = SQUARE_MM * MARKER_FRACTION / _MARKER_CELLS
    edge = SQUARE_MM * (1 - MARKER_FRACTION) / 2
    for row in range(ROWS):
        for column in range(COLUMNS):
            x, y = column * SQUARE_MM, (ROWS - 1 - row) * SQUARE_MM
            if (row + column) % 2 == 0:
                yield x, y, SQUARE_MM, SQUARE_MM
                continue
            bits = cv2.aruco.generateImageMarker(_DICTIONARY, number, _MARKER_CELLS)
            number += 1
            for down, across in zip(*np.nonzero(bits == 0), strict=True):
                top = SQUARE_MM - edge - (int(down) + 1) * cell
                yield x + edge + int(across) * cell, y + top, cell, cell


def _pt(millimetres: float) -> float:
    return millimetres * _POINTS_PER_MM


def _rectangle(x: float, y: float, wide: float, high: float) -> str:
    return f"{_pt(x):.3f} {_pt(y):.3f} {_pt(wide):.3f} {_pt(high):.3f} re f"


def _pdf(content: bytes) -> bytes:
    wide, high = (_pt(side) for side in PAGE_MM)
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide:.3f} {high:.3f}] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>".encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        font,
    ]
    data, starts = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        starts.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, table, count, len(data))
    )


TableCorner = Literal["left-front", "left-back", "right-front", "right-back"]
"""An inside corner of the table, as seen by the stickperson, who stands at the front rail (y = 0)."""

MIN_VIEWS = 5
"""Minimum number of differently tilted views of the board from which a lens is measured."""
MIN_SPREAD = 0.6
"""Minimum fraction of the picture's width and height that the views must cover. A lens distorts most at the
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
            f"found a corner of a board {worst:.0f} mm off its position on the felt"
            f" (boards in {', '.join(laid)}), expected {MAX_POINT_ERROR_MM:g} mm or less; check that each"
            " picture was given with the right corner, that the table's size is correct and that each board"
            " lies flat"
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
