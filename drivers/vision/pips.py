"""Find what looks like a pip: a round spot of one colour on another, in any channel, darker or lighter.

Pictures are worked on at one scale, at which a die's edge is `EDGE_PX` pixels long: all is in those pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array

EDGE_PX = (
    72.0  # pips are then 11 to 19 pixels wide: enough for a sub-pixel outline, and no more work than needed
)
RADIUS_SHARE = (
    0.06,
    0.17,
)  # a pip's radius over the edge: 0.083 on a 19 mm casino die, 0.15 for the 1 of toy dice
SCALE_SIGMAS_PX = (3.0, 4.6, 7.0)  # differences of their blurs answer to discs of radius 4 to 9 pixels
SAME_PX = 3.5  # candidates so near are one spot
CONTRAST_LEAST = 14.0  # grey levels between pip and face; the pink die on white paper has 25
RAYS = 20
RADII_PX = np.arange(1.0, 20.0, 1.0, dtype=np.float32)
CANDIDATES_MOST = 300  # of a polarity; a full picture of seven sixes has 42 pips and as many reflections


@dataclass(frozen=True, slots=True)
class Pips:
    """Spots that may be pips, best first: one row a spot in each array."""

    centre: Array  # (n, 2): x, y
    radius: Array  # mean radius
    aspect: Array  # shorter axis over longer one
    fit: Array  # share of the rays from its middle that met its edge where an ellipse has it
    contrast: Array  # grey levels across the edge, in the best channel; positive: lighter than the face
    inside: Array  # (n, 3): colour of the spot
    around: Array  # (n, 3): colour just outside its edge

    def __len__(self) -> int:
        """Return the number of spots."""
        return len(self.radius)

    def pick(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "Pips":
        """Return the spots of these rows."""
        return Pips(
            self.centre[rows],
            self.radius[rows],
            self.aspect[rows],
            self.fit[rows],
            self.contrast[rows],
            self.inside[rows],
            self.around[rows],
        )


def find_pips(image: Array) -> Pips:
    """Return the spots of a picture (height, width, 3; a die's edge `EDGE_PX` long) that may be pips."""
    soft = cv2.GaussianBlur(image, (0, 0), 1.0)
    planes = cv2.split(soft)
    found: list[Pips] = []
    for sign in (-1.0, 1.0):
        places = _candidates(planes, sign)
        # A lamp's reflection spoils an outline in one channel and spares it in another: all three are tried.
        for plane in planes:
            kept = places[_roundish(plane, sign, places)]
            if len(kept):
                found.append(_measured(soft, plane, sign, kept))
    return _distinct(_joined(found)) if found else _joined([])


def _candidates(planes: Sequence[Array], sign: float) -> Array:
    """Return places (n, 2) of spots of one polarity that stand out all around, the clearest first."""
    places, strengths = [], []
    for plane in planes:
        spots = _peaks(plane, sign)
        around = _stands_out(plane, sign, spots)
        kept = around > CONTRAST_LEAST * 0.6
        places.append(spots[kept])
        strengths.append(around[kept])
    place = np.concatenate(places)[np.argsort(-np.concatenate(strengths), kind="stable")]
    apart = np.hypot(*(place[:, None, :] - place[None, :, :]).transpose(2, 0, 1)) < SAME_PX
    alone = np.ones(len(place), bool)
    for at in range(len(place)):
        if alone[at]:
            alone[at + 1 :] &= ~apart[at, at + 1 :]
    return place[alone][:CANDIDATES_MOST]


def _peaks(plane: Array, sign: float) -> Array:
    """Return (x, y) of spots of a pip's size that are darker (sign -1) or lighter (1) than all around."""
    small = cv2.resize(plane, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA).astype(np.float32)
    levels = [cv2.GaussianBlur(small, (0, 0), sigma / 2) for sigma in SCALE_SIGMAS_PX]
    found = []
    for fine, coarse in pairwise(levels):
        response = np.float32(sign) * (fine - coarse)
        top = response == cv2.dilate(response, np.ones((3, 3), np.uint8))
        ys, xs = np.nonzero(top & (response > 2.0))
        found.append(np.stack([xs, ys], axis=1).astype(np.float32) * 2 + 0.5)
    return np.concatenate(found)


def _stands_out(plane: Array, sign: float, places: Array) -> Array:
    """Return by how many grey levels each spot differs from all around it, two directions of 12 apart."""
    angles = np.arange(12, dtype=np.float32) * np.float32(math.pi / 6)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = np.array([6.0, 8.0, 10.0, 12.0], np.float32)
    ring = places[:, None, None, :] + reach[None, :, None, None] * directions[None, None, :, :]
    near = places[:, None, :] + np.float32(2.0) * directions[None, ::3, :]
    middle = sample(plane, near).astype(np.float32).mean(axis=1)
    rise = -np.float32(sign) * (sample(plane, ring).astype(np.float32) - middle[:, None, None])
    out: Array = np.sort(rise.max(axis=1), axis=1)[:, 2]
    return out


def _joined(parts: list[Pips]) -> Pips:
    if not parts:
        none = np.zeros(0, np.float32)
        return Pips(
            np.zeros((0, 2), np.float32), none, none, none, none, *2 * (np.zeros((0, 3), np.float32),)
        )
    return Pips(*(np.concatenate([getattr(part, name) for part in parts]) for name in Pips.__slots__))


_ANGLES = np.arange(RAYS, dtype=np.float32) * np.float32(2 * math.pi / RAYS)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
# The radius of a small ellipse a little off its middle; rays that a reflection misled weigh less in the fit.
_BASIS = np.stack(
    [np.ones_like(_ANGLES), np.cos(_ANGLES), np.sin(_ANGLES), np.cos(2 * _ANGLES), np.sin(2 * _ANGLES)],
    axis=1,
)
_LOW, _HIGH = (share * EDGE_PX for share in RADIUS_SHARE)


def _roundish(plane: Array, sign: float, middles: Array) -> npt.NDArray[np.bool_]:
    """Return for each spot whether a first look finds an edge all around it."""
    if not len(middles):
        return np.zeros(0, bool)
    radii, steps = _outline(plane, sign, middles, _DIRECTIONS, None)
    return _hopeful(steps, *_fitted(radii, steps, _BASIS))


def _hopeful(steps: Array, shape: Array, off: Array) -> npt.NDArray[np.bool_]:
    sized = (shape[:, 0] > 0.6 * _LOW) & (shape[:, 0] < 1.3 * _HIGH)
    edged = np.median(steps, axis=1) > 0.6 * CONTRAST_LEAST
    near: npt.NDArray[np.bool_] = sized & edged & (np.median(off, axis=1) < 1.6)
    return near


def _measured(image: Array, plane: Array, sign: float, middles: Array) -> Pips:
    """Return the spots around these middles whose outline is an ellipse of a pip's size."""
    centre = middles
    expected: Array | None = None
    for _ in range(3):
        radii, steps = _outline(plane, sign, centre, _DIRECTIONS, expected)
        shape, off = _fitted(radii, steps, _BASIS)
        hopeful = _hopeful(steps, shape, off)
        shape, centre = shape[hopeful], centre[hopeful]
        moved = np.clip(shape[:, 1:3], -4.0, 4.0)
        centre = (centre + moved).astype(np.float32)
        expected = np.clip(shape[:, :1] + shape[:, 3:] @ _BASIS[:, 3:].T, 2.0, 15.0).astype(np.float32)
    radii, steps = _outline(plane, sign, centre, _DIRECTIONS, expected)
    shape, off = _fitted(radii, steps, _BASIS)
    near = np.maximum(1.2, 0.2 * shape[:, :1])
    mean = shape[:, 0]
    swing = np.hypot(shape[:, 3], shape[:, 4])
    aspect = np.clip((mean - swing) / np.maximum(mean + swing, 0.1), 0.0, 1.0)
    step = np.median(steps, axis=1)
    fit = ((off < near) & (steps > 0.35 * step[:, None])).mean(axis=1)
    good = (step > CONTRAST_LEAST) & (mean > _LOW) & (mean < _HIGH) & (fit > 0.55) & (aspect > 0.3)
    inside = _ring_colours(image, centre[good], radii[good] * 0.45, _DIRECTIONS)
    around = _ring_colours(image, centre[good], radii[good] + 3.0, _DIRECTIONS)
    return Pips(
        centre[good].astype(np.float32),
        mean[good].astype(np.float32),
        aspect[good].astype(np.float32),
        fit[good].astype(np.float32),
        (sign * step[good]).astype(np.float32),
        inside,
        around,
    )


def _outline(
    plane: Array, sign: float, centre: Array, directions: Array, expected: Array | None
) -> tuple[Array, Array]:
    """Return per spot and ray the radius of the sharpest step outward, and its height in grey levels.

    `expected` (n, RAYS) is where the last fit had the outline: of several steps the one nearest to it counts.
    """
    reach = centre[:, None, None, :] + RADII_PX[None, None, :, None] * directions[None, :, None, :]
    values = sample(plane, reach).astype(np.float32)
    wide = 3  # pixels: a blurred edge's width
    rise = (values[:, :, wide:] - values[:, :, :-wide]) * -np.float32(sign)
    radii = (RADII_PX[wide:] + RADII_PX[:-wide]) / 2
    chosen = rise
    if expected is not None:
        chosen = rise * np.exp(-(((radii[None, None, :] - expected[:, :, None]) / 2.5) ** 2) / 2)
    at = np.clip(chosen.argmax(axis=2), 1, len(radii) - 2)[:, :, None]
    before, here, after = (np.take_along_axis(chosen, at + way, axis=2)[:, :, 0] for way in (-1, 0, 1))
    bend = before - 2 * here + after
    shift = np.where(bend < -1e-3, (before - after) / (2 * np.minimum(bend, -1e-3)), 0.0)
    steps = np.take_along_axis(rise, at, axis=2)[:, :, 0]
    return (radii[at[:, :, 0]] + np.clip(shift, -0.5, 0.5)).astype(np.float32), steps


def _fitted(radii: Array, steps: Array, basis: Array) -> tuple[Array, Array]:
    """Return the outline's shape in the basis for each spot, and how far each ray is off it."""
    clear = np.clip(steps / np.maximum(np.median(steps, axis=1), 1.0)[:, None], 0.02, 1.0)
    weight = clear
    for _ in range(4):
        left = np.einsum("nr,ri,rj->nij", weight, basis, basis) + 1e-3 * np.eye(
            basis.shape[1], dtype=np.float32
        )
        right = np.einsum("nr,ri,nr->ni", weight, basis, radii)
        shape = np.linalg.solve(left, right[:, :, None])[:, :, 0]
        off = np.abs(radii - shape @ basis.T)
        weight = clear / (1.0 + (off / 0.8) ** 2)
    return shape, off


def sample(plane: Array, places: Array) -> Array:
    """Return the picture's values at places (..., 2), bilinear; outside, the border's."""
    flat = places.reshape(-1, 2).astype(np.float32)
    xs, ys = np.ascontiguousarray(flat[:, :1]), np.ascontiguousarray(flat[:, 1:])
    rows = 32000  # what OpenCV takes in one map
    parts = [
        cv2.remap(
            plane, xs[at : at + rows], ys[at : at + rows], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        for at in range(0, len(flat), rows)
    ]
    values = np.concatenate(parts) if parts else np.zeros((0, 1), plane.dtype)
    return values.reshape(*places.shape[:-1], *plane.shape[2:])


def _ring_colours(image: Array, centre: Array, radii: Array, directions: Array) -> Array:
    places = centre[:, None, :] + radii[:, :, None] * directions[None, :, :]
    ring = sample(image, places.astype(np.float32))
    colours: Array = np.median(ring, axis=1).astype(np.float32)
    return colours


def _distinct(pips: Pips) -> Pips:
    """Return each spot once, as the channel sees it that shows it best."""
    quality = pips.fit * np.minimum(np.abs(pips.contrast), 60.0) / 60.0 + 0.3 * pips.fit
    apart = np.hypot(*(pips.centre[:, None, :] - pips.centre[None, :, :]).transpose(2, 0, 1))
    alike = np.sign(pips.contrast)[:, None] == np.sign(pips.contrast)[None, :]
    hides = (apart < 0.6 * pips.radius[None, :]) & alike
    hidden = np.zeros(len(pips), bool)
    kept: list[int] = []
    for at in np.argsort(-quality, kind="stable"):
        if not hidden[at]:
            kept.append(int(at))
            hidden |= hides[at]
    return pips.pick(np.array(kept, np.intp))
