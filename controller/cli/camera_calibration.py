"""`tablectl camera board`, `snap` and `calibrate`: print the board, take pictures, measure lens and felt."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, get_args

import cv2
import msgspec
import numpy as np

from controller.cli.camera_input import (
    CameraInputError,
    Live,
    load_picture,
    load_rig,
    load_rig_file,
    no_frame_message,
    write_file,
)
from controller.cli.camera_watching import add_second_camera, pair_of
from controller.cli.shell import FAILED, OK, real_number, say, unwritable_message
from controller.model.tables import KeyPath, Setting
from controller.settings.yaml_text import EditError, changed, replace_file
from drivers.vision.arrays import Array
from drivers.vision.calibration import (
    MIN_CORNERS,
    SQUARE_MM,
    BoardView,
    CalibrationError,
    Felt,
    TableCorner,
    board_page,
    find_board,
    measure_felt,
    measure_lens,
)
from drivers.vision.rig import CaptureSettings, LensSettings, Rig, RigFile

GOOD_MM = 2.0
"""Upper limit of the errors drawn in green: a tenth of a die's edge, and less than the position error of a
flying die.
"""
MIN_CAMERA_DISTANCE_MM = 300.0
"""Minimum horizontal distance between two cameras. At a smaller distance, two cameras 1.5 m above the felt
measure a die's height with an error of at least 8 mm.
"""
SETTLING_FRAMES = 10
"""Number of frames skipped before a picture is taken; a device's first frames can be dark."""
PICTURE_NAMES = (".png", ".jpg", ".jpeg")
ERROR_SCALE = 20
"""Magnification of the drawn errors, large enough to make 1 mm visible."""

EXAMPLES = (
    "tablectl camera board board.pdf              # print it without scaling, cut along the line",
    "tablectl camera snap rig.yaml held-1.png     # a picture at the resolution of `camera run`",
    "tablectl camera calibrate rig.yaml held-*.png --flat left-front=lf.png --flat left-back=lb.png --write",
)


class FlatView(NamedTuple):
    """A picture of the board flat on the felt in a corner of the table."""

    corner: TableCorner
    path: Path


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a calibration, as `--json` prints it."""

    rig: str
    written: bool
    kept: str | None
    lens: LensSettings | None
    lens_fit_px: float | None
    views: int
    points: tuple[tuple[float, float, float, float], ...]
    worst_mm: float
    height_mm: float | None
    apart_mm: float | None
    unseen: tuple[str, ...]


def add_arguments(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the commands and their arguments."""
    board = commands.add_parser(
        "board",
        help="write the calibration board as a PDF to print",
        description="write the calibration board as a PDF of one A4 page, to be printed without scaling",
    )
    board.add_argument("pdf", metavar="OUT.pdf", type=Path, help="the PDF to write")
    board.set_defaults(handler=_board)
    snap = commands.add_parser(
        "snap",
        help="take a picture through the camera",
        description="save a frame of the rig's source as a picture, at the resolution that `camera run` uses;"
        " stop `camera run` first if it uses the device",
    )
    snap.add_argument(
        "rig",
        metavar="RIG.yaml",
        type=Path,
        help="the rig's file, with `source` and, for a device, `capture`",
    )
    snap.add_argument("picture", metavar="OUT.png", type=Path, help="the PNG or JPEG file to write")
    snap.set_defaults(handler=_take_picture)
    calibrate = commands.add_parser(
        "calibrate",
        help="measure the lens and the felt from pictures of the board",
        description="measure the lens from pictures of the board held at many angles, and the felt's position"
        " from pictures of the board flat in the table's corners; exit 1: the pictures are insufficient",
    )
    calibrate.add_argument(
        "rig", metavar="RIG.yaml", type=Path, help="the rig's file, with `camera` and `table`"
    )
    calibrate.add_argument(
        "held",
        metavar="IMAGE",
        nargs="*",
        type=Path,
        help="pictures of the tilted board, near and far, in all parts of the frame",
    )
    calibrate.add_argument(
        "--flat",
        metavar="CORNER=IMAGE",
        type=_flat_view,
        action="append",
        required=True,
        help="a picture of the board flat on the felt, with its marked corner in this corner of the table:"
        f" {', '.join(get_args(TableCorner))}; may be repeated",
    )
    calibrate.add_argument(
        "--square-mm",
        metavar="MM",
        type=real_number(10, 200, "millimetres"),
        default=SQUARE_MM,
        help=f"the measured side of a printed square, in millimetres (default: {SQUARE_MM:g})",
    )
    calibrate.add_argument(
        "--picture",
        metavar="OUT.png",
        type=Path,
        help="save a copy of the first --flat picture, with the errors of all corners drawn on it",
    )
    calibrate.add_argument(
        "--write", action="store_true", help="write the result to the rig's file; the old file is kept"
    )
    add_second_camera(calibrate)
    calibrate.add_argument("--json", action="store_true", help="print JSON")
    calibrate.set_defaults(handler=_calibrate)


