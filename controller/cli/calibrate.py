"""`tablectl calibrate`: calibrate a camera, a wall sensor or a wheel, and write the table's file."""

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.app.device_types import Kinds
from controller.cli.guide import Guide, TestLink, add_guide
from controller.cli.link import OutOfReachError, RefusedError, add_json, add_socket, report_out_of_reach
from controller.cli.shell import BAD_INPUT, FAILED, OK, inaccessible_message, say, whole_number
from controller.model.geometry import DiceTable
from controller.model.homography import CalibratedSettings, Homography, Point, fit_rows
from controller.model.printable import printable
from controller.model.readings import AnyReading, Wall
from controller.model.rulesets import SensorErrors
from controller.model.tables import DeclaredDevice, KeyPath, TableSettings
from controller.replay.log import open_log
from controller.replay.source import LogError
from controller.settings.mistakes import SettingsError, one_of
from controller.settings.places import config_file
from controller.settings.tables import load_table
from controller.settings.yaml_text import EditError, changed, replace_file
from controller.technician.calibration import (
    MIN_THROWS,
    CalibratedValues,
    DiePlacement,
    LayDieAt,
    ListenToWall,
    UnfitError,
    calibrate_camera,
    calibrate_wall,
    find_laid_dice,
    named_places,
    separate_peaks,
)
from controller.technician.steps import Step, ThrowAtWall
from controller.technician.wheel_calibration import calibrate_wheel
from controller.technician.wheel_steps import BallInPocket, SpinBall
from drivers.node.device import NodeSettings
from drivers.registry import DEVICE_MODULES, device_type

ROUGH_MM = 400.0
"""Maximum deviation of a die from the requested place, in mm along x or y, if the camera already has a rough
calibration. A larger deviation means that the die was laid in the wrong place.
"""


class RequestError(ValueError):
    """A request that this table can't satisfy."""


class Job(NamedTuple):
    """A calibration's arguments, the table's settings, and the guide or recording that supplies readings."""

    arguments: argparse.Namespace
    settings: TableSettings
    guide: Guide | None
    recorded: Sequence[AnyReading]

    @property
    def name(self) -> str:
        """The device's name."""
        name: str = self.arguments.device
        return name

    def device(self) -> DeclaredDevice:
        """Return the device; raises RequestError if no device has this name."""
        devices = self.settings.devices
        if self.name not in devices:
            raise RequestError(f"the table has no device {self.name!r}; its devices are {', '.join(devices)}")
        return devices[self.name]

    def felt(self) -> DiceTable:
        """Return the dice table; raises RequestError if the table's file describes none."""
        if self.settings.dice_table is None:
            raise RequestError(
                "the table's file has no `dice_table` section; add one with the table's dimensions"
            )
        return self.settings.dice_table


class _RecordedStep:
    """A test step that also stores its readings."""

    def __init__(self, step: Step) -> None:
        self.readings: list[AnyReading] = []
        self.sensor, self.lamp_text, self.request = step.sensor, step.lamp_text, step.request
        self.is_complete, self.findings = step.is_complete, step.findings
        self._step = step

    def receive(self, reading: AnyReading) -> None:
        self.readings.append(reading)
        self._step.receive(reading)


# --- camera ---


def camera(job: Job) -> CalibratedValues:
    """Calibrate a camera; raises RequestError or UnfitError."""
    device, table = job.device(), job.felt()
    plane = _plane(job.name, device)
    places = _places(job.arguments, table)
    if job.guide is None:
        seen = find_laid_dice(job.recorded, job.name)
        if len(seen) != len(places):
            names = ", ".join(places)
            raise UnfitError(
                f"found {len(seen)} dice laid one at a time, expected {len(places)} ({names});"
                " list the places used, in order, with --points"
            )
        points = dict(zip(places, seen, strict=True))
    else:
        points = _lay_dice(job.guide, job.name, places, rough=plane is not None)
    laid = [DiePlacement(name, places[name], _image(plane, place)) for name, place in points.items()]
    return calibrate_camera(laid, table, job.name, plane)


def _plane(name: str, device: DeclaredDevice) -> Homography | None:
    settings = device.settings
    if not isinstance(settings, CalibratedSettings):
        cameras = one_of([type_ for type_ in DEVICE_MODULES if device_type(type_).calibrated_camera])
        raise RequestError(
            f"{name}: found a device of type {device.type or 'none'}, expected {cameras};"
            " calibrate any other camera with the manufacturer's program"
        )
    return fit_rows(settings.calibration, settings.error_mm) if settings.calibration else None


