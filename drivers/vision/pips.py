"""Finds possible pips: round spots that are darker or lighter than their surroundings in any channel.

Pictures are processed at a fixed scale, at which a die's edge is `EDGE_PX` pixels long. All lengths are in
pixels at this scale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array

EDGE_PX = 72.0  # makes pips 12 to 22 pixels wide, enough for a sub-pixel outline
# Range of a pip's radius, as a fraction of the edge: 0.083 on a 19 mm casino die, 0.15 on the 1 of a toy die.
RADIUS_FRACTIONS = (0.06, 0.17)
# Differences of these blurs respond to discs with a radius of 4 to 9 pixels.
SCALE_SIGMAS_PX = (3.0, 4.6, 7.0)
MAX_SAME_SPOT_PX = 3.5  # candidates closer than this are one spot
MIN_CONTRAST = 14.0  # grey levels between pip and face; a pink die on white paper has 25
RAYS = 20
MAP_WIDTH = 240  # positions per row of an OpenCV map
BORDER_PX = 40  # more than a ray's length, 19, plus the maximum shift of a centre, three times 4
RADII_PX = np.arange(1.0, 20.0, 1.0, dtype=np.float32)
MAX_CANDIDATES = 300  # per polarity; seven sixes have 42 pips and about as many reflections


@dataclass(frozen=True, slots=True)
class Pips:
    """Possible pips, the clearest first; each array has one row per spot."""

    centre: Array  # (n, 2): x, y
    radius: Array  # mean radius
    aspect: Array  # ratio of the shorter axis to the longer one
    fit: Array  # fraction of the rays from the centre that meet the edge at the predicted radius
    contrast: Array  # grey levels across the edge, in the best channel; positive if lighter than the face
    inside: Array  # (n, 3): colour of the spot
    around: Array  # (n, 3): colour just outside the edge

    def __len__(self) -> int:
        """Return the number of spots."""
        return len(self.radius)

    def pick(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "Pips":
        """Return the spots in these rows."""
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
    """Return the possible pips of a picture (height, width, 3) in which a die's edge is `EDGE_PX` long."""
    soft = cv2.GaussianBlur(image, (0, 0), 1.0)
    channels = _Channels(cv2.split(soft))
    dark, light = (_candidates(channels.planes, sign) for sign in (-1.0, 1.0))
    spots = np.concatenate([dark, light])
    if not len(spots):
        return _no_pips()
    signs = np.repeat(np.array([-1.0, 1.0], np.float32), [len(dark), len(light)])
    # A lamp's reflection can spoil an outline in only one channel, so try all three.
    tried = _Spots(np.repeat(spots, 3, axis=0), np.repeat(signs, 3), np.tile(np.arange(3), len(spots)))
    outlines = _find_outlines(channels, tried, None)
    quality = np.where(outlines.plausible(), outlines.quality(), -1.0).reshape(-1, 3)
    clearest = quality.argmax(axis=1) + 3 * np.arange(len(spots))
    rows = clearest[quality.max(axis=1) >= 0]
    return _without_repeats(_measure(soft, channels, tried.pick(rows), outlines.pick(rows)))


def _candidates(planes: Sequence[Array], sign: float) -> Array:
    """Return the positions (n, 2) of spots of one polarity that stand out on all sides, clearest first."""
    places, strengths = [], []
    for plane in planes:
        spots = _peaks(plane, sign)
        around = _stands_out(plane, sign, spots)
        kept = around > MIN_CONTRAST * 0.6
        places.append(spots[kept])
        strengths.append(around[kept])
    place = np.concatenate(places)[np.argsort(-np.concatenate(strengths), kind="stable")]
    near = _squared_distances(place, place) < MAX_SAME_SPOT_PX**2
    alone = np.ones(len(place), bool)
    for at in range(len(place)):
        if alone[at]:
            alone[at + 1 :] &= ~near[at, at + 1 :]
    return place[alone][:MAX_CANDIDATES]


def _squared_distances(ones: Array, others: Array) -> Array:
    """Return the squared distances (n, m) of positions (n, 2) from other positions (m, 2)."""
    across = ones[:, None, 0] - others[None, :, 0]
    down = ones[:, None, 1] - others[None, :, 1]
    across *= across
    down *= down
    across += down
    return across


def _peaks(plane: Array, sign: float) -> Array:
    """Return the positions of pip-sized spots darker (sign -1) or lighter (1) than their surroundings."""
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
    """Return the grey levels by which each spot stands out in at least 10 of 12 directions."""
    angles = np.arange(12, dtype=np.float32) * np.float32(math.pi / 6)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = np.array([6.0, 8.0, 10.0, 12.0], np.float32)
    ring = places[:, None, None, :] + reach[None, :, None, None] * directions[None, None, :, :]
    near = places[:, None, :] + np.float32(2.0) * directions[None, ::3, :]
    middle = sample(plane, near).astype(np.float32).mean(axis=1)
    rise = -np.float32(sign) * (sample(plane, ring).astype(np.float32) - middle[:, None, None])
    out: Array = np.sort(rise.max(axis=1), axis=1)[:, 2]
    return out


