"""`tablectl watch`: live outcomes, lamps and faults, and readings where asked, as JSON lines."""

import argparse

import msgspec

from controller.cli.exits import BAD_INPUT, FAILED, OK, say
from controller.cli.link import OutOfReachError, add_socket, conversation, out_of_reach

EXAMPLES = (
    "tablectl watch outcomes faults",
    "tablectl watch readings",
)

_TOPICS = ("outcomes", "readings", "lamps", "faults")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Print live outcomes, readings, lamps and faults as JSON lines.\n\n"
        "Cards dealt face down are told without their faces (masked). Ball and rotor readings\n"
        "are told to technicians alone and, while bets are open, when these are closed (delayed)."
    )
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help=f"what to watch: {', '.join(_TOPICS)} (default: all)"
    )
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what comes until the controller or the reader ends it; 1 where it was refused or dropped."""
    if unknown := sorted(set(arguments.topics) - set(_TOPICS)):
        say(f"watch: found {', '.join(map(repr, unknown))}, expected {', '.join(_TOPICS)}")
        return BAD_INPUT
    try:
        for line in conversation(
            arguments.socket, {"do": "watch", "topics": arguments.topics or list(_TOPICS)}
        ):
            if line.get("ok") is False:
                say(f"{line['says']} [{line['code']}]")
                return FAILED
            if "ok" not in line:
                print(msgspec.json.encode(line).decode(), flush=True)
        say(f"{arguments.socket}: the controller has stopped")
    except OutOfReachError as error:
        return out_of_reach(error)
    return OK
