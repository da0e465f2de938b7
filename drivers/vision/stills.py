"""Reads the faces of dice at rest from stills, whose resolution is higher than that of the frames."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from drivers.vision.arrays import Array
from drivers.vision.moving import half
from drivers.vision.reading import MIN_PX, DieSeen, read_picture
from drivers.vision.rig import Rig

NEAR_EDGES = 0.6
"""Maximum distance of the top face's centre from the spot's centre, in die edges. Flanks and shadows shift
the spot's centre.
"""
SHARED_EDGES = 0.35
"""The value of NEAR_EDGES for two dice that form one spot. A false face across both dice is farther from each
die's part of the spot. A top face seen 26 degrees off the vertical is 0.24 edges from its die's centre."""
CROP_EDGES = 1.25
"""Distance from a spot's centre within which the die is searched for, in die edges. The top face's centre is
within NEAR_EDGES, and the face's corners are at most 0.71 farther away. At this limit the crop cuts off 0.06
edges of one corner, which has no pip there."""


MIN_FOLLOWED_PX = 15.0
"""Minimum edge of a die, in pixels, in the frames in which throws are followed."""
MIN_WIDTH_PX = 640
"""Minimum width of a reduced frame. A narrower frame has too little detail to show a fault in the view."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduces pictures to the frames in which throws are followed. Faces are read from the full pictures."""

    times: int
    """A power of two."""

    def frame(self, picture: Array) -> Array:
        """Return a picture reduced to a frame, without rows and columns beyond a multiple of the factor."""
        if self.times == 1:
            return picture
        height, width = (length // self.times * self.times for length in picture.shape[:2])
        frame = picture[:height, :width]
        # Halve repeatedly, because OpenCV does this faster than a single reduction to a quarter.
        for _ in range(self.times.bit_length() - 1):
            frame = half(frame)
        return frame

    def still(self, picture: Array) -> "WholeStill":
        """Return a picture as the still of its reduced frame."""
        return WholeStill(picture, float(self.times))

    def in_picture(self, x: float, y: float) -> tuple[float, float]:
        """Convert a pixel of the frame to a pixel of the picture."""
        return (x + 0.5) * self.times - 0.5, (y + 0.5) * self.times - 0.5


def reduction_for(rig: Rig, width_px: int, height_px: int) -> Reduction:
    """Return the reduction for a camera's pictures of this size."""
    die_px = rig.die_px(width_px / 2, height_px / 2)
    times = max(1, min(int(die_px / MIN_FOLLOWED_PX), width_px // MIN_WIDTH_PX))
    return Reduction(1 << (times.bit_length() - 1))


class Still(Protocol):
    """A picture from which faces are read, at `zoom` times the frame's resolution."""

    zoom: float

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the part around a position in the frame, and its upper left corner in the still."""
        ...


@dataclass(slots=True)
class WholeStill:
    """A still that consists of a whole picture."""

    picture: Array
    zoom: float = 1.0

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the part around a position in the frame, and its upper left corner in the still."""
        low = np.maximum((place - margin) * self.zoom, 0).astype(int)
        limit = (self.picture.shape[1], self.picture.shape[0])
        high = np.minimum((place + margin) * self.zoom, limit).astype(int)
        return np.ascontiguousarray(self.picture[low[1] : high[1], low[0] : high[0]]), low


@dataclass(frozen=True, slots=True)
class Crop:
    """The part of a still around a resting die."""

    t_us: int
    part: Array


AGREEING_STILLS = 2
"""Number of successive stills that must agree on a face."""


def read_face_at(
    part: Array, low: Array, zoom: float, place: Array, die_px: float, *, near_edges: float = NEAR_EDGES
) -> tuple[DieSeen | None, str]:
    """Return the die at a position in the frame and an empty string, or None and the reason for the failure.

    The part must show exactly one die near the position, and the die's face must be certain.

    Args:
        part: The part of the still around the position.
        low: The part's upper left corner in the still.
        zoom: The still's resolution, as a multiple of the frame's.
        place: The position in the frame.
        die_px: A die's edge in the frame.
        near_edges: Maximum distance of the face's centre from the position, in die edges.
    """
    fine_px = die_px * zoom
    middle = (place + 0.5) * zoom - 0.5 - low
    reading = read_picture(part, fine_px)
    near = [
        die for die in reading.dice if np.hypot(die.x - middle[0], die.y - middle[1]) < near_edges * fine_px
    ]
    if len(near) != 1:
        return (
            None,
            f"found {len(near)} dice, expected one" if fine_px >= MIN_PX else reading.refused or "",
        )
    die = near[0]
    if die.up is None:
        return None, die.doubts[0]
    x, y = (np.array([die.x, die.y]) + low + 0.5) / zoom - 0.5
    return replace(die, x=float(x), y=float(y)), ""