def _image(plane: Homography | None, place: Point) -> Point:
    seen = place if plane is None else plane.to_image(*place)
    if seen is None:
        raise UnfitError(
            f"found a die at {place[0]:.0f}, {place[1]:.0f} mm, which the current calibration can't map to"
            " the image; lay the die at the requested place"
        )
    return seen


def _places(arguments: argparse.Namespace, table: DiceTable) -> dict[str, Point]:
    known = dict(named_places(table))
    own = dict(_point(text) for text in arguments.point)
    if arguments.points is None:
        return known | own
    places: dict[str, Point] = {}
    for name in arguments.points.split(","):
        if name not in known | own:
            raise RequestError(f"--points: found {name!r}, expected one of {', '.join(known | own)}")
        if name in places:
            raise RequestError(f"--points: found {name!r} twice, expected each place once")
        places[name] = (known | own)[name]
    return places | own


def _point(text: str) -> tuple[str, Point]:
    name, _, place = text.partition("=")
    try:
        x, y = (float(part) for part in place.split(","))
    except ValueError:
        raise RequestError(f"--point: found {text!r}, expected NAME=X,Y, such as spot=1200,300") from None
    return name, (x, y)


def _lay_dice(guide: Guide, name: str, places: dict[str, Point], *, rough: bool) -> dict[str, Point]:
    laid: dict[str, Point] = {}
    for place_name, place in places.items():
        step = LayDieAt(name, place_name, place)
        ending = guide.perform(step, name)
        if ending == "skipped" or len(step.rests) != 1:
            guide.show(f"  {place_name}: not used; {step.findings()[0].says}")
            continue
        rest = next(iter(step.rests.values()))
        off = max(abs(rest.x - place[0]), abs(rest.y - place[1]))
        if rough and off > ROUGH_MM:
            guide.show(f"  {place_name}: not used; the die was seen at least {off:.0f} mm from this place")
            continue
        laid[place_name] = (rest.x, rest.y)
    return laid


# --- walls ---


def walls(job: Job) -> CalibratedValues:
    """Calibrate a wall sensor; raises RequestError or UnfitError."""
    device, table = job.device(), job.felt()
    if device.wall is None:
        raise RequestError(
            f"{job.name} has no `wall` in the table's file; choose a device that reads wall_impact"
        )
    at, before = _threshold(job.name, job.settings)
    throw = job.settings.rules.throw
    errors = SensorErrors() if throw is None else throw.sensors
    if job.guide is None:
        ringing_us = round(errors.ringing_ms * 1000)
        dice, noise = separate_peaks(job.recorded, job.name, device.wall, table, ringing_us)
        return calibrate_wall(at, dice, noise, (), before)
    quiet, knocks = _record_noise(job.guide, job.name, device.wall, job.arguments.knocks)
    loudest = []
    for _ in range(job.arguments.throws):
        step = ThrowAtWall(job.name, device.wall, table, errors, tracked=False)
        job.guide.perform(step, job.name)
        loudest += [max(impact.peak for impact in step.impacts)] if step.impacts else []
    return calibrate_wall(at, loudest, quiet, knocks, before)


def _record_noise(guide: Guide, name: str, wall: Wall, count: int) -> tuple[list[float], list[float]]:
    ask = "keep your hands off the table while the sensor measures the background noise"
    quiet = ListenToWall(name, wall, f"quiet_{wall}", ask)
    guide.perform(quiet, name)
    peaks: list[float] = []
    for number in range(count):
        ask = f"knock on the rail beside the {wall} wall ({number + 1} of {count})"
        knock = ListenToWall(name, wall, f"knock_{wall}", ask, max_impacts=1)
        guide.perform(knock, name)
        peaks += knock.peaks
    return quiet.peaks, peaks


def _threshold(name: str, settings: TableSettings) -> tuple[KeyPath, float]:
    """Return the key and the value of the sensor's threshold."""
    for speaker, device in settings.devices.items():
        board = device.settings
        if not isinstance(board, NodeSettings):
            continue
        for number, channel in board.channels.items():
            if channel.dev == name:
                return ("devices", speaker, "channels", number, "least_peak"), channel.least_peak
        if speaker == name and not board.channels:
            return ("devices", name, "least_peak"), board.least_peak
    raise RequestError(
        f"{name} is not on a sensor node; choose a sensor on a node, because only nodes have thresholds"
    )


