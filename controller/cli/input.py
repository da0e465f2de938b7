"""`tablectl input` and `approve`: enter rulings, other inputs and approvals at the running table."""

import argparse
from collections.abc import Sequence

import msgspec

from controller.app.peers import ROLES
from controller.cli.link import Json, OutOfReachError, add_json, add_socket, ask, report_out_of_reach
from controller.cli.shell import BAD_INPUT, FAILED, OK, OUT_OF_REACH, Command, say

_INPUT_EXAMPLES = (
    "tablectl input lock 'the felt is torn' --by supervisor",
    "tablectl input set_dice 3 4 --by boxperson --who ann",
    "tablectl input no_roll reason=disputed",
)
WAIT_S = 5.0
"""Maximum wait for an answer; the table decides on an input once no earlier reading can still arrive."""
_FIRST: dict[str, str] = {
    "lock": "reason",
    "unlock": "reason",
    "void": "reason",
    "misdeal": "reason",
    "inspected": "what",
    "dice_set": "what",
    "test_mode": "on",
    "set_dice": "dice",
    "new_shooter": "seat",
    "run_out": "on",
    "set_number": "number",
    "seats": "seats",
    "play": "seat",
    "fold": "seat",
    "set_card": "card",
    "decline": "seat",
    "leave": "seat",
    "draw_button": "seat",
    "chips": "seat",
    "buy": "seat",
    "confirm_late": "what",
}
"""The argument to which an input's plain words belong. Any argument can also be written as `name=value`."""
_SECOND = {"draw_button": "card", "buy": "count", "chips": "what"}
"""The argument to which the second of two plain words belongs."""
_ARGUMENTS = ("dice", "seat", "seats", "number", "card", "count", "reason", "what", "on")
_CODES = {"bad_request": BAD_INPUT, "no_answer": OUT_OF_REACH}
_SWITCHED = {"on": True, "yes": True, "off": False, "no": False}


class ArgumentError(Exception):
    """An invalid argument of an input."""


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `input`."""
    parser.add_argument(
        "name",
        metavar="NAME",
        help="the input, such as no_roll, set_dice or unlock; a refusal lists the inputs that are allowed",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ARG",
        help="the input's arguments, plain (such as 3 4 for set_dice) or in the form NAME=VALUE",
    )
    parser.add_argument(
        "--by",
        choices=ROLES,
        default="boxperson",
        metavar="ROLE",
        help=f"the role of the person: {', '.join(ROLES)} (default: boxperson)",
    )
    parser.add_argument("--who", metavar="NAME", help="the person's name (default: the Unix user)")
    add_socket(parser)
    add_json(parser)


def run_input(arguments: argparse.Namespace) -> int:
    """Enter the input and wait for the answer; return 1 if refused, 2 if invalid, 3 if no answer arrives."""
    try:
        request: Json = {"do": "input", "name": arguments.name, "by": arguments.by, "who": arguments.who}
        request |= arguments_of(arguments.name, arguments.words)
        request["wait_s"] = WAIT_S
        answer = ask(arguments.socket, request)
    except ArgumentError as error:
        say(error)
        return BAD_INPUT
    except OutOfReachError as error:
        return report_out_of_reach(error)
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    elif not answer["ok"]:
        say(f"{arguments.name}: {answer['says']} [{answer['code']}]")
        allowed = answer.get("allowed")
        if isinstance(allowed, list):
            say(f"allowed now: {', '.join(allowed)}")
    else:
        print(answer["says"])
    return OK if answer["ok"] else _CODES.get(str(answer["code"]), FAILED)


def arguments_of(name: str, words: Sequence[str]) -> Json:
    """Parse an input's arguments; raises ArgumentError."""
    given: Json = {}
    plain: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key not in _ARGUMENTS:
            raise ArgumentError(
                f"{name}: found {word!r}, expected NAME=VALUE with one of the names {', '.join(_ARGUMENTS)}"
            )
        if equals:
            given[key] = _value(key, [value])
        else:
            plain.append(word)
    if not plain:
        return given
    key = _FIRST.get(name, "")
    if not key:
        raise ArgumentError(
            f"{name}: found {' '.join(plain)!r}, expected no plain arguments, only NAME=VALUE"
        )
    if name in _SECOND and len(plain) == 2:
        return {**given, key: plain[0], _SECOND[name]: _value(_SECOND[name], plain[1:])}
    return {**given, key: _value(key, plain)}


def _value(key: str, words: Sequence[str]) -> object:
    text = " ".join(words)
    if key in ("dice", "seats"):
        parts = text.replace(",", " ").replace("-", " ").split()
        return [_number(key, part) for part in parts] if key == "dice" else parts
    if key == "count":
        return _number(key, text)
    if key == "on":
        if text not in _SWITCHED:
            raise ArgumentError(f"{key}: found {text!r}, expected on or off")
        return _SWITCHED[text]
    return text


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"{key}: found {text!r}, expected a whole number") from None


_APPROVE_EXAMPLES = (
    "tablectl approve identity --reason 'release 0.2 installed'",
    "tablectl approve device",
)


def add_approve_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `approve`."""
    parser.add_argument("what", choices=("identity", "clock", "device", "journal"), help="what to approve")
    parser.add_argument("--who", metavar="NAME", help="the person's name (default: the Unix user)")
    parser.add_argument("--reason", default="", metavar="WORDS", help="the reason, for the journal")
    add_socket(parser)
    add_json(parser)


def run_approve(arguments: argparse.Namespace) -> int:
    """Send the approval; return 1 if it was refused, 3 if no controller responds."""
    request: dict[str, object] = {
        "do": "approve",
        "what": arguments.what,
        "who": arguments.who,
        "reason": arguments.reason,
    }
    try:
        answer = ask(arguments.socket, request)
    except OutOfReachError as error:
        return report_out_of_reach(error)
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    elif not answer["ok"]:
        say(f"{arguments.what}: {answer['says']} [{answer['code']}]")
    else:
        print(f"{arguments.what}: approved{_cleared(answer)}")
    return OK if answer["ok"] else FAILED


def _cleared(answer: Json) -> str:
    cleared = answer.get("cleared")
    return f", {', '.join(cleared)} cleared" if isinstance(cleared, list) else ""


COMMANDS = {
    "input": Command(add_input_arguments, run_input, _INPUT_EXAMPLES),
    "approve": Command(add_approve_arguments, run_approve, _APPROVE_EXAMPLES),
}
