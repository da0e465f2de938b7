"""The entry point of `tablectl`: parse the command line, import the chosen command and run it."""

import argparse
import os
import sys
import traceback
from collections.abc import Container, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import NoReturn

from controller.cli import shell
from controller.cli.shell import OK, Command, say

COMMANDS = {
    "replay": "run a recorded sensor log through the engine and print every outcome",
    "settle": "settle wagers: JSON Lines in, JSON Lines out",
    "settlement": "run the settlement engine, enrol tables, make tokens, check the books",
    "rules": "show a rule set, or check its pay table against the house edges",
    "demo": "watch a demonstration at virtual tables",
    "simulate": "simulate the people at a table, and its hardware on pseudo-terminals, with faults on demand",
    "run": "run the daemon of a table",
    "status": "show the state of the running table",
    "devices": "show the state of the running table's devices, with remedies for faults",
    "faults": "show the active faults of the running table, with remedies",
    "test": "test a device of the running table, sensor by sensor, with a person at the table",
    "calibrate": "calibrate a camera, a wall sensor or a wheel, and write the result to the table's file",
    "input": "enter a ruling or another input at the running table",
    "approve": "approve a changed identity, the clock, a device or an older journal",
    "watch": "print outcomes, readings, lamps and faults as they happen",
    "console": "serve the staff's console and the players' display to browsers",
    "sign_in": "run the process that signs people in at screens, under a separate Unix user",
    "people": "manage the people who may sign in at screens, and their roles",
    "outbox": "list the outcomes that settlement has not acknowledged",
    "shift": "summarize a shift: results, voids, reviews, rulings, faults and locks",
    "shadow": "compare a shadow's calls with the dealers' entries",
    "journal": "verify, show or export a journal",
    "keys": "show, make, rotate, replace and revoke the product's keys",
    "release": "sign the list of a release's files, and check an installation against it",
    "completion": "print a shell script that completes commands, options and file names",
    "doctor": "check the machine and the table; with --bundle, pack the results into an archive for support",
    "firmware": "build a board's firmware, flash it, and verify the firmware that a board runs",
    "udev": "print udev rules that give the connected serial ports persistent names",
    "recall": "show a past outcome and its evidence",
    "explain": "explain and draw the judgement of one throw, spin or deal",
    "record": "record the running table's next throws, spins or deals as a log for `replay`",
    "camera": "calibrate a dice camera, watch a table with it, read pictures and videos",
    "cut": "cut one throw, spin or deal from a recording, as a regression test case",
}
"""Each command and its one-line help."""
_MODULES = {
    **dict.fromkeys(("devices", "faults"), "status"),
    "approve": "input",
    "outbox": "status",
    "people": "sign_in",
    "recall": "journal",
    "record": "cut",
    "settle": "rules",
    "shadow": "shift",
}
"""The module of each command whose module has a different name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tablectl`; return the exit code (`tablectl --help` lists them)."""
    if argv is not None:
        return _run(list(argv))
    words = sys.argv[1:]
    shell.guard_streams()
    shell.unwind_on_signals(service=words[:1] in (["run"], ["console"], ["sign_in"]))
    try:
        return _run(words)
    except Exception:  # noqa: BLE001 - a crash must not exit with FAILED, the code of a finding
        traceback.print_exc()
        return shell.DEFECT


def parser_for(chosen: Container[str]) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of the chosen commands only.

    Importing only these commands keeps help fast on a Raspberry Pi. Raises ImportError if a chosen
    command needs a package that is not installed.
    """
    parser = shell.Parser(
        "tablectl",
        description="Work with the controller of an electronic dice, roulette or card table.",
        epilog=shell.EXIT_CODES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in chosen:
            command = command_of(name)
            subparser.epilog = "\n  ".join(("examples:", *command.EXAMPLES))
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run, parser=subparser)
    return parser


def command_of(name: str) -> Command:
    """Import a command; a module with several commands lists them in COMMANDS."""
    if name == "completion":
        return Command(_add_completion, _complete, _COMPLETION_EXAMPLES)
    module = import_module(f"controller.cli.{_MODULES.get(name, name)}")
    commands: Mapping[str, Command] = getattr(module, "COMMANDS", {})
    return commands[name] if name in commands else Command(module.add_arguments, module.run, module.EXAMPLES)


class _Version(argparse.Action):
    """Prints the version. To keep help fast, only this action imports `importlib.metadata`."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002 argparse names it
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see the class

        try:
            number = version("table-controller")
        except PackageNotFoundError:
            number = "(not installed; run from the project's folder)"
        print(f"tablectl {number}, Python {sys.version.split()[0]}")
        parser.exit()