# --- wheel ---


def wheel(job: Job) -> CalibratedValues:
    """Calibrate a wheel; raises RequestError or UnfitError."""
    device, wheel_ = job.device(), job.settings.wheel
    if wheel_ is None or "ball_beam" not in device.reads:
        raise RequestError(f"{job.name} has no `ball_beam` in its `reads`; choose a wheel with beam sensors")
    number = job.arguments.pocket
    if number is not None and number not in wheel_.pockets_clockwise:
        known = ", ".join(wheel_.pockets_clockwise)
        raise RequestError(f"--pocket: found {number!r}, expected one of {known}")
    if job.guide is None:
        own = [reading for reading in job.recorded if reading.dev == job.name]
        return calibrate_wheel(own, wheel_, number=number)
    spinning: list[AnyReading] = []
    for _ in range(job.arguments.spins):
        spin = _RecordedStep(SpinBall(job.name, len(wheel_.beams_deg), "ball_drop" in device.reads))
        job.guide.perform(spin, job.name)
        spinning += spin.readings
    number = number or wheel_.pockets_clockwise[0]
    resting = _RecordedStep(BallInPocket(job.name, wheel_, number))
    ending = job.guide.perform(resting, job.name)
    return calibrate_wheel(
        spinning, wheel_, resting=resting.readings, number=None if ending == "skipped" else number
    )


NEXT = "restart the controller to load the file, then run `tablectl approve identity`"


class CalibrationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a calibration, as `--json` prints it."""

    file: str
    figures: dict[str, object]
    report: tuple[str, ...]
    diff: str
    written: bool
    kept: str | None = None
    """The path of the old file's copy."""
    next: str = ""


def show_and_write(
    path: Path, found: CalibratedValues, arguments: argparse.Namespace, guide: Guide | None
) -> CalibrationResult:
    """Show the report and the diff; write the changes if `--write` is set or a person confirms them.

    Raises:
        EditError, SettingsError: the new values can't be put into the file; nothing is written.
        OSError: the file can't be read or written.
    """
    before = path.read_bytes()
    text = before.decode("utf-8")
    after = changed(text, found.values)
    names = (str(path), f"{path} (calibrated)")
    diff = "".join(
        difflib.unified_diff(text.splitlines(keepends=True), after.splitlines(keepends=True), *names, n=2)
    )
    show = _print if guide is None else guide.show
    if not arguments.json:
        for line in (*found.report, "", *(diff.splitlines() or ["no changes"])):
            show(printable(line))
    plain = CalibrationResult(
        file=str(path), figures=dict(found.figures), report=found.report, diff=diff, written=False
    )
    if not diff or not (arguments.write or _confirm_write(path, guide)):
        if diff and not arguments.json:
            asked = guide is not None or _is_terminal()
            show("nothing was written" if asked else "nothing was written; use --write to write the changes")
        return plain
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    done = replace_file(path, before, after.encode("utf-8"), stamp, _check)
    if not arguments.json:
        show(f"written: {done.path}; the old file is kept as {done.kept}")
        show(f"The table's identity has changed: {NEXT}.")
    return msgspec.structs.replace(plain, written=True, kept=str(done.kept), next=NEXT)


