"""`tablectl settle`: wagers and results in, decided bets out, to the cent."""

import argparse
import io
import sys

from controller.cli.exits import BAD_INPUT, say
from controller.replay.errors import LogError
from controller.replay.files import name_of, open_input
from controller.settlement.run import settle_stream

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
