"""Checks whether a die lies flat on the felt, by comparing its outline with a flat die's.

A cube that leans by 10 degrees shows a sixth of an edge more on one side than a flat cube. An area beyond a
flat die's outline might be a flank, a chip under the die, the other die or a finger. The check does not
distinguish between them, but it never reports a die with such an outline as flat.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.moving import OTHER, TABLE, UNSURE
from drivers.vision.reading import DieSeen
from drivers.vision.rig import Rig

SOFT_EDGES = 0.07
"""Blur and measurement error of an outline, in edges. Tilts of up to 6 degrees have no larger effect."""
MAX_BLUR_FACES = 0.05
"""Maximum area, as a fraction of a face, that blur can add outside a flat die's outline or remove from it."""
AROUND_EDGES, MAX_UNSURE_FRACTION = 0.3, 0.2
"""If more than MAX_UNSURE_FRACTION of the felt within AROUND_EDGES of a die is printed, the print might hide
a flank."""
TURN_STEP_DEG = 4.0
"""Step between the angles tried for a face. The pips show a face's angle to within two steps, except on a
1."""
MAX_SLOPE = 0.58
"""Tangent of the maximum angle between the line of sight and the vertical, used if the lens is unknown. The
limit for mounting a camera is 30 degrees."""
TILTS_DEG = range(8, 45, 4)
MIN_TILT_FIT = 0.88
"""Minimum intersection of a leaning cube's outline with the observed shape, as a fraction of their union, at
which a tilt is reported."""

OTHER_DIE = 3
"""A fourth value of a pixel, besides TABLE, OTHER and UNSURE: another die covers the pixel."""

_CUBE = np.array(list(product((-0.5, 0.5), repeat=3)))


@dataclass(frozen=True, slots=True)
class Shape:
    """A die's face in a still, and the pixels connected to it. Lengths are in the still's pixels."""

    middle: Array
    side: tuple[float, float] | None
    """The direction of one of the face's sides; None for a 1."""
    pixels: Array
    """TABLE, OTHER, UNSURE or OTHER_DIE for each pixel; TABLE for objects that do not touch this die."""


