"""Convert live frames from one or two cameras to readings and picture files.

While a camera is covered, bumped, blinded or out of focus, its frames yield no faces or tracks.
"""

import argparse
import heapq
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import cv2
import msgspec

from controller.cli.camera_input import CameraInputError, Live, load_rig
from controller.evidence.pictures import Closed, PictureDescription, Writer
from controller.model.readings import DeviceDown, DeviceUp, DieLost, DieReleased, DieRest, Reading, kind_of
from drivers.vision.arrays import Array
from drivers.vision.following import Follower, Track
from drivers.vision.moving import median_picture
from drivers.vision.pairing import Pair
from drivers.vision.rig import Rig, RigError
from drivers.vision.stills import Crop, Reduction, reduction_for
from drivers.vision.view import View

Keep: TypeAlias = Callable[[Closed], None]
BEFORE_US = 500_000
"""Duration of the part of a clip before the first die comes into view, long enough to show the hand."""
CLIP_STEP_US = 30_000
"""Interval between the frames of a clip."""
CLIP_WIDTH_PX, WHOLE_WIDTH_PX = 640, 1920
"""Maximum widths of a clip's frames and of whole frames. Frames are reduced because a die at rest must be
reported within 0.12 s. Cut-outs of dice are not scaled."""
CLIP_QUALITY, STILL_QUALITY = 75, 92
"""JPEG qualities. Stills are examined in detail; clips are not."""
CLIP_MAX_BYTES = 8 * 2**20
"""Maximum size of a clip: about 250 frames, or 8 s, which is the default `settle_timeout_s`."""


