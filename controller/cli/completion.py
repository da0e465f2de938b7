"""`tablectl completion`: the shell's own completion of commands, options and files."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from controller.cli.exits import OK

EXAMPLES = (
    "tablectl completion bash > /etc/bash_completion.d/tablectl",
    'eval "$(tablectl completion bash)"       # for this shell alone',
    "tablectl completion zsh > /usr/local/share/zsh/site-functions/_tablectl",
)
_FILES = frozenset({"FILE", "FILE.tar.gz", "LOG", "LOG[#n]", "OUT.jsonl[.gz]", "PATH", "TABLE", "WAGERS"})
_FOLDERS = frozenset({"DIR"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that asks")


def run(arguments: argparse.Namespace) -> int:
    """Print the completion; needs the extra `completion`."""
    import shtab  # noqa: PLC0415 - generates, and is in nobody's way else

    from controller.cli.main import COMMANDS, parser_for  # noqa: PLC0415 - which imports this module

    parser = parser_for(COMMANDS)
    for action in _actions(parser):
        if action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's own way to say it
        elif action.type is Path or action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # as above
    print(shtab.complete(parser, shell=arguments.shell))
    return OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action
