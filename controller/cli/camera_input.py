"""The input of `tablectl camera`: rig files, pictures, films and live sources."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import msgspec
import numpy as np

from controller.cli.shell import unwritable
from controller.model.conversion import converter_of
from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import parse_document
from drivers.vision.arrays import Array
from drivers.vision.moving import median_picture
from drivers.vision.rig import CaptureFile, Rig, RigError, RigFile
from drivers.vision.stills import Reduction

MEDIAN_FRAMES = 41
"""The number of frames whose median is the empty table: in most of them, a given pixel shows no die."""
MAX_UNSTAMPED = 30
"""The camera is rejected after this many consecutive frames without a usable time, about half a second."""

MAX_OUTSIDE = 0.1
"""Calibrated points lie at most this share of the picture's size outside it; with a wrong size, they lie
farther outside."""
MAX_MISSING = 0.05
"""Containers without a frame count estimate it from the length; a film that is cut off lacks more frames."""

_rig_file_of = converter_of(RigFile)


class CameraInputError(ValueError):
    """A picture, film or rig file can't be used; the message names it and what was expected."""


def rig_file_of(path: Path) -> RigFile:
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


def rig_of(path: Path) -> Rig:
    """Return the solved rig of a file; raises CameraInputError."""
    try:
        return Rig(rig_file_of(path))
    except RigError as error:
        raise CameraInputError(f"{path}: {error}") from error


def picture_of(path: Path) -> Array:
    """Return the picture in a file; raises CameraInputError."""
    _check_file(path, "a picture")
    try:
        picture = decoded(path.read_bytes())
    except OSError as error:
        raise CameraInputError(
            f"{path}: found an unreadable file ({error.strerror}), expected a picture"
        ) from error
    if picture is None:
        raise CameraInputError(
            f"{path}: found no picture in the file, expected JPEG, PNG or another format that OpenCV reads"
        )
    return picture


def _check_file(path: Path, expected: str) -> None:
    """Refuse a pipe or a device, because reading it may block forever; raises CameraInputError."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise CameraInputError(f"{path}: found a pipe or a device, expected {expected}; name a file")


def no_frame(source: str) -> str:
    """Return a message that a source ended before its first frame, with what to do about it."""
    return f"{source}: found no frame, expected at least one; check the film, or plug the camera in again"


def write_file(path: Path, data: bytes) -> None:
    """Write a file; raises CameraInputError, also for a pipe without a reader, instead of waiting for one."""
    try:
        with open(path, "wb", opener=_opened_at_once) as file:
            file.write(data)
    except OSError as error:
        raise CameraInputError(unwritable(path, error)) from error


def _opened_at_once(path: str, flags: int) -> int:
    number = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(number, True)
    return number


def check_size(
    name: object, size: tuple[int, int], capture: CaptureFile | None, points: Sequence[Sequence[float]] = ()
) -> None:
    """Refuse frames of a size other than the one at which the camera was calibrated.

    Raises CameraInputError.
    """
    width, height = size
    if capture is not None and size != (capture.width, capture.height):
        raise CameraInputError(
            f"{name}: found frames of {width} x {height}, expected {capture.width} x {capture.height}"
            " (`capture`); `v4l2-ctl --list-formats-ext` lists the sizes of each format"
        )
    for x, y, *_ in points:
        if not (
            abs(x - width / 2) <= (0.5 + MAX_OUTSIDE) * width
            and abs(y - height / 2) <= (0.5 + MAX_OUTSIDE) * height
        ):
            raise CameraInputError(
                f"{name}: found frames of {width} x {height}, but a point of `points` at {x:g}, {y:g},"
                " expected the size at which the points were measured; film at that size, or repeat"
                " `tablectl camera calibrate`"
            )


class Film:
    """A film file; each frame's time is the one stored in the file."""

    def __init__(self, path: Path) -> None:
        """Open the film; raises CameraInputError if the file is not a readable film."""
        self.path = path
        self.cut_off: str | None = None
        """After the last frame: a message if the film has fewer frames than its header states."""
        self._open()

    def _open(self) -> cv2.VideoCapture:
        if not self.path.exists():
            raise CameraInputError(f"{self.path}: found no such file, expected a film; check its name")
        film = cv2.VideoCapture(str(self.path)) if self.path.is_file() else None
        if film is None or not film.isOpened():
            raise CameraInputError(
                f"{self.path}: found no film, expected one that OpenCV reads (MP4, AVI, MKV)"
            )
        return film

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame's time, in microseconds from the film's start, and its picture."""
        film = self._open()
        rate = film.get(cv2.CAP_PROP_FPS) or 30.0
        last_us = -1
        count = 0
        while True:
            there, picture = film.read()
            if not there:
                self.cut_off = self._cut_off(count, int(film.get(cv2.CAP_PROP_FRAME_COUNT)))
                return
            stamped_us = round(film.get(cv2.CAP_PROP_POS_MSEC) * 1000)
            counted_us = round(count * 1e6 / rate)
            # If the container has no times, OpenCV returns 0 for each frame; then the frame rate is used.
            stamped = stamped_us > last_us and (stamped_us or not count)
            t_us = stamped_us if stamped else max(counted_us, last_us + 1)
            last_us = t_us
            count += 1
            yield t_us, picture

    def _cut_off(self, found: int, stated: int) -> str | None:
        if found >= (1 - MAX_MISSING) * stated:
            return None
        return f"{self.path}: found {found} of {stated} frames, expected the complete film; copy it again"

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and height of the frames in pixels."""
        film = self._open()
        return int(film.get(cv2.CAP_PROP_FRAME_WIDTH)), int(film.get(cv2.CAP_PROP_FRAME_HEIGHT))

    def empty_table(self, reduction: Reduction) -> Array:
        """Return the table without dice: the median of reduced frames from the whole film."""
        film = self._open()
        total = max(1, int(film.get(cv2.CAP_PROP_FRAME_COUNT)))
        wanted = {round(at * (total - 1) / (MEDIAN_FRAMES - 1)) for at in range(MEDIAN_FRAMES)}
        kept = []
        for at in range(total):
            if not film.grab():
                break
            if at in wanted:
                there, picture = film.retrieve()
                if there:
                    kept.append(reduction.frame(picture))
        if total < 2 or not kept:
            number = "only one frame" if kept else "no frames"
            raise CameraInputError(f"{self.path}: found {number}, expected a film of a table")
        return median_picture(kept)


