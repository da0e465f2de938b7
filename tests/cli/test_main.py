"""`tablectl` as a whole: help, usage, exit codes, and errors without a traceback."""

import argparse
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from controller.app import service
from controller.cli import main as cli
from controller.cli import shell
from controller.cli.shell import INTERRUPTED


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "argv", [["--help"], ["replay", "--help"], ["settle", "--help"], ["rules", "--help"]]
)
def test_help_is_exit_0(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: tablectl")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    printed = capsys.readouterr().out
    named = {line.split()[0] for line in printed.splitlines() if line.startswith("    ")}
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
        (["console", "--json"], "unrecognized arguments: --json"),
        (["record", "throw.jsonl", "--json"], "unrecognized arguments: --json"),
        (["journal", "verify", "--jo", "folder"], "unrecognized arguments: --jo"),
        (["keys", "show", "table", "--js"], "unrecognized arguments: --js"),
        (["settle", "wagers.jsonl"], "required: --rules"),
        (["rules"], "required: show|explain|check|accept"),
        (["replay", "a.jsonl", "--check", ""], "found an empty argument after --check"),
        (["replay", "a.jsonl", "--check="], "found an empty argument after --check="),
        (["replay", ""], "found an empty argument, expected a value"),
        (["settle", "--rules", ""], "found an empty argument after --rules"),
        (["rules", "show", ""], "found an empty argument, expected a value"),
        (["status", "--socket", ""], "found an empty argument after --socket"),
        (["demo", "--throws", "9" * 20], "expected a whole number from 0 to 100000"),
        (["demo", "--seed", "-1"], "expected a whole number from 0 to 9223372036854775807"),
        (["demo", "--spins", "9" * 5000], "found '99999999999999999999...'"),
        (["simulate", "craps", "--throws", "0"], "expected a whole number from 1 to 100000"),
        (["outbox", "--limit", "1001"], "expected a whole number from 1 to 1000"),
        (["journal", "show", "--from", "first"], "found 'first', expected a whole number"),
    ],
)
def test_wrong_usage_is_exit_2(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    assert end.value.code == 2
    printed = capsys.readouterr()
    assert (printed.out, says in printed.err) == ("", True), printed.err


def test_a_virtual_table_in_a_folder_too_deep_for_its_sockets_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")
    deep = tmp_path / ("ö" * max(89 - len(str(tmp_path)), 10))
    assert cli.main(["simulate", "roulette", "--throws", "1", "--dir", str(deep)]) == 2
    assert "expected at most 90, because the path of a socket" in capsys.readouterr().err
    assert not deep.exists(), "no file may be left"


def test_the_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"tablectl {version('table-controller')}, Python 3.")


def test_help_lists_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    listed = {
        int(number) for number in re.findall(r"\b\d+\b", capsys.readouterr().out.partition("exit codes:")[2])
    }
    known = {
        value
        for module in (shell, service)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int) and value <= 128 + max(signal.valid_signals())
    }
    assert listed == known | {128 + signal.SIGHUP, 128 + signal.SIGTERM}


def test_an_internal_error_has_its_own_exit_code() -> None:
    ended = python(
        "import sys; from controller.cli import rules\n"
        "rules.run = lambda arguments: 1 // 0\n"
        "sys.argv = ['tablectl', 'rules', 'show', 'roulette']\n"
        "from controller.cli.main import main; sys.exit(main())"
    )
    assert (ended.returncode, "ZeroDivisionError" in ended.stderr) == (shell.DEFECT, True)


def test_an_interrupt_ends_a_command_as_a_shell_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("controller.cli.rules.run", interrupted)
    assert cli.main(["rules", "show", "roulette"]) == INTERRUPTED


@pytest.mark.parametrize("argv", [["journal", "verify"], ["recall", "craps/1/1"]])
def test_a_missing_journal_is_bad_input(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*argv, "--journal", "/nonexistent"]) == 2
    assert "found no file, expected a table's journal" in capsys.readouterr().err


def test_watch_lists_its_topics_if_one_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["watch", "outcome", "--socket", "/nonexistent"]) == 2
    assert capsys.readouterr().err == (
        "tablectl: watch: found 'outcome', expected outcomes, readings, lamps, faults\n"
    )


def test_a_file_closed_to_this_user_is_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/var/lib/table/journal.db")

    monkeypatch.setattr("controller.cli.journal.journal_file", closed)
    assert cli.main(["journal", "verify"]) == 2
    assert capsys.readouterr().err.startswith(
        "tablectl: /var/lib/table/journal.db: this user may not access the file"
    )


def test_a_refusal_by_the_system_that_names_no_file_is_a_whole_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("controller.cli.journal.journal_file", refused)
    assert cli.main(["journal", "verify"]) == 2
    assert capsys.readouterr().err == (
        "tablectl: the system does not allow this user to do this (Operation not permitted); run the command"
        " as root\n"
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["record", "--attempts", "1", "/no/such/throw.jsonl", "--socket", "/nowhere"],
        ["test", "wall-left", "--report", "/no/such/report.json", "--socket", "/nowhere"],
        ["cut", "tests/logs/sim-craps-v1.jsonl.gz#1", "/no/such/case.jsonl"],
        ["explain", "tests/logs/sim-craps-v1.jsonl.gz#1", "--picture", "/no/such/throw.svg"],
    ],
)
def test_a_missing_folder_is_named_before_anything_is_done(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert cli.main(argv) == 2
    said = capsys.readouterr().err
    assert "the folder /no/such does not exist; run: mkdir --parents /no/such" in said
    assert "/no/such/." not in said, "the name of a temporary file must not be shown"


@pytest.mark.parametrize("command", [*cli.COMMANDS, "--version", "shuffle"])
def test_an_argument_that_is_not_utf8_is_refused_in_one_sentence(command: str, tmp_path: Path) -> None:
    """ssh passes on such an argument from a terminal in Latin-1."""
    words = [command.encode(), b"accept", b"--who", b"J\xfcrgen"]
    done = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", *words],
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (shell.BAD_INPUT, b"")
    assert done.stderr == (
        b"tablectl: argument 4: found 'J\\xfcrgen', expected UTF-8;"
        b" set your terminal or ssh client to UTF-8\n"
    )
