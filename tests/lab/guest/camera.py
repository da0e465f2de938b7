"""Reads a V4L2 camera of the kernel's vivid driver, and removes and restores the camera during a stream."""

import os
import struct
import subprocess
from fcntl import ioctl
from itertools import islice
from pathlib import Path

import msgspec

from controller.cli.camera_input import CameraInputError, Live
from tests.lab.guest.table import LOG, SAMPLES, Table, Watch, status
from tests.lab.guest.waiting import must, now_us, udev_done, wait_until

DEVICE = Path("/dev/video0")
DRIVER = Path("/sys/bus/platform/drivers/vivid")
CAMERA = "vivid.0"
SOCKET = Path("/run/table/cam.sock")
RIG = Path("/run/table/camera.yaml")
RIG_TEXT = f"""\
camera: cam
table: {{length_mm: 300, width_mm: 200, die_mm: 19, wall_relief_mm: 0}}
points: [[30, 40, 70, 150], [600, 40, 230, 150], [600, 440, 230, 50], [30, 440, 70, 50]]
source: {DEVICE}
socket: {SOCKET}
"""
BOARD = "    type: node\n    node: cam\n    port: /dev/serial/by-id/usb-Table_Board_0001-if00\n"
SET_CONTROL = 0xC008561C
"""VIDIOC_S_CTRL, with a control's number and its value."""
TIMESTAMP_SOURCE = 0xF0F000 + 24
AT_EXPOSURE = 1
"""The value with which the driver timestamps a frame with its exposure. By default, the driver uses the
frame's end, which is in the future."""
WARM_FRAMES = 5
"""Number of frames ignored at the start, while code is loaded from the disk and the guest's clock runs."""
FRAMES = 30
HELD_UP_US = 300_000


class Frames(msgspec.Struct, frozen=True, kw_only=True):
    """The frames of a source; times are in us of the table's clock."""

    stamps_us: list[int]
    taken_us: list[int]
    sizes: list[tuple[int, int]]
    missing: str
    """The message for a device that does not exist."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """The table's reports of a camera that was missing, appeared, disappeared and returned."""

    missing: str
    """The device's message without a camera, and after the camera's removal during the stream."""
    pulled: str
    up_us: list[int]
    """The time from each return of the driver until the device was up."""
    down_us: int
    faults: list[str]
    exit_code: int


def frames() -> Frames:
    """Read frames, with one delay in the middle, and then open a device that does not exist."""
    stamps, taken, sizes = [], [], []
    _stamp_at_exposure()
    for t_us, picture in islice(Live(str(DEVICE)).frames(), WARM_FRAMES, WARM_FRAMES + FRAMES):
        stamps.append(t_us)
        taken.append(now_us())
        sizes.append((int(picture.shape[1]), int(picture.shape[0])))
        if len(stamps) == FRAMES // 2:
            wait_until(now_us() + HELD_UP_US)
    try:
        next(Live("/dev/video9").frames())
    except CameraInputError as error:
        missing = str(error)
    return Frames(stamps_us=stamps, taken_us=taken, sizes=sizes, missing=missing)


def _plug() -> int:
    (DRIVER / "bind").write_text(CAMERA)
    udev_done()
    _stamp_at_exposure()
    return now_us()


def _stamp_at_exposure() -> None:
    device = os.open(DEVICE, os.O_RDWR)
    try:
        ioctl(device, SET_CONTROL, struct.pack("Ii", TIMESTAMP_SOURCE, AT_EXPOSURE))
    finally:
        os.close(device)


def _unplug() -> int:
    (DRIVER / "unbind").write_text(CAMERA)
    return now_us()


def _says() -> str:
    return str(status()["devices"]["cam"]["says"])


def _is_up() -> bool:
    return bool(status()["devices"]["cam"]["up"])


def watched() -> Watched:
    """Run the camera's process beside a table: without a camera, with a camera, and while it is replugged."""
    text = (SAMPLES / "craps.yaml").read_text()
    assert BOARD in text
    RIG.parent.mkdir(exist_ok=True)
    RIG.write_text(RIG_TEXT)
    table = Table(text.replace(BOARD, f"    type: json-camera\n    clock: own\n    port: unix:{SOCKET}\n"))
    _unplug()
    table.start()
    watch = Watch("faults")
    identity = ["setpriv", "--reuid", "table-camera", "--regid", "table-camera", "--groups", "table,video"]
    with LOG.open("ab") as log:
        camera = subprocess.Popen(
            [*identity, "tablectl", "camera", "run", str(RIG)], stderr=log, stdout=log, cwd=RIG.parent
        )
    must("the missing camera is reported", lambda: str(DEVICE) in _says())
    missing = _says()
    up_us = []
    back_us = _plug()
    must("the camera is up", _is_up)
    up_us.append(now_us() - back_us)
    gone_us = _unplug()
    must("the camera is down", lambda: not _is_up(), every_s=0.01)
    down_us = now_us() - gone_us
    must("the reason is reported", lambda: str(DEVICE) in _says(), every_s=0.01)
    pulled = _says()
    back_us = _plug()
    must("the camera is up again", _is_up)
    up_us.append(now_us() - back_us)
    camera.terminate()
    camera.wait()
    return Watched(
        missing=missing,
        pulled=pulled,
        up_us=up_us,
        down_us=down_us,
        faults=[f"{code} {where}" for code, where in watch.faults_begun()],
        exit_code=table.stop(),
    )
