"""One camera, or two over one end of a table, as one device: frames as they come, readings as one's."""

import argparse
import heapq
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from controller.cli.camera_album import Album, Keep
from controller.cli.camera_input import CameraInputError, Live, rig_of
from controller.cli.camera_watching import Watching
from controller.model.readings import Reading
from drivers.vision.arrays import Array
from drivers.vision.following import Track
from drivers.vision.pairing import Pair
from drivers.vision.rig import Rig, RigError

BEHIND = 4
"""The most frames of a source that wait; older ones are of no use to the table."""
PATIENCE_S = 0.2
"""How long a source waits for room before it checks whether its frames are still wanted."""
SILENT_US = 500_000
"""A camera that sends no frame for this long while the other one does is hung."""
STARTS_US = 5_000_000
"""Its first frame may come this long after the other's: some cameras take seconds to start."""

Frame = tuple[int, int, Array]
"""The camera's number, its time in microseconds, the picture."""


def beside_argument(command: argparse.ArgumentParser) -> None:
    """Declare `--beside`, which each command that watches or measures a camera has."""
    command.add_argument(
        "--beside",
        metavar="RIG.yaml",
        type=Path,
        help="the rig file of a second camera that sees the same end: two views of a die give its height",
    )


def pair_of(rigs: Sequence[Rig]) -> Pair | None:
    """Return what makes two rigs' readings one's; None for one. Raises CameraInputError where it can't."""
    if len(rigs) == 1:
        return None
    try:
        return Pair(rigs[0], rigs[1])
    except RigError as error:
        raise CameraInputError(str(error)) from error


def in_time(sources: Sequence[Iterator[tuple[int, Array]]], begins_us: Sequence[int]) -> Iterator[Frame]:
    """Yield the frames of recorded sources in order of time, each source begun at its own."""

    def of(camera: int) -> Iterator[Frame]:
        for t_us, picture in sources[camera]:
            yield camera, t_us + begins_us[camera], picture

    return heapq.merge(*map(of, range(len(sources))), key=lambda frame: frame[1])


class Cameras:
    """The cameras of a device, by their rigs."""

    def __init__(self, rigs: Sequence[Rig], sources: Sequence[str]) -> None:
        """Prepare one rig, or two as one device; raises CameraInputError if two can't be one device."""
        self._rigs = tuple(rigs)
        self._lives = tuple(Live(source) for source in sources)
        self.name = rigs[0].file.camera
        self.source = " or ".join(live.source for live in self._lives)
        pair_of(rigs)

    @property
    def count(self) -> int:
        """Return how many there are: one or two."""
        return len(self._lives)

    def seeing(self, keep: Keep | None) -> "Seeing":
        """Return what turns their frames into readings, from an empty table on."""
        return Seeing(self._rigs, keep)

    def frames(self) -> Iterator[Frame]:
        """Yield frames as they come, until a source ends; raises CameraInputError if there is none."""
        if len(self._lives) == 1:
            for t_us, picture in self._lives[0].frames():
                yield 0, t_us, picture
            return
        yield from merged([live.frames() for live in self._lives])


def cameras_of(rig: Path, beside: Path | None = None, source: str | None = None) -> Cameras:
    """Return the camera of a rig's file, or two as one device; `source` takes the place of the first's own.

    Raises CameraInputError if a file can't be used, or names nothing to look through.
    """
    paths = [rig] if beside is None else [rig, beside]
    rigs = [rig_of(path) for path in paths]
    sources = [one.file.source for one in rigs]
    sources[0] = source or sources[0]
    for path, found in zip(paths, sources, strict=True):
        if not found:
            raise CameraInputError(f"{path}: found no `source`, expected a device or a film to look through")
    return Cameras(rigs, sources)


class Seeing:
    """Frames in, readings out."""

    def __init__(self, rigs: Sequence[Rig], keep: Keep | None) -> None:
        """Begin with no frame seen; each camera keeps its own pictures."""
        self._pair = pair_of(rigs)
        self._watching = [
            Watching(
                rig,
                None if keep is None else Album(rig.file.camera, keep),
                alone=self._pair is None,
            )
            for rig in rigs
        ]
        self._due_us: dict[int, int] = {}
        """When each camera's next frame is overdue."""

    def frame(self, camera: int, t_us: int, picture: Array) -> list[Reading]:
        """Return the readings of one camera's frame, and of one that has hung meanwhile."""
        readings: list[Reading] = []
        for other in range(len(self._watching)):
            if other != camera and t_us >= self._due_us.setdefault(other, t_us + STARTS_US):
                readings += self._as_one(other, t_us, self._watching[other].hangs(t_us))
        self._due_us[camera] = t_us + SILENT_US
        return readings + self._as_one(camera, t_us, self._watching[camera].frame(t_us, picture))

    def tracks(self, camera: int) -> tuple[Track, ...]:
        """Return the dice that one camera follows now."""
        return self._watching[camera].tracks

    def says(self, camera: int) -> str:
        """Return in a word how one camera's view is."""
        return self._watching[camera].says

    def ended(self, t_us: int) -> list[Reading]:
        """Return the dice that are lost because no more frames come."""
        readings: list[Reading] = []
        for camera, watching in enumerate(self._watching):
            readings += self._as_one(camera, t_us, watching.ended(t_us))
        return readings

    def _as_one(self, camera: int, t_us: int, told: list[Reading]) -> list[Reading]:
        return told if self._pair is None else self._pair.take(camera, t_us, told)


def merged(sources: Sequence[Iterator[tuple[int, Array]]]) -> Iterator[Frame]:
    """Yield the frames of several sources as they come, each read in a thread of its own, until one ends."""
    arrived: queue.Queue[Frame | Exception | None] = queue.Queue(BEHIND * len(sources))
    stopped = threading.Event()

    def put(item: Frame | Exception | None) -> None:
        while not stopped.is_set():
            try:
                arrived.put(item, timeout=PATIENCE_S)
            except queue.Full:
                continue
            return

    def read(camera: int, source: Iterator[tuple[int, Array]]) -> None:
        try:
            for t_us, picture in source:
                put((camera, t_us, picture))
                if stopped.is_set():
                    return
        except Exception as error:  # noqa: BLE001 raised by `merged`: a dead thread would be a camera that hangs
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