class Live:
    """A live source on the monotonic clock: a device such as /dev/video0, or a film at its own pace."""

    def __init__(
        self, source: str, capture: CaptureFile | None = None, points: Sequence[Sequence[float]] = ()
    ) -> None:
        """Use the device or film with this name; a device must deliver frames as set in `capture`.

        Frames of another size, or too small to contain the rig's `points`, are refused.
        """
        self.source = source
        self._capture = capture
        self._points = points

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame's monotonic time, in microseconds, and its picture, until the source ends.

        Raises CameraInputError if there is no such source.
        """
        if self.source.startswith("/dev/"):
            yield from self._device()
            return
        film = Film(Path(self.source))
        check_size(self.source, film.size, self._capture, self._points)
        began_us = time.monotonic_ns() // 1000
        for t_us, picture in film.frames():
            ahead_us = began_us + t_us - time.monotonic_ns() // 1000
            if ahead_us > 0:
                time.sleep(ahead_us / 1e6)
            yield began_us + t_us, picture

    def _device(self) -> Iterator[tuple[int, Array]]:
        # Checked first, because OpenCV would log a missing device at each retry.
        device = cv2.VideoCapture(self.source, cv2.CAP_V4L2) if Path(self.source).exists() else None
        if device is None or not device.isOpened():
            raise CameraInputError(
                f"{self.source}: found no camera there, expected a V4L2 device;"
                " `v4l2-ctl --list-devices` lists them"
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
                there, picture = device.read()
                if not there:
                    return
                check_size(self.source, picture.shape[1::-1], self._capture, self._points)
                # The driver stamps the start of the frame by the monotonic clock. The time at which a frame
                # arrives depends on the load, so using it would misplace the die.
                stamp_us = round(device.get(cv2.CAP_PROP_POS_MSEC) * 1000)
                if 0 < stamp_us <= time.monotonic_ns() // 1000:
                    unstamped = 0
                    yield stamp_us, picture
                    continue
                unstamped += 1
                if unstamped == MAX_UNSTAMPED:
                    raise CameraInputError(
                        f"{self.source}: found frames stamped {stamp_us} us, expected the driver's times"
                        " on the monotonic clock; load uvcvideo with clock=CLOCK_MONOTONIC,"
                        " or use another camera"
                    )
        finally:
            device.release()


def decoded(data: bytes) -> Array | None:
    """Return the picture in a file's contents, as rows of blue, green and red; None if it is not one."""
    if not data:
        return None
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
