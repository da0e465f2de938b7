"""The input of `tablectl camera`: rig files, pictures, videos and live sources."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import msgspec
import numpy as np

from controller.cli.shell import unwritable_message
from controller.model.conversion import converter_of
from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import parse_document
from drivers.vision.arrays import Array
from drivers.vision.moving import median_picture
from drivers.vision.rig import CaptureSettings, Rig, RigError, RigFile
from drivers.vision.stills import Reduction

MEDIAN_FRAMES = 41
"""Number of frames whose median is the empty table; a die covers a given pixel in only a few of them."""
MAX_UNSTAMPED = 30
"""Number of consecutive frames without a usable timestamp after which a camera is rejected."""

MAX_OUTSIDE = 0.1
"""Maximum distance of a calibrated point beyond the picture's edge, as a fraction of the picture's size. A
point farther out indicates a picture of the wrong size."""
MAX_MISSING = 0.05
"""Maximum fraction of frames that may be missing before a video is reported as cut off. The frame count in a
video's header can be an estimate."""

_rig_file_of = converter_of(RigFile)


class CameraInputError(ValueError):
    """A picture, video, source or rig file that can't be used."""


def load_rig_file(path: Path) -> RigFile:
    """Return the contents of a rig's file; raises CameraInputError."""
    _check_file(path, "a YAML file")
    try:
        document = parse_document(path)
        rig = _rig_file_of(document.value)
    except SettingsError as error:
        raise CameraInputError(str(error)) from error
    except msgspec.ValidationError as error:
        raise CameraInputError(f"{path}: {error}; docs/devices/dice-camera.md lists a rig's keys") from error
    if document.mistakes:
        raise CameraInputError(str(SettingsError(document.mistakes)))
    return rig


def load_rig(path: Path) -> Rig:
    """Load a rig's file and solve the rig's geometry; raises CameraInputError."""
    try:
        return Rig(load_rig_file(path))
    except RigError as error:
        raise CameraInputError(f"{path}: {error}") from error


def load_picture(path: Path) -> Array:
    """Return the picture in a file; raises CameraInputError."""
    _check_file(path, "a picture")
    try:
        picture = decoded(path.read_bytes())
    except OSError as error:
        raise CameraInputError(f"{path}: cannot read this picture ({error.strerror})") from error
    if picture is None:
        raise CameraInputError(
            f"{path}: found no picture in this file, expected JPEG, PNG or another format that OpenCV reads"
        )
    return picture


def _check_file(path: Path, expected: str) -> None:
    """Raise CameraInputError for a pipe or a device, because reading it could block forever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise CameraInputError(f"{path}: found a pipe or a device, expected {expected}; name a regular file")


def no_frame_message(source: str) -> str:
    """Return the message about a source that ended before its first frame."""
    return f"{source}: no frame arrived; check the video, or plug the camera in again"


def write_file(path: Path, data: bytes) -> None:
    """Write a file, without waiting for a pipe's reader; raises CameraInputError on failure."""
    try:
        with open(path, "wb", opener=_open_nonblocking) as file:
            file.write(data)
    except OSError as error:
        raise CameraInputError(unwritable_message(path, error)) from error


def _open_nonblocking(path: str, flags: int) -> int:
    number = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(number, True)
    return number


def check_size(
    name: object,
    size: tuple[int, int],
    capture: CaptureSettings | None,
    points: Sequence[Sequence[float]] = (),
) -> None:
    """Raise CameraInputError unless frames have the size set in `capture` and contain the given points."""
    width, height = size
    if capture is not None and size != (capture.width, capture.height):
        raise CameraInputError(
            f"{name}: found frames of {width} x {height}, expected {capture.width} x {capture.height}"
            " as set in `capture`; `v4l2-ctl --list-formats-ext` lists the sizes of each format"
        )
    for x, y, *_ in points:
        if not (
            abs(x - width / 2) <= (0.5 + MAX_OUTSIDE) * width
            and abs(y - height / 2) <= (0.5 + MAX_OUTSIDE) * height
        ):
            raise CameraInputError(
                f"{name}: found frames of {width} x {height}, too small for the calibrated point"
                f" {x:g}, {y:g}; expected the size at which the `points` were measured; record at that size,"
                " or repeat `tablectl camera calibrate`"
            )


