"""`tablectl people`: who may sign in at screens, and in which roles."""

import argparse
import asyncio
import getpass
import sys
from pathlib import Path

from controller.cli.exits import BAD_INPUT, FAILED, OK, OUT_OF_REACH, say
from controller.cli.sign_in import FOLDER, SOCKET
from controller.console.link import Link, LinkError
from controller.people.register import ROLES, RegisterError, read_register, write_register
from controller.people.service import REGISTER_FILE

EXAMPLES = (
    "tablectl people add ann --role boxperson --role dealer        # asks for the PIN, twice",
    "tablectl people add bob --role dealer --card                  # and for the card, read once",
    "tablectl people list",
    "tablectl people unlock ann",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("do", choices=("add", "remove", "list", "unlock"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the person")
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        choices=ROLES,
        metavar="ROLE",
        help=f"a role of the person; several may be given: {', '.join(ROLES)}",
    )
    parser.add_argument("--card", action="store_true", help="the person also signs in with a card")
    parser.add_argument(
        "--people",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"folder of the register (default: {FOLDER})",
    )
    parser.add_argument(
        "--sign-in",
        default=SOCKET,
        metavar="PATH",
        help=f"the sign-in process's socket, for unlock (default: {SOCKET})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; 1 where there is no such person, 2 where the register or a PIN is wrong."""
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
                for one in register.people:
                    print(f"{one.name:<20} {', '.join(one.roles)}{'  (card)' if one.card else ''}")
                return OK
            case "remove":
                write_register(file, register.without(arguments.name))
            case _:
                pin = _typed("PIN")
                card = _typed("card") if arguments.card else None
                write_register(file, register.having(arguments.name, tuple(arguments.role), pin, card))
    except RegisterError as error:
        say(f"people {arguments.do}: {error}")
        return FAILED if arguments.do == "remove" else BAD_INPUT
    except OSError as error:
        say(f"{file}: found it out of reach ({error.strerror}), expected the register; run as root")
        return BAD_INPUT
    return OK


def _typed(what: str) -> str:
    """Ask for a secret: twice where a person types it, one line of a pipe else. Raises RegisterError."""
    if sys.stdin is None or not sys.stdin.isatty():
        return "" if sys.stdin is None else sys.stdin.readline().rstrip("\n")
    typed = getpass.getpass(f"{what}: ")
    if getpass.getpass(f"{what} again: ") != typed:
        raise RegisterError(f"{what}: found two different ones, expected the same twice")
    return typed


def _unlock(socket: str, name: str) -> int:
    try:
        told = asyncio.run(Link(socket, "the sign-in process").once(do="unlock", person=name))
    except LinkError as error:
        say(error)
        return OUT_OF_REACH
    if not told.get("ok"):
        say(f"people unlock: {told.get('says')} [{told.get('code')}]")
        return FAILED
    print(f"{name} can try again")
    return OK
