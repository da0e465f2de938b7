"""Renders the printed calibration page, read from the PDF, through a known lens."""

import re

import cv2
import numpy as np

from controller.model.geometry import DiceTable
from drivers.sim.filming import Lens
from drivers.vision.arrays import Array
from drivers.vision.calibration import COLUMNS, CUT_MM, PAGE_MM, ROWS, SQUARE_MM, board_page

PX_PER_MM = 8.0
WALL_MM, PYRAMID_MM = 220.0, 24.0
"""The height of a wall above the felt, and the distance between the wall's rubber pyramids."""
SHEET_MM = (COLUMNS * SQUARE_MM + 2 * CUT_MM, ROWS * SQUARE_MM + 2 * CUT_MM)


def printed() -> Array:
    """Return the printed page: its filled rectangles on a grey background."""
    wide, high = (round(side * PX_PER_MM) for side in PAGE_MM)
    sheet: Array = np.full((high, wide, 3), 235, np.uint8)
    scale = PX_PER_MM * 25.4 / 72
    for words in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) re f", board_page()):
        x, y, w, h = (float(word) * scale for word in words)
        cv2.rectangle(
            sheet, (round(x), round(high - y - h)), (round(x + w) - 1, round(high - y) - 1), (25, 25, 25), -1
        )
    return sheet


def cut() -> Array:
    """Return the board cut from the page along its line."""
    left, low = (PAGE_MM[0] - SHEET_MM[0]) / 2, (PAGE_MM[1] - SHEET_MM[1]) / 2
    x, y, w, h = (round(value * PX_PER_MM) for value in (left, low, *SHEET_MM))
    return printed()[y : y + h, x : x + w]


def rays_of(lens: Lens) -> tuple[Array, Array]:
    """Return the camera's position, and the viewing direction of each pixel, row by row."""
    rows, columns = np.mgrid[0 : lens.height, 0 : lens.width]
    pixels = np.stack([columns, rows], axis=-1).reshape(-1, 1, 2).astype(np.float64)
    straight = cv2.undistortPoints(pixels, lens.matrix, np.array(lens.distortion)).reshape(-1, 2)
    rotation, moved = lens.pose()
    rays: Array = np.column_stack([straight, np.ones(len(straight))]) @ rotation
    return -rotation.T @ moved, rays


def walled(picture: Array, lens: Lens, table: DiceTable) -> Array:
    """Return a picture of a table's felt with walls of rubber pyramids and a rail on top of the walls."""
    eye, rays = rays_of(lens)
    reach = np.full(len(rays), np.inf)
    along = np.zeros(len(rays))
    with np.errstate(divide="ignore", invalid="ignore"):
        for axis, at_mm in ((0, 0.0), (0, table.length_mm), (1, 0.0), (1, table.width_mm)):
            away = (at_mm - eye[axis]) / rays[:, axis]
            nearer = (away > 0) & (away < reach)
            reach = np.where(nearer, away, reach)
            along = np.where(nearer, eye[1 - axis] + rays[:, 1 - axis] * away, along)
        high = eye[2] + rays[:, 2] * reach
    pyramid = np.abs(along % PYRAMID_MM / PYRAMID_MM - 0.5) + np.abs(high % PYRAMID_MM / PYRAMID_MM - 0.5)
    rubber = np.array([30.0, 30.0, 30.0]) + 45.0 * (1.0 - pyramid)[:, None]
    wood = np.array([50.0, 90.0, 140.0])
    seen_there = np.where((high > WALL_MM)[:, None], wood, rubber).reshape(picture.shape)
    shown: Array = np.where((high > 0).reshape(picture.shape[:2])[..., None], seen_there, picture)
    return np.clip(shown, 0, 255).astype(np.uint8)


def seen(
    lens: Lens,
    corner_mm: Array,
    along_mm: Array,
    up_mm: Array,
    *,
    seed: int = 1,
    walls: DiceTable | None = None,
) -> Array:
    """Render the sheet with its lower left corner and its lower and left edges as given.

    Directions are unit vectors in the table's axes. With `walls`, the sheet is on that table's felt.
    """
    sheet = cut()
    eye, rays = rays_of(lens)
    away = np.cross(along_mm, up_mm)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = ((corner_mm - eye) @ away) / (rays @ away)
    places = eye + rays * reach[:, None] - corner_mm
    x, y = places @ along_mm, places @ up_mm
    across = (x * PX_PER_MM - 0.5).reshape(lens.height, lens.width).astype(np.float32)
    down = ((SHEET_MM[1] - y) * PX_PER_MM - 0.5).reshape(lens.height, lens.width).astype(np.float32)
    small = cv2.GaussianBlur(sheet, (0, 0), PX_PER_MM / 3)
    drawn = cv2.remap(small, across, down, cv2.INTER_LINEAR, borderValue=(40, 110, 40))
    if walls is not None:
        drawn = walled(drawn, lens, walls)
    noise = np.random.default_rng(seed).normal(0.0, 2.0, drawn.shape)
    picture: Array = np.clip(drawn + noise, 0, 255).astype(np.uint8)
    return picture


def held(lens: Lens, number: int) -> Array:
    """Render the sheet held over the table, in a different pose for each number."""
    rng = np.random.default_rng(number)
    turn, tilt, way = rng.uniform(-40, 40), rng.uniform(15, 35), rng.uniform(0, 360)
    axis = np.array([np.cos(np.radians(way)), np.sin(np.radians(way)), 0.0])
    rotation = (
        cv2.Rodrigues(axis * np.radians(tilt))[0] @ cv2.Rodrigues(np.array([0, 0, np.radians(turn)]))[0]
    )
    along, up = rotation[:, 0], rotation[:, 1]
    middle = np.array([*lens.looks_at_mm[:2], 0.0]) + np.array(
        [((number % 3) - 1) * 360.0, ((number // 3 % 3) - 1) * 250.0, rng.uniform(40, 160)]
    )
    return seen(lens, middle - along * SHEET_MM[0] / 2 - up * SHEET_MM[1] / 2, along, up, seed=number)