def _print(text: str) -> None:
    print(text, flush=True)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _confirm_write(path: Path, guide: Guide | None) -> bool:
    question = f"write these changes to {path}? (yes, no)"
    if guide is not None:
        return guide.answer(question).lower() in ("y", "yes")
    if not _is_terminal():
        return False
    print(question, end=" ", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _check(path: Path) -> None:
    load_table(str(path), kinds=Kinds())


KNOCKS, SPINS = 3, 3
THROWS = MIN_THROWS + 1
"""Default numbers of knocks, spins and throws. One throw may miss the wall."""
EXAMPLES = (
    "tablectl calibrate camera cam                   # asks for dice at six places on the running table",
    "tablectl calibrate walls wall-left --write",
    "tablectl calibrate wheel wheel --log LOG --table roulette.yaml",
)
_CALIBRATIONS: dict[str, Callable[[Job], CalibratedValues]] = {
    "camera": camera,
    "walls": walls,
    "wheel": wheel,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(metavar="WHAT", required=True, dest="what")
    _add_camera(
        _add_command(commands, "camera", "calibrate a camera to the table's plane, from dice at known places")
    )
    _add_walls(
        _add_command(commands, "walls", "set the threshold of a wall sensor, from throws, noise and knocks")
    )
    _add_wheel(
        _add_command(commands, "wheel", "measure a wheel's beam angles, drop speed and index, from spins")
    )


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary)
    parser.add_argument("device", metavar="DEVICE", help="the device's name in the table's file")
    parser.add_argument("--table", metavar="TABLE", help="with --log: the table whose file is changed")
    parser.add_argument(
        "--log", metavar="LOG", help="use this recording's readings instead of the running table's"
    )
    parser.add_argument("--write", action="store_true", help="write the result without asking")
    add_guide(parser)
    add_socket(parser)
    add_json(parser)
    return parser


def _add_camera(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--points",
        metavar="NAME,...",
        help="the places of the dice, in order, from left-front, left-back, middle-front, middle-back,"
        " right-front, right-back (default: all six); push each die into its corner or, in the middle,"
        " against the rail",
    )
    parser.add_argument(
        "--point",
        action="append",
        default=[],
        metavar="NAME=X,Y",
        help="an additional place: the coordinates of a die's centre, in millimetres; may be repeated",
    )


def _add_walls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--throws",
        type=whole_number(MIN_THROWS, 1000),
        default=THROWS,
        metavar="N",
        help=f"the number of throws at the wall (default: {THROWS})",
    )
    parser.add_argument(
        "--knocks",
        type=whole_number(0, 1000),
        default=KNOCKS,
        metavar="N",
        help=f"the number of knocks on the rail (default: {KNOCKS})",
    )


def _add_wheel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spins",
        type=whole_number(1, 1000),
        default=SPINS,
        metavar="N",
        help=f"the number of spins (default: {SPINS})",
    )
    parser.add_argument(
        "--pocket",
        metavar="NUMBER",
        help="the pocket that holds the ball while the index is measured (default: the wheel's first pocket;"
        " with --log, the index is measured only with this option, and the ball must remain in the pocket)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Calibrate; return 1 for bad readings or a refusal, 2 for bad input, 3 if no controller responds."""
    try:
        result = _calibrated(arguments)
    except RefusedError as error:
        say(error)
        return FAILED
    except (UnfitError, EditError) as error:
        say(f"nothing was written: {error}")
        return FAILED
    except OutOfReachError as error:
        return report_out_of_reach(error)
    except (RequestError, SettingsError, LogError) as error:
        say(error)
        return BAD_INPUT
    except OSError as error:
        say(inaccessible_message(error.filename, error))
        return BAD_INPUT
    if arguments.json:
        print(msgspec.json.encode(result).decode())
    return OK


def _calibrated(arguments: argparse.Namespace) -> CalibrationResult:
    calibrate = _CALIBRATIONS[arguments.what]
    if arguments.log is not None:
        if arguments.table is None:
            raise RequestError("--log also needs --table, to name the table whose file is changed")
        with open_log(arguments.log) as log:
            readings = list(log)
        path = config_file("tables", arguments.table)
        job = Job(arguments, load_table(str(path), kinds=Kinds()), None, readings)
        return show_and_write(path, calibrate(job), arguments, None)
    if arguments.table is not None:
        raise RequestError("--table also needs --log; omit both options to change the running table's file")
    with TestLink(arguments.socket, arguments.who) as link:
        return guided(arguments, Guide(link, arguments.timeout, quietly=arguments.json))


def guided(arguments: argparse.Namespace, guide: Guide) -> CalibrationResult:
    """Calibrate with a technician at the table.

    Raises:
        RequestError, UnfitError: the request or the readings do not permit a calibration.
        EditError, SettingsError, OSError: the file can't be changed.
        RefusedError, OutOfReachError: the controller refused or ended the test.
    """
    begun = guide.link.begun
    path = Path(str(begun["file"]))
    if sha256(path.read_bytes()).hexdigest() != begun["digest"]:
        raise RequestError(f"{path} was changed after the controller loaded it; restart the controller first")
    guide.show(f"{begun['table']} is in test mode: nothing counts until this command ends.")
    job = Job(arguments, load_table(str(path), kinds=Kinds()), guide, ())
    return show_and_write(path, _CALIBRATIONS[arguments.what](job), arguments, guide)
