"""`tablectl camera`: calibrate a dice camera, read pictures and videos, and watch a table live."""

import argparse
import json
import os
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import msgspec

from controller.cli import camera_calibration, camera_evidence, camera_live
from controller.cli.camera_evidence import open_keeper
from controller.cli.camera_input import CameraInputError, Video, check_size, load_picture, load_rig
from controller.cli.camera_watching import (
    Cameras,
    Keep,
    add_second_camera,
    cameras_of,
    in_order_of_time,
    pair_of,
)
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    OUT_OF_REACH,
    real_number,
    say,
    whole_number,
)
from controller.cli.words import counted
from controller.model.printable import printable
from controller.model.readings import DeviceDown, DeviceUp, DieLost, DieRest, Reading
from controller.replay.log import Header, LogWriter
from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from drivers.vision.reading import MIN_PX, read_picture
from drivers.vision.reading import Reading as PictureReading
from drivers.vision.stills import reduction_for

ALIVE_US = 500_000
"""Interval between `alive` messages; after 1.5 s of silence, the daemon reports the fault `silent`."""
RETRY_S = 2.0
QUIET_FFMPEG = "-8"
"""FFmpeg's log level that suppresses even fatal errors."""
SOURCE_LOST = "pulled"
OTHER_SIZES = (0.55, 0.65, 0.75, 0.85, 1.15, 1.3, 1.5, 1.8)
"""Factors by which the given length of a die's edge is multiplied if too few dice are found. The factors are
this far apart because the reader tolerates a 10 % error in the length.
"""
MAX_OFFSET_MS = 60_000
"""Maximum offset between two videos; a larger offset suggests two different throws."""


def encode_reading(reading: Reading) -> bytes:
    """Encode a reading as a line for the table's socket, without `dev`, which the table adds."""
    fields = {name: value for name, value in msgspec.to_builtins(reading).items() if value is not None}
    fields.pop("dev", None)
    return json.dumps(fields).encode() + b"\n"


def serve(cameras: Cameras, path: str, keep: Keep | None, *, reconnect: bool) -> None:
    """Send readings to the daemon's socket; with `reconnect`, retry when the connection or a source is lost.

    `keep` receives the pictures that the readings name, and must not block.

    Raises:
        ConnectionError, FileNotFoundError: without `reconnect`, the socket can't be reached.
        CameraInputError: without `reconnect`, a source can't be used.
    """
    missing = False
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as table:
                table.connect(path)
                missing = False
                _send(cameras, table, keep, reconnect=reconnect)
        except (ConnectionError, FileNotFoundError) as error:
            if not reconnect:
                raise
            if not missing:
                say(f"{_no_table_message(path, error)}; retrying every {RETRY_S:g} s")
            missing = True
        if not reconnect:
            return
        time.sleep(RETRY_S)


def _no_table_message(path: str, error: OSError) -> str:
    return f"{path}: can't connect to a table's daemon ({error.strerror}); run: systemctl start table"


def _send(cameras: Cameras, table: socket.socket, keep: Keep | None, *, reconnect: bool) -> None:
    """Send readings; while the source is unavailable, send the reason and `alive` messages."""
    why = ""
    while True:
        gone, t_us = _send_frames(cameras, table, keep, back=bool(why))
        if (reason := f"{cameras.source} ended" if gone is None else str(gone)) != why:
            table.sendall(
                encode_reading(DeviceDown(t=t_us, dev=cameras.name, code=SOURCE_LOST, reason=reason))
            )
            why = reason
        if not reconnect:
            if gone is not None:
                raise gone
            return
        retry_us = _now_us() + round(RETRY_S * 1e6)
        while (now_us := _now_us()) < retry_us:
            table.sendall(_alive_message(now_us))
            time.sleep(min(ALIVE_US, retry_us - now_us) / 1e6)


def _send_frames(
    cameras: Cameras, table: socket.socket, keep: Keep | None, *, back: bool
) -> tuple[CameraInputError | None, int]:
    """Send readings until a source ends; return the source's error, if any, and the last frame's time."""
    watch = cameras.watch(keep)
    alive_us = 0
    t_us = _now_us()
    try:
        for camera, t_us, picture in cameras.frames():
            lines = [encode_reading(reading) for reading in watch.frame(camera, t_us, picture)]
            if back:
                lines.insert(
                    0, encode_reading(DeviceUp(t=t_us, dev=cameras.name, reason="the source is back"))
                )
                back = False
            if t_us - alive_us >= ALIVE_US:
                lines.append(_alive_message(t_us))
                alive_us = t_us
            if lines:
                table.sendall(b"".join(lines))
    except CameraInputError as error:
        return error, t_us
    table.sendall(b"".join(map(encode_reading, watch.ended(t_us))))
    return None, t_us


