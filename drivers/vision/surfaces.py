"""Whether a face is whole or part of a larger one, so that a die's edge is longer than the given length.

A part of a large die's face may look like a whole smaller face: two pips of a 4 look like a 2. Between two
pips of one face only that face is visible, and the pips are arranged like a face's pips. Between the pips of
two dice, or of a face and a flank, there is an edge. The holes of a grid are not pips: they continue beyond a
face.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array
from drivers.vision.faces import Face
from drivers.vision.pips import EDGE_PX, Pips, sample

REACH = 1.6  # from corner to corner of a face twice as large as given, over the edge
LIKE = 0.45  # least fit times aspect of a possible pip that is half hidden or seen at an angle
FLATTER = 0.75  # aspect over that of the face's own pips: a flatter spot may be on a flank
# How much a flank differs in colour, at least: as a fraction of the pips' contrast, and in grey levels.
SHADED, LEAST_SHADE = 0.2, 12.0
ACROSS = np.arange(-3.0, 4.0, dtype=np.float32)  # the strip between two spots, across its width, in pixels
APART_PX = 5  # an edge between two tops is a line thinner than this
LINE_STEP = 0.07  # least height of such a line, averaged across the strip, over the pips' contrast
LEAST_STEP = 6.0  # least height of such a line, in grey levels
OFF_PITCH = 0.16  # effect of foreshortening and perspective, over two pips' distance along a side

DIAGONAL = 0.72  # from corner pip to corner pip, over the edge: 0.57 to 0.77 on the dice that were measured
SITE_REACH = 0.085 * EDGE_PX  # how far a hole may be from its position in a grid

_FIVE = np.array([-1 - 1j, 1 - 1j, -1 + 1j, 1 + 1j, 0j])
_SIX = np.array([-1 - 1j, 1 - 1j, -1 + 1j, 1 + 1j, -1j, 1j])
"""The pips of each face are at some of these positions; the pitch along a side is 2."""


def larger_edge(
    image: Array, pips: Pips, face: Face, others: Sequence[Face], whole: set[int]
) -> float | None:
    """Return a die's edge in pixels, measured on the larger face that contains `face`; None if it is whole.

    `others` are the other accepted faces: each belongs to the larger face either with all of its pips or not
    at all. The spots in the rows `whole` are left out because each is certainly a 1.
    """
    rows = list(face.rows)
    if face.up == 6:
        return None
    nearest = np.hypot(*(pips.centre[:, None] - pips.centre[rows][None]).transpose(2, 0, 1)).min(axis=1)
    contrast = float(np.median(np.abs(pips.contrast[rows])))
    around = np.abs(pips.around - np.median(pips.around[rows], axis=0)).max(axis=1)
    near = (nearest < REACH * EDGE_PX) & (nearest > 1.5 * pips.radius[rows].max())
    like = _like(pips, rows) & near & (around < max(25.0, 0.4 * contrast))
    like[list(whole)] = False
    # A pip on a flank looks flat, and the flank has another shade; glare on a face does not cause both.
    flat = pips.aspect < FLATTER * pips.aspect[rows].min()
    like &= ~(flat & (around > max(LEAST_SHADE, SHADED * contrast)))
    spots = [
        int(row)
        for row in np.flatnonzero(like)
        if _in_a_lattice(pips.centre[_with(rows, int(row), others)]) and _open(image, pips, rows, int(row))
    ]
    if not spots:
        return None
    places = pips.centre[np.array([*rows, *spots])]
    return float(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)).max()) / DIAGONAL


def of_a_grid(image: Array, pips: Pips, face: Face, taken: set[int]) -> bool:
    """Return whether spots that belong to no face continue the lattice of a 4, 5 or 6 beyond it.

    The pips of an adjacent die do so too if the picture's border cuts that die's face, so such positions are
    left out.
    """
    if face.up < 4:
        return False
    free = _like(pips, list(face.rows))
    free[list(taken)] = False
    one, two = face.diagonals
    side, other = (one + two) / 2, (one - two) / 2
    beyond = 0
    for away, beside in ((side, other), (-side, other), (other, side), (-other, side)):
        corners = face.centre + np.array([2 * away + 2 * beside, 6 * away + 2 * beside])
        corners = np.vstack([corners, corners - 4 * beside])
        if (corners < 0).any() or (corners > image.shape[1::-1]).any():
            continue
        places = face.centre + np.array([3 * away + beside, 3 * away - beside])
        apart = np.hypot(*(places[:, None] - pips.centre[free][None]).transpose(2, 0, 1))
        beyond += int((apart < SITE_REACH).any(axis=1).sum())
    return beyond >= 2


def _like(pips: Pips, rows: list[int]) -> npt.NDArray[np.bool_]:
    """Return which other spots resemble a face's pips, even if less clearly."""
    like: npt.NDArray[np.bool_] = (
        (np.sign(pips.contrast) == np.sign(pips.contrast[rows[0]]))
        & (np.abs(pips.contrast) > 0.5 * np.abs(pips.contrast[rows]).min())
        & (pips.radius > 0.65 * pips.radius[rows].min())
        & (pips.radius < 1.5 * pips.radius[rows].max())
        & (pips.fit * pips.aspect > LIKE)
    )
    like[rows] = False
    return like


