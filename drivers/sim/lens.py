"""The image of a virtual camera above a dice table, and a first guess of where its points are."""

from controller.model.geometry import DiceTable
from drivers.devices.homography import Homography, Pair, Point, fit

_IMAGE: tuple[Point, ...] = ((62.0, 421.0), (1228.0, 437.0), (1171.0, 58.0), (109.0, 66.0))
"""The felt's corners in an image of 1280 x 480, seen from the stickperson's side."""
_GUESSED: tuple[Point, ...] = ((30.0, -20.0), (-40.0, 15.0), (25.0, 25.0), (-30.0, -25.0))
"""So many millimetres beside the truth is where somebody believes these corners."""


def lens_of(table: DiceTable) -> Homography:
    """Give the way from the table's plane to the image."""
    return fit(list(zip(_corners(table), _IMAGE, strict=True)))


def first_guess(table: DiceTable) -> list[Pair]:
    """Give a calibration as a new camera has it: the image's corners, and roughly where they are."""
    corners = ((x + dx, y + dy) for (x, y), (dx, dy) in zip(_corners(table), _GUESSED, strict=True))
    return list(zip(_IMAGE, corners, strict=True))


def _corners(table: DiceTable) -> tuple[Point, ...]:
    length, width = table.length_mm, table.width_mm
    return ((0.0, 0.0), (length, 0.0), (length, width), (0.0, width))