def _no_pips() -> Pips:
    none = np.zeros(0, np.float32)
    return Pips(np.zeros((0, 2), np.float32), none, none, none, none, *2 * (np.zeros((0, 3), np.float32),))


_ANGLES = np.arange(RAYS, dtype=np.float32) * np.float32(2 * math.pi / RAYS)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
# Functions of the angle that describe the radius of a small ellipse, measured from a point near its centre.
_BASIS = np.stack(
    [np.ones_like(_ANGLES), np.cos(_ANGLES), np.sin(_ANGLES), np.cos(2 * _ANGLES), np.sin(2 * _ANGLES)],
    axis=1,
)
_LOW, _HIGH = (fraction * EDGE_PX for fraction in RADIUS_FRACTIONS)


class _Channels:
    """The three channels of a picture, stacked so that rays in all of them can be sampled at once."""

    def __init__(self, planes: Sequence[Array]) -> None:
        """Stack the channels with a border between them, so that no ray reaches another channel."""
        self.planes = planes
        bordered = [
            cv2.copyMakeBorder(plane, BORDER_PX, BORDER_PX, 0, 0, cv2.BORDER_REPLICATE) for plane in planes
        ]
        self._pitch_px = len(bordered[0])
        self._all = np.concatenate(bordered)

    def sample(self, channel: npt.NDArray[np.intp], places: Array) -> Array:
        """Return the values at positions (n, ..., 2) of these channels (n)."""
        top = (channel * self._pitch_px + BORDER_PX).astype(np.float32)
        down = np.stack([np.zeros_like(top), top], axis=1)
        return sample(self._all, places + down.reshape(-1, *(1,) * (places.ndim - 2), 2))


@dataclass(frozen=True, slots=True)
class _Spots:
    """Spots, each in one channel, around which outlines are searched for."""

    centre: Array  # (n, 2)
    sign: Array  # (n,): -1 for darker spots, 1 for lighter spots
    channel: npt.NDArray[np.intp]  # (n,)

    def pick(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "_Spots":
        """Return the spots in these rows."""
        return _Spots(self.centre[rows], self.sign[rows], self.channel[rows])


@dataclass(frozen=True, slots=True)
class _Outlines:
    """The outline around each of n spots in one channel."""

    radii: Array  # (n, RAYS): radius of the sharpest step outward
    steps: Array  # (n, RAYS): height of that step in grey levels
    shape: Array  # (n, 5): coefficients of the outline in `_BASIS`
    deviation: Array  # (n, RAYS): distance of each radius from that shape

    def pick(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "_Outlines":
        """Return the outlines of the spots in these rows."""
        return _Outlines(self.radii[rows], self.steps[rows], self.shape[rows], self.deviation[rows])

    def plausible(self) -> npt.NDArray[np.bool_]:
        """Return whether each spot's outline might be a pip's."""
        sized = (self.shape[:, 0] > 0.6 * _LOW) & (self.shape[:, 0] < 1.3 * _HIGH)
        edged = np.median(self.steps, axis=1) > 0.6 * MIN_CONTRAST
        near: npt.NDArray[np.bool_] = sized & edged & (np.median(self.deviation, axis=1) < 1.6)
        return near

    def fit(self) -> Array:
        """Return the fraction of each spot's rays that meet the edge at the shape's radius."""
        near = np.maximum(1.2, 0.2 * self.shape[:, :1])
        step = np.median(self.steps, axis=1)
        fraction: Array = ((self.deviation < near) & (self.steps > 0.35 * step[:, None])).mean(axis=1)
        return fraction

    def quality(self) -> Array:
        """Return a measure of how clear each spot is."""
        return _quality(self.fit(), np.median(self.steps, axis=1))

    def centre_shift(self) -> Array:
        """Return the offset (x, y) of each outline's centre from the point from which it was measured."""
        return np.clip(self.shape[:, 1:3], -4.0, 4.0).astype(np.float32)

    def expected(self) -> Array:
        """Return the predicted radii (n, RAYS) of each outline, measured from the outline's centre."""
        radius = self.shape[:, :1] + self.shape[:, 3:] @ _BASIS[:, 3:].T
        within: Array = np.clip(radius, 2.0, 15.0).astype(np.float32)
        return within


def _quality(fit: Array, contrast: Array) -> Array:
    quality: Array = (fit * np.minimum(np.abs(contrast), 60.0) / 60.0 + 0.3 * fit).astype(np.float32)
    return quality


def _find_outlines(channels: _Channels, spots: _Spots, expected: Array | None) -> _Outlines:
    radii, steps = _outline(channels, spots, expected)
    return _Outlines(radii, steps, *_fit_shape(radii, steps, _BASIS))


def _measure(image: Array, channels: _Channels, spots: _Spots, outlines: _Outlines) -> Pips:
    """Return the spots that are ellipses of a pip's size, measured again from their outlines' centres."""
    for _ in range(3):
        plausible = outlines.plausible()
        outlines, spots = outlines.pick(plausible), spots.pick(plausible)
        spots = _Spots(spots.centre + outlines.centre_shift(), spots.sign, spots.channel)
        outlines = _find_outlines(channels, spots, outlines.expected())
    centre = spots.centre
    mean = outlines.shape[:, 0]
    swing = np.hypot(outlines.shape[:, 3], outlines.shape[:, 4])
    aspect = np.clip((mean - swing) / np.maximum(mean + swing, 0.1), 0.0, 1.0)
    step = np.median(outlines.steps, axis=1)
    fit = outlines.fit()
    good = (step > MIN_CONTRAST) & (mean > _LOW) & (mean < _HIGH) & (fit > 0.55) & (aspect > 0.3)
    inside = _ring_colours(image, centre[good], outlines.radii[good] * 0.45, _DIRECTIONS)
    around = _ring_colours(image, centre[good], outlines.radii[good] + 3.0, _DIRECTIONS)
    return Pips(
        centre[good].astype(np.float32),
        mean[good].astype(np.float32),
        aspect[good].astype(np.float32),
        fit[good].astype(np.float32),
        (spots.sign * step)[good].astype(np.float32),
        inside,
        around,
    )


def _outline(channels: _Channels, spots: _Spots, expected: Array | None) -> tuple[Array, Array]:
    """Return the radius and the height, in grey levels, of the sharpest outward step for each spot and ray.

    Steps near `expected` (n, RAYS), the radii of the previous fit, are preferred.
    """
    reach = spots.centre[:, None, None, :] + RADII_PX[None, None, :, None] * _DIRECTIONS[None, :, None, :]
    values = channels.sample(spots.channel, reach).astype(np.float32)
    wide = 3  # width of a blurred edge in pixels
    rise = (values[:, :, wide:] - values[:, :, :-wide]) * -spots.sign[:, None, None]
    radii = (RADII_PX[wide:] + RADII_PX[:-wide]) / 2
    chosen = rise
    if expected is not None:
        chosen = rise * np.exp(-(((radii[None, None, :] - expected[:, :, None]) / 2.5) ** 2) / 2)
    at = np.clip(chosen.argmax(axis=2), 1, len(radii) - 2)[:, :, None]
    before, here, after = (np.take_along_axis(chosen, at + offset, axis=2)[:, :, 0] for offset in (-1, 0, 1))
    bend = before - 2 * here + after
    shift = np.where(bend < -1e-3, (before - after) / (2 * np.minimum(bend, -1e-3)), 0.0)
    steps = np.take_along_axis(rise, at, axis=2)[:, :, 0]
    return (radii[at[:, :, 0]] + np.clip(shift, -0.5, 0.5)).astype(np.float32), steps


def _fit_shape(radii: Array, steps: Array, basis: Array) -> tuple[Array, Array]:
    """Return the coefficients of each spot's outline, and the deviation of each ray from the outline.

    Rays that deviate, for example because of a reflection, have less weight.
    """
    clear = np.clip(steps / np.maximum(np.median(steps, axis=1), 1.0)[:, None], 0.02, 1.0)
    weight = clear
    size = basis.shape[1]
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), size * size)
    for _ in range(4):
        left = (weight @ products).reshape(-1, size, size) + 1e-3 * np.eye(size, dtype=np.float32)
        right = (weight * radii) @ basis
        shape = np.linalg.solve(left, right[:, :, None])[:, :, 0]
        deviation = np.abs(radii - shape @ basis.T)
        weight = clear / (1.0 + (deviation / 0.8) ** 2)
    return shape, deviation