class Outlines:
    """The outlines of dice in a part of a still from one rig."""

    def __init__(self, rig: Rig, zoom: float, low: Array, die_px: float) -> None:
        """Prepare for a part of a still.

        Args:
            rig: The camera over the table.
            zoom: The still's resolution, as a multiple of the frame's.
            low: The part's upper left corner in the still.
            die_px: A die's edge in the still, in pixels.
        """
        self._rig = rig
        self._zoom = zoom
        self._low = np.asarray(low, float)
        self._die_px = die_px

    def shape(self, differs: Array, seen: DieSeen, neighbours: Sequence[DieSeen]) -> Shape:
        """Return the shape of a die whose face was read.

        Args:
            differs: The classes of the part's pixels.
            seen: The die.
            neighbours: Other dice whose faces were read; they are excluded from the shape.
        """
        left = differs.copy()
        for other in neighbours:
            middle = self._in_still(other)
            near = min(
                self._flat_outlines(middle, other.side),
                key=lambda outline: self._area_beyond(differs, outline),
            )
            self._fill(left, near, OTHER_DIE)
        middle = self._in_still(seen)
        return Shape(middle, seen.side, _connected_part(left, middle))

    def difference_from_flat(self, shape: Shape) -> float:
        """Return the difference between a shape and a flat die's, in die faces; 0 if blur can explain it.

        An area outside the outline counts as a difference, and so does an area missing inside it. A die that
        leans towards the camera hides a flank that a flat die would show.
        """
        smallest = float("inf")
        for outline in self._flat_outlines(shape.middle, shape.side):
            excess = max(self._area_beyond(shape.pixels, outline), self._area_missing(shape.pixels, outline))
            smallest = min(smallest, excess / self._die_px**2)
            if smallest <= MAX_BLUR_FACES:
                return 0.0
        return smallest

    def is_felt_plain(self, shape: Shape) -> bool:
        """Return whether the felt around a flat die is plain enough for a flank to stand out."""
        around = np.zeros_like(shape.pixels)
        outline = next(self._flat_outlines(shape.middle, shape.side))
        cv2.polylines(
            around, [outline], isClosed=True, color=1, thickness=round(2 * AROUND_EDGES * self._die_px)
        )
        self._fill(around, outline, 0)
        unsure = cv2.countNonZero(cv2.bitwise_and(around, (shape.pixels == UNSURE).astype(np.uint8)))
        return unsure <= MAX_UNSURE_FRACTION * cv2.countNonZero(around)

    def tilt_deg(self, shape: Shape) -> float | None:
        """Return the tilt of a cube with this shape.

        Returns None if no leaning cube has this shape or the camera's position is unknown.
        """
        if not self._rig.has_position:
            return None
        best, tilt = 0.0, 0.0
        occupied, certain = (
            (shape.pixels != TABLE).astype(np.uint8),
            (shape.pixels == OTHER).astype(np.uint8),
        )
        turns = self._possible_turns(shape.middle, shape.side)
        for turn, degrees, towards in product(turns, TILTS_DEG, (0.0, 90.0, 180.0, 270.0)):
            for outline in self._draw_outlines(shape.middle, turn, float(degrees), towards):
                drawn = np.zeros_like(occupied)
                cv2.fillConvexPoly(drawn, outline, 1)
                both = cv2.countNonZero(cv2.bitwise_and(drawn, occupied))
                fit = both / max(1, cv2.countNonZero(cv2.bitwise_or(drawn, certain)))
                if fit > best:
                    best, tilt = fit, float(degrees)
        return tilt if best >= MIN_TILT_FIT else None

    @property
    def _blur_px(self) -> int:
        return max(3, round(2 * SOFT_EDGES * self._die_px))

    def _fill(self, where: Array, outline: Array, value: int) -> None:
        """Fill an outline and its blur with a value."""
        cv2.fillConvexPoly(where, outline, value)
        cv2.polylines(where, [outline], isClosed=True, color=value, thickness=self._blur_px)

    def _area_beyond(self, pixels: Array, outline: Array) -> float:
        """Return the largest connected area outside an outline, in pixels."""
        left = (pixels == OTHER).astype(np.uint8)
        self._fill(left, outline, 0)
        return _largest(left)

    def _area_missing(self, pixels: Array, outline: Array) -> float:
        """Return the largest connected area of the table visible inside an outline, in pixels."""
        bare = np.zeros_like(pixels)
        cv2.fillConvexPoly(bare, outline, 1)
        cv2.polylines(bare, [outline], isClosed=True, color=0, thickness=self._blur_px)
        bare[pixels != TABLE] = 0
        return _largest(bare)

    def _flat_outlines(self, middle: Array, side: tuple[float, float] | None) -> Iterator[Array]:
        """Yield the possible outlines of a flat die with this face up."""
        for turn in self._possible_turns(middle, side):
            yield from self._draw_outlines(middle, turn, 0.0, 0.0)

    def _possible_turns(self, middle: Array, side: tuple[float, float] | None) -> Sequence[float]:
        """Return the possible angles of a face on the table, in degrees, the likeliest first."""
        if side is None:
            return [float(turn) for turn in np.arange(0.0, 90.0, TURN_STEP_DEG)]
        centre_mm, side_mm = (self._place(middle + np.array(side) * at) for at in (0.0, self._die_px / 2))
        turn = float(np.degrees(np.arctan2(*(side_mm - centre_mm)[::-1])))
        return [
            turn,
            turn - TURN_STEP_DEG,
            turn + TURN_STEP_DEG,
            turn - 2 * TURN_STEP_DEG,
            turn + 2 * TURN_STEP_DEG,
        ]

    def _in_still(self, seen: DieSeen) -> Array:
        middle: Array = (np.array([seen.x, seen.y]) + 0.5) * self._zoom - 0.5 - self._low
        return middle

    def _place(self, pixel: Array) -> Array:
        frame = self._in_frame(pixel)
        return np.array(self._rig.to_table(float(frame[0]), float(frame[1]), self._rig.die_mm))

    def _in_frame(self, pixel: Array) -> Array:
        frame: Array = (pixel + self._low + 0.5) / self._zoom - 0.5
        return frame

    def _draw_outlines(
        self, middle: Array, turn_deg: float, tilt_deg: float, towards_deg: float
    ) -> Iterator[Array]:
        """Yield each possible outline of a cube whose upper face is centred at `middle`."""
        axes = _turn_matrix(turn_deg + towards_deg) @ _tilt_matrix(tilt_deg)
        cube = (_CUBE - np.array([0.0, 0.0, 0.5])) @ axes.T
        cube_mm = cube * self._rig.die_mm
        top_mm = -float(cube_mm[:, 2].min())
        """Height of the upper face's centre while the lowest corner touches the felt."""
        for seen in self._rig.project(self._in_frame(middle), cube_mm, top_mm, MAX_SLOPE):
            pixels = (seen + 0.5) * self._zoom - 0.5 - self._low
            hull = cv2.convexHull(np.round(pixels).astype(np.int32))
            yield hull.reshape(-1, 2)


def _turn_matrix(turn_deg: float) -> Array:
    cos, sin = np.cos(np.radians(turn_deg)), np.sin(np.radians(turn_deg))
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def _tilt_matrix(tilt_deg: float) -> Array:
    cos, sin = np.cos(np.radians(tilt_deg)), np.sin(np.radians(tilt_deg))
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])


def _largest(mask: Array) -> float:
    count, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    return float(stats[1:, cv2.CC_STAT_AREA].max()) if count > 1 else 0.0


def _connected_part(differs: Array, middle: Array) -> Array:
    """Return the pixels, with TABLE everywhere outside the connected part that contains a position.

    If the position itself shows the table, all pixels are returned unchanged.
    """
    _, labels = cv2.connectedComponents((differs != TABLE).astype(np.uint8), connectivity=4)
    x, y = np.clip(np.round(middle).astype(int), 0, np.array(differs.shape[::-1]) - 1)
    pixels: Array = np.where(labels == labels[y, x], differs, TABLE) if labels[y, x] else differs
    return pixels
