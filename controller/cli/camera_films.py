"""Films and rig files for `tablectl camera`: frames with the film's own times, mistakes named."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import msgspec
import yaml

from controller.model.conversion import converter_of
from drivers.vision.arrays import Array
from drivers.vision.moving import median_of
from drivers.vision.rig import Rig, RigError, RigFile

SAMPLES = 41
"""Frames whose median is the empty table: dice lie elsewhere in most of them."""


_rig_file_of = converter_of(RigFile)


class CameraInputError(ValueError):
    """A film or rig file that can't be used; the message names it and what was expected."""


def rig_of(path: Path) -> Rig:
    """Return the rig of a file; raises CameraInputError."""
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Rig(_rig_file_of(given))
    except OSError as error:
        raise CameraInputError(
            f"{path}: found it unreadable ({error.strerror}), expected a rig file"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = " ".join(str(error).split())
        raise CameraInputError(f"{path}: found no YAML ({where}), expected a rig file") from error
    except (msgspec.ValidationError, RigError) as error:
        raise CameraInputError(f"{path}: {error}; docs/devices/dice-camera.md lists a rig's keys") from error


class Film:
    """A film file: its frames, each with the time that the film gives it."""

    def __init__(self, path: Path) -> None:
        """Open; raises CameraInputError where it is no film."""
        self.path = path
        self._opened()

    def _opened(self) -> cv2.VideoCapture:
        film = cv2.VideoCapture(str(self.path)) if self.path.is_file() else None
        if film is None or not film.isOpened():
            raise CameraInputError(
                f"{self.path}: found no film, expected one that OpenCV reads (MP4, AVI, MKV)"
            )
        return film

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame and its time in microseconds from the film's start."""
        film = self._opened()
        rate = film.get(cv2.CAP_PROP_FPS) or 30.0
        last_us = -1
        count = 0
        while True:
            there, picture = film.read()
            if not there:
                return
            told_us = round(film.get(cv2.CAP_PROP_POS_MSEC) * 1000)
            counted_us = round(count * 1e6 / rate)
            # A container without times tells 0 for each frame; then its rate counts.
            t_us = told_us if told_us > last_us and (told_us or not count) else max(counted_us, last_us + 1)
            last_us = t_us
            count += 1
            yield t_us, picture

    def empty_table(self) -> Array:
        """Return the table without dice: the median of frames from all over the film."""
        film = self._opened()
        total = max(1, int(film.get(cv2.CAP_PROP_FRAME_COUNT)))
        wanted = {round(at * (total - 1) / (SAMPLES - 1)) for at in range(SAMPLES)}
        kept = []
        for at in range(total):
            if not film.grab():
                break
            if at in wanted:
                there, picture = film.retrieve()
                if there:
                    kept.append(picture)
        if not kept:
            raise CameraInputError(f"{self.path}: found no frame in it, expected a film of a table")
        return median_of(kept)
