"""The pictures of a throw as it happens: a clip out of a short memory, and the stills that a face rests on.

Each die that comes to rest or is lost closes a file with all that was seen since the file before. The reading
that tells of it names the file.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import cv2
import msgspec

from controller.evidence.container import About, Closed, Writer
from controller.model.readings import DieLost, DieReleased, DieRest, Reading, kind_of
from drivers.vision.arrays import Array
from drivers.vision.stills import Look

Keep: TypeAlias = Callable[[Closed], None]
BEFORE_US = 500_000
"""A clip begins this long before the first die comes into sight, so that it shows the hand."""
CLIP_STEP_US = 30_000
"""A clip keeps one frame in this time."""
CLIP_WIDTH_PX, WHOLE_WIDTH_PX = 640, 1920
"""A larger frame is reduced: a die at rest must be reported within 0.12 s. Cut-outs are not reduced."""
CLIP_QUALITY, STILL_QUALITY = 75, 92
"""JPEG quality: a clip is watched, a still is examined."""
CLIP_MAX_BYTES = 8 * 2**20
"""About 250 frames: 8 s, a rule set's `settle_timeout_s`."""


class Album:
    """Keeps the frames of one camera in mind, and makes files of them."""

    def __init__(self, camera: str, keep: Keep) -> None:
        """Keep the files of this camera so."""
        self._camera = camera
        self._keep = keep
        self._before: deque[tuple[int, bytes]] = deque()
        self._clipped_us = -CLIP_STEP_US
        self._wholes: deque[tuple[int, Array]] = deque(maxlen=2)
        self._moving: set[int] = set()
        self._open: Writer | None = None
        self._cut = False

    def forget(self) -> None:
        """Forget what happened until now: the view is in doubt, and nothing was followed to its end."""
        self._open = None
        self._moving.clear()

    def frame(
        self,
        t_us: int,
        picture: Array,
        told: Sequence[Reading],
        looks: Callable[[int], Sequence[Look]],
    ) -> list[Reading]:
        """Add a frame; return the readings made of it, with the names of their pictures."""
        if not self._wholes or self._wholes[-1][0] != t_us:
            self._wholes.append((t_us, picture))
        for reading in told:
            if isinstance(reading, DieReleased):
                self._moving.add(reading.die)
                self._open = self._open or self._begun()
        self._clip(t_us, picture)
        return [
            self._named(t_us, reading, looks(reading.die))
            if isinstance(reading, DieRest | DieLost)
            else reading
            for reading in told
        ]

    def _begun(self) -> Writer:
        writer = Writer()
        for t_us, jpeg in self._before:
            writer.add("clip", t_us, jpeg)
        self._before.clear()
        self._cut = False
        return writer

    def _clip(self, t_us: int, picture: Array) -> None:
        if t_us - self._clipped_us < CLIP_STEP_US:
            return
        self._clipped_us = t_us
        jpeg = _jpeg(_small(picture, CLIP_WIDTH_PX), CLIP_QUALITY)
        if self._open is None:
            self._before.append((t_us, jpeg))
            while t_us - self._before[0][0] > BEFORE_US:
                self._before.popleft()
        elif self._open.size + len(jpeg) < CLIP_MAX_BYTES:
            self._open.add("clip", t_us, jpeg)
        else:
            self._cut = True

    def _named(self, t_us: int, reading: DieRest | DieLost, looks: Sequence[Look]) -> Reading:
        writer = self._open or self._begun()
        for look in looks:
            writer.add("die", look.t_us, _jpeg(look.part, STILL_QUALITY))
        for taken_us, whole in self._wholes:
            writer.add("whole", taken_us, _jpeg(_small(whole, WHOLE_WIDTH_PX), STILL_QUALITY))
        about = About(
            camera=self._camera,
            die=reading.die,
            kind=kind_of(reading),
            t_us=t_us,
            up=reading.up if isinstance(reading, DieRest) else None,
            confidence=reading.confidence if isinstance(reading, DieRest) else None,
            clip_cut=self._cut,
        )
        closed = writer.close(about)
        self._moving.discard(reading.die)
        self._open = self._begun() if self._moving else None
        self._keep(closed)
        return msgspec.structs.replace(reading, pictures=closed.sha256)


def _small(picture: Array, width_px: int) -> Array:
    height, width = picture.shape[:2]
    if width <= width_px:
        return picture
    size = (width_px, round(height * width_px / width))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA)


def _jpeg(picture: Array, quality: int) -> bytes:
    made, coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert made
    return bytes(coded)
