"""`tablectl settle`: from a file or standard input, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from controller.cli.main import main

BET = {"do": "bet", "id": "b1", "player": "p1", "wager": "pass", "amount": 500}
NATURAL = {"do": "roll", "dice": [3, 4]}


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_is_settled_line_by_line(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write(tmp_path / "w.jsonl", BET, NATURAL)
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 0
    (line,) = capsysbinary.readouterr().out.splitlines()
    decided = json.loads(line)
    assert (decided["id"], decided["status"], decided["returned"]) == ("b1", "win", 1000)


def test_that_nothing_was_bet_is_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "w.jsonl", NATURAL)
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 0
    assert capsys.readouterr().err == f"tablectl: {path}: found no bet in it, so nothing was settled\n"


def test_a_byte_order_mark_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(NATURAL) + "\n", encoding="utf-8-sig")
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 2
    assert "line 1: found" in (said := capsys.readouterr().err)
    assert "expected one JSON object in UTF-8 without a byte order mark" in said


def test_standard_input_gives_the_same(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write(tmp_path / "w.jsonl", BET, NATURAL)
    main(["settle", "--rules", "craps-12-034", str(path)])
    command = [sys.executable, "-m", "controller.cli.main", "settle", "--rules", "craps-12-034"]
    piped = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
    assert piped.stdout == capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("rules", "lines", "says"),
    [
        ("craps-12-034", [BET, {"do": "shuffle"}], "line 2"),
        ("craps-12-035", [BET], "expected one of 'craps-12-034'"),
    ],
)
def test_bad_input_is_exit_2_and_names_its_place(
    rules: str, lines: list[object], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settle", "--rules", rules, str(write(tmp_path / "w.jsonl", *lines))]) == 2
    assert says in capsys.readouterr().err


def test_a_missing_file_and_a_directory_are_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, says in ((tmp_path / "none", "found no readable file"), (tmp_path, "found a directory")):
        assert main(["settle", "--rules", "craps-12-034", str(path)]) == 2
        assert says in capsys.readouterr().err
