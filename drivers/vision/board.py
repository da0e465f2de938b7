"""Generates the printable page of the calibration board, a ChArUco board, and finds it in a picture."""

from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np

from drivers.vision.arrays import Array

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
"""Minimum number of corners in a view: half of the board's 24. Fewer corners may lie on one line, which does
not determine a lens."""

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


def page() -> bytes:
    """Return the board as a PDF of one A4 page. Printed without scaling, a square measures SQUARE_MM."""
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
