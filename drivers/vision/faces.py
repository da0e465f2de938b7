"""Finds possible faces of dice, which are groups of spots arranged like pips, and the sides around a face.

A face is modelled as an affine image of a square, with a centre and two half diagonals from the centre to
corner pips. The four sides of the die around a face are its body.

To find a body, the picture is averaged along the direction of each side. Averaging removes texture and noise,
so even the step of a few grey levels between a white top and a white flank stands out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array
from drivers.vision.pips import EDGE_PX, Pips, sample

# Minimum product of fit and aspect of a spot that can start a face. Pips of side faces look flatter.
MIN_GOOD_FIT = 0.5
# Range of the distance between opposite corner pips: 0.71 of the edge on most dice, seen from above.
DIAGONAL = (0.46 * EDGE_PX, 0.98 * EDGE_PX)
# Minimum diagonal of a 2. Two pips of one row are 0.5 edges apart.
MIN_TWO_DIAGONAL = 0.55 * EDGE_PX
# Minimum diagonal of a 3. Its middle pip is further evidence, so dice with closely spaced pips are accepted.
MIN_THREE_DIAGONAL = 0.47 * EDGE_PX
# Maximum distance of the other diagonal's pips from the corners of a square. Perspective shifts the pips.
CORNER_REACH = 0.17 * EDGE_PX
SITE_REACH = 0.085 * EDGE_PX  # maximum distance of a pip from its position in the lattice
# Maximum ratio of the radii of two pips of one face. Glare and blur reduce the radius of some pips.
MAX_RADIUS_RATIO = 1.4
# Maximum difference between two pips' colours, as a fraction of their contrast with the face.
MAX_COLOUR_DIFFERENCE = 0.5
# Minimum ratio of the shorter to the longer diagonal. A face seen from more than 55 degrees off its
# perpendicular is a side face.
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
    """Return every face from 2 to 6 whose pattern the spots form; most of these are not faces of dice."""
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
    """Return whether two spots might be pips of one face."""
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
    """Return the row of a spot that is within reach of a position and resembles spot `like`, or -1."""
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


# Distances from the centre at which a side is searched for.
OUTWARD = np.arange(0.24 * EDGE_PX, 0.86 * EDGE_PX, 1.0, dtype=np.float32)
# The part of a side that is averaged.
ALONG = np.linspace(-0.27, 0.27, 13, dtype=np.float32) * np.float32(EDGE_PX)
SPAN = 3  # half the width of a blurred step, in elements of OUTWARD
SAME_SIDE = 0.06  # maximum difference between the distances of opposite sides seen from above, in edges
MIN_LOW_STEP = 14.0  # grey levels; grain, averaged along a side, causes steps of five
TURNS_DEG = np.arange(0.0, 90.0, 9.0)  # angles tried for a 1, whose pip does not show the die's angle


@dataclass(frozen=True, slots=True)
class Body:
    """The sides of a die around a face."""

    axes: Array  # (2, 2): unit vectors along the face's sides
    sides: Array  # (4,): distance of each side from the centre, in edges; 0 where none was found
    steps: Array  # (4,): height of the step at each side, in grey levels


def side_axes(face: Face) -> Array:
    """Return the unit vectors along a face's sides."""
    sides = np.stack([face.diagonals[0] + face.diagonals[1], face.diagonals[0] - face.diagonals[1]])
    units: Array = (sides / np.maximum(np.hypot(*sides.T), 1e-6)[:, None]).astype(np.float32)
    return units


def turned_axes(turn_deg: float) -> Array:
    """Return the unit vectors along the sides of a face rotated by this angle."""
    cos, sin = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    return np.array([[cos, sin], [-sin, cos]], np.float32)


def profiles(image: Array, centre: Array, axes: Array, along: Array) -> Array:
    """Return the picture's values at the distances OUTWARD across each side (+x, -x, +y, -y).

    The result has the shape (4, outward, along, 3).
    """
    parts = []
    for axis, other in ((axes[0], axes[1]), (-axes[0], axes[1]), (axes[1], axes[0]), (-axes[1], axes[0])):
        parts.append(
            centre
            + OUTWARD[:, None, None] * axis[None, None, :]
            + along[None, :, None] * other[None, None, :]
        )
    return sample(image, np.stack(parts).astype(np.float32)).astype(np.float32)


