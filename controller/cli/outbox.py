"""`tablectl outbox`: the outcomes that settlement has not acknowledged."""

import argparse

import msgspec

from controller.cli.link import Json, OutOfReachError, add_socket, ask, out_of_reach
from controller.cli.shell import FAILED, OK, ROWS, say, whole

EXAMPLES = (
    "tablectl outbox",
    "tablectl outbox --limit 10 --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `outbox`."""
    parser.add_argument(
        "--limit", type=whole(1, 1000), default=100, metavar="N", help="show at most N (default: 100)"
    )
    parser.add_argument(
        "--after", type=whole(0, ROWS), default=0, metavar="ROW", help="only those after this row"
    )
    parser.add_argument(
        "--settled", nargs=2, metavar=("ID", "CHAIN"), help="close this outcome on settlement's word"
    )
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the outbox, or close one place in it; 1 where that was refused."""
    request: Json = {"do": "outbox", "limit": arguments.limit, "after": arguments.after}
    if arguments.settled:
        told_id, chain = arguments.settled
        request = {"do": "settled", "id": told_id, "chain": chain}
    try:
        told = ask(arguments.socket, request)
    except OutOfReachError as error:
        return out_of_reach(error)
    if not told["ok"]:
        say(f"{told['says']} [{told['code']}]")
        return FAILED
    if arguments.settled:
        print(msgspec.json.encode(told).decode() if arguments.json else f"{arguments.settled[0]}: closed")
    else:
        _list_outbox(told["outbox"], arguments)
    return OK


def _list_outbox(waiting: object, arguments: argparse.Namespace) -> None:
    assert isinstance(waiting, list)
    for place in waiting:
        outcome = place["outcome"]
        line = f"{place['n']:>8}  {outcome['id']}  {outcome['type']}  {place['chain']}"
        print(msgspec.json.encode(place).decode() if arguments.json else line)
    if arguments.json:
        return
    if len(waiting) == arguments.limit:
        print(f"the first {len(waiting)}; --after {waiting[-1]['n']} lists the rest")
    elif not waiting:
        after = f" after row {arguments.after}" if arguments.after else ""
        print(f"nothing waiting{after}: settlement has acknowledged every outcome")
