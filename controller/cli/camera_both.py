"""One camera, or two over one end of a table, as one device: frames as they come, readings as one's."""

import queue
import threading
from collections.abc import Iterator, Sequence

from controller.cli.camera_album import Album, Keep
from controller.cli.camera_input import CameraInputError, Live
from controller.cli.camera_watching import Watching
from controller.model.readings import Reading
from drivers.vision.arrays import Array
from drivers.vision.pairing import Pair
from drivers.vision.rig import Rig, RigError

BEHIND = 4
"""Frames of a source that may wait; what is older is of no use to the table."""
PATIENCE_S = 0.2
"""How long a source waits for room before it looks whether anybody still wants its frames."""

Frame = tuple[int, int, Array]
"""Which camera, its time in microseconds, the picture."""


class Cameras:
    """The cameras of a device, by their rigs."""

    def __init__(self, rigs: Sequence[Rig]) -> None:
        """Prepare one rig, or two as one device; raises CameraInputError if two can't be one device."""
        self._rigs = tuple(rigs)
        self._lives = tuple(Live(rig.file.source) for rig in rigs)
        self.name = rigs[0].file.camera
        self.source = " or ".join(live.source for live in self._lives)
        if len(rigs) > 1:
            try:
                Pair(rigs[0], rigs[1])
            except RigError as error:
                raise CameraInputError(str(error)) from error

    def seeing(self, keep: Keep | None) -> "Seeing":
        """Return what turns their frames into readings, from an empty table on."""
        return Seeing(self._rigs, keep)

    def frames(self) -> Iterator[Frame]:
        """Yield frames as they come, until a source ends; raises CameraInputError where there is none."""
        if len(self._lives) == 1:
            for t_us, picture in self._lives[0].frames():
                yield 0, t_us, picture
            return
        yield from merged([live.frames() for live in self._lives])


class Seeing:
    """Frames in, readings out."""

    def __init__(self, rigs: Sequence[Rig], keep: Keep | None) -> None:
        """Begin with no frame seen; each camera keeps its own pictures."""
        alone = len(rigs) == 1
        self._pair = None if alone else Pair(rigs[0], rigs[1])
        self._watching = [
            Watching(rig, None if keep is None else Album(rig.file.camera, keep), alone=alone) for rig in rigs
        ]

    def frame(self, camera: int, t_us: int, picture: Array) -> list[Reading]:
        """Return what is told of one camera's frame."""
        return self._as_one(camera, t_us, self._watching[camera].frame(t_us, picture))

    def ended(self, t_us: int) -> list[Reading]:
        """Return the dice that are lost because no more frames come."""
        told: list[Reading] = []
        for camera, watching in enumerate(self._watching):
            told += self._as_one(camera, t_us, watching.ended(t_us))
        return told

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
