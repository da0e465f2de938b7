"""`tablectl faults`: what is wrong now, and what to do about it."""

import argparse

import msgspec

from controller.cli.exits import FAILED, OK, printable
from controller.cli.link import OutOfReachError, add_socket, ask, out_of_reach
from controller.cli.tables import aligned

EXAMPLES = ("tablectl faults",)

_PARTS = (
    ("where", "where"),
    ("found", "found"),
    ("likely cause", "cause"),
    ("what to do", "next_step"),
    ("clears", "clears"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print every fault that holds; 1 where there is one."""
    try:
        faults = ask(arguments.socket, {"do": "faults"})["faults"]
    except OutOfReachError as error:
        return out_of_reach(error)
    assert isinstance(faults, list)
    if arguments.json:
        for fault in faults:
            print(msgspec.json.encode(fault).decode())
    elif not faults:
        print("no faults")
    for fault in [] if arguments.json else faults:
        print(printable(f"{fault['code']}: {fault['what']}{' (play is locked)' if fault['locks'] else ''}"))
        for line in aligned((heading, str(fault[key])) for heading, key in _PARTS):
            print(printable(line))
    return FAILED if faults else OK
