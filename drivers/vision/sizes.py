"""Checks whether a face agrees with the given length of a die's edge, which might be too short or too long.

If the given length is too short, one pip of a large die can look like a small die's 1, and the pips around it
like the small die's sides. However, pips are round, while sides are straight lines, and a large die's pip is
wider than any pip of a small die.

A part of a large die's face can also look like a smaller face: two pips of a 4 look like a 2. The area
between two pips of one face shows only that face. An edge separates the pips of two dice, and the pips of a
top from those of a flank. The holes of a grid differ from pips in that the grid continues beyond a face.
"""

from collections.abc import Sequence
from itertools import permutations

import cv2
import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array
from drivers.vision.faces import ALONG, OUTWARD, SPAN, Body, Face, profiles
from drivers.vision.pips import EDGE_PX, Pips, sample

# Minimum fraction of a side's length that is visible: 0.85 was measured on actual sides.
MIN_STRAIGHT_FRACTION = 0.75
MIN_STRAIGHT_SIDES = 3  # minimum number of straight sides of a 1, 2 or 3; another die can hide the fourth
# Maximum deviation of a side from a straight line, in pixels. The angle of a 1 is accurate to 4.5 degrees.
SIDE_PX = 3.5
MIN_STEP_RATIO = 0.5  # minimum step in each line across a side, as a fraction of the side's mean step
MAX_SPREAD = {1: 1.2, 2: 1.2, 3: 1.8, 4: 1.8, 5: 1.8}
"""Maximum size of the connected area that has a pip's colour, as a multiple of the pip's area, by the face's
number. Under a lamp, 1.1 was measured on a 1 or 2 and 1.6 on a 3, 4 or 5. A 6 has no limit, because its pips
can merge."""
SPREAD_REACH = 3.0  # radius of the searched area, in pip radii
# Minimum radius of a 2's pips, as a fraction of the distance between them: 0.13 was measured.
MIN_PAIR_RADIUS = 0.09


def find_contradiction(image: Array, pips: Pips, face: Face, body: Body) -> str | None:
    """Return how a face contradicts the given length of a die's edge; None if it does not."""
    rows = list(face.rows)
    if face.up in MAX_SPREAD and max(_spread(image, pips, row) for row in rows) > MAX_SPREAD[face.up]:
        return "pips are cut out of larger spots"
    distance = float(np.hypot(*np.ptp(pips.centre[rows], axis=0)))
    if face.up == 2 and float(pips.radius[rows].min()) < MIN_PAIR_RADIUS * distance:
        return "pips are too small for the distance between them"
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
    """Return the size of the connected area that has a pip's colour, as a multiple of the pip's area."""
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


MAX_REACH = 1.6  # distance between opposite corner pips of a face twice as large as given, in edges
MIN_LIKENESS = 0.45  # minimum fit times aspect of a possible pip, half hidden or seen at an angle
# Minimum aspect of a spot on the same face, divided by the smallest aspect of the face's pips. A flatter spot
# might be on a flank.
MAX_FLATTER_RATIO = 0.75
# Minimum difference in colour between a flank and the face: as a fraction of the pips' contrast, and in grey
# levels.
MIN_SHADE_FRACTION, MIN_SHADE_GREYS = 0.2, 12.0
ACROSS = np.arange(-3.0, 4.0, dtype=np.float32)  # positions across the strip between two spots, in pixels
MAX_EDGE_LINE_PX = 5  # maximum width of the line that separates two tops
# Minimum contrast of such a line, averaged across the strip: as a fraction of the pips' contrast, and in grey
# levels.
MIN_LINE_FRACTION, MIN_LINE_GREYS = 0.07, 6.0
# Maximum error of a pip's position due to foreshortening and perspective, in pitches along a side.
MAX_PITCH_ERROR = 0.16

