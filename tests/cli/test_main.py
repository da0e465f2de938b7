"""`tablectl` as a whole: help, usage, exit codes, and leaving quietly."""

import argparse
import subprocess
import sys

import pytest

from controller.cli import main as cli
from controller.cli.exits import BROKEN_PIPE, INTERRUPTED


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "argv", [["--help"], ["replay", "--help"], ["settle", "--help"], ["rules", "--help"]]
)
def test_help_is_fine(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: tablectl")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    told = capsys.readouterr().out
    named = {line.split()[0] for line in told.splitlines() if line.startswith("    ")}
    assert named >= set(cli.COMMANDS)


def test_help_imports_no_command_and_no_library() -> None:
    shown = python(
        "import sys; from controller.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*{'msgspec', 'pydantic', 'yaml'} & sys.modules.keys(), 'only')"
    )
    assert shown.stdout.splitlines()[-1] == "only"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "required: COMMAND"),
        (["shuffle"], "invalid choice: 'shuffle'"),
        (["replay"], "required: LOG"),
        (["replay", "a.jsonl", "--json", "--explain"], "not allowed with"),
        (["replay", "a.jsonl", "--calls", "guess"], "invalid choice: 'guess'"),
        (["replay", "a.jsonl", "--rule", "roulette"], "unrecognized arguments: --rule"),
        (["settle", "wagers.jsonl"], "required: --rules"),
        (["rules"], "required: show|check"),
    ],
)
def test_wrong_usage_is_exit_2(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    assert end.value.code == 2
    told = capsys.readouterr()
    assert (told.out, says in told.err) == ("", True)


def test_an_interrupt_ends_it_as_a_shell_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("controller.cli.rules.run", interrupted)
    assert cli.main(["rules", "show", "roulette"]) == INTERRUPTED


def test_a_reader_that_is_gone_ends_it_without_a_word() -> None:
    command = [sys.executable, "-m", "controller.cli.main", "rules", "show", "roulette"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == BROKEN_PIPE
