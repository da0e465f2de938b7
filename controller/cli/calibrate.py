"""`tablectl calibrate`: measure a camera, a wall sensor or a wheel, show what would change, and write it."""

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
from controller.cli.guide import Guide, TestLink, add_guide, refused
from controller.cli.link import OutOfReachError, RefusedError, add_socket, out_of_reach
from controller.cli.shell import BAD_INPUT, FAILED, OK, printable, say, whole_number
from controller.model.geometry import DiceTable
from controller.model.homography import CalibratedSettings, Homography, Point, fit_rows
from controller.model.readings import AnyReading, Wall
from controller.model.rulesets import SensorErrors
from controller.model.tables import DeclaredDevice, KeyPath, TableSettings
from controller.replay.log import open_log
from controller.replay.source import LogError
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file
from controller.settings.tables import load_table
from controller.settings.yaml_text import EditError, changed, replace_file
from controller.technician.acts import Act, ThrowAtWall
from controller.technician.calibration import (
    MIN_THROWS,
    Calibrated,
    DiePlacement,
    LayDieAt,
    ListenToWall,
    UnfitError,
    calibrate_camera,
    calibrate_wall,
    laid_dice_in,
    named_places,
    separate_peaks,
)
from controller.technician.wheel_acts import BallInPocket, SpinBall
from controller.technician.wheel_calibration import calibrate_wheel
from drivers.node.device import NodeSettings

ROUGH_MM = 400.0
"""A die seen this far from where it was to be laid lies elsewhere, however rough the calibration."""


class RequestError(ValueError):
    """Usage that makes no sense for this table; the message says what was found and what was expected."""


class Given(NamedTuple):
    """What was asked for, the table, and where readings come from: a guide, or a recording."""

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
        """Return the device; raises RequestError if there is none of this name."""
        devices = self.settings.devices
        if self.name not in devices:
            raise RequestError(f"found no device {self.name!r}, expected one of {', '.join(devices)}")
        return devices[self.name]

    def felt(self) -> DiceTable:
        """Return the dice table; raises RequestError if there is none."""
        if self.settings.dice_table is None:
            raise RequestError("found no dice_table in the table's file, expected one")
        return self.settings.dice_table


class _Hears:
    """Passes an act's readings on, and keeps them all."""

    def __init__(self, act: Act) -> None:
        self.readings: list[AnyReading] = []
        self.sensor, self.lamp_text, self.request = act.sensor, act.lamp_text, act.request
        self.is_complete, self.findings = act.is_complete, act.findings
        self._act = act

    def receive(self, reading: AnyReading) -> None:
        self.readings.append(reading)
        self._act.receive(reading)


# --- camera ---


def camera(given: Given) -> Calibrated:
    """Calibrate a camera; raises RequestError or UnfitError."""
    device, table = given.device(), given.felt()
    plane = _plane(given.name, device)
    places = _places(given.arguments, table)
    if given.guide is None:
        seen = laid_dice_in(given.recorded, given.name)
        if len(seen) != len(places):
            names = ", ".join(places)
            raise UnfitError(
                f"found {len(seen)} dice laid one after the other, expected {len(places)}: {names};"
                " name those that were laid with --points, in their order"
            )
        told = dict(zip(places, seen, strict=True))
    else:
        told = _lay_dice(given.guide, given.name, places, rough=plane is not None)
    laid = [DiePlacement(name, places[name], _image(plane, place)) for name, place in told.items()]
    return calibrate_camera(laid, table, given.name, plane)


def _plane(name: str, device: DeclaredDevice) -> Homography | None:
    """Return the calibration in force, which maps readings back to the camera's image."""
    settings = device.settings
    if not isinstance(settings, CalibratedSettings):
        raise RequestError(
            f"{name}: found a device of type {device.type or 'none'}, expected a jevois or a json-camera:"
            " any other camera reports millimetres itself and is calibrated in its own program"
        )
    return fit_rows(settings.calibration, settings.error_mm) if settings.calibration else None


def _image(plane: Homography | None, place: Point) -> Point:
    seen = place if plane is None else plane.to_image(*place)
    if seen is None:
        raise UnfitError(f"found a die at {place}, which the calibration in force can't have seen")
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
            raise RequestError(f"--points: found {name!r} twice, expected each once")
        places[name] = (known | own)[name]
    return places | own


def _point(text: str) -> tuple[str, Point]:
    name, _, place = text.partition("=")
    try:
        x, y = (float(part) for part in place.split(","))
    except ValueError:
        raise RequestError(f"--point: found {text!r}, expected such as spot=1200,300") from None
    return name, (x, y)


def _lay_dice(guide: Guide, name: str, places: dict[str, Point], *, rough: bool) -> dict[str, Point]:
    laid: dict[str, Point] = {}
    for place_name, place in places.items():
        act = LayDieAt(name, place_name, place)
        ending = guide.perform(act, name)
        if ending == "skipped" or len(act.rests) != 1:
            guide.show(f"  {place_name}: left out; {act.findings()[0].says}")
            continue
        rest = next(iter(act.rests.values()))
        off = max(abs(rest.x - place[0]), abs(rest.y - place[1]))
        if rough and off > ROUGH_MM:
            guide.show(f"  {place_name}: left out; seen {off:.0f} mm away, so the die lies elsewhere")
            continue
        laid[place_name] = (rest.x, rest.y)
    return laid


