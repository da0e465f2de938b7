"""`tablectl watch`: live outcomes, lamps and faults, and readings where asked, as JSON lines."""

import argparse
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.app.peers import answered
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
        return _ended(arguments.socket)
    except OutOfReachError as error:
        return out_of_reach(error)


def _ended(path: str) -> int:
    """Say why nothing more comes: a controller that is still there has given up on this reader."""
    with suppress(OSError):
        if answered(Path(path)):
            say(f"{path}: lines were missed: this reader was too slow, or the controller started anew")
            return FAILED
    say(f"{path}: the controller has stopped")
    return OK
