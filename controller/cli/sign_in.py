"""`tablectl sign_in` and `people`: sign people in at screens, and manage the register of people."""

import argparse
import asyncio
import getpass
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from controller.app.peers import group_id
from controller.cli.shell import BAD_INPUT, FAILED, OK, OUT_OF_REACH, Command, say
from controller.console.link import Link, LinkError
from controller.model.printable import printable
from controller.people.register import (
    FOLDER,
    PUBLIC_FILE,
    REGISTER_FILE,
    ROLES,
    SCREENS_FILE,
    SOCKET,
    TRIES_FILE,
    Register,
    RegisterError,
    Screens,
    ScreensFile,
    TriesFile,
    read_register,
    write_register,
)
from controller.people.service import Service, SignInSessions
from controller.people.signing_key import SigningKey

_SIGN_IN_EXAMPLES = ("tablectl sign_in --people VIRTUAL/people --socket VIRTUAL/sign-in.sock",)

IDLE_MIN = 15


def add_sign_in_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `sign_in`."""
    state = os.environ.get("STATE_DIRECTORY", FOLDER).partition(":")[0]
    parser.add_argument(
        "--people",
        type=Path,
        default=Path(state),
        metavar="DIR",
        help=f"the folder of the register and the signing key (default: $STATE_DIRECTORY, else {FOLDER})",
    )
    parser.add_argument(
        "--socket",
        type=Path,
        default=Path(SOCKET),
        metavar="PATH",
        help=f"the socket to listen on (default: {SOCKET})",
    )
    parser.add_argument(
        "--socket-group", metavar="GROUP", help="the Unix group that may connect to the socket"
    )
    parser.add_argument(
        "--idle",
        type=float,
        default=IDLE_MIN,
        metavar="MIN",
        help=f"sign a person out after this many minutes of inactivity (default: {IDLE_MIN})",
    )


def run_sign_in(arguments: argparse.Namespace) -> int:
    """Sign people in until SIGTERM; return 2 if the folder or the socket can't be used."""
    folder: Path = arguments.people
    try:
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        key = SigningKey(folder)
        read_register(folder / REGISTER_FILE)
        group = None if arguments.socket_group is None else group_id(arguments.socket_group)
        tries = TriesFile(folder / TRIES_FILE, _print)
        screens = ScreensFile(folder / SCREENS_FILE, _print)
        sessions = SignInSessions(
            lambda: read_register(folder / REGISTER_FILE),
            lambda: key.key,
            _now_us,
            log=_print,
            idle_us=round(arguments.idle * 60_000_000),
            tries=tries.read(_now_us()),
            save_tries=tries.write,
            screens=Screens(screens.read(), screens.write),
        )
        service = Service(sessions, lambda uid: uid in (0, os.getuid()))
        asyncio.run(_until_stopped(service, arguments.socket, group, folder / PUBLIC_FILE))
    except (OSError, ValueError, RegisterError, LookupError) as error:
        say(f"sign_in: {error}")
        return BAD_INPUT
    return OK


def _now_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _print(words: str) -> None:
    print(printable(words), flush=True)


