"""`tablectl console`: the staff's console and the players' display, in a browser."""

import argparse
import signal
from collections.abc import Sequence
from pathlib import Path

from controller.cli.link import add_socket
from controller.cli.shell import BAD_INPUT, OK, say, startup_frozen
from controller.console.guard import LOOPBACK
from controller.console.serving import Settings, serve
from controller.console.technician import CheckResult, Does, GuidedWork
from controller.evidence.pictures import FOLDER
from controller.people.register import SOCKET as SIGN_IN_SOCKET


class _Bench:
    """The technician's tests and checks, imported at first use to save time and memory."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def begin(self, does: Does, device: str, token: str) -> GuidedWork:
        from controller.cli.bench import begin  # noqa: PLC0415 - see the class

        return begin(self._socket, does, device, token)

    def doctor(self) -> Sequence[CheckResult]:
        from controller.cli.bench import doctor  # noqa: PLC0415 - as above

        return doctor(self._socket)


EXAMPLES = (
    "tablectl console                               # at http://127.0.0.1:8321, the display at /display",
    "tablectl console --host 10.0.0.7 --certificate console.crt --key console.key --name 'pit 1'",
)
PORT = 8321


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_socket(parser)
    parser.add_argument(
        "--sign-in",
        default=SIGN_IN_SOCKET,
        metavar="PATH",
        help=f"the socket of the sign-in process (default: {SIGN_IN_SOCKET})",
    )
    parser.add_argument(
        "--name",
        default="console",
        metavar="NAME",
        help="this console's name in the journal (default: console)",
    )
    parser.add_argument(
        "--host",
        default=LOOPBACK[0],
        metavar="ADDRESS",
        help=f"the address to listen on (default: {LOOPBACK[0]})",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        metavar="N",
        help=f"the port to listen on (default: {PORT}; 0: any free port)",
    )
    parser.add_argument(
        "--known-as",
        action="append",
        default=[],
        metavar="HOST",
        help="an additional host name by which browsers reach this console; may be repeated",
    )
    parser.add_argument(
        "--metrics-to",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="an additional address from which Prometheus may read /metrics; may be repeated",
    )
    parser.add_argument(
        "--evidence",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"folder of the dice camera's pictures (default: {FOLDER})",
    )
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="TLS certificate (PEM)")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key of the certificate (PEM)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM; return 2 if the settings are invalid or the address is not available."""
    settings = Settings(
        socket=arguments.socket,
        sign_in=arguments.sign_in,
        name=arguments.name,
        host=arguments.host,
        port=arguments.port,
        hosts=tuple(arguments.known_as),
        certificate=arguments.certificate,
        key=arguments.key,
        metrics_to=tuple(arguments.metrics_to),
        evidence=arguments.evidence,
    )
    if (fault := settings.fault()) is not None:
        say(f"console: {fault}")
        return BAD_INPUT
    # After shutting down on SIGTERM, the server restores this handler and raises the signal again.
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with startup_frozen():
            serve(
                settings,
                lambda url: print(f"{url}  the players' display: {url}/display", flush=True),
                _Bench(arguments.socket),
            )
    except OSError as error:
        say(
            f"console: {error.filename or settings.host} is not available ({error.strerror}); set --host to"
            f" an address of this machine, and --port to a free port instead of {settings.port}"
        )
        return BAD_INPUT
    return OK