class Album:
    """Buffers one camera's frames, and writes picture files for the camera's readings."""

    def __init__(self, camera: str, keep: Keep) -> None:
        """Pass this camera's files to `keep`."""
        self._camera = camera
        self._keep = keep
        self._before: deque[tuple[int, bytes]] = deque()
        self._clipped_us = -CLIP_STEP_US
        self._wholes: deque[tuple[int, Array]] = deque(maxlen=2)
        self._moving: set[int] = set()
        self._open: Writer | None = None
        self._cut = False

    def forget(self) -> None:
        """Drop the current clip, because dice can't be tracked while the view is in doubt."""
        self._open = None
        self._moving.clear()

    def frame(
        self,
        t_us: int,
        picture: Array,
        readings: Sequence[Reading],
        crops: Callable[[int], Sequence[Crop]],
    ) -> list[Reading]:
        """Add a frame and its readings; return the readings with the names of their pictures."""
        if not self._wholes or self._wholes[-1][0] != t_us:
            self._wholes.append((t_us, picture))
        for reading in readings:
            if isinstance(reading, DieReleased):
                self._moving.add(reading.die)
                self._open = self._open or self._begun()
        self._clip(t_us, picture)
        return [
            self._store_pictures(t_us, reading, crops(reading.die))
            if isinstance(reading, DieRest | DieLost)
            else reading
            for reading in readings
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
        jpeg = _jpeg(_narrowed(picture, CLIP_WIDTH_PX), CLIP_QUALITY)
        if self._open is None:
            self._before.append((t_us, jpeg))
            while t_us - self._before[0][0] > BEFORE_US:
                self._before.popleft()
        elif self._open.size + len(jpeg) < CLIP_MAX_BYTES:
            self._open.add("clip", t_us, jpeg)
        else:
            self._cut = True

    def _store_pictures(self, t_us: int, reading: DieRest | DieLost, crops: Sequence[Crop]) -> Reading:
        writer = self._open or self._begun()
        for crop in crops:
            writer.add("die", crop.t_us, _jpeg(crop.part, STILL_QUALITY))
        for taken_us, whole in self._wholes:
            writer.add("whole", taken_us, _jpeg(_narrowed(whole, WHOLE_WIDTH_PX), STILL_QUALITY))
        about = PictureDescription(
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


def _narrowed(picture: Array, width_px: int) -> Array:
    height, width = picture.shape[:2]
    if width <= width_px:
        return picture
    size = (width_px, round(height * width_px / width))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA)


def _jpeg(picture: Array, quality: int) -> bytes:
    made, coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert made
    return bytes(coded)


LEARNING_FRAMES = 31
"""Number of initial frames whose median is the empty table."""
SILENT = "silent"
BUMPED_MM = 6.0
"""Minimum shift reported as a fault. A 10 mm shift must be detected; the measurement error is 1 to 2 mm."""


class CameraWatch:
    """Converts one camera's live frames to readings."""

    def __init__(self, rig: Rig, album: Album | None = None, *, alone: bool = True) -> None:
        """Start by learning the empty table.

        Without an `album`, no pictures are stored. `alone` is false if a `Pair` merges the readings of two
        cameras.
        """
        self._rig = rig
        """The rig at the size of the reduced frames."""
        self._reduction: Reduction | None = None
        self._alone = alone
        self._album = album
        self._learnt: list[Array] = []
        self._follower: Follower | None = None
        self._view: View | None = None
        self._empty: Array | None = None
        self._fault: str | None = None
        self._last: tuple[int, Array] | None = None

    def frame(self, t_us: int, picture: Array) -> list[Reading]:
        """Return a frame's readings.

        Dice yield no readings while the empty table is being learnt or the view is in doubt.
        """
        if self._reduction is None:
            self._reduction = reduction_for(self._rig, picture.shape[1], picture.shape[0])
            self._rig = self._rig.reduced(self._reduction.times)
        frame = self._reduction.frame(picture)
        if self._view is None or self._follower is None or self._empty is None:
            self._learnt.append(frame)
            if len(self._learnt) == LEARNING_FRAMES:
                self._empty = median_picture(self._learnt)
                middle = (frame.shape[1] / 2, frame.shape[0] / 2)
                self._view = View(self._empty, BUMPED_MM * self._rig.px_per_mm(*middle))
                self._follower = Follower(self._rig, self._empty, alone=self._alone)
                self._learnt = []
            return []
        self._last = (t_us, picture)
        verdict = self._view.look(t_us, frame)
        readings: list[Reading] = []
        if verdict.fault != self._fault:
            if verdict.fault is not None:
                readings = self._add_pictures(t_us, picture, self._follower.lose_remaining(t_us))
            readings.append(self._health(t_us, verdict.fault, verdict.seen))
            self._fault = verdict.fault
            self._follower = Follower(self._rig, self._empty, alone=self._alone)
            if self._album is not None:
                self._album.forget()
        if self._view.doubtful:
            # A throw's clip also shows whatever hides the table, but these frames yield no readings.
            return readings or self._add_pictures(t_us, picture, [])
        seen = self._follower.frame(t_us, frame, self._reduction.still(picture))
        return readings + self._add_pictures(t_us, picture, seen)

    def report_hang(self, t_us: int) -> list[Reading]:
        """Return the readings for a camera whose frames have stopped; the next frame ends the fault."""
        if self._fault == SILENT:
            return []
        lost = self.ended(t_us)
        self._fault = SILENT
        return [
            *lost,
            self._health(t_us, SILENT, "the camera is not sending frames; check its cable and its driver"),
        ]

    def ended(self, t_us: int) -> list[Reading]:
        """Return the readings of the dice that are lost because the frames have ended."""
        if self._follower is None or self._last is None:
            return []
        return self._add_pictures(self._last[0], self._last[1], self._follower.lose_remaining(t_us))

    def _add_pictures(self, t_us: int, picture: Array, readings: list[Reading]) -> list[Reading]:
        if self._album is None or self._follower is None:
            return readings
        return self._album.frame(t_us, picture, readings, self._follower.crops)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Return the current tracks of the dice, in pixels of the camera's pictures."""
        if self._follower is None or self._reduction is None:
            return ()
        return tuple(
            replace(track, places=tuple(self._reduction.in_picture(*place) for place in track.places))
            for track in self._follower.tracks()
        )

    @property
    def status(self) -> str:
        """Return a short description of the view's state."""
        if self._fault == SILENT:
            return SILENT
        if self._view is None:
            return f"learning the empty table, frame {len(self._learnt)} of {LEARNING_FRAMES}"
        return self._fault or ("in doubt" if self._view.doubtful else "following")

    def _health(self, t_us: int, fault: str | None, seen: str) -> Reading:
        dev = self._rig.file.camera
        if fault is None:
            return DeviceUp(t=t_us, dev=dev, reason="the camera sees its table again")
        return DeviceDown(t=t_us, dev=dev, code=fault, reason=seen)


MAX_WAITING_FRAMES = 4
"""Queue size, in frames per source; a source waits while the queue is full."""
PUT_TIMEOUT_S = 0.2
"""Interval at which a waiting source checks whether the reader has stopped."""
SILENT_US = 500_000
"""Time without frames after which a camera is treated as hung, if the other camera still sends frames."""
START_TIMEOUT_US = 5_000_000
"""Maximum time between the first frames of two cameras; some cameras take seconds to start."""

Frame = tuple[int, int, Array]
"""The camera's number, the frame's time in microseconds, and the picture."""


def add_second_camera(command: argparse.ArgumentParser) -> None:
    """Declare `--beside`, for a second camera."""
    command.add_argument(
        "--beside",
        metavar="RIG.yaml",
        type=Path,
        help="the rig file of a second camera over the same end of the table; two views are needed to measure"
        " a die's height",
    )


def pair_of(rigs: Sequence[Rig]) -> Pair | None:
    """Return the Pair that merges two rigs' readings; None for one rig. Raises CameraInputError."""
    if len(rigs) == 1:
        return None
    try:
        return Pair(rigs[0], rigs[1])
    except RigError as error:
        raise CameraInputError(str(error)) from error


def in_order_of_time(
    sources: Sequence[Iterator[tuple[int, Array]]], begins_us: Sequence[int]
) -> Iterator[Frame]:
    """Yield the frames of recorded sources in time order; `begins_us` holds the sources' start times."""

    def of(camera: int) -> Iterator[Frame]:
        for t_us, picture in sources[camera]:
            yield camera, t_us + begins_us[camera], picture

    return heapq.merge(*map(of, range(len(sources))), key=lambda frame: frame[1])


class Cameras:
    """One camera, or two cameras that form one device."""

    def __init__(self, rigs: Sequence[Rig], sources: Sequence[str]) -> None:
        """Prepare the sources of one or two rigs; raises CameraInputError if two rigs can't form a device."""
        self._rigs = tuple(rigs)
        self._lives = tuple(
            Live(source, rig.file.capture, rig.file.points) for rig, source in zip(rigs, sources, strict=True)
        )
        self.sources = tuple(sources)
        self.name = rigs[0].file.camera
        self.source = " or ".join(live.source for live in self._lives)
        pair_of(rigs)

    @property
    def count(self) -> int:
        """Return the number of cameras: one or two."""
        return len(self._lives)

    def watch(self, keep: Keep | None) -> "DeviceWatch":
        """Return a new watch, which begins by learning the empty table."""
        return DeviceWatch(self._rigs, keep)

    def frames(self) -> Iterator[Frame]:
        """Yield frames as they arrive, until a source ends; raises CameraInputError if one can't be used."""
        if len(self._lives) == 1:
            for t_us, picture in self._lives[0].frames():
                yield 0, t_us, picture
            return
        yield from frames_of_all([live.frames() for live in self._lives])


def cameras_of(rig: Path, second: Path | None = None, source: str | None = None) -> Cameras:
    """Load one or two rig files as one device; `source` replaces the source in the first file.

    Raises CameraInputError if a file can't be used or has no `source`.
    """
    paths = [rig] if second is None else [rig, second]
    rigs = [load_rig(path) for path in paths]
    sources = [one.file.source for one in rigs]
    sources[0] = source or sources[0]
    for path, found in zip(paths, sources, strict=True):
        if not found:
            raise CameraInputError(f"{path} has no `source`; add a device or a video")
    return Cameras(rigs, sources)


class DeviceWatch:
    """Converts the frames of one or two cameras to the readings of one device."""

    def __init__(self, rigs: Sequence[Rig], keep: Keep | None) -> None:
        """Begin by learning the empty table; each camera's pictures are passed to `keep`."""
        self._pair = pair_of(rigs)
        self._watches = [
            CameraWatch(
                rig,
                None if keep is None else Album(rig.file.camera, keep),
                alone=self._pair is None,
            )
            for rig in rigs
        ]
        self._due_us: dict[int, int] = {}
        """Each camera's deadline for its next frame."""

    def frame(self, camera: int, t_us: int, picture: Array) -> list[Reading]:
        """Return a frame's readings, and a fault's readings if the other camera's frames have stopped."""
        readings: list[Reading] = []
        for other in range(len(self._watches)):
            if other != camera and t_us >= self._due_us.setdefault(other, t_us + START_TIMEOUT_US):
                readings += self._merge(other, t_us, self._watches[other].report_hang(t_us))
        self._due_us[camera] = t_us + SILENT_US
        return readings + self._merge(camera, t_us, self._watches[camera].frame(t_us, picture))

    def tracks(self, camera: int) -> tuple[Track, ...]:
        """Return the current tracks of the dice in one camera's view."""
        return self._watches[camera].tracks

    def status(self, camera: int) -> str:
        """Return the state of one camera's view in a few words."""
        return self._watches[camera].status

    def ended(self, t_us: int) -> list[Reading]:
        """Return the readings of the dice that are lost because the frames have ended."""
        readings: list[Reading] = []
        for camera, watching in enumerate(self._watches):
            readings += self._merge(camera, t_us, watching.ended(t_us))
        return readings

    def _merge(self, camera: int, t_us: int, readings: list[Reading]) -> list[Reading]:
        return readings if self._pair is None else self._pair.take(camera, t_us, readings)


def frames_of_all(sources: Sequence[Iterator[tuple[int, Array]]]) -> Iterator[Frame]:
    """Yield the frames of several sources as they arrive, until one ends; a thread reads each source."""
    arrived: queue.Queue[Frame | Exception | None] = queue.Queue(MAX_WAITING_FRAMES * len(sources))
    stopped = threading.Event()

    def put(item: Frame | Exception | None) -> None:
        while not stopped.is_set():
            try:
                arrived.put(item, timeout=PUT_TIMEOUT_S)
            except queue.Full:
                continue
            return

    def read(camera: int, source: Iterator[tuple[int, Array]]) -> None:
        try:
            for t_us, picture in source:
                put((camera, t_us, picture))
                if stopped.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - raised in the reader's thread, below
            put(error)
        put(None)

    for camera, source in enumerate(sources):
        threading.Thread(target=read, args=(camera, source), name=f"camera-{camera}", daemon=True).start()
    try:
        while (item := arrived.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        stopped.set()