def _board(arguments: argparse.Namespace) -> int:
    write_file(arguments.pdf, board_page())
    print(
        f"{arguments.pdf}: print it without scaling, check that a square measures {SQUARE_MM:g} mm, and cut"
        " along the line"
    )
    return OK


def _take_picture(arguments: argparse.Namespace) -> int:
    file, path = load_rig_file(arguments.rig), arguments.picture
    if not file.source:
        raise CameraInputError(f"{arguments.rig} has no `source`; add a device or a video")
    if path.suffix.lower() not in PICTURE_NAMES:
        raise CameraInputError(
            f"{path}: found an unsupported file extension, expected one of {', '.join(PICTURE_NAMES)}"
        )
    picture: Array | None = None
    for _, frame in islice(Live(file.source, file.capture).frames(), SETTLING_FRAMES + 1):
        picture = frame
    if picture is None:
        raise CameraInputError(no_frame_message(file.source))
    written, data = cv2.imencode(path.suffix, picture)
    assert written, "PNG and JPEG are part of OpenCV"
    write_file(path, data.tobytes())
    say(f"{path}: {picture.shape[1]} x {picture.shape[0]} pixels")
    return OK


def _calibrate(arguments: argparse.Namespace) -> int:
    """Calibrate; return 1 if the pictures are insufficient."""
    before = load_rig_file(arguments.rig)
    held = [(path, load_picture(path)) for path in arguments.held]
    laid = [(at, load_picture(at.path)) for at in arguments.flat]
    size = _one_size([*held, *((at.path, picture) for at, picture in laid)], before.capture)
    try:
        views, unseen = _views(held, arguments.square_mm)
        flat = {at.corner: _flat(at, picture, arguments.square_mm) for at, picture in laid}
        lens, fit = measure_lens([*views, *flat.values()], size) if held else (before.lens, None)
        felt = measure_felt(flat, before.table, lens)
    except CalibrationError as error:
        say(f"nothing was written: {error}")
        return FAILED
    after = msgspec.structs.replace(before, points=felt.points, lens=lens)
    apart_mm = None if arguments.beside is None else _distance_mm(Rig(after), load_rig(arguments.beside))
    kept = _write(arguments.rig, after) if arguments.write else None
    if arguments.picture is not None:
        _draw(arguments.picture, laid[0][1], felt)
    found = Calibration(
        rig=str(arguments.rig),
        written=arguments.write,
        kept=kept,
        lens=lens,
        lens_fit_px=fit,
        views=len(views),
        points=felt.points,
        worst_mm=felt.worst_mm,
        height_mm=Rig(after).height_mm,
        apart_mm=apart_mm,
        unseen=tuple(unseen),
    )
    print(msgspec.json.encode(found).decode() if arguments.json else _in_words(found, len(felt.corners)))
    return OK


def _distance_mm(first: Rig, second: Rig) -> float:
    """Return the horizontal distance between two cameras, in mm.

    Raises CameraInputError if they can't form one device.
    """
    pair_of([first, second])
    return float(np.hypot(*(first.eye - second.eye)[:2]))


def _one_size(pictures: Sequence[tuple[Path, Array]], capture: CaptureSettings | None) -> tuple[int, int]:
    """Return the size of all pictures; raises CameraInputError if a size differs or is not the rig's."""
    sizes = {path: (picture.shape[1], picture.shape[0]) for path, picture in pictures}
    (first, size), *others = sizes.items()
    for path, found in others:
        if found != size:
            raise CameraInputError(
                f"{path}: found {found[0]} x {found[1]} pixels, expected {size[0]} x {size[1]} as in {first};"
                " take all pictures at the resolution that `camera run` uses"
            )
    if capture is not None and size != (capture.width, capture.height):
        raise CameraInputError(
            f"{first}: found {size[0]} x {size[1]} pixels, expected {capture.width} x {capture.height}"
            " as set in `capture`; `tablectl camera snap` takes pictures of that size"
        )
    return size