def find_body(image: Array, pips: Pips, face: Face) -> Body:
    """Return the body around a face; for a 1, at the angle at which its sides stand out most."""
    if face.up > 1:
        return _body(image, pips, face, side_axes(face), _half_side(face))
    bodies = [_body(image, pips, face, turned_axes(turn), 0.25 * EDGE_PX) for turn in TURNS_DEG]
    return max(bodies, key=lambda body: float(np.minimum(body.steps, 60.0).sum()))


def _half_side(face: Face) -> float:
    sides = np.stack([face.diagonals[0] + face.diagonals[1], face.diagonals[0] - face.diagonals[1]]) / 2
    return float(np.hypot(*sides.T).min())


def _body(image: Array, pips: Pips, face: Face, axes: Array, half: float) -> Body:
    along = ALONG * min(1.0, half / (0.25 * EDGE_PX))
    sampled = profiles(image, face.centre, axes, along)
    mean = sampled.mean(axis=2)
    rise = np.abs(mean[:, 2 * SPAN :] - mean[:, : -2 * SPAN]).max(axis=2)
    radii = OUTWARD[SPAN:-SPAN]
    rows = list(face.rows)
    begin = 0.34 * EDGE_PX if face.up == 1 else half + float(pips.radius[rows].max()) + SPAN
    outside = radii > begin
    found: list[tuple[float, float]] = []
    others: list[list[tuple[float, float]]] = []
    for side in range(4):
        values = np.where(outside, rise[side], 0.0)
        peak = (values >= np.roll(values, 1)) & (values > np.roll(values, -1))
        fraction = 0.35 if face.up <= 3 else 0.75
        all_steps = [(float(radii[at] / EDGE_PX), float(values[at])) for at in np.flatnonzero(peak)]
        min_step = max(6.0, fraction * float(values.max()))
        found.append(next((step for step in all_steps if step[1] > min_step), (0.0, 0.0)))
        others.append(all_steps)
    for side in range(4):
        found[side] = _prefer_opposite_distance(found[side], found[side ^ 1], others[side])
    sides, steps = np.array(found, np.float32).T
    return Body(axes, sides, steps)


def _prefer_opposite_distance(
    step: tuple[float, float], opposite: tuple[float, float], others: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return a side's step (distance, height), or a lower step at the opposite side's distance.

    On the side away from the lamp, a visible flank is dark, and its lower edge can stand out more than the
    top's edge.
    """
    if not 0.0 < opposite[0] < step[0] - SAME_SIDE:
        return step
    alike = [other for other in others if abs(other[0] - opposite[0]) < SAME_SIDE and other[1] > MIN_LOW_STEP]
    return max(alike, key=lambda other: other[1], default=step)


def evenness(image: Array, pips: Pips, face: Face) -> float:
    """Return the fraction (0 to 1) of the area between a face's pips that has the face's colour."""
    rows = list(face.rows)
    axes = side_axes(face) if face.up > 1 else turned_axes(0.0)
    within = 0.33 * EDGE_PX
    grid = np.arange(-within, within + 1, 3.0, dtype=np.float32)
    xs, ys = np.meshgrid(grid, grid)
    disc = np.hypot(xs, ys) < 0.42 * EDGE_PX if face.up == 1 else np.ones(xs.shape, bool)
    places = (face.centre + xs[..., None] * axes[0] + ys[..., None] * axes[1])[disc].astype(np.float32)
    values = sample(image, places).astype(np.float32)
    distances = np.hypot(*(places[:, None] - pips.centre[rows][None]).transpose(2, 0, 1))
    bare = (distances > pips.radius[rows] + 3.0).all(axis=1)
    colour = np.median(pips.around[rows], axis=0)
    contrast = float(np.median(np.abs(pips.contrast[rows])))
    difference = np.abs(values - colour).max(axis=1)[bare]
    return float((difference < max(25.0, 0.4 * contrast)).mean()) if len(difference) else 0.0
