"""Standard streams in every state that a shell may pass: full, closed, in a plain locale, or broken later."""

import json
import os
import signal
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

from controller.cli.main import COMMANDS
from controller.cli.shell import BROKEN_PIPE, UNWRITABLE
from tests.app.rig import until

PATIENCE_S = 120
LOG = "tests/logs/sim-craps-12-034-a.jsonl.gz"
WORDS = {
    "replay": ("replay", LOG),
    "rules": ("rules", "show", "roulette"),
    "demo": ("demo", "--throws", "1", "--spins", "0", "--games", "0", "--deals", "0"),
    "simulate": ("simulate", "--list-faults"),
}
"""Calls of these commands. Every other command prints its help, which uses the same streams."""
CALLS = [WORDS.get(name, (name, "--help")) for name in COMMANDS] + [("--help",), ("--version",)]
PLAIN = {"LC_ALL": "C", "TERM": "dumb", "COLUMNS": "40"}
NO_CONTROLLER = ("status", "--socket", "/nowhere/control.sock")


def shell(redirected: str, words: tuple[str, ...], **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run tablectl with streams redirected as by a shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "controller.cli.main", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, **environ},
    )


def in_turn(*redirected: str) -> list[tuple[tuple[str, ...], str]]:
    """Pair each call with one of the redirections; all commands handle streams in the same way."""
    return list(zip(CALLS, cycle(redirected), strict=False))


@pytest.mark.parametrize(("words", "redirected"), in_turn(">/dev/full", ">&-"))
def test_every_command_says_in_one_line_that_its_output_cannot_be_written(
    words: tuple[str, ...], redirected: str
) -> None:
    ended = shell(redirected, words, **PLAIN)
    said = ended.stderr.decode("ascii").splitlines()
    assert (ended.returncode, len(said)) == (UNWRITABLE, 1), ended.stderr
    assert said[0].startswith("tablectl: can't write to standard output (")


@pytest.mark.parametrize(("words", "redirected"), in_turn("2>/dev/full", "2>&- <&-"))
def test_output_is_the_same_with_standard_error_closed_and_ascii_in_a_plain_locale(
    words: tuple[str, ...], redirected: str
) -> None:
    plain = words[0] != "replay"  # their data are written unchanged
    ended = shell(redirected, words, **PLAIN if plain else {})
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout
    assert ended.stdout.isascii() or not plain
    assert b"\x1b" not in ended.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [(("replay", "nope"), 2), (("replay",), 2), (("shuffle",), 2), (NO_CONTROLLER, 3)],
    ids=lambda value: value[0] if isinstance(value, tuple) else str(value),
)
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_a_message_never_appears_in_the_output_nor_changes_the_exit_code(
    words: tuple[str, ...], code: int, redirected: str
) -> None:
    ended = shell(redirected, words)
    assert (ended.returncode, ended.stdout) == (code, b"")


@pytest.mark.parametrize("words", [("replay", "-"), ("settle", "--rules", "roulette")], ids=" ".join)
def test_a_closed_standard_input_is_reported(words: tuple[str, ...]) -> None:
    ended = shell("<&-", words)
    assert ended.returncode == 2
    assert b"tablectl: standard input: found a closed stream, expected" in ended.stderr


def test_a_file_opened_later_does_not_replace_a_closed_stream(tmp_path: Path) -> None:
    """The next file opened, such as the log or a database, would get number 1."""
    code = (
        "from controller.cli import shell; shell.guard_streams()\n"
        "import os; opened = os.open('/dev/null', os.O_RDONLY); raise SystemExit(opened)"
    )
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code],
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode > 2


@pytest.mark.parametrize(
    "environ", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_text_that_the_terminal_cannot_show_is_escaped(environ: dict[str, str]) -> None:
    ended = shell("", ("replay", "Ω—é"), **environ)
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    assert rb"\u03a9" in ended.stderr


def test_a_command_whose_reader_goes_away_ends_silently() -> None:
    command = [sys.executable, "-m", "controller.cli.main", "simulate", "--list-faults"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == BROKEN_PIPE


@pytest.mark.usefixtures("hears_signals")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_command_stopped_by_a_signal_ends_silently(number: signal.Signals, tmp_path: Path) -> None:
    header = {
        "log": "table-readings",
        "version": 1,
        "table": "t1",
        "ruleset": "craps-12-034",
        "dice_table": {"length_mm": 3600, "width_mm": 1100, "die_mm": 19.0},
    }
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "controller.cli.main", "replay", str(pipe)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as cut_off,
        pipe.open("wb", buffering=0) as log,  # this returns once the command opens the pipe for reading
    ):
        log.write(json.dumps(header).encode() + b"\n")
        # A signal between two system calls is noticed only at the next one, so repeat the signal.
        until(lambda: _ended(cut_off, number), "the command to end")
        printed, said = cut_off.communicate()
    assert cut_off.returncode in (128 + number, -number)
    assert (printed, said) == (b"", b"")


def _ended(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    process.send_signal(number)
    return process.poll() is not None