DIAGONAL = 0.72  # distance between opposite corner pips, in edges: 0.57 to 0.77 was measured
SITE_REACH = 0.085 * EDGE_PX  # maximum distance of a hole from its position in a grid

_FIVE = np.array([-1 - 1j, 1 - 1j, -1 + 1j, 1 + 1j, 0j])
_SIX = np.array([-1 - 1j, 1 - 1j, -1 + 1j, 1 + 1j, -1j, 1j])
"""Possible positions of a face's pips. The pitch along a side is 2."""


def larger_edge(
    image: Array, pips: Pips, face: Face, others: Sequence[Face], whole: set[int]
) -> float | None:
    """Return a die's edge in pixels, measured on the larger face that contains `face`.

    Returns None if the face is whole.

    Args:
        image: The picture.
        pips: The picture's spots.
        face: The face to check.
        others: Other accepted faces. The larger face contains all pips of such a face or none.
        whole: The rows of spots that are certainly 1s and therefore not part of a larger face.
    """
    rows = list(face.rows)
    if face.up == 6:
        return None
    nearest = np.hypot(*(pips.centre[:, None] - pips.centre[rows][None]).transpose(2, 0, 1)).min(axis=1)
    contrast = float(np.median(np.abs(pips.contrast[rows])))
    around = np.abs(pips.around - np.median(pips.around[rows], axis=0)).max(axis=1)
    near = (nearest < MAX_REACH * EDGE_PX) & (nearest > 1.5 * pips.radius[rows].max())
    like = _find_similar(pips, rows) & near & (around < max(25.0, 0.4 * contrast))
    like[list(whole)] = False
    # A pip on a flank looks flat, and the flank has a different shade. Glare on a face does not cause both.
    flat = pips.aspect < MAX_FLATTER_RATIO * pips.aspect[rows].min()
    like &= ~(flat & (around > max(MIN_SHADE_GREYS, MIN_SHADE_FRACTION * contrast)))
    spots = [
        int(row)
        for row in np.flatnonzero(like)
        if _forms_lattice(pips.centre[_rows_with(rows, int(row), others)])
        and _is_uninterrupted(image, pips, rows, int(row))
    ]
    if not spots:
        return None
    places = pips.centre[np.array([*rows, *spots])]
    return float(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)).max()) / DIAGONAL


def continues_as_grid(image: Array, pips: Pips, face: Face, taken: set[int]) -> bool:
    """Return whether spots that belong to no face continue the lattice of a 4, 5 or 6 beyond the face.

    Positions near the picture's border are left out, because the pips of an adjacent die belong to no face if
    the border cuts that die.
    """
    if face.up < 4:
        return False
    free = _find_similar(pips, list(face.rows))
    free[list(taken)] = False
    one, two = face.diagonals
    side, other = (one + two) / 2, (one - two) / 2
    beyond = 0
    for outward, sideways in ((side, other), (-side, other), (other, side), (-other, side)):
        corners = face.centre + np.array([2 * outward + 2 * sideways, 6 * outward + 2 * sideways])
        corners = np.vstack([corners, corners - 4 * sideways])
        if (corners < 0).any() or (corners > image.shape[1::-1]).any():
            continue
        places = face.centre + np.array([3 * outward + sideways, 3 * outward - sideways])
        distances = np.hypot(*(places[:, None] - pips.centre[free][None]).transpose(2, 0, 1))
        beyond += int((distances < SITE_REACH).any(axis=1).sum())
    return beyond >= 2


def _find_similar(pips: Pips, rows: list[int]) -> npt.NDArray[np.bool_]:
    """Return a mask of the other spots that resemble a face's pips, including less clear spots."""
    like: npt.NDArray[np.bool_] = (
        (np.sign(pips.contrast) == np.sign(pips.contrast[rows[0]]))
        & (np.abs(pips.contrast) > 0.5 * np.abs(pips.contrast[rows]).min())
        & (pips.radius > 0.65 * pips.radius[rows].min())
        & (pips.radius < 1.5 * pips.radius[rows].max())
        & (pips.fit * pips.aspect > MIN_LIKENESS)
    )
    like[rows] = False
    return like