def _with(rows: list[int], row: int, others: Sequence[Face]) -> npt.NDArray[np.intp]:
    """Return a face's rows and a spot's row, or the rows of the whole face to which the spot belongs."""
    its = next((face.rows for face in others if row in face.rows), (row,))
    return np.array([*rows, *its], np.intp)


def _in_a_lattice(places: Array) -> bool:
    """Return whether positions (n, 2) are arranged like some pips of a 5 or 6 of any size and turn."""
    if len(places) > len(_SIX):
        return False
    z = places[:, 0] + 1j * places[:, 1]
    z = z - z.mean()
    sites = _arranged(len(z))
    sites = sites - sites.mean(axis=1, keepdims=True)
    # Find the best turn and size. Mirror images need not be tried, since the sites are symmetric.
    size = (sites.conj() @ z) / (np.abs(sites) ** 2).sum(axis=1)
    off = np.abs(z[None, :] - size[:, None] * sites).max(axis=1)
    return bool((off < 2 * OFF_PITCH * np.abs(size)).any())


def _arranged(count: int) -> npt.NDArray[np.complex128]:
    if count not in _ARRANGED:
        rows = [order for sites in (_FIVE, _SIX) for order in permutations(sites, count)]
        _ARRANGED[count] = np.array(rows)
    return _ARRANGED[count]


_ARRANGED: dict[int, npt.NDArray[np.complex128]] = {}


def _open(image: Array, pips: Pips, rows: list[int], spot: int) -> bool:
    """Return whether only the face and its pips are visible between a spot and the face's nearest pip."""
    own = rows[int(np.hypot(*(pips.centre[rows] - pips.centre[spot]).T).argmin())]
    begin, way = pips.centre[own], pips.centre[spot] - pips.centre[own]
    long = float(np.hypot(*way))
    along, across = way / long, np.array([-way[1], way[0]]) / long
    steps = np.arange(pips.radius[own] + 3.0, long - pips.radius[spot] - 3.0, 1.0, dtype=np.float32)
    if len(steps) < 2 * APART_PX + 1:
        return True
    places = begin + steps[:, None, None] * along + ACROSS[None, :, None] * across
    near = np.hypot(*(places[:, :, None] - pips.centre).transpose(3, 0, 1, 2))
    bare = (near > pips.radius + 3.0)[:, :, pips.fit * pips.aspect > LIKE].all(axis=(1, 2))
    line = sample(image, places.astype(np.float32)).astype(np.float32).mean(axis=1)
    contrast = float(np.median(np.abs(pips.contrast[rows])))
    colour = np.median(pips.around[rows], axis=0)
    if (np.abs(line - colour).max(axis=1) > max(25.0, 0.4 * contrast))[bare].any():
        return False
    middle = line[APART_PX:-APART_PX]
    before, after = line[: -2 * APART_PX], line[2 * APART_PX :]
    stands_out = np.minimum(np.abs(middle - before), np.abs(middle - after)).max(axis=1)
    seen = bare[APART_PX:-APART_PX] & bare[: -2 * APART_PX] & bare[2 * APART_PX :]
    return not (stands_out[seen] > max(LEAST_STEP, LINE_STEP * contrast)).any()
