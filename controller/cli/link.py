"""The way to a running controller: one request over its control socket, one answer."""

import argparse
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.cli.shell import OUT_OF_REACH, say

Json = dict[str, object]

SOCKET = "/run/table/control.sock"
VARIABLE = "TABLE_SOCKET"
TIMEOUT_S = 10.0


class OutOfReachError(Exception):
    """No controller answers; the message names the socket and what to do."""


class RefusedError(Exception):
    """The controller refused; the message says why."""


def add_socket(parser: argparse.ArgumentParser) -> None:
    """Declare where the controller is."""
    parser.add_argument(
        "--socket",
        default=os.environ.get(VARIABLE, SOCKET),
        metavar="PATH",
        help=f"the controller's control socket (default: ${VARIABLE}, else {SOCKET})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_kept(parser: argparse.ArgumentParser) -> None:
    """Declare where the journal is, and the socket of the controller that is asked for it instead."""
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="the journal's folder or file (default: the socket's, if one is named, else /var/lib/table)",
    )
    parser.add_argument(
        "--socket",
        default=os.environ.get(VARIABLE),
        metavar="PATH",
        help=f"ask the controller that runs there, as a technician (default: ${VARIABLE};"
        f" {SOCKET} if the journal is closed to this user)",
    )


def ask(path: str, request: Json) -> Json:
    """Ask once; raises OutOfReachError if nothing answers."""
    return next(conversation(path, request))


def conversation(path: str, request: Json) -> Iterator[Json]:
    """Ask, and yield every line of the answer until the controller ends it, even within a line."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        try:
            _connect(link, path)
            send(link, request)
            with link.makefile("rb") as lines:
                first = lines.readline()
                if not first:
                    raise OutOfReachError(f"{path}: the controller closed the connection; see its log")
                link.settimeout(None)
                yield admitted(path, msgspec.json.decode(first, type=Json))
                for line in lines:
                    if not line.endswith(b"\n"):
                        return
                    yield msgspec.json.decode(line, type=Json)
        except OSError as error:
            raise unreachable(path, error) from error


def _connect(link: socket.socket, path: str) -> None:
    """Connect, waiting in the socket's queue: a non-blocking connection would be refused."""
    waits = struct.pack("ll", int(TIMEOUT_S), 0)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, waits)
    link.connect(path)
    link.settimeout(TIMEOUT_S)


def send(link: socket.socket, request: Json) -> None:
    """Send a request. A controller that has hung up may have sent the reason, which is still read."""
    with suppress(BrokenPipeError):
        link.sendall(msgspec.json.encode(request) + b"\n")


def admitted(path: str, first: Json) -> Json:
    """Return a controller's first answer; raises OutOfReachError if it had no room for this client."""
    if first.get("code") == "too_many":
        raise OutOfReachError(f"{path}: the controller is there, but {first['says']}, or try again later")
    return first


def unreachable(path: str, error: OSError) -> OutOfReachError:
    """Return the error for a socket at which no controller answers."""
    found = error.strerror or str(error)
    return OutOfReachError(
        f"{path}: found no controller answering ({found}), expected its control socket;"
        " start it with `tablectl run TABLE`, or name its socket with --socket"
    )


def out_of_reach(error: OutOfReachError) -> int:
    """Print the error and return the exit code."""
    say(error)
    return OUT_OF_REACH
