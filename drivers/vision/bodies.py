"""Finds the four sides of a die around a face, and measures how even the face's colour is.

The picture is averaged along the direction of each side. Averaging removes texture and noise, so even the
step of a few grey levels between a white top and a white flank stands out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.faces import Face
from drivers.vision.pips import EDGE_PX, Pips, sample

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
    """Return the picture's values at OUTWARD across each side (+x, -x, +y, -y): (4, outward, along, 3)."""
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

    On the side away from the lamp, a visible flank is dark, and its lower edge may stand out more than the
    top's edge.
    """
    if not 0.0 < opposite[0] < step[0] - SAME_SIDE:
        return step
    alike = [other for other in others if abs(other[0] - opposite[0]) < SAME_SIDE and other[1] > MIN_LOW_STEP]
    return max(alike, key=lambda other: other[1], default=step)


def evenness(image: Array, pips: Pips, face: Face) -> float:
    """Return the fraction (0 to 1) of a face between its pips that has the face's colour."""
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
