"""`tablectl approve`: a person takes a changed identity, the clock, a device or an older journal as right."""

import argparse

import msgspec

from controller.cli.exits import FAILED, OK, say
from controller.cli.link import Json, OutOfReachError, add_socket, ask, out_of_reach

EXAMPLES = (
    "tablectl approve identity --reason 'release 0.2 installed'",
    "tablectl approve device",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what", choices=("identity", "clock", "device", "journal"), help="what is taken as right"
    )
    parser.add_argument("--who", metavar="NAME", help="the person (default: the unix user)")
    parser.add_argument("--reason", default="", metavar="WORDS", help="why, for the journal")
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """Hand it to the controller; 1 where it was refused."""
    request: dict[str, object] = {
        "do": "approve",
        "what": arguments.what,
        "who": arguments.who,
        "reason": arguments.reason,
    }
    try:
        told = ask(arguments.socket, request)
    except OutOfReachError as error:
        return out_of_reach(error)
    if arguments.json:
        print(msgspec.json.encode(told).decode())
    elif not told["ok"]:
        say(f"{arguments.what}: {told['says']} [{told['code']}]")
    else:
        print(f"{arguments.what}: approved{_cleared(told)}")
    return OK if told["ok"] else FAILED


def _cleared(told: Json) -> str:
    cleared = told.get("cleared")
    return f", {', '.join(cleared)} cleared" if isinstance(cleared, list) else ""
