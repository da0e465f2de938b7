"""Finds the spots at which a picture differs from the empty table, for example at dice and hands."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array

MIN_DIFFERENCE = 38
"""Minimum difference, in grey levels, in the channel that differs most. Noise and flicker stay below 20."""
MIN_STILL_DIFFERENCE, SOFT_PX = 18, 1.0
"""Minimum difference in a still, and the smoothing that first removes noise. A dark flank differs little from
a dark cloth."""
TABLE, OTHER, UNSURE = 0, 1, 2
"""Contents of a pixel of a still: the empty table, another object, or a printed pattern whose exact position
is uncertain."""
MIN_PRINT_STEP = 36
"""Minimum difference, in grey levels, between neighbouring pixels of the cloth that indicates a printed
pattern."""
SHADE = (0.1, 1.25)
"""Range of the light on the cloth in a still, relative to the empty table. A die can block or reflect
light."""
SHADOW_RATIO = (0.35, 0.97)
"""Range of the cloth's brightness in a shadow, relative to the empty table. All channels darken alike, within
SHADOW_SPREAD."""
SHADOW_SPREAD = 0.13
BAND_ROWS = 32
HALF = 2
"""Factor by which pictures are reduced for the search for spots. Searching at half size is a quarter of the
work, and edges are still accurate to a pixel."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A connected area that differs from the empty table. Lengths are in pixels of the full-size picture."""

    x: float
    y: float
    left: float
    top: float
    right: float
    bottom: float
    area: float
    at_border: bool
    mask: Array
    """The spot's pixels at half size, within its bounding box."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the bounding box."""
        return self.right - self.left, self.bottom - self.top


def median_picture(frames: list[Array]) -> Array:
    """Return the empty table behind moving objects: the median of each pixel."""
    middle: Array = np.empty_like(frames[0])
    # Process the picture in bands to avoid a second copy of all frames in memory.
    for top in range(0, len(middle), BAND_ROWS):
        band = slice(top, top + BAND_ROWS)
        middle[band] = np.median(np.stack([frame[band] for frame in frames]), axis=0)
    return middle


class Background:
    """A picture of the empty table that follows slow changes in the light."""

    def __init__(self, picture: Array) -> None:
        self._mean: Array = half(picture).astype(np.float32)
        self._now: Array = half(picture)

    def spots(self, picture: Array, min_area: float) -> list[Spot]:
        """Return the spots of at least this area, in square pixels; then update the empty table's picture."""
        small = half(picture)
        mask = _difference_mask(small, self._now)
        self._learn(small, mask)
        count, labels, stats, middles = cv2.connectedComponentsWithStats(mask, connectivity=8)
        found = []
        for at in range(1, count):
            left, top, width, height, area = (int(value) for value in stats[at])
            if area * HALF**2 < min_area:
                continue
            border = (
                left <= 1
                or top <= 1
                or left + width >= mask.shape[1] - 1
                or top + height >= mask.shape[0] - 1
            )
            mask_part = (labels[top : top + height, left : left + width] == at).astype(np.uint8)
            x, y = (float(value) * HALF + 0.5 for value in middles[at])
            found.append(
                Spot(
                    x,
                    y,
                    float(left * HALF),
                    float(top * HALF),
                    float((left + width) * HALF),
                    float((top + height) * HALF),
                    float(area * HALF**2),
                    border,
                    mask_part,
                )
            )
        return found

    def classify(self, part: Array, low: Array, zoom: float) -> Array:
        """Return TABLE, OTHER or UNSURE for each pixel of a part of a still.

        Args:
            part: The part of the still.
            low: The part's upper left corner in the still.
            zoom: The still's resolution, as a multiple of the frame's.
        """
        step = 1 / (zoom * HALF)
        start = ((np.asarray(low, float) + 0.5) / zoom) / HALF - 0.5
        to_now = np.array([[step, 0.0, start[0]], [0.0, step, start[1]]])
        size = (part.shape[1], part.shape[0])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        # A printed pattern is coarser in the learned picture. A value between the lightest and the darkest of
        # the neighbouring pixels is therefore not taken for a die.
        neighbourhood = np.ones((3, 3), np.uint8)
        darkest, empty, lightest = (
            cv2.warpAffine(plane, to_now, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
            for plane in (
                cv2.erode(self._now, neighbourhood),
                self._now,
                cv2.dilate(self._now, neighbourhood),
            )
        )
        soft = cv2.GaussianBlur(part, (0, 0), SOFT_PX)
        difference = cv2.max(cv2.subtract(soft, lightest), cv2.subtract(darkest, soft))
        printed = cv2.subtract(lightest, darkest).max(axis=2) > MIN_PRINT_STEP
        shaded = _shows_table(soft, empty)
        other = ((difference.max(axis=2) > MIN_STILL_DIFFERENCE) & ~shaded).astype(np.uint8)
        other = cv2.morphologyEx(other, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
        other = cv2.morphologyEx(other, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
        kinds: Array = np.where(other != 0, OTHER, np.where(printed, UNSURE, TABLE)).astype(np.uint8)
        return kinds

    def _learn(self, small: Array, mask: Array) -> None:
        """Update the picture of the empty table everywhere except at spots and their surroundings."""
        free = cv2.dilate(mask, np.ones((9, 9), np.uint8)) == 0
        cv2.accumulateWeighted(small, self._mean, 0.02, free.astype(np.uint8))
        self._now = cv2.convertScaleAbs(self._mean)


def half(picture: Array) -> Array:
    """Return a picture at half its size."""
    return cv2.resize(picture, None, fx=1 / HALF, fy=1 / HALF, interpolation=cv2.INTER_AREA)


def _shows_table(picture: Array, empty: Array) -> npt.NDArray[np.bool_]:
    """Return which pixels show the empty table in more or less light, for example in a die's shadow.

    A deep shadow does not darken all channels alike, but the remaining tint still identifies the cloth.
    """
    now, cloth = picture.astype(np.float32), empty.astype(np.float32)
    light = (now * cloth).sum(axis=2) / np.maximum((cloth * cloth).sum(axis=2), 1.0)
    deviation = np.abs(now - light[..., None] * cloth).max(axis=2)
    same: npt.NDArray[np.bool_] = (light > SHADE[0]) & (light < SHADE[1]) & (deviation < MIN_STILL_DIFFERENCE)
    return same


def _difference_mask(small: Array, empty: Array) -> Array:
    difference = cv2.absdiff(small, empty)
    blue, green, red = cv2.split(difference)
    largest = cv2.max(cv2.max(blue, green), red)
    mask: Array = (largest > MIN_DIFFERENCE).astype(np.uint8)
    if cv2.countNonZero(mask):
        rows, columns = np.nonzero(mask)
        now = small[rows, columns].astype(np.float32) + 4
        ratio = now / (empty[rows, columns].astype(np.float32) + 4)
        dark = (ratio > SHADOW_RATIO[0]).all(axis=1) & (ratio < SHADOW_RATIO[1]).all(axis=1)
        shadow = dark & (ratio.max(axis=1) - ratio.min(axis=1) < SHADOW_SPREAD)
        mask[rows[shadow], columns[shadow]] = 0
        mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    return mask
