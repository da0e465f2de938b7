"""Whether a face fits the given length of a die's edge.

If the given length is too short, one pip of a large die may look like a small die's 1, because the other pips
are as far away as a small die's sides. But pips are round while a side is a straight line, and a large die's
pip is wider than any pip of a small die.
"""

import cv2
import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.bodies import ALONG, OUT, SPAN, Body, profiles
from drivers.vision.faces import Face
from drivers.vision.pips import EDGE_PX, Pips, sample

STRAIGHT = 0.75  # least fraction of a side along which it must be visible: 0.85 was measured on real sides
STRAIGHT_SIDES = 3  # how many sides of a 1, 2 or 3 must be straight: another die may hide the fourth
SIDE_PX = 3.5  # how far a side may be from its distance: a 1's turn is known to 4.5 degrees
HALF_STEP = 0.5  # least step in each line across a side, over the side's mean step
SPREAD = {1: 1.2, 2: 1.2, 3: 1.8, 4: 1.8, 5: 1.8}
"""Largest connected area of a pip's colour over the pip's own area, by number: 1.1 was measured on a 1 or 2,
1.6 on others under a lamp. The pips of a 6 may join."""
SPREAD_REACH = 3.0  # how far that area is searched for, in pip radii
SLIM_PAIR = 0.09  # least radius of a 2's pips over their distance: 0.13 was measured


def contradiction(image: Array, pips: Pips, face: Face, body: Body) -> str | None:
    """Return how a face contradicts the given length of a die's edge; None if it does not."""
    rows = list(face.rows)
    if face.up in SPREAD and max(_spread(image, pips, row) for row in rows) > SPREAD[face.up]:
        return "pips are cut out of larger spots"
    apart = float(np.hypot(*np.ptp(pips.centre[rows], axis=0)))
    if face.up == 2 and float(pips.radius[rows].min()) < SLIM_PAIR * apart:
        return "pips are too small for their distance"
    if face.up <= 3 and len(straight_sides(image, face, body)) < STRAIGHT_SIDES:
        return "sides are not straight lines"
    return None


def straight_sides(image: Array, face: Face, body: Body) -> list[int]:
    """Return the sides of a body that are visible along their length; a pip is a step in only a part."""
    lines = profiles(image, face.centre, body.axes, ALONG)
    rise = np.abs(lines[:, 2 * SPAN :] - lines[:, : -2 * SPAN]).max(axis=3)
    away = np.abs(OUT[SPAN:-SPAN][None] - body.sides[:, None] * EDGE_PX)
    near = np.where((away < SIDE_PX)[..., None], rise, 0.0).max(axis=1)
    share = (near > HALF_STEP * body.steps[:, None]).mean(axis=1)
    return [side for side in range(4) if body.sides[side] > 0.0 and share[side] > STRAIGHT]


def _spread(image: Array, pips: Pips, row: int) -> float:
    """Return the area of a pip's colour in and around a pip over the pip's own area."""
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