def _rows_with(rows: list[int], row: int, others: Sequence[Face]) -> npt.NDArray[np.intp]:
    """Return a face's rows plus a spot's row or, if the spot belongs to a face, all rows of that face."""
    spot_rows = next((face.rows for face in others if row in face.rows), (row,))
    return np.array([*rows, *spot_rows], np.intp)


def _forms_lattice(places: Array) -> bool:
    """Return whether positions (n, 2) are arranged like pips of a 5 or 6 of any size and rotation."""
    if len(places) > len(_SIX):
        return False
    z = places[:, 0] + 1j * places[:, 1]
    z = z - z.mean()
    sites = _arrangements(len(z))
    sites = sites - sites.mean(axis=1, keepdims=True)
    # Find the best rotation and size. The sites are symmetric, so mirror images need no check.
    size = (sites.conj() @ z) / (np.abs(sites) ** 2).sum(axis=1)
    deviation = np.abs(z[None, :] - size[:, None] * sites).max(axis=1)
    return bool((deviation < 2 * MAX_PITCH_ERROR * np.abs(size)).any())


def _arrangements(count: int) -> npt.NDArray[np.complex128]:
    if count not in _ARRANGEMENT_CACHE:
        rows = [order for sites in (_FIVE, _SIX) for order in permutations(sites, count)]
        _ARRANGEMENT_CACHE[count] = np.array(rows)
    return _ARRANGEMENT_CACHE[count]


_ARRANGEMENT_CACHE: dict[int, npt.NDArray[np.complex128]] = {}


def _is_uninterrupted(image: Array, pips: Pips, rows: list[int], spot: int) -> bool:
    """Return whether the strip between a spot and the face's nearest pip shows only the face and its pips."""
    nearest_pip = rows[int(np.hypot(*(pips.centre[rows] - pips.centre[spot]).T).argmin())]
    begin, offset = pips.centre[nearest_pip], pips.centre[spot] - pips.centre[nearest_pip]
    length = float(np.hypot(*offset))
    along, across = offset / length, np.array([-offset[1], offset[0]]) / length
    steps = np.arange(pips.radius[nearest_pip] + 3.0, length - pips.radius[spot] - 3.0, 1.0, dtype=np.float32)
    if len(steps) < 2 * MAX_EDGE_LINE_PX + 1:
        return True
    places = begin + steps[:, None, None] * along + ACROSS[None, :, None] * across
    near = np.hypot(*(places[:, :, None] - pips.centre).transpose(3, 0, 1, 2))
    bare = (near > pips.radius + 3.0)[:, :, pips.fit * pips.aspect > MIN_LIKENESS].all(axis=(1, 2))
    line = sample(image, places.astype(np.float32)).astype(np.float32).mean(axis=1)
    contrast = float(np.median(np.abs(pips.contrast[rows])))
    colour = np.median(pips.around[rows], axis=0)
    if (np.abs(line - colour).max(axis=1) > max(25.0, 0.4 * contrast))[bare].any():
        return False
    middle = line[MAX_EDGE_LINE_PX:-MAX_EDGE_LINE_PX]
    before, after = line[: -2 * MAX_EDGE_LINE_PX], line[2 * MAX_EDGE_LINE_PX :]
    stands_out = np.minimum(np.abs(middle - before), np.abs(middle - after)).max(axis=1)
    seen = (
        bare[MAX_EDGE_LINE_PX:-MAX_EDGE_LINE_PX]
        & bare[: -2 * MAX_EDGE_LINE_PX]
        & bare[2 * MAX_EDGE_LINE_PX :]
    )
    return not (stands_out[seen] > max(MIN_LINE_GREYS, MIN_LINE_FRACTION * contrast)).any()
