"""`tablectl calibrate`: measure a camera, a wall sensor or a wheel, show what would change, and write it."""

import argparse
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec

from controller.app.device_types import Kinds
from controller.cli.calibrating import AskedError, Given, camera, walls, wheel
from controller.cli.exits import BAD_INPUT, FAILED, OK, say
from controller.cli.guide import Guide, RefusedError, TestLink, add_guide, refused
from controller.cli.link import OutOfReachError, add_socket, out_of_reach
from controller.cli.numbers import whole
from controller.cli.offering import Outcome, offer
from controller.replay.errors import LogError
from controller.replay.log import open_log
from controller.settings.editing import EditError
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file
from controller.settings.tables import load_table
from controller.technician.calibration import Calibrated, UnfitError
from controller.technician.walls import LEAST_THROWS

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
        type=whole(LEAST_THROWS, 1000),
        default=6,
        metavar="N",
        help="throws at the wall (default: 6)",
    )
    parser.add_argument(
        "--knocks", type=whole(0, 1000), default=3, metavar="N", help="knocks on the rail (default: 3)"
    )


def _add_wheel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spins", type=whole(1, 1000), default=3, metavar="N", help="spins of the ball (default: 3)"
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
    except (AskedError, SettingsError, LogError) as error:
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
            raise AskedError("--log: found no --table, expected the table's file that is to be changed")
        with open_log(arguments.log) as log:
            readings = list(log)
        path = config_file("tables", arguments.table)
        given = Given(arguments, load_table(str(path), kinds=Kinds()), None, readings)
        return offer(path, way(given), arguments, None)
    if arguments.table is not None:
        raise AskedError("--table: found no --log with it; the running table is calibrated in its own file")
    with TestLink(arguments.socket, arguments.who) as link:
        path = Path(str(link.begun["file"]))
        if sha256(path.read_bytes()).hexdigest() != link.begun["digest"]:
            raise AskedError(
                f"{path}: found it changed since the controller started, expected the file that it runs on:"
                " restart the controller first"
            )
        guide = Guide(link, arguments.timeout, quietly=arguments.json)
        guide.tell(f"{link.begun['table']} is in test mode: nothing counts until this command ends.")
        given = Given(arguments, load_table(str(path), kinds=Kinds()), guide, ())
        return offer(path, way(given), arguments, guide)