class Video:
    """A video file. Frame times come from the file or, if the file has none, from the frame rate."""

    def __init__(self, path: Path) -> None:
        """Open the video; raises CameraInputError if the file is not a readable video."""
        self.path = path
        self.cut_off: str | None = None
        """The message about missing frames, set after the last frame if the video is cut off."""
        self._open()

    def _open(self) -> cv2.VideoCapture:
        if not self.path.exists():
            raise CameraInputError(f"{self.path}: this video does not exist; check the path")
        video = cv2.VideoCapture(str(self.path)) if self.path.is_file() else None
        if video is None or not video.isOpened():
            found = "found no video that OpenCV can read"
            raise CameraInputError(f"{self.path}: {found}, expected MP4, AVI or MKV")
        return video

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame's time, in microseconds from the video's start, and its picture."""
        video = self._open()
        rate = video.get(cv2.CAP_PROP_FPS) or 30.0
        last_us = -1
        count = 0
        while True:
            ok, picture = video.read()
            if not ok:
                self.cut_off = self._cut_off(count, int(video.get(cv2.CAP_PROP_FRAME_COUNT)))
                return
            stamped_us = round(video.get(cv2.CAP_PROP_POS_MSEC) * 1000)
            counted_us = round(count * 1e6 / rate)
            # For a container without times, OpenCV returns 0 for each frame; use the frame rate.
            stamped = stamped_us > last_us and (stamped_us or not count)
            t_us = stamped_us if stamped else max(counted_us, last_us + 1)
            last_us = t_us
            count += 1
            yield t_us, picture

    def _cut_off(self, found: int, stated: int) -> str | None:
        if found >= (1 - MAX_MISSING) * stated:
            return None
        return f"{self.path}: found {found} of {stated} frames, expected the complete video; copy it again"

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and height of the frames in pixels."""
        video = self._open()
        return int(video.get(cv2.CAP_PROP_FRAME_WIDTH)), int(video.get(cv2.CAP_PROP_FRAME_HEIGHT))

    def empty_table(self, reduction: Reduction) -> Array:
        """Return a picture of the table without dice: the median of reduced frames from the whole video."""
        video = self._open()
        total = max(1, int(video.get(cv2.CAP_PROP_FRAME_COUNT)))
        wanted = {round(at * (total - 1) / (MEDIAN_FRAMES - 1)) for at in range(MEDIAN_FRAMES)}
        kept = []
        for at in range(total):
            if not video.grab():
                break
            if at in wanted:
                ok, picture = video.retrieve()
                if ok:
                    kept.append(reduction.frame(picture))
        if total < 2 or not kept:
            number = "only one frame" if kept else "no frames"
            raise CameraInputError(f"{self.path}: found {number}, expected a video of a table")
        return median_picture(kept)


class Live:
    """A live source with monotonic timestamps: a device like /dev/video0, or a video played in real time."""

    def __init__(
        self, source: str, capture: CaptureSettings | None = None, points: Sequence[Sequence[float]] = ()
    ) -> None:
        """Use this device or video; a device is set up as `capture` specifies.

        `frames` refuses frames of a different size, and frames too small to contain the rig's `points`.
        """
        self.source = source
        self._capture = capture
        self._points = points

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame's monotonic time, in microseconds, and its picture, until the source ends.

        Raises CameraInputError if the source can't be used.
        """
        if self.source.startswith("/dev/"):
            yield from self._device()
            return
        video = Video(Path(self.source))
        check_size(self.source, video.size, self._capture, self._points)
        began_us = time.monotonic_ns() // 1000
        for t_us, picture in video.frames():
            ahead_us = began_us + t_us - time.monotonic_ns() // 1000
            if ahead_us > 0:
                time.sleep(ahead_us / 1e6)
            yield began_us + t_us, picture

    def _device(self) -> Iterator[tuple[int, Array]]:
        # OpenCV would log a missing device at each retry, so check the path first.
        device = cv2.VideoCapture(self.source, cv2.CAP_V4L2) if Path(self.source).exists() else None
        if device is None or not device.isOpened():
            raise CameraInputError(
                f"{self.source}: can't open this camera; check that it is connected, that no other program"
                " uses it and that this user may open it (`v4l2-ctl --list-devices` lists the cameras)"
            )
        device.set(cv2.CAP_PROP_BUFFERSIZE, 2)
        if self._capture is not None:
            device.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*self._capture.format))
            device.set(cv2.CAP_PROP_FRAME_WIDTH, self._capture.width)
            device.set(cv2.CAP_PROP_FRAME_HEIGHT, self._capture.height)
            device.set(cv2.CAP_PROP_FPS, self._capture.fps)
        unstamped = 0
        try:
            while True:
                ok, picture = device.read()
                if not ok:
                    return
                check_size(self.source, picture.shape[1::-1], self._capture, self._points)
                # The driver timestamps the start of each frame with the monotonic clock. Arrival times vary
                # with the load and would misplace the dice.
                stamp_us = round(device.get(cv2.CAP_PROP_POS_MSEC) * 1000)
                if 0 < stamp_us <= time.monotonic_ns() // 1000:
                    unstamped = 0
                    yield stamp_us, picture
                    continue
                unstamped += 1
                if unstamped == MAX_UNSTAMPED:
                    raise CameraInputError(
                        f"{self.source}: found frames with the timestamp {stamp_us} us, expected the driver's"
                        " timestamps from the monotonic clock; load uvcvideo with clock=CLOCK_MONOTONIC,"
                        " or use another camera"
                    )
        finally:
            device.release()


def decoded(data: bytes) -> Array | None:
    """Decode a picture into rows of blue, green and red values; return None if the data is not a picture."""
    if not data:
        return None
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