def _alive_message(t_us: int) -> bytes:
    return json.dumps({"kind": "alive", "t": t_us}).encode() + b"\n"


def _now_us() -> int:
    return time.monotonic_ns() // 1000


EXAMPLES = (
    *camera_calibration.EXAMPLES,
    "tablectl camera read still-1.jpg still-2.jpg --die-px 71 --dice 2",
    "tablectl camera read still-1.jpg --die-px 71 --dice 2 --json",
    "tablectl camera track throws.mp4 --rig rig.yaml > throws.jsonl",
    "tablectl camera track left.mp4 right.mp4 --rig left.yaml --beside right.yaml > throws.jsonl",
    "tablectl camera run rig.yaml                 # sends its readings to the socket in the rig's file",
    "tablectl camera run rig.yaml --beside second.yaml",
    *camera_live.EXAMPLES,
    *camera_evidence.EXAMPLES,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(metavar="WHAT", required=True, dest="what")
    read = commands.add_parser(
        "read",
        help="read the faces of resting dice in pictures",
        description="read the upper faces of dice at rest in each picture; exit 1: a picture was refused",
    )
    read.add_argument(
        "images", metavar="IMAGE", nargs="+", type=Path, help="a picture of dice, taken from above"
    )
    read.add_argument(
        "--die-px",
        metavar="N",
        type=real_number(1, 10_000, "pixels"),
        required=True,
        help="the length of a die's edge, in pixels",
    )
    read.add_argument(
        "--dice",
        metavar="N",
        type=whole_number(0, 20),
        help="the number of dice that each picture must show (default: any number)",
    )
    read.add_argument("--json", action="store_true", help="print one JSON object per picture")
    read.set_defaults(handler=_read)
    track = commands.add_parser(
        "track",
        help="convert a video of throws to a recorded log",
        description="convert a video of throws to a recorded log on standard output, with a summary on"
        " standard error; exit 1: a die at rest was not read, or a video is cut off",
    )
    track.add_argument(
        "video",
        metavar="VIDEO",
        nargs="+",
        type=Path,
        help="a video of the table, taken from above; with --beside, one for each camera",
    )
    track.add_argument("--rig", metavar="RIG.yaml", type=Path, required=True, help="the camera's rig file")
    add_second_camera(track)
    track.add_argument(
        "--later-ms",
        metavar="MS",
        type=real_number(-MAX_OFFSET_MS, MAX_OFFSET_MS, "milliseconds"),
        default=0.0,
        help="the start of the second video, in milliseconds after the start of the first (default: 0)",
    )
    track.add_argument(
        "--json", action="store_true", help="accepted for consistency; a log is always JSON Lines"
    )
    track.set_defaults(handler=_track)
    live = commands.add_parser(
        "run",
        help="watch a table live and send readings to its daemon",
        description="watch a table live and send readings to its daemon, until stopped",
    )
    live.add_argument(
        "rig", metavar="RIG.yaml", type=Path, help="the camera's rig file, with `source` and `socket`"
    )
    add_second_camera(live)
    live.add_argument("--once", action="store_true", help="stop when the source or the connection ends")
    live.set_defaults(handler=_run)
    camera_calibration.add_arguments(commands)
    camera_evidence.add_arguments(commands)
    camera_live.add_arguments(commands)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return 2 if a picture, a video or a rig file can't be used."""
    # The libraries' messages name no file, so they are suppressed.
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", QUIET_FFMPEG)
    try:
        code: int = arguments.handler(arguments)
    except CameraInputError as error:
        say(error)
        return BAD_INPUT
    return code


def _read(arguments: argparse.Namespace) -> int:
    """Read pictures; return 1 if a picture was refused. Raises CameraInputError."""
    pictures = [(path, load_picture(path)) for path in arguments.images]
    answers = [(path, _reading(picture, arguments.die_px, arguments.dice)) for path, picture in pictures]
    for path, reading in answers:
        print(json.dumps(_answer(path, reading)) if arguments.json else _in_words(path, reading))
    return FAILED if any(reading.refused is not None for _, reading in answers) else OK


def _reading(picture: Array, die_px: float, dice: int | None) -> PictureReading:
    """Read a picture; if it shows too few dice, suggest an edge length that finds all of them."""
    reading = read_picture(picture, die_px, dice)
    if reading.refused is None or dice is None or len(reading.dice) >= dice or die_px < MIN_PX:
        return reading
    sizes = [fraction * die_px for fraction in OTHER_SIZES]
    fit = [px for px in sizes if px >= MIN_PX and read_picture(picture, px, dice).refused is None]
    if not fit:
        return reading
    found = (
        f"with an edge of about {sum(fit) / len(fit):.0f} pixels instead of {die_px:g},"
        f" {dice} dice would be found"
    )
    return replace(reading, refused=f"{reading.refused}; {found}; measure a die's edge in the picture")


def _track(arguments: argparse.Namespace) -> int:
    """Write the readings of one or two cameras' videos as a log.

    Return 1 if a die at rest was not read or a video is cut off.
    """
    paths = [arguments.rig] if arguments.beside is None else [arguments.rig, arguments.beside]
    rigs = [load_rig(path) for path in paths]
    if len(arguments.video) != len(rigs):
        raise CameraInputError(
            f"found {counted(len(arguments.video), 'video')} and {counted(len(rigs), 'rig file')}, expected"
            " one video per camera; `--beside` names the second camera's rig file"
        )
    videos = [Video(path) for path in arguments.video]
    for video, rig in zip(videos, rigs, strict=True):
        check_size(video.path, video.size, rig.file.capture, rig.file.points)
    pair = pair_of(rigs)
    reductions = [reduction_for(rig, *video.size) for rig, video in zip(rigs, videos, strict=True)]
    followers = [
        Follower(rig.reduced(reduction.times), video.empty_table(reduction), alone=pair is None)
        for rig, video, reduction in zip(rigs, videos, reductions, strict=True)
    ]
    file = rigs[0].file
    header = Header(version=1, table=file.camera, ruleset=file.ruleset, dice_table=file.table)
    offset_us = round(arguments.later_ms * 1000)
    begins_us = (max(0, -offset_us), max(0, offset_us))
    unread = 0
    with LogWriter(sys.stdout.buffer, header) as log:
        for camera, t_us, picture in in_order_of_time([video.frames() for video in videos], begins_us):
            follower = followers[camera]
            reduction = reductions[camera]
            readings = follower.frame(t_us, reduction.frame(picture), reduction.still(picture))
            for reading in readings if pair is None else pair.take(camera, t_us, readings):
                log.write(reading)
                if isinstance(reading, DieRest):
                    unread += reading.up is None
                    # A pair numbers the dice as the first camera does.
                    say(_rest_line(reading, followers[0].unread_reason(reading.die)))
                elif isinstance(reading, DieLost):
                    say(f"{reading.t / 1e6:.3f} s: die {reading.die} lost from sight")
    cut_off = [video.cut_off for video in videos if video.cut_off is not None]
    for why in cut_off:
        say(why)
    return FAILED if unread or cut_off else OK


def _run(arguments: argparse.Namespace) -> int:
    """Watch; with `--once`, return 3 if the daemon's socket can't be reached."""
    cameras = cameras_of(arguments.rig, arguments.beside)
    rig = load_rig(arguments.rig)
    if not rig.file.socket:
        raise CameraInputError(f"{arguments.rig} has no `socket`; add the socket of the table's daemon")
    keeper = open_keeper(rig.file.evidence)
    try:
        keep = None if keeper is None else keeper.keep
        serve(cameras, rig.file.socket, keep, reconnect=not arguments.once)
    except (ConnectionError, FileNotFoundError) as error:
        say(_no_table_message(rig.file.socket, error))
        return OUT_OF_REACH
    finally:
        if keeper is not None:
            keeper.close()
    return OK


def _rest_line(rest: DieRest, why: str) -> str:
    shows = f"shows {rest.up} ({rest.confidence:.2f})" if rest.up else f"was not read: {why or 'unclear'}"
    return f"{rest.t / 1e6:.3f} s: die {rest.die} at rest at {rest.x:.0f}, {rest.y:.0f} mm {shows}"


def _answer(path: Path, reading: PictureReading) -> dict[str, object]:
    dice = [{"x": die.x, "y": die.y, "up": die.up, "confidence": die.confidence} for die in reading.dice]
    return {"image": str(path), "dice": dice, "refused": reading.refused}


def _in_words(path: Path, reading: PictureReading) -> str:
    if reading.refused is not None:
        return f"{printable(str(path))}: refused: {reading.refused}"
    faces = " ".join(str(up) for up in sorted(die.up or 0 for die in reading.dice)) or "no dice"
    return f"{printable(str(path))}: {faces}"
