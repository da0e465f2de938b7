"""`tablectl sign_in`: the process that signs people in at screens, under a user of its own."""

import argparse
import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from controller.app.peers import group_id
from controller.cli.exits import BAD_INPUT, OK, say
from controller.people.desk import Desk
from controller.people.register import RegisterError, read_register
from controller.people.service import PUBLIC_FILE, REGISTER_FILE, Service, load_or_make_key

EXAMPLES = ("tablectl sign_in --people VIRTUAL/people --socket VIRTUAL/sign-in.sock",)

SOCKET = "/run/table-sign-in/sign-in.sock"
FOLDER = "/var/lib/table-sign-in"
IDLE_MIN = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    state = os.environ.get("STATE_DIRECTORY", FOLDER).partition(":")[0]
    parser.add_argument(
        "--people",
        type=Path,
        default=Path(state),
        metavar="DIR",
        help=f"folder of the register and the key (default: $STATE_DIRECTORY, else {FOLDER})",
    )
    parser.add_argument(
        "--socket", type=Path, default=Path(SOCKET), metavar="PATH", help=f"its socket (default: {SOCKET})"
    )
    parser.add_argument("--socket-group", metavar="GROUP", help="the unix group that reaches it")
    parser.add_argument(
        "--idle",
        type=float,
        default=IDLE_MIN,
        metavar="MIN",
        help=f"minutes without a word until a person is signed out (default: {IDLE_MIN})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Sign people in until SIGTERM; 2 where the folder or the socket can't be had."""
    folder: Path = arguments.people
    try:
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        key = load_or_make_key(folder)
        read_register(folder / REGISTER_FILE)
        group = None if arguments.socket_group is None else group_id(arguments.socket_group)
        desk = Desk(
            lambda: read_register(folder / REGISTER_FILE),
            key,
            lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000,
            tells=lambda words: print(words, flush=True),
            idle_us=round(arguments.idle * 60_000_000),
        )
        service = Service(desk, lambda uid: uid in (0, os.getuid()))
        asyncio.run(_until_stopped(service, arguments.socket, group, folder / PUBLIC_FILE))
    except (OSError, ValueError, RegisterError, LookupError) as error:
        say(f"sign_in: {error}")
        return BAD_INPUT
    return OK


async def _until_stopped(service: Service, socket: Path, group: int | None, public: Path) -> None:
    serving = asyncio.ensure_future(service.serve(socket, group, lambda: _ready(public)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def _ready(public: Path) -> None:
    print(f"ready; the controller believes it with --sign-in-key {public}", flush=True)