def sample(plane: Array, places: Array) -> Array:
    """Return a picture's interpolated values at positions (..., 2). Border pixels are repeated outwards."""
    flat = places.reshape(-1, 2)
    count = len(flat)
    lines = -(-count // MAP_WIDTH)
    # OpenCV expects a map of two planes and works row by row. Long rows are faster than single positions.
    maps = np.zeros((2, lines * MAP_WIDTH), np.float32)
    maps[:, :count] = flat.T
    xs, ys = maps.reshape(2, lines, MAP_WIDTH)
    if not count:
        return np.zeros((*places.shape[:-1], *plane.shape[2:]), plane.dtype)
    values = cv2.remap(plane, xs, ys, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return values.reshape(lines * MAP_WIDTH, *plane.shape[2:])[:count].reshape(
        *places.shape[:-1], *plane.shape[2:]
    )


def _ring_colours(image: Array, centre: Array, radii: Array, directions: Array) -> Array:
    places = centre[:, None, :] + radii[:, :, None] * directions[None, :, :]
    ring = sample(image, places.astype(np.float32))
    colours: Array = np.median(ring, axis=1).astype(np.float32)
    return colours


def _without_repeats(pips: Pips) -> Pips:
    quality = _quality(pips.fit, pips.contrast)
    alike = np.sign(pips.contrast)[:, None] == np.sign(pips.contrast)[None, :]
    hides = (_squared_distances(pips.centre, pips.centre) < (0.6 * pips.radius[None, :]) ** 2) & alike
    hidden = np.zeros(len(pips), bool)
    kept: list[int] = []
    for at in np.argsort(-quality, kind="stable"):
        if not hidden[at]:
            kept.append(int(at))
            hidden |= hides[at]
    return pips.pick(np.array(kept, np.intp))
