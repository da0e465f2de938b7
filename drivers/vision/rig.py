"""Converts between a camera's pixels and positions on its table, as described by a rig file.

A rig file is written by hand or by `tablectl camera calibrate`. Points alone determine the felt's plane.
Points and a lens also determine the camera's position, which is needed to correct for a die's height.
"""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

import cv2
import msgspec
import numpy as np
from msgspec import Meta

from controller.model.geometry import DiceTable
from drivers.vision.arrays import Array

UNKNOWN_HEIGHT_MM = 75.0
"""RMS height of a moving die above its height at rest on the felt. In 20,600 points of 230 rendered throws,
this height was 75 mm within 60 mm of the wall and 65 mm over the whole view.
"""
MIN_POINTS = 4
"""Minimum number of points that determine a plane."""
SLOPE_STEPS = 5
"""Number of slopes per axis that are tried for a camera whose position is unknown."""
MAX_POINT_ERROR_MM = 10.0
"""Maximum error of a rig's points, which lie on the felt and are measured with a ruler."""


# Numbers beyond these limits are typing errors and would overflow the computation.
Pixel = Annotated[float, Meta(ge=-100_000, le=100_000)]
Millimetre = Annotated[float, Meta(ge=-100_000, le=100_000)]
Focal = Annotated[float, Meta(ge=10, le=100_000)]
Distortion = Annotated[float, Meta(ge=-1000, le=1000)]
DIE_MM = (5.0, 100.0)
"""The smallest and largest edge of a die that a camera can follow."""


class LensSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A calibrated lens. The distortion is k1, k2, p1, p2 and, optionally, k3."""

    focal_px: tuple[Focal, Focal]
    middle_px: tuple[Pixel, Pixel]
    distortion: Annotated[tuple[Distortion, ...], Meta(min_length=4, max_length=5)] = (0.0, 0.0, 0.0, 0.0)

    @property
    def matrix(self) -> Array:
        """The camera matrix."""
        return np.array(
            [[self.focal_px[0], 0, self.middle_px[0]], [0, self.focal_px[1], self.middle_px[1]], [0, 0, 1.0]]
        )


class CaptureSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The frames to request from a V4L2 device. The default of such devices is 640 x 480."""

    width: Annotated[int, Meta(ge=160, le=16_384)]
    height: Annotated[int, Meta(ge=120, le=16_384)]
    fps: Annotated[float, Meta(gt=0, le=1000)] = 60.0
    format: Annotated[str, Meta(pattern="^[ -~]{4}$")] = "MJPG"
    """The pixel format's four letters, as `v4l2-ctl --list-formats-ext` shows them."""


class EvidenceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The folder for pictures of throws, and the limits on their age and total size."""

    folder: str = "/var/lib/table-camera"
    days: Annotated[int, Meta(ge=1, le=3650)] = 90
    """Days for which pictures are kept. The records of the controlling computer are kept for 90 days (NY
    5319.60(b)). Pictures show hands, so by default they are not kept any longer."""
    max_mb: Annotated[int, Meta(ge=20, le=10_000_000)] = 2000
    """Maximum total size of the files in megabytes. A single file is at most 12 MB. The oldest files are
    deleted first."""


class RigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of a rig file."""

    camera: Annotated[str, Meta(min_length=1)]
    """The device name in the camera's readings."""
    table: DiceTable
    points: tuple[tuple[Pixel, Pixel, Millimetre, Millimetre], ...] = ()
    """Positions on the felt: x and y in the picture (pixels), x and y on the table (millimetres)."""
    dice: Annotated[int, Meta(ge=1, le=7)] = 2
    die_px: Annotated[float, Meta(ge=1, le=10_000)] | None = None
    """A die's edge in pixels. By default, it is computed from the points."""
    lens: LensSettings | None = None
    hand_in_sight: bool = True
    """Whether the camera sees the dice leave the hand. Set this to false for a camera over the far end. A die
    that comes into view long after the first die is then reported without a release, and a person rules."""
    walls: Literal["ends", "all"] = "ends"
    """The walls that dice must hit. `error_mm` is the error towards these walls, because a shift along a wall
    does not affect whether the die touched the wall.
    """
    ruleset: str = "craps-12-034"
    source: str = ""
    """The video source of `tablectl camera run`: a V4L2 device or a video file."""
    capture: CaptureSettings | None = None
    """The frame size, rate and format to request from the device."""
    socket: str = ""
    """The socket for the camera's readings: the `port` of the table's json-camera device, without `unix:`."""
    evidence: EvidenceSettings | None = None
    """Storage of pictures for each call. By default, no pictures are kept."""


