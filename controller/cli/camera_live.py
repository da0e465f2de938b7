"""`tablectl camera run`: a live view of a table into its daemon's socket, with named faults."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import msgspec

from controller.cli.camera_films import CameraInputError, Film
from controller.model.readings import DeviceDown, DeviceUp, Reading
from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from drivers.vision.moving import median_of
from drivers.vision.rig import Rig
from drivers.vision.view import View

LEARNING = 31
"""Frames whose median is the empty table, at the start."""
BUMPED_MM = 10.0
ALIVE_US = 500_000
"""The daemon takes a second and a half of silence for a fault."""
RETRY_S = 2.0
PULLED = "pulled"


class Live:
    """A device's frames (`/dev/video0`), or a film's at its own pace, stamped on the monotonic clock."""

    def __init__(self, source: str) -> None:
        """Name the source."""
        self.source = source

    def frames(self) -> Iterator[tuple[int, Array]]:
        """Yield each frame and its time in microseconds; ends where the source does.

        Raises CameraInputError where there is no such source.
        """
        if self.source.startswith("/dev/"):
            yield from self._device()
            return
        began_us = time.monotonic_ns() // 1000
        for t_us, picture in Film(Path(self.source)).frames():
            ahead_us = began_us + t_us - time.monotonic_ns() // 1000
            if ahead_us > 0:
                time.sleep(ahead_us / 1e6)
            yield began_us + t_us, picture

    def _device(self) -> Iterator[tuple[int, Array]]:
        device = cv2.VideoCapture(self.source, cv2.CAP_V4L2)
        if not device.isOpened():
            raise CameraInputError(f"{self.source}: found no camera there, expected a V4L2 device")
        device.set(cv2.CAP_PROP_BUFFERSIZE, 2)
        try:
            while True:
                there, picture = device.read()
                if not there:
                    return
                # The driver's own stamp is of the monotonic clock, taken when the frame began.
                stamp_us = round(device.get(cv2.CAP_PROP_POS_MSEC) * 1000)
                now_us = time.monotonic_ns() // 1000
                yield (stamp_us if 0 <= now_us - stamp_us < 1_000_000 else now_us), picture
        finally:
            device.release()


class Watching:
    """Turns live frames into readings: no face and no track from a view that is in doubt."""

    def __init__(self, rig: Rig) -> None:
        """Begin by learning the empty table."""
        self._rig = rig
        self._learnt: list[Array] = []
        self._follower: Follower | None = None
        self._view: View | None = None
        self._empty: Array | None = None
        self._fault: str | None = None

    def frame(self, t_us: int, picture: Array) -> list[Reading]:
        """Return what a frame says: nothing while the table is learnt, or while the view is in doubt."""
        if self._view is None or self._follower is None or self._empty is None:
            self._learnt.append(picture)
            if len(self._learnt) == LEARNING:
                self._empty = median_of(self._learnt)
                middle = (picture.shape[1] / 2, picture.shape[0] / 2)
                self._view = View(self._empty, BUMPED_MM * self._rig.px_per_mm(*middle))
                self._follower = Follower(self._rig, self._empty)
                self._learnt = []
            return []
        verdict = self._view.look(t_us, picture)
        told: list[Reading] = []
        if verdict.fault != self._fault:
            told = [self._health(t_us, verdict.fault, verdict.seen)]
            self._fault = verdict.fault
            self._follower = Follower(self._rig, self._empty)
        if self._view.doubtful:
            return told
        return told + self._follower.frame(t_us, picture)

    def _health(self, t_us: int, fault: str | None, seen: str) -> Reading:
        dev = self._rig.file.camera
        if fault is None:
            return DeviceUp(t=t_us, dev=dev, reason="it sees its table again")
        return DeviceDown(t=t_us, dev=dev, code=fault, reason=seen)


def line_of(reading: Reading) -> bytes:
    """Return a reading as the table's socket takes it: the table writes `dev` itself."""
    fields = {name: value for name, value in msgspec.to_builtins(reading).items() if value is not None}
    fields.pop("dev", None)
    return json.dumps(fields).encode() + b"\n"


def serve(rig: Rig, live: Live, path: str, *, again: bool) -> None:
    """Send readings to the daemon's socket; connect again whenever it comes back. Ends with a film's end."""
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as table:
                table.connect(path)
                _send(rig, live, table)
        except (ConnectionError, FileNotFoundError, CameraInputError):
            if not again:
                raise
        if not again:
            return
        time.sleep(RETRY_S)


def _send(rig: Rig, live: Live, table: socket.socket) -> None:
    watching = Watching(rig)
    alive_us = 0
    t_us = 0
    for t_us, picture in live.frames():
        lines = [line_of(reading) for reading in watching.frame(t_us, picture)]
        if t_us - alive_us >= ALIVE_US:
            lines.append(json.dumps({"kind": "alive", "t": t_us}).encode() + b"\n")
            alive_us = t_us
        if lines:
            table.sendall(b"".join(lines))
    ended = DeviceDown(t=t_us, dev=rig.file.camera, code=PULLED, reason=f"{live.source} ended")
    table.sendall(line_of(ended))
