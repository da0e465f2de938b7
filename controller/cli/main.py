"""`tablectl`: choose a command, import it, run it."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

from controller.cli.exits import BROKEN_PIPE, INTERRUPTED

COMMANDS = {
    "replay": "run a recorded sensor log through the engine and print every outcome",
    "settle": "settle wagers: JSON Lines in, JSON Lines out",
    "settlement": "run the settlement engine, enrol tables, make tokens, prove the money",
    "rules": "show a rule set, or check its pay table against the house edges",
    "demo": "watch an evening at a virtual table",
    "simulate": "play a table's hardware and people behind pseudo-terminals, with faults on demand",
    "run": "run the daemon of a table",
    "status": "show how the running table stands",
    "devices": "show how each device of the running table is, and what to do",
    "faults": "show what is wrong with the running table, and what to do",
    "input": "enter what a person says at the running table",
    "approve": "take a changed identity, the clock or an older journal as right",
    "watch": "print live outcomes, readings, lamps and faults",
    "outbox": "list the outcomes that settlement has not acknowledged",
    "journal": "verify, show or export a journal",
    "recall": "show one past outcome and all that stands behind it",
}
"""Each command and its one line of help; its module in this package has the same name."""


class Command(Protocol):
    """A command's module."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tablectl`; give the exit code (0 fine, 1 findings, 2 bad input, 3 no controller answers)."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if not word.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="tablectl",
        description="Work with an electronic dice or roulette table's controller.",
        epilog="Exit codes: 0 fine, 1 findings, 2 bad log, input or usage, 3 no controller answers.",
        allow_abbrev=False,
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == chosen:
            # Only the command in use is imported, so that help stays instant on a Raspberry Pi.
            command = cast("Command", import_module(f"controller.cli.{name}"))
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
    arguments = parser.parse_args(words)
    return _run(arguments.run, arguments)


def _run(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer can't be written; else Python complains while it closes down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main())