async def _until_stopped(service: Service, socket: Path, group: int | None, public: Path) -> None:
    serving = asyncio.ensure_future(service.serve(socket, group, lambda: _ready(public)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def _ready(public: Path) -> None:
    print(
        f"ready; start the controller with --sign-in-key {public}, so that it accepts the tokens", flush=True
    )


_PEOPLE_EXAMPLES = (
    "tablectl people add ann --role boxperson --role dealer        # asks for the PIN, twice",
    "tablectl people add bob --role dealer --card                  # and for the card, also twice",
    "tablectl people list",
    "tablectl people unlock ann",
)


def add_people_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `people`."""
    parser.add_argument(
        "do",
        choices=("add", "remove", "list", "unlock"),
        help="the action; unlock is for a person who was locked out after wrong PINs",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the person's name")
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        choices=ROLES,
        metavar="ROLE",
        help=f"a role of the person: {', '.join(ROLES)}; may be repeated",
    )
    parser.add_argument(
        "--card", action="store_true", help="with add: also allow the person to sign in with a card"
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="with add: replace the roles, the PIN and the card of a person who is already in the register;"
        " without --card, the person can no longer sign in with a card",
    )
    parser.add_argument(
        "--people",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"the folder of the register (default: {FOLDER})",
    )
    parser.add_argument(
        "--sign-in",
        default=SOCKET,
        metavar="PATH",
        help=f"with unlock: the socket of the sign-in process (default: {SOCKET})",
    )


def run_people(arguments: argparse.Namespace) -> int:
    """Run the command.

    Return 1 if the person to be removed does not exist or the person can't be unlocked, 2 for any other bad
    input, and 3 if the sign-in process does not respond.
    """
    if (arguments.name is None) != (arguments.do == "list"):
        expected = "no name" if arguments.do == "list" else "a name"
        say(f"people {arguments.do}: found {arguments.name or 'no name'}, expected {expected}")
        return BAD_INPUT
    if arguments.do == "unlock":
        return _unlock(arguments.sign_in, arguments.name)
    file: Path = arguments.people / REGISTER_FILE
    try:
        register = read_register(file)
        match arguments.do:
            case "list":
                if not register.people:
                    say(
                        f"{file}: the register is empty; `tablectl people add NAME --role ROLE` adds a person"
                    )
                for one in register.people:
                    print(f"{one.name:<20} {', '.join(one.roles)}{'  (card)' if one.card else ''}")
                return OK
            case "remove":
                return _remove(arguments.name, register, file)
            case _:
                _add(arguments, register, file)
    except RegisterError as error:
        say(f"people {arguments.do}: {error}")
        return BAD_INPUT
    except FileNotFoundError:
        say(f"{file.parent}: this folder does not exist; start `tablectl sign_in`, which creates it")
        return BAD_INPUT
    except OSError as error:
        say(f"{file}: cannot access the register ({error.strerror}); run the command as root")
        return BAD_INPUT
    return OK


def _add(arguments: argparse.Namespace, register: Register, file: Path) -> None:
    """Add a person or, with `--replace`, replace a person; raises RegisterError."""
    name, roles = arguments.name, tuple(dict.fromkeys(arguments.role))
    existing = next((one for one in register.people if one.name == name), None)
    if existing is not None and not arguments.replace:
        raise RegisterError(
            f"{name} is already in the register, as {', '.join(existing.roles)};"
            " --replace sets new roles and a new PIN, and removes the card unless --card is used"
        )
    if not roles:
        raise RegisterError(f"--role is missing; use it with one or more of {', '.join(ROLES)}")
    pin = _read_secret("PIN")
    card = _read_secret("card") if arguments.card else None
    write_register(file, register.with_person(name, roles, pin, card))
    by = "PIN or card" if card else "PIN"
    replaced = ", replacing the previous entry" if existing else ""
    print(f"{name} may sign in by {by} as {', '.join(roles)}{replaced}")


def _remove(name: str, register: Register, file: Path) -> int:
    try:
        without = register.without_person(name)
    except RegisterError as error:
        say(f"people remove: {error}")
        return FAILED
    write_register(file, without)
    print(f"{name} may no longer sign in")
    return OK


def _read_secret(what: str) -> str:
    """Read a secret: twice at a terminal, otherwise once from standard input. Raises RegisterError."""
    if sys.stdin is None or not sys.stdin.isatty():
        return "" if sys.stdin is None else sys.stdin.readline().rstrip("\n")
    typed = getpass.getpass(f"{what}: ")
    if getpass.getpass(f"{what} again: ") != typed:
        raise RegisterError(f"{what}: the two entries differ; type the same entry twice")
    return typed


def _unlock(socket: str, name: str) -> int:
    try:
        answer = asyncio.run(Link(socket, "the sign-in process").once(do="unlock", person=name))
    except LinkError as error:
        say(error)
        return OUT_OF_REACH
    if not answer.get("ok"):
        say(f"people unlock: {answer.get('says')} [{answer.get('code')}]")
        return FAILED
    print(f"{name} can try to sign in again")
    return OK


COMMANDS = {
    "sign_in": Command(add_sign_in_arguments, run_sign_in, _SIGN_IN_EXAMPLES),
    "people": Command(add_people_arguments, run_people, _PEOPLE_EXAMPLES),
}