# --- walls ---


def walls(given: Given) -> Calibrated:
    """Calibrate a wall sensor; raises RequestError or UnfitError."""
    device, table = given.device(), given.felt()
    if device.wall is None:
        raise RequestError(f"{given.name}: found no wall, expected a device that reads wall_impact at a wall")
    at, before = _threshold(given.name, given.settings)
    throw = given.settings.rules.throw
    errors = SensorErrors() if throw is None else throw.sensors
    if given.guide is None:
        ringing_us = round(errors.ringing_ms * 1000)
        dice, noise = separate_peaks(given.recorded, given.name, device.wall, table, ringing_us)
        return calibrate_wall(at, dice, noise, (), before)
    quiet, knocks = _record_throws(given.guide, given.name, device.wall, given.arguments.knocks)
    loudest = []
    for _ in range(given.arguments.throws):
        act = ThrowAtWall(given.name, device.wall, table, errors, tracked=False)
        given.guide.perform(act, given.name)
        loudest += [max(impact.peak for impact in act.impacts)] if act.impacts else []
    return calibrate_wall(at, loudest, quiet, knocks, before)


def _record_throws(guide: Guide, name: str, wall: Wall, count: int) -> tuple[list[float], list[float]]:
    quiet = ListenToWall(name, wall, f"quiet_{wall}", "hands off the table: listening to the room")
    guide.perform(quiet, name)
    peaks: list[float] = []
    for number in range(count):
        ask = f"knock on the rail beside the {wall} wall ({number + 1} of {count})"
        knock = ListenToWall(name, wall, f"knock_{wall}", ask, max_impacts=1)
        guide.perform(knock, name)
        peaks += knock.peaks
    return quiet.peaks, peaks


def _threshold(name: str, settings: TableSettings) -> tuple[KeyPath, float]:
    """Return the threshold's key in the file (the device's, or its board channel's) and its value."""
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
        f"{name}: found no sensor node that speaks for it, expected one: others compare by themselves"
    )


# --- wheel ---


def wheel(given: Given) -> Calibrated:
    """Calibrate a wheel; raises RequestError or UnfitError."""
    device, wheel_ = given.device(), given.settings.wheel
    if wheel_ is None or "ball_beam" not in device.reads:
        raise RequestError(f"{given.name}: found no ball_beam in its reads, expected a wheel's own sensors")
    number = given.arguments.pocket
    if number is not None and number not in wheel_.pockets_clockwise:
        known = ", ".join(wheel_.pockets_clockwise)
        raise RequestError(f"--pocket: found {number!r}, expected one of {known}")
    if given.guide is None:
        own = [reading for reading in given.recorded if reading.dev == given.name]
        return calibrate_wheel(own, wheel_, number=number)
    spinning: list[AnyReading] = []
    for _ in range(given.arguments.spins):
        spin = _Hears(SpinBall(given.name, len(wheel_.beams_deg), "ball_drop" in device.reads))
        given.guide.perform(spin, given.name)
        spinning += spin.readings
    number = number or wheel_.pockets_clockwise[0]
    resting = _Hears(BallInPocket(given.name, wheel_, number))
    ending = given.guide.perform(resting, given.name)
    return calibrate_wheel(
        spinning, wheel_, resting=resting.readings, number=None if ending == "skipped" else number
    )


