"""`tablectl simulate`: simulate the people at a table, and its hardware on pseudo-terminals."""

import argparse
import sys
from pathlib import Path

from controller.cli.screen import Screen
from controller.cli.shell import (
    BAD_INPUT,
    MAX_ATTEMPTS,
    MAX_SEED,
    OK,
    real_number,
    say,
    whole_number,
)
from controller.settings.mistakes import SettingsError

EXAMPLES = (
    "tablectl simulate craps --dir VIRTUAL",
    "tablectl simulate craps --camera rendered     # the dice camera sees rendered throws",
    "tablectl simulate three-card --dir VIRTUAL",
    "tablectl simulate roulette --seed 7 --faults 1 --dir VIRTUAL",
    "tablectl simulate craps --staff me           # practise: you rule, and get a score",
    "tablectl simulate --list-faults",
)

_MAX_SPEED = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "table", nargs="?", metavar="TABLE", help="a table's name, or the path of its .yaml file"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, MAX_SEED),
        default=1,
        metavar="N",
        help="the seed of the random numbers (default: 1)",
    )
    parser.add_argument(
        "--speed",
        type=real_number(0.1, _MAX_SPEED),
        default=1.0,
        metavar="X",
        help=f"speed relative to real time, up to {_MAX_SPEED:g}; only for a program that follows DIR/clock",
    )
    parser.add_argument(
        "--faults",
        type=_seed,
        metavar="SEED",
        help="cause random faults, generated from this seed (default: none)",
    )
    parser.add_argument(
        "--dir",
        type=Path,
        metavar="DIR",
        help="folder for the ports, the table's file and the ground truth (default: a new folder)",
    )
    parser.add_argument(
        "--throws", type=whole_number(1, MAX_ATTEMPTS), metavar="N", help="end after N attempts or games"
    )
    parser.add_argument(
        "--technician",
        action="store_true",
        help="simulate, instead of players, a technician who follows the instructions of `tablectl test` and"
        " `tablectl calibrate`",
    )
    parser.add_argument(
        "--staff",
        choices=("virtual", "me"),
        default="virtual",
        help="the staff: virtual people, or you; with `me`, the command also starts the controller, you start"
        " and rule on each attempt, and a score at the end lists your mistakes (default: virtual)",
    )
    parser.add_argument(
        "--camera",
        choices=("scripted", "rendered"),
        default="scripted",
        help="the source of the dice's tracks and faces: a script that imitates a sensor's errors, or the"
        " product's dice camera, which watches rendered pictures of simulated throws (default: scripted)",
    )
    parser.add_argument("--list-faults", action="store_true", help="list the faults and their symptoms")


def run(arguments: argparse.Namespace) -> int:
    """Run until the last attempt or Ctrl-C; return 2 if the table or the folder can't be used."""
    if arguments.list_faults:
        list_faults()
        return OK
    if arguments.staff == "me" and (arguments.technician or arguments.speed != 1):
        say("simulate: --staff me can't be combined with --technician or --speed")
        return BAD_INPUT
    if arguments.camera == "rendered" and (arguments.technician or arguments.staff == "me"):
        say("simulate: --camera rendered can't be combined with --technician or --staff me")
        return BAD_INPUT
    if arguments.table is None:
        say("simulate: TABLE is missing; name a table or its file, or use --list-faults")
        return BAD_INPUT
    screen = Screen(sys.stdout)
    screen.draft("setting up the virtual table...")
    from controller.cli.simulation import Simulation  # noqa: PLC0415 - takes a second or two on a small machine
    from drivers.sim.setting import UnplayableTableError  # noqa: PLC0415 - as above

    try:
        try:
            simulation = Simulation(arguments)
        finally:
            screen.draft("")
        return simulation.run()
    except (SettingsError, UnplayableTableError) as error:
        say(error)
    except OSError as error:
        # An OSError raised by `drivers.sim.stage` has a complete message in `strerror`.
        say(f"{error.filename or arguments.dir}: {error.strerror or error}")
    return BAD_INPUT


def list_faults() -> None:
    """Print each fault with its effect and its symptoms."""
    from drivers.sim.faults import FAULTS  # noqa: PLC0415 - as above

    for name, fault in FAULTS.items():
        on = "all devices at once" if fault.all_devices else fault.only_device or ", ".join(fault.on)
        print(f"{name} ({on}; {fault.seconds:g} s)\n    {fault.what}\n    see: {fault.symptoms}")


def _seed(text: str) -> int | None:
    return None if text == "none" else whole_number(0, MAX_SEED)(text)