def _run(words: list[str]) -> int:
    chosen = next((word for word in words if not word.startswith("-")), "")
    try:
        try:
            code = _execute(chosen, words)
        except SystemExit as end:
            if end.code not in (shell.OK, shell.BAD_INPUT):
                shell.discard_output()  # after a signal, nobody is waiting for the output
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except shell.OutputError as error:
        shell.discard_output()
        if error.reader_gone:
            return shell.BROKEN_PIPE
        say(error)
        return shell.UNWRITABLE
    except KeyboardInterrupt:
        shell.discard_output()
        return shell.INTERRUPTED
    return code


def _execute(chosen: str, words: list[str]) -> int:
    if (undecodable := _undecodable(words)) is not None:
        say(undecodable)
        return shell.BAD_INPUT
    try:
        with shell.collector_paused():
            parser = parser_for((chosen,))
        arguments = parser.parse_args(words)
        if (empty := _empty_option(words)) is not None:
            arguments.parser.error(f"found an empty argument{empty}, expected a value")
        code: int = arguments.run(arguments)
    except PermissionError as error:
        if error.filename is None:
            why = error.strerror or str(error)
            say(f"the system does not allow this user to do this ({why}); run the command as root")
        else:
            what = f"{error.filename}: this user may not access the file"
            say(f"{what}; run the command as root or as the owner")
        return shell.BAD_INPUT
    except ImportError as error:
        wanted = advice(error, chosen)
        if wanted is None:
            raise
        say(wanted)
        return shell.BAD_INPUT
    return code


def _undecodable(words: Sequence[str]) -> str | None:
    """Return a message about the first argument that is not valid UTF-8; None if all are."""
    for position, word in enumerate(words, start=1):
        if not word.isascii() and any("\ud800" <= char <= "\udfff" for char in word):
            found = os.fsencode(word).decode("ascii", "backslashreplace")
            return (
                f"argument {position}: found '{found}', expected UTF-8;"
                " set your terminal or ssh client to UTF-8"
            )
    return None


def _empty_option(words: Sequence[str]) -> str | None:
    """Return the place of an empty argument, such as " after --who", or None.

    An empty value typically comes from an unset shell variable, and must not be treated as an omitted option.
    """
    for before, word in pairwise(("", *words)):
        if not word:
            return f" after {before}" if before.startswith("-") else ""
        if word.startswith("--") and word.endswith("="):
            return f" after {word}"
    return None


_EXTRA_OF: Mapping[str, str] = {
    "apsw": "journal",
    "cryptography": "journal",
    "serial": "hardware",
    "gpiozero": "hardware",
    "gpiod": "hardware",
    "paho": "mqtt",
    "fastapi": "settlement",
    "psycopg": "settlement",
    "sqlalchemy": "settlement",
    "jinja2": "web",
    "starlette": "web",
    "uvicorn": "web",
    "shtab": "completion",
    "PIL": "pictures",
    "cv2": "vision",
    "numpy": "vision",
    "mujoco": "physics",
    "littlefs": "firmware",
}
"""The extra that installs each package; pyproject.toml defines the extras."""
_ALL_OF: Mapping[str, str] = {
    "run": "journal,hardware,mqtt",
    "settlement": "settlement",
    "console": "web",
    "sign_in": "web",
    "people": "web",
}
"""All the extras that a command needs, so that one message names all of them."""


def advice(error: ImportError, command: str) -> str | None:
    """Return a message with the extra to install; None if no extra provides the missing package."""
    package = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(package)
    if extra is None:
        return None
    wanted = _ALL_OF.get(command, extra)
    return (
        f"{command}: the package {package} from the `{extra}` extra is not installed;"
        f" in the project's folder, run `make tools` or .venv/bin/pip install '.[{wanted}]'"
    )


_COMPLETION_EXAMPLES = (
    "tablectl completion bash > /etc/bash_completion.d/tablectl",
    'eval "$(tablectl completion bash)"       # for this shell only',
    "tablectl completion zsh > /usr/local/share/zsh/site-functions/_tablectl",
)
_FILES = frozenset({"FILE", "FILE.tar.gz", "LOG", "LOG[#n]", "OUT.jsonl[.gz]", "PATH", "TABLE", "WAGERS"})
_FOLDERS = frozenset({"DIR"})


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that the script is for")


def _complete(arguments: argparse.Namespace) -> int:
    from pathlib import Path  # noqa: PLC0415 - keeps help and the other commands fast

    import shtab  # noqa: PLC0415 - as above

    parser = parser_for(COMMANDS)
    for action in _actions(parser):
        if action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's convention
        elif action.type is Path or action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # as above
    print(shtab.complete(parser, shell=arguments.shell))
    return OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action


if __name__ == "__main__":
    sys.exit(main())