NEXT = "tablectl run reads the file when it starts: restart it, then `tablectl approve identity`"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a calibration, for `--json`."""

    file: str
    figures: dict[str, object]
    report: tuple[str, ...]
    diff: str
    written: bool
    kept: str | None = None
    """The old file."""
    next: str = ""


def offer(path: Path, found: Calibrated, arguments: argparse.Namespace, guide: Guide | None) -> Outcome:
    """Show report and difference; write where `--write` says so or a person does.

    Raises:
        EditError, SettingsError: the file can't be changed so; nothing is written.
        OSError: the disk does not take it.
    """
    before = path.read_bytes()
    text = before.decode("utf-8")
    after = changed(text, found.values)
    names = (str(path), f"{path} (calibrated)")
    diff = "".join(
        difflib.unified_diff(text.splitlines(keepends=True), after.splitlines(keepends=True), *names, n=2)
    )
    tell = _print if guide is None else guide.show
    if not arguments.json:
        for line in (*found.report, "", *(diff.splitlines() or ["nothing changes"])):
            tell(printable(line))
    plain = Outcome(
        file=str(path), figures=dict(found.figures), report=found.report, diff=diff, written=False
    )
    if not diff or not (arguments.write or _agreed(path, guide)):
        if diff and not arguments.json:
            tell("not written (--write writes it)")
        return plain
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    done = replace_file(path, before, after.encode("utf-8"), stamp, _check)
    if not arguments.json:
        tell(f"written: {done.path}; the old one is {done.kept}")
        tell(f"The table's identity has changed: {NEXT}.")
    return msgspec.structs.replace(plain, written=True, kept=str(done.kept), next=NEXT)


def _print(text: str) -> None:
    print(text, flush=True)


def _agreed(path: Path, guide: Guide | None) -> bool:
    question = f"write this to {path}? (yes, no)"
    if guide is not None:
        return guide.answer(question).lower() in ("y", "yes")
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    print(question, end=" ", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _check(path: Path) -> None:
    load_table(str(path), kinds=Kinds())


EXAMPLES = (
    "tablectl calibrate camera cam                   # asks for dice at six places of the running table",
    "tablectl calibrate walls wall-left --write",
    "tablectl calibrate wheel wheel --log LOG --table roulette.yaml",
)
_WAYS: dict[str, Callable[[Given], Calibrated]] = {"camera": camera, "walls": walls, "wheel": wheel}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    ways = parser.add_subparsers(metavar="WHAT", required=True, dest="what")
    _add_camera(_way(ways, "camera", "a camera's image to the table's plane, from dice at known places"))
    _add_walls(_way(ways, "walls", "the threshold of a wall sensor, from throws, noise and knocks"))
    _add_wheel(_way(ways, "wheel", "beam angles, drop speed and index of a wheel, from spins"))


def _way(
    ways: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    way = ways.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    way.add_argument("device", metavar="DEVICE", help="the device, by its name in the table's file")
    way.add_argument(
        "--table", metavar="TABLE", help="with --log: the file to change (else that of the running table)"
    )
    way.add_argument("--log", metavar="LOG", help="take the readings from this recording, not from the table")
    way.add_argument("--write", action="store_true", help="write without asking")
    add_guide(way)
    add_socket(way)
    return way


def _add_camera(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--points",
        metavar="NAME,...",
        help="where the dice are laid, in this order: left-front, left-back, middle-front, middle-back,"
        " right-front, right-back (default: all six); a die pushed into the corner, or against the rail at"
        " half the length",
    )
    parser.add_argument(
        "--point",
        action="append",
        default=[],
        metavar="NAME=X,Y",
        help="another place of a die's centre, in millimetres",
    )


def _add_walls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--throws",
        type=whole_number(MIN_THROWS, 1000),
        default=6,
        metavar="N",
        help="throws at the wall (default: 6)",
    )
    parser.add_argument(
        "--knocks", type=whole_number(0, 1000), default=3, metavar="N", help="knocks on the rail (default: 3)"
    )


def _add_wheel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spins", type=whole_number(1, 1000), default=3, metavar="N", help="spins of the ball (default: 3)"
    )
    parser.add_argument(
        "--pocket",
        metavar="NUMBER",
        help="the pocket in which the ball lies for the index (default: the first one; with --log: the index"
        " stays unless the ball lay in this one all the time)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Calibrate; 1 where the readings don't tell or it was refused, 2 for bad usage or a bad log."""
    try:
        told = _calibrated(arguments)
    except (UnfitError, EditError, RefusedError) as error:
        _say_why(error)
        return FAILED
    except OutOfReachError as error:
        return out_of_reach(error)
    except (RequestError, SettingsError, LogError) as error:
        say(error)
        return BAD_INPUT
    except OSError as error:
        say(f"{error.filename}: {error.strerror or error}")
        return BAD_INPUT
    if arguments.json:
        print(msgspec.json.encode(told).decode())
    return OK


def _say_why(error: Exception) -> None:
    if isinstance(error, RefusedError):
        refused(error)
    else:
        say(f"nothing is written: {error}")


def _calibrated(arguments: argparse.Namespace) -> Outcome:
    way = _WAYS[arguments.what]
    if arguments.log is not None:
        if arguments.table is None:
            raise RequestError("--log: found no --table, expected the table's file that is to be changed")
        with open_log(arguments.log) as log:
            readings = list(log)
        path = config_file("tables", arguments.table)
        given = Given(arguments, load_table(str(path), kinds=Kinds()), None, readings)
        return offer(path, way(given), arguments, None)
    if arguments.table is not None:
        raise RequestError("--table: found no --log with it; the running table is calibrated in its own file")
    with TestLink(arguments.socket, arguments.who) as link:
        return guided(arguments, Guide(link, arguments.timeout, quietly=arguments.json))


def guided(arguments: argparse.Namespace, guide: Guide) -> Outcome:
    """Calibrate with a technician at the table.

    Raises:
        RequestError, UnfitError: nothing can be calibrated so.
        EditError, SettingsError, OSError: the file can't be changed so.
        RefusedError, OutOfReachError: the controller let the test go on no longer.
    """
    begun = guide.link.begun
    path = Path(str(begun["file"]))
    if sha256(path.read_bytes()).hexdigest() != begun["digest"]:
        raise RequestError(
            f"{path}: found it changed since the controller started, expected the file that it runs on:"
            " restart the controller first"
        )
    guide.show(f"{begun['table']} is in test mode: nothing counts until this command ends.")
    given = Given(arguments, load_table(str(path), kinds=Kinds()), guide, ())
    return offer(path, _WAYS[arguments.what](given), arguments, guide)
