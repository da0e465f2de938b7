"""Finds possible faces of dice: spots arranged like the pips of a 2 to 6, and single spots.

A face is modelled as an affine image of a square, with a centre and two half diagonals from the centre to
corner pips.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array
from drivers.vision.pips import EDGE_PX, Pips

# Minimum product of fit and aspect of a spot that may start a face. Pips of side faces are flatter.
MIN_GOOD_FIT = 0.5
# Range of the distance between opposite corner pips: 0.71 of the edge on most dice, seen from above.
DIAGONAL = (0.46 * EDGE_PX, 0.98 * EDGE_PX)
# Minimum diagonal of a 2. Two pips of one row are 0.5 edges apart.
MIN_TWO_DIAGONAL = 0.55 * EDGE_PX
# Minimum diagonal of a 3. Its middle pip is further evidence, so dice with closely spaced pips are accepted.
MIN_THREE_DIAGONAL = 0.47 * EDGE_PX
# Maximum distance, caused by perspective, of the other diagonal's pips from a square's corners.
CORNER_REACH = 0.17 * EDGE_PX
SITE_REACH = 0.085 * EDGE_PX  # maximum distance of a pip from its position in the lattice
# Maximum ratio of the radii of two pips of one face. Glare and blur reduce the radius of some pips.
MAX_RADIUS_RATIO = 1.4
# Maximum difference between two pips' colours, as a fraction of their contrast with the face.
MAX_COLOUR_DIFFERENCE = 0.5
# Minimum ratio of the shorter to the longer diagonal. A face seen at more than 55 degrees is a side face.
MIN_SQUARE = 0.55


@dataclass(frozen=True, slots=True)
class Face:
    """A possible face of a die. Lengths are in pixels."""

    up: int
    rows: tuple[int, ...]  # rows of the pips in a `Pips`
    centre: Array  # (2,)
    diagonals: Array  # (2, 2): half diagonals to the corner pips; zeros for a 1
    lattice_error: float  # RMS distance of the pips from their lattice positions, in edges


def find_faces(pips: Pips) -> list[Face]:
    """Return every pattern of a 2 to 6 that the spots form; most patterns are not dice."""
    good = np.flatnonzero(pips.fit * pips.aspect > MIN_GOOD_FIT)
    pairs = _pairs(pips, good)
    if not len(pairs):
        return []
    first, second = pips.centre[pairs[:, 0]], pips.centre[pairs[:, 1]]
    centre = (first + second) / 2
    half = (second - first) / 2
    across = np.stack([-half[:, 1], half[:, 0]], axis=1)
    third = _nearest(pips, centre + across, CORNER_REACH)
    fourth = _nearest(pips, centre - across, CORNER_REACH)
    faces: dict[tuple[int, ...], Face] = {}
    for at, (one, two) in enumerate(pairs):
        face = _four_or_more(pips, int(one), int(two), int(third[at]), int(fourth[at])) or _two_or_three(
            pips, int(one), int(two)
        )
        if face is not None:
            key = tuple(sorted(face.rows))
            if key not in faces or faces[key].lattice_error > face.lattice_error:
                faces[key] = face
    return list(faces.values())


def _pairs(pips: Pips, good: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    if len(good) < 2:
        return np.zeros((0, 2), np.intp)
    places = pips.centre[good]
    distances = np.hypot(*(places[:, None, :] - places[None, :, :]).transpose(2, 0, 1))
    near = (distances > DIAGONAL[0]) & (distances < DIAGONAL[1])
    ones, twos = np.nonzero(np.triu(near))
    alike = np.array(
        [_alike(pips, int(good[a]), int(good[b])) for a, b in zip(ones, twos, strict=True)], bool
    )
    if not len(alike):
        return np.zeros((0, 2), np.intp)
    return np.stack([good[ones[alike]], good[twos[alike]]], axis=1)


def _alike(pips: Pips, one: int, two: int) -> bool:
    """Return whether two spots may be pips of one face."""
    if np.sign(pips.contrast[one]) != np.sign(pips.contrast[two]):
        return False
    small, large = sorted((float(pips.radius[one]), float(pips.radius[two])))
    if large > MAX_RADIUS_RATIO * small:
        return False
    weak, strong = sorted((abs(float(pips.contrast[one])), abs(float(pips.contrast[two]))))
    if strong > 2.2 * weak:
        return False
    difference = float(np.abs(pips.inside[one] - pips.inside[two]).max())
    return difference < 25.0 + MAX_COLOUR_DIFFERENCE * strong


def _nearest(pips: Pips, places: Array, reach: float) -> npt.NDArray[np.intp]:
    """Return, for each position (n, 2), the row of the nearest spot within reach, or -1."""
    distances = np.hypot(*(places[:, None, :] - pips.centre[None, :, :]).transpose(2, 0, 1))
    rows: npt.NDArray[np.intp] = distances.argmin(axis=1)
    rows[distances[np.arange(len(rows)), rows] > reach] = -1
    return rows


def _find_alike(pips: Pips, place: Array, reach: float, like: int) -> int:
    """Return the row of a spot within reach of a position that resembles spot `like`, or -1."""
    distances = np.hypot(*(pips.centre - place).T)
    for row in np.argsort(distances)[:3]:
        if distances[row] > reach:
            return -1
        if row != like and _alike(pips, like, int(row)):
            return int(row)
    return -1


def _four_or_more(pips: Pips, one: int, two: int, third: int, fourth: int) -> Face | None:
    if third < 0 or fourth < 0 or not (_alike(pips, one, third) and _alike(pips, one, fourth)):
        return None
    corners = pips.centre[[one, two, third, fourth]]
    centre = corners.mean(axis=0)
    if np.hypot(*(corners[:2].mean(axis=0) - corners[2:].mean(axis=0))) > 0.09 * EDGE_PX:
        return None
    diagonals = np.stack([(corners[1] - corners[0]) / 2, (corners[3] - corners[2]) / 2])
    lengths = np.hypot(*diagonals.T)
    if lengths.min() < MIN_SQUARE * lengths.max():
        return None
    if abs(float(diagonals[0] @ diagonals[1])) > 0.5 * float(lengths.prod()):
        return None
    rows = [one, two, third, fourth]
    middle = _find_alike(pips, centre, SITE_REACH, one)
    sides = [(diagonals[0] + diagonals[1]) / 2, (diagonals[0] - diagonals[1]) / 2]
    mids = [[_find_alike(pips, centre + way * side, SITE_REACH, one) for way in (1, -1)] for side in sides]
    full = [pair for pair in mids if min(pair) >= 0]
    up = 4
    if full:
        if len(full) > 1:
            return None
        up, rows = 6, rows + full[0]
    elif middle >= 0:
        up, rows = 5, [*rows, middle]
    if len(set(rows)) != up:
        return None
    return Face(up, tuple(rows), centre, diagonals, _measure_lattice_error(pips, rows, centre, diagonals, up))


def _measure_lattice_error(pips: Pips, rows: list[int], centre: Array, diagonals: Array, up: int) -> float:
    places = [centre - diagonals[0], centre + diagonals[0], centre - diagonals[1], centre + diagonals[1]]
    if up == 5:
        places.append(centre)
    if up == 6:
        side = (pips.centre[rows[4]] - pips.centre[rows[5]]) / 2
        nearest = min(
            ((diagonals[0] + diagonals[1]) / 2, (diagonals[0] - diagonals[1]) / 2),
            key=lambda way: min(np.hypot(*(way - side)), np.hypot(*(way + side))),
        )
        same_direction = float(nearest @ side) > 0
        places += (
            [centre + nearest, centre - nearest] if same_direction else [centre - nearest, centre + nearest]
        )
    distances = pips.centre[rows] - np.array(places, np.float32)
    return float(np.sqrt((distances**2).sum(axis=1).mean()) / EDGE_PX)


def _two_or_three(pips: Pips, one: int, two: int) -> Face | None:
    corners = pips.centre[[one, two]]
    distance = float(np.hypot(*(corners[1] - corners[0])))
    centre = corners.mean(axis=0)
    half = (corners[1] - corners[0]) / 2
    diagonals = np.stack([half, np.array([-half[1], half[0]], np.float32)])
    middle = _find_alike(pips, centre, SITE_REACH, one)
    if (middle < 0 and distance < MIN_TWO_DIAGONAL) or distance < MIN_THREE_DIAGONAL:
        return None
    if middle < 0:
        return Face(2, (one, two), centre, diagonals, 0.0)
    off = float(np.hypot(*(pips.centre[middle] - centre)) / EDGE_PX)
    return Face(3, (one, two, middle), centre, diagonals, off)


def single_faces(pips: Pips) -> list[Face]:
    """Return each good spot as a 1."""
    none = np.zeros((2, 2), np.float32)
    good = np.flatnonzero(pips.fit * pips.aspect > MIN_GOOD_FIT)
    return [Face(1, (int(row),), pips.centre[row], none, 0.0) for row in good]
