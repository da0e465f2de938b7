"""`tablectl status`: how the table stands now."""

import argparse

import msgspec

from controller.cli.exits import FAILED, OK, printable
from controller.cli.link import OutOfReachError, add_socket, ask, out_of_reach
from controller.cli.tables import aligned, rows_of

EXAMPLES = (
    "tablectl status",
    "tablectl status --json",
)

_APART = frozenset({"faults", "self_test", "devices"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the status; 1 where a fault holds or the self-test has not passed."""
    try:
        status = ask(arguments.socket, {"do": "status"})["status"]
    except OutOfReachError as error:
        return out_of_reach(error)
    assert isinstance(status, dict)
    if arguments.json:
        print(msgspec.json.encode(status).decode())
    else:
        _show(status)
    checks = status.get("self_test", [])
    return OK if not status["faults"] and all(check["ok"] for check in checks) else FAILED


def _show(status: dict[str, object]) -> None:
    print(printable(f"{status['table']} ({status['ruleset']}): {status['headline']}"))
    plain = {name: value for name, value in status.items() if name not in _APART and value not in ({}, [])}
    sections = (
        ("status", rows_of(plain)),
        ("devices", ((name, _device(one)) for name, one in _mapping(status.get("devices")).items())),
        ("self-test", ((str(check["name"]), str(check["says"])) for check in _list(status.get("self_test")))),
        ("faults", ((str(fault["code"]), str(fault["found"])) for fault in _list(status.get("faults")))),
    )
    for heading, rows in sections:
        lines = [printable(line) for line in aligned(rows)]
        if lines:
            print(f"\n{heading}", *lines, sep="\n")


def _device(one: object) -> str:
    device = _mapping(one)
    return f"{'up' if device.get('up') else 'DOWN'}, {device.get('says') or 'it sends'}"


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []
