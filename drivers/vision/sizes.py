"""Checks whether a face agrees with the given length of a die's edge.

If the given length is too short, one pip of a large die may look like a small die's 1, with the other pips at
the distance of a small die's sides. However, pips are round, while sides are straight lines, and a large
die's pip is wider than any pip of a small die.
"""

import cv2
import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.bodies import ALONG, OUTWARD, SPAN, Body, profiles
from drivers.vision.faces import Face
from drivers.vision.pips import EDGE_PX, Pips, sample

# Minimum fraction of a side's length that is visible: 0.85 was measured on actual sides.
MIN_STRAIGHT_FRACTION = 0.75
MIN_STRAIGHT_SIDES = 3  # minimum number of straight sides of a 1, 2 or 3; another die may hide the fourth
# Maximum deviation of a side from a straight line, in pixels. The angle of a 1 is accurate to 4.5 degrees.
SIDE_PX = 3.5
MIN_STEP_RATIO = 0.5  # minimum step in each line across a side, as a fraction of the side's mean step
MAX_SPREAD = {1: 1.2, 2: 1.2, 3: 1.8, 4: 1.8, 5: 1.8}
"""Maximum connected area of a pip's colour, divided by the pip's area, by number. Under a lamp, 1.1 was
measured on a 1 or 2 and 1.6 on a 3, 4 or 5. The pips of a 6 may join."""
SPREAD_REACH = 3.0  # radius of the searched area, in pip radii
MIN_PAIR_RADIUS = 0.09  # minimum radius of a 2's pips, as a fraction of their distance: 0.13 was measured


def find_contradiction(image: Array, pips: Pips, face: Face, body: Body) -> str | None:
    """Return a description of how a face contradicts the given length of a die's edge, or None."""
    rows = list(face.rows)
    if face.up in MAX_SPREAD and max(_spread(image, pips, row) for row in rows) > MAX_SPREAD[face.up]:
        return "pips are cut out of larger spots"
    distance = float(np.hypot(*np.ptp(pips.centre[rows], axis=0)))
    if face.up == 2 and float(pips.radius[rows].min()) < MIN_PAIR_RADIUS * distance:
        return "pips are too small for their distance"
    if face.up <= 3 and len(straight_sides(image, face, body)) < MIN_STRAIGHT_SIDES:
        return "sides are not straight lines"
    return None


def straight_sides(image: Array, face: Face, body: Body) -> list[int]:
    """Return the sides of a body that are visible along most of their length, unlike steps at pips."""
    lines = profiles(image, face.centre, body.axes, ALONG)
    rise = np.abs(lines[:, 2 * SPAN :] - lines[:, : -2 * SPAN]).max(axis=3)
    side_distance = np.abs(OUTWARD[SPAN:-SPAN][None] - body.sides[:, None] * EDGE_PX)
    near = np.where((side_distance < SIDE_PX)[..., None], rise, 0.0).max(axis=1)
    fraction = (near > MIN_STEP_RATIO * body.steps[:, None]).mean(axis=1)
    return [side for side in range(4) if body.sides[side] > 0.0 and fraction[side] > MIN_STRAIGHT_FRACTION]


def _spread(image: Array, pips: Pips, row: int) -> float:
    """Return the connected area of a pip's colour, divided by the pip's area."""
    radius = float(pips.radius[row])
    reach = np.arange(-round(SPREAD_REACH * radius), round(SPREAD_REACH * radius) + 1, dtype=np.float32)
    places = np.stack(np.meshgrid(reach, reach), axis=2)
    ink, paper = pips.inside[row], pips.around[row]
    towards = (ink - paper) / max(1.0, float(((ink - paper) ** 2).sum()))
    seen = sample(image, pips.centre[row] + places).astype(np.float32)
    _, labels = cv2.connectedComponents((((seen - paper) @ towards) > 0.5).astype(np.uint8), connectivity=4)
    own = labels[np.hypot(places[..., 0], places[..., 1]) < 0.6 * radius]
    own = own[own > 0]
    if not len(own):
        return 0.0
    return float((labels == np.bincount(own).argmax()).sum() / (np.pi * radius**2))
