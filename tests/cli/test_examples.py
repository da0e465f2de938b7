"""Every argument has a help text. Every command has valid examples, and those without a table are run."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli.main import COMMANDS, command_of, parser_for

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
RUN = frozenset({"replay", "rules", "demo", "completion"})
"""Commands whose examples need no table, no network and no person."""
NEEDS = ("CAPTURE.tsv", "WAGERS", "LOG#", "/etc/", "/usr/", "eval ")
"""Parts of examples that are not run, because they need files, services or the reader's shell."""


def examples(command: str) -> list[str]:
    return list(command_of(command).EXAMPLES)


def words_of(example: str) -> list[str]:
    """Return an example's words without its comment."""
    return shlex.split(re.split(r"\s{2,}#", example)[0])


SHOWN = [(command, example) for command in COMMANDS for example in examples(command)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_commands_help_shows_an_example(command: str) -> None:
    shown = parser_for((command,)).format_help()
    assert command in shown
    assert any(example.startswith(f"tablectl {command}") for example in examples(command))


def parsers_in(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers_in(below)


def test_every_argument_and_every_subcommand_has_a_help_text() -> None:
    for parser in parsers_in(parser_for(COMMANDS)):
        assert parser.description, parser.prog
        silent = [
            action.dest
            for action in parser._actions
            if not action.help and not isinstance(action, argparse._SubParsersAction)
        ]
        assert not silent, parser.prog


def test_no_command_accepts_abbreviated_options() -> None:
    accepting = [parser.prog for parser in parsers_in(parser_for(COMMANDS)) if parser.allow_abbrev]
    assert not accepting


@pytest.mark.parametrize(("command", "example"), SHOWN)
def test_every_example_parses(command: str, example: str) -> None:
    words = words_of(example.removeprefix('eval "$(').replace(')"', ""))
    ends = next((n for n, word in enumerate(words) if word in {">", "<"}), len(words))
    name = words[1]
    assert words[0] == "tablectl"
    parser_for((name,)).parse_args(words[1:ends])
    assert name in COMMANDS


@pytest.mark.parametrize(
    "example",
    [example for command, example in SHOWN if command in RUN and not any(need in example for need in NEEDS)],
)
def test_an_example_that_needs_no_table_runs(example: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")  # some examples write into the folder
    words = words_of(example)
    ended = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", *words[1:]],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TABLE_CONFIG": str(tmp_path / "config")},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    findings = words[1:3] == ["rules", "check"]
    assert ended.returncode in ({0, 1} if findings else {0}), ended.stderr
    assert ended.stdout
