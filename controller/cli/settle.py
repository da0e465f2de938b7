"""`tablectl settle`: wagers and results in, decided bets out, to the cent."""

import argparse
import io
import sys
from typing import BinaryIO, TextIO

from controller.cli.shell import BAD_INPUT, OK, say
from controller.replay.source import LogError, name_of, open_input
from controller.settings.mistakes import SettingsError
from controller.settings.paytables import game_for
from controller.settlement.run import settle
from controller.settlement.wire import Malformed

EXAMPLES = (
    "tablectl settle --rules craps-12-034 WAGERS",
    "tablectl settle --rules roulette < WAGERS > RESULTS",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--rules", required=True, metavar="NAME", help="the rule set to settle by")
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="JSON Lines (default: standard input)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Settle the file or standard input to standard output."""
    try:
        source = open_input(arguments.file, "wagers and results as JSON Lines")
    except LogError as error:
        say(error)
        return BAD_INPUT
    wrong = io.StringIO()
    with source as lines:
        code = settle_stream(lines, sys.stdout.buffer, wrong, arguments.rules, name_of(arguments.file))
    if wrong.tell():
        say(wrong.getvalue().rstrip("\n"))
    return code


def settle_stream(source: BinaryIO, out: BinaryIO, err: TextIO, ruleset: str, name: str = "-") -> int:
    """Settle a stream by a rule set's name; `name` is the source's, for messages. Give the exit status."""
    try:
        game, answered = game_for(ruleset), False
        for answer in settle(source, game):
            out.write(answer)
            out.flush()
            answered = True
        if not answered:
            err.write(f"{name}: found no bet in it, so nothing was settled\n")
    except SettingsError as error:
        err.write(f"{error}\n")
        return BAD_INPUT
    except Malformed as error:
        err.write(f"{name}: {error}; correct the line and settle the file again from its start\n")
        return BAD_INPUT
    return OK
