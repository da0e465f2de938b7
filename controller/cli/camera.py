"""`tablectl camera`: read dice in pictures and follow them in films with the project's own eyes."""

import argparse
import json
import sys
from pathlib import Path

import cv2

from controller.cli.camera_films import CameraInputError, Film, rig_of
from controller.cli.camera_live import Live, serve
from controller.cli.exits import BAD_INPUT, FAILED, OK, OUT_OF_REACH, printable, say
from controller.cli.numbers import whole
from controller.model.readings import DieLost, DieRest
from controller.replay.header import Header
from controller.replay.writer import LogWriter
from drivers.vision.following import Follower
from drivers.vision.reading import Reading, read_picture

EXAMPLES = (
    "tablectl camera read still-1.jpg still-2.jpg --die-px 71 --dice 2",
    "tablectl camera read still-1.jpg --die-px 71 --dice 2 --json",
    "tablectl camera track throws.mp4 --rig rig.yaml > throws.jsonl",
    "tablectl camera run rig.yaml                 # its readings go to the socket that the rig names",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    ways = parser.add_subparsers(metavar="WHAT", required=True, dest="what")
    read = ways.add_parser(
        "read",
        help="the faces up in pictures of dice at rest",
        description="the faces up in pictures of dice at rest, each judged alone; exit 1: one is refused",
        allow_abbrev=False,
    )
    read.add_argument("images", metavar="IMAGE", nargs="+", type=Path, help="a picture, seen from above")
    read.add_argument(
        "--die-px", metavar="N", type=_pixels, required=True, help="the length of a die's edge in pixels"
    )
    read.add_argument(
        "--dice", metavar="N", type=whole(0, 20), help="how many dice must be there (default: any number)"
    )
    read.add_argument("--json", action="store_true", help="one JSON object a line")
    read.set_defaults(way=_read)
    track = ways.add_parser(
        "track",
        help="a film of throws as a recorded log",
        description="a film of throws as a recorded log on standard output; what was seen on standard error",
        allow_abbrev=False,
    )
    track.add_argument("video", metavar="VIDEO", type=Path, help="a film of the table, from above")
    track.add_argument("--rig", metavar="RIG.yaml", type=Path, required=True, help="the camera's rig file")
    track.add_argument("--json", action="store_true", help="as without it: a log is JSON Lines")
    track.set_defaults(way=_track)
    live = ways.add_parser(
        "run",
        help="watch a table live, for its daemon",
        description="watch a table live and send its daemon what is seen, until stopped",
        allow_abbrev=False,
    )
    live.add_argument("rig", metavar="RIG.yaml", type=Path, help="the camera's rig file: `source`, `socket`")
    live.add_argument("--once", action="store_true", help="end with the source or the connection")
    live.set_defaults(way=_run)


def run(arguments: argparse.Namespace) -> int:
    """Do it; 2 where what it is given can't be used."""
    try:
        code: int = arguments.way(arguments)
    except CameraInputError as error:
        say(error)
        return BAD_INPUT
    return code


def _read(arguments: argparse.Namespace) -> int:
    """Read pictures; 1 where one was refused, 2 where one is no picture (and nothing is read)."""
    pictures = []
    for path in arguments.images:
        try:
            data = path.read_bytes()
        except OSError as error:
            say(f"{path}: found it unreadable ({error.strerror}), expected a picture")
            return BAD_INPUT
        pictures.append(data)
    answers = []
    for path, data in zip(arguments.images, pictures, strict=True):
        image = decoded(data)
        if image is None:
            say(f"{path}: found no picture in it, expected JPEG, PNG or another format that OpenCV reads")
            return BAD_INPUT
        answers.append((path, read_picture(image, arguments.die_px, arguments.dice)))
    for path, reading in answers:
        print(json.dumps(_answer(path, reading)) if arguments.json else _in_words(path, reading))
    return FAILED if any(reading.refused is not None for _, reading in answers) else OK


def _track(arguments: argparse.Namespace) -> int:
    """Write a film's readings as a log; 1 where dice at rest could not be read."""
    rig = rig_of(arguments.rig)
    film = Film(arguments.video)
    follower = Follower(rig, film.empty_table())
    header = Header(version=1, table=rig.file.camera, ruleset=rig.file.ruleset, dice_table=rig.file.table)
    unread = 0
    with LogWriter(sys.stdout.buffer, header) as log:
        for t_us, picture in film.frames():
            for reading in follower.frame(t_us, picture):
                log.write(reading)
                if isinstance(reading, DieRest):
                    unread += reading.up is None
                    say(_lies(reading, follower.why))
                elif isinstance(reading, DieLost):
                    say(f"{reading.t / 1e6:.3f} s: die {reading.die} lost from sight")
    return FAILED if unread else OK


def _run(arguments: argparse.Namespace) -> int:
    """Watch; 3 where the daemon's socket is not there and it is not to be tried again."""
    rig = rig_of(arguments.rig)
    for key in ("source", "socket"):
        if not getattr(rig.file, key):
            raise CameraInputError(f"{arguments.rig}: found no `{key}`, expected one to run with")
    try:
        serve(rig, Live(rig.file.source), rig.file.socket, again=not arguments.once)
    except (ConnectionError, FileNotFoundError) as error:
        say(
            f"{rig.file.socket}: found no table's socket there ({error.strerror}), expected its daemon to run"
        )
        return OUT_OF_REACH
    return OK


def _lies(rest: DieRest, why: str) -> str:
    shows = f"shows {rest.up} ({rest.confidence:.2f})" if rest.up else f"was not read: {why or 'unclear'}"
    return f"{rest.t / 1e6:.3f} s: die {rest.die} at rest at {rest.x:.0f}, {rest.y:.0f} mm {shows}"


def decoded(data: bytes) -> "cv2.typing.MatLike | None":
    """Return the picture in a file's bytes, blue, green, red; None where it holds none."""
    import numpy as np  # noqa: PLC0415 - comes with the extra that cv2 needs

    if not data:
        return None
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def _pixels(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 10_000.0:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number of pixels from 1 to 10000")
    return value


def _answer(path: Path, reading: Reading) -> dict[str, object]:
    dice = [{"x": die.x, "y": die.y, "up": die.up, "confidence": die.confidence} for die in reading.dice]
    return {"image": str(path), "dice": dice, "refused": reading.refused}


def _in_words(path: Path, reading: Reading) -> str:
    if reading.refused is not None:
        return f"{printable(str(path))}: refused: {reading.refused}"
    faces = " ".join(str(up) for up in sorted(die.up or 0 for die in reading.dice)) or "no dice"
    return f"{printable(str(path))}: {faces}"