class RigError(ValueError):
    """Raised for an invalid rig."""


class Rig:
    """Converts between one camera's pixels and millimetres on the table."""

    def __init__(self, file: RigFile) -> None:
        """Compute the felt's plane, and the camera's position if the lens is given.

        Raises:
            RigError: If the die's size is out of range, the points do not determine a plane, or a point's
                error exceeds MAX_POINT_ERROR_MM.
        """
        self.file = file
        self.die_mm = file.table.die_mm
        if not DIE_MM[0] <= self.die_mm <= DIE_MM[1]:
            raise RigError(
                f"table.die_mm: found {self.die_mm:g}, expected {DIE_MM[0]:g} to {DIE_MM[1]:g} (millimetres)"
            )
        if len(file.points) < MIN_POINTS:
            raise RigError(
                f"points: found {len(file.points)}, expected {MIN_POINTS} or more;"
                " `tablectl camera calibrate` measures them"
            )
        pixels = np.array([point[:2] for point in file.points], float)
        places = np.array([point[2:] for point in file.points], float)
        self._matrix = file.lens.matrix if file.lens else np.eye(3)
        self._camera: tuple[Array, Array] | None = None
        self._eye_z = 0.0
        """The camera's height; negative if the solution is below the felt, for example if the picture is
        mirrored."""
        self._distortion = np.array(file.lens.distortion if file.lens else (0.0, 0.0, 0.0, 0.0))
        corners = [len(cv2.convexHull(points.astype(np.float32))) for points in (pixels, places)]
        if min(corners) < 4:
            raise RigError(
                "points: found points that do not determine a plane; use four or more, including the"
                " corners of a quadrilateral"
            )
        self._plane, _ = cv2.findHomography(self._undistort(pixels), places)
        if self._plane is None:
            raise RigError(
                "points: found points that do not determine a plane with this `lens`; measure both with"
                " `tablectl camera calibrate`"
            )
        self.point_error_mm = max(
            float(np.hypot(*(np.array(self.to_table(float(seen[0]), float(seen[1]), 0.0)) - place)))
            for seen, place in zip(pixels, places, strict=True)
        )
        """Largest distance on the felt between a point's given position and its computed position."""
        if not self.point_error_mm <= MAX_POINT_ERROR_MM:
            raise RigError(
                f"points: found a point {self.point_error_mm:.0f} mm from the position that all points imply,"
                f" expected {MAX_POINT_ERROR_MM:g} mm or less; measure the points again"
            )
        if file.lens is not None:
            flat = np.column_stack([places, np.zeros(len(places))])
            solved, turn, moved = cv2.solvePnP(flat, pixels, self._matrix, self._distortion)
            if solved:
                rotation = cv2.Rodrigues(turn)[0]
                self._camera = (rotation, moved.reshape(3))
                self._eye_z = float((-rotation.T @ moved.reshape(3))[2])

    def reduced(self, times: int) -> "Rig":
        """Return this camera's rig for pictures reduced by a whole-number factor."""
        if times == 1:
            return self
        file, lens = self.file, self.file.lens
        if lens is not None:
            across, down = lens.focal_px
            x, y = lens.middle_px
            lens = msgspec.structs.replace(
                lens,
                focal_px=(across / times, down / times),
                middle_px=(_reduced_coordinate(x, times), _reduced_coordinate(y, times)),
            )
        return Rig(
            msgspec.structs.replace(
                file,
                points=tuple(
                    (_reduced_coordinate(u, times), _reduced_coordinate(v, times), x, y)
                    for u, v, x, y in file.points
                ),
                die_px=None if file.die_px is None else file.die_px / times,
                lens=lens,
            )
        )

    @property
    def height_mm(self) -> float | None:
        """The camera's height above the felt; None if the position is unknown."""
        return None if self._camera is None else float(self.eye[2])

    @property
    def eye(self) -> Array:
        """The camera's position in millimetres; available only if `has_position` is true."""
        assert self._camera is not None
        rotation, moved = self._camera
        eye: Array = -rotation.T @ moved
        return eye if self._eye_z > 0 else eye * np.array([1.0, 1.0, -1.0])

    def _undistort(self, pixels: Array) -> Array:
        """Return undistorted pixels (in focal lengths if the lens is known)."""
        if self.file.lens is None:
            return pixels
        return cv2.undistortPoints(pixels.reshape(-1, 1, 2), self._matrix, self._distortion).reshape(-1, 2)

    def to_table(self, x: float, y: float, height_mm: float | None = None) -> tuple[float, float]:
        """Return the position on the table, in mm, of a point that is seen at a pixel.

        The point's height above the felt is `height_mm`, by default that of the centre of a die on the felt.
        """
        height = self.die_mm / 2 if height_mm is None else height_mm
        there = self._plane @ np.array([*self._undistort(np.array([[x, y]], float))[0], 1.0])
        place = there[:2] / there[2]
        if self._camera is not None:
            eye = self.eye
            place = place + (eye[:2] - place) * (height / eye[2])
        return float(place[0]), float(place[1])

    @property
    def has_position(self) -> bool:
        """Whether the camera's position is known."""
        return self._camera is not None

    def project(self, middle: Array, points_mm: Array, height_mm: float, slope: float) -> Iterator[Array]:
        """Yield the pixels at which the camera sees points (n, 3).

        The points are offsets from a reference point at `height_mm`, which the camera sees at pixel `middle`.
        If the camera's position is unknown, yield one projection for each of several directions up to `slope`
        off the vertical.
        """
        x, y = self.to_table(float(middle[0]), float(middle[1]), height_mm)
        if self._camera is not None:
            rotation, moved = self._camera
            up = np.array([1.0, 1.0, 1.0 if self._eye_z > 0 else -1.0])
            places = (points_mm + np.array([x, y, height_mm])) * up
            seen, _ = cv2.projectPoints(
                places, cv2.Rodrigues(rotation)[0], moved, self._matrix, self._distortion
            )
            yield seen.reshape(-1, 2)
            return
        to_picture = np.linalg.inv(self._plane)
        flat = np.column_stack([points_mm[:, :2] + np.array([x, y]), np.ones(len(points_mm))]) @ to_picture.T
        pixels = flat[:, :2] / flat[:, 2:]
        lean_px = self.px_per_mm(float(middle[0]), float(middle[1])) * points_mm[:, 2:]
        steps = sorted(np.linspace(-slope, slope, SLOPE_STEPS), key=abs)
        for lean in product(steps, steps):
            yield pixels + lean_px * np.array(lean)

    def px_per_mm(self, x: float, y: float) -> float:
        """Return the scale near a pixel, at the height of a die's centre."""
        here, right, below = (np.array(self.to_table(*at)) for at in ((x, y), (x + 4, y), (x, y + 4)))
        along, across = right - here, below - here
        area = abs(float(along[0] * across[1] - along[1] * across[0])) / 16
        return float(1 / max(1e-6, area**0.5))

    def die_px(self, x: float, y: float) -> float:
        """Return the length of a die's edge, in pixels, near a pixel."""
        if self.file.die_px is not None:
            return self.file.die_px
        return self.die_mm * self.px_per_mm(x, y)

    def height_error_mm(self, place_mm: Array, unknown_mm: float = UNKNOWN_HEIGHT_MM) -> float:
        """Return the standard error of a position (x, y) caused by a die's unknown height.

        Only the error towards the walls that dice must hit is included: along the table if `walls` is `ends`,
        and in any direction if it is `all`. The error is 0 if the camera's position is unknown.
        """
        if self._camera is None:
            return 0.0
        eye = self.eye
        along, across = place_mm[:2] - eye[:2]
        distance_mm = abs(along) if self.file.walls == "ends" else np.hypot(along, across)
        return float(distance_mm * unknown_mm / eye[2])


def _reduced_coordinate(pixel: float, times: int) -> float:
    return (pixel + 0.5) / times - 0.5
