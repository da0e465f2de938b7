"""The client of a running controller: requests over its control socket, and their answers."""

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
SOCKET_VARIABLE = "TABLE_SOCKET"
TIMEOUT_S = 10.0


class OutOfReachError(Exception):
    """The controller can't be reached."""


class RefusedError(Exception):
    """The controller refused the request."""


def add_socket(parser: argparse.ArgumentParser) -> None:
    """Declare `--socket`, the control socket of the running controller."""
    parser.add_argument(
        "--socket",
        default=os.environ.get(SOCKET_VARIABLE, SOCKET),
        metavar="PATH",
        help=f"the controller's control socket (default: ${SOCKET_VARIABLE}, else {SOCKET})",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`, for a command that can print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_journal_options(parser: argparse.ArgumentParser) -> None:
    """Declare `--journal` and `--socket`, the two ways to reach a journal."""
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="the journal's folder or file (default: the controller's journal with --socket, else"
        " /var/lib/table)",
    )
    parser.add_argument(
        "--socket",
        default=os.environ.get(SOCKET_VARIABLE),
        metavar="PATH",
        help="read the journal through the controller at this socket, as a technician (default:"
        f" ${SOCKET_VARIABLE}; {SOCKET} if this user may not read the journal)",
    )


def ask(path: str, request: Json) -> Json:
    """Return the first answer to a request; raises OutOfReachError if there is none."""
    return next(conversation(path, request))


def conversation(path: str, request: Json) -> Iterator[Json]:
    """Yield the answers to a request, one per line, until the controller closes the connection.

    An unfinished line after the first is dropped. Raises OutOfReachError if no controller responds, or if
    the controller refuses the connection.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        try:
            _connect(link, path)
            send(link, request)
            with link.makefile("rb") as lines:
                first = lines.readline()
                if not first:
                    raise OutOfReachError(
                        f"{path}: the controller closed the connection; see the controller's log"
                    )
                link.settimeout(None)
                yield checked_answer(path, msgspec.json.decode(first, type=Json))
                for line in lines:
                    if not line.endswith(b"\n"):
                        return
                    yield msgspec.json.decode(line, type=Json)
        except OSError as error:
            raise unreachable_error(path, error) from error


def _connect(link: socket.socket, path: str) -> None:
    """Connect; wait while the socket's queue is full, because a non-blocking connect would fail."""
    waits = struct.pack("ll", int(TIMEOUT_S), 0)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, waits)
    link.connect(path)
    link.settimeout(TIMEOUT_S)


def send(link: socket.socket, request: Json) -> None:
    """Send a request; ignore a closed connection.

    The controller's reason for closing the connection can still be read.
    """
    with suppress(BrokenPipeError):
        link.sendall(msgspec.json.encode(request) + b"\n")


def checked_answer(path: str, first: Json) -> Json:
    """Return a controller's first answer; raises OutOfReachError if it refuses the connection."""
    if first.get("code") == "too_many":
        raise OutOfReachError(f"{path}: the controller is running, but {first['says']}, or try again later")
    return first


def unreachable_error(path: str, error: OSError) -> OutOfReachError:
    """Return the error for a socket on which no controller responds."""
    found = error.strerror or str(error)
    return OutOfReachError(
        f"{path}: no controller responds on this control socket ({found});"
        " start one with `tablectl run TABLE`, or name the correct socket with --socket"
    )


def report_out_of_reach(error: OutOfReachError) -> int:
    """Print the error; return the exit code."""
    say(error)
    return OUT_OF_REACH