def _views(held: Sequence[tuple[Path, Array]], square_mm: float) -> tuple[list[BoardView], list[str]]:
    """Return the views of the board, and the paths of pictures without a visible board."""
    views, unseen = [], []
    for path, picture in held:
        view = find_board(picture, square_mm)
        if view is None:
            unseen.append(str(path))
        else:
            views.append(view)
    return views, unseen


def _flat(at: FlatView, picture: Array, square_mm: float) -> BoardView:
    view = find_board(picture, square_mm)
    if view is None:
        raise CalibrationError(
            f"{at.path}: found fewer than {MIN_CORNERS} corners of the board's squares, expected the board"
            f" lying flat in the corner {at.corner}; show the whole board, and move the lamp to avoid glare"
        )
    return view


def _write(path: Path, rig: RigFile) -> str:
    """Write the points and the lens to the rig's file; return the path of the backup."""
    values: dict[KeyPath, Setting] = {("points",): rig.points}
    if rig.lens is not None:
        values[("lens",)] = msgspec.structs.asdict(rig.lens)
    try:
        before = path.read_bytes()
        after = changed(before.decode("utf-8"), values)
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return str(replace_file(path, before, after.encode("utf-8"), stamp, _check).kept)
    except EditError as error:
        raise CameraInputError(f"{path}: {error}") from error
    except OSError as error:
        raise CameraInputError(unwritable_message(path, error)) from error


def _check(path: Path) -> None:
    load_rig(path)


def _draw(path: Path, picture: Array, felt: Felt) -> None:
    """Save a copy of a picture with the corners of all boards and their magnified errors marked on it."""
    sheet = picture.copy()
    for corner in felt.corners:
        x, y = (round(value) for value in corner.pixel)
        if not (0 <= x < sheet.shape[1] and 0 <= y < sheet.shape[0]):
            continue
        right, up = (
            solved - placed for solved, placed in zip(corner.solved_mm, corner.place_mm, strict=True)
        )
        tip = (round(x + right * ERROR_SCALE), round(y - up * ERROR_SCALE))
        colour = (80, 255, 80) if corner.miss_mm < GOOD_MM else (0, 0, 255)
        cv2.circle(sheet, (x, y), 4, colour, -1, cv2.LINE_AA)
        cv2.arrowedLine(sheet, (x, y), tip, colour, 2, cv2.LINE_AA)
    caption = f"worst {felt.worst_mm:.2f} mm; errors magnified {ERROR_SCALE} times"
    cv2.rectangle(sheet, (0, 0), (sheet.shape[1], 40), (255, 255, 255), cv2.FILLED)
    cv2.putText(sheet, caption, (12, 28), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (0, 0, 0), 2, cv2.LINE_AA)
    written, data = cv2.imencode(".png", sheet)
    assert written, "PNG is part of OpenCV"
    write_file(path, data.tobytes())


def _in_words(found: Calibration, corners: int) -> str:
    lines = [f"{path}: the board was not found" for path in found.unseen]
    if found.lens is not None and found.lens_fit_px is not None:
        across, down = found.lens.focal_px
        lines.append(
            f"lens: {across:.0f} x {down:.0f} px, {found.views} pictures, error {found.lens_fit_px:.2f} px"
        )
    elif found.lens is None:
        lines.append("lens: not measured; a die above the felt therefore appears displaced")
    height = "" if found.height_mm is None else f"; the camera is {found.height_mm:.0f} mm above the felt"
    lines.append(f"felt: {corners} corners, the worst {found.worst_mm:.2f} mm off{height}")
    if found.apart_mm is not None:
        too_near = found.apart_mm < MIN_CAMERA_DISTANCE_MM
        advice = (
            f", expected at least {MIN_CAMERA_DISTANCE_MM:g} mm to measure a die's height accurately"
            if too_near
            else ""
        )
        lines.append(f"the two cameras are {found.apart_mm:.0f} mm apart{advice}")
    lines.append(
        f"written: {found.rig}; the old file is kept as {found.kept}"
        if found.written
        else f"{found.rig} is unchanged; use --write to write the result"
    )
    return "\n".join(lines)


def _flat_view(text: str) -> FlatView:
    corner, _, path = text.partition("=")
    for known in get_args(TableCorner):
        if corner == known and path:
            return FlatView(known, Path(path))
    corners = ", ".join(get_args(TableCorner))
    raise argparse.ArgumentTypeError(
        f"found {text!r}, expected CORNER=IMAGE, where CORNER is one of {corners}"
    )
