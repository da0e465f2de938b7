"""`tablectl cut` extracts one attempt from a log with its expected outcomes, for a regression test."""

import shutil
from pathlib import Path

import msgspec
import pytest

from controller.cli.main import main
from controller.replay.log import open_log
from tests.replay.cases import find_cases

LOGS = Path(__file__).parents[1] / "logs"
Told = pytest.CaptureFixture[str]


def outcomes(path: Path) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("log", "number", "called"),
    [
        ("craps-12-034-voids", 3, "roll.no_roll"),
        ("craps-12-034-voids", 9, "roll.called"),
        ("craps-12-034-rulings", 4, "roll.corrected"),
        ("craps-12-034-rulings", 7, "roll.no_roll"),
        ("roulette-american", 2, "spin.no_spin"),
        ("roulette-american", 5, "spin.called"),
        ("sim-three-card-rotation", 3, "deal.called"),
        ("sim-high-roller-a", 2, "roll.called"),
    ],
)
def test_a_cut_attempt_replays_alone_as_in_the_whole_log(
    log: str, number: int, called: str, tmp_path: Path, capsys: Told
) -> None:
    case = tmp_path / "case.jsonl.gz"
    assert main(["cut", f"{LOGS / log}.jsonl.gz#{number}", str(case)]) == 0
    expected = tmp_path / "case.expected.jsonl"
    assert f"to check the case, run: tablectl replay {case} --check" in capsys.readouterr().err
    assert main(["replay", str(case), "--check", str(expected)]) == 0
    capsys.readouterr()
    assert main(["replay", f"{LOGS / log}.jsonl.gz", "--check", str(expected), "--json"]) == 1
    whole = capsys.readouterr().out.splitlines()
    assert set(expected.read_text().splitlines()) <= set(whole)
    assert called in {outcome["type"] for outcome in outcomes(expected)}
    assert [found.name for found in find_cases(tmp_path)] == ["case"]
    with open_log(f"{LOGS / log}.jsonl.gz") as of_whole, open_log(str(case)) as of_piece:
        assert len(list(of_piece)) < len(list(of_whole)) / 2


def test_a_cut_attempt_includes_the_state_at_its_start(tmp_path: Path) -> None:
    case = tmp_path / "case.jsonl"
    assert main(["cut", f"{LOGS / 'craps-12-034-rulings.jsonl.gz'}#8", str(case)]) == 0
    with open_log(str(case)) as log:
        assert log.header.state is not None
        assert log.header.state.point == 4
        assert log.header.first is not None
        assert log.header.first.roll <= 8


def test_a_cut_attempt_is_explained_as_in_the_whole_log(tmp_path: Path, capsys: Told) -> None:
    case = tmp_path / "case.jsonl"
    source = LOGS / "craps-12-034-voids.jsonl.gz"
    assert main(["cut", f"{source}#3", str(case)]) == 0
    capsys.readouterr()
    explained = []
    for which in (f"{source}#3", str(case)):
        assert main(["explain", which]) == 0
        explained.append(capsys.readouterr().out)
    assert explained[0].splitlines()[2:] == explained[1].splitlines()[2:]


@pytest.mark.parametrize(
    ("which", "out", "says"),
    [
        ("craps-12-034-voids.jsonl.gz#77", "case.jsonl", "numbers 1 to 9, expected number 77"),
        ("craps-12-034-voids.jsonl.gz#3", "case.txt", "expected NAME.jsonl or NAME.jsonl.gz"),
        ("craps-12-034-voids.jsonl.gz#3", "case.expected.jsonl", "expected NAME.jsonl or NAME.jsonl.gz"),
        ("craps-12-034-voids.jsonl.gz#3", "no/such/case.jsonl", "no/such does not exist"),
        ("no-such.jsonl#3", "case.jsonl", "no readable file"),
    ],
)
def test_an_attempt_that_cannot_be_cut_leaves_no_file(
    which: str, out: str, says: str, tmp_path: Path, capsys: Told
) -> None:
    assert main(["cut", str(LOGS / which), str(tmp_path / out)]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("which", "expected"), [("", "one"), ("#2", "number 2")])
def test_a_log_without_an_attempt_is_refused(which: str, expected: str, tmp_path: Path, capsys: Told) -> None:
    with open_log(str(LOGS / "craps-12-034-voids.jsonl.gz")) as log:
        (tmp_path / "empty.jsonl").write_bytes(msgspec.json.encode(log.header) + b"\n")
    assert main(["cut", f"{tmp_path / 'empty.jsonl'}{which}", str(tmp_path / "case.jsonl")]) == 2
    advice = "use a log in which an attempt was called or voided"
    assert f"found no throw, spin or deal, expected {expected}; {advice}" in capsys.readouterr().err


def test_the_log_that_is_cut_from_is_never_written_over(tmp_path: Path, capsys: Told) -> None:
    log = tmp_path / "log.jsonl.gz"
    shutil.copy(LOGS / "craps-12-034-voids.jsonl.gz", log)
    before = log.read_bytes()
    assert main(["cut", f"{log}#3", str(log)]) == 2
    assert "is the log to cut from; choose a different output file" in capsys.readouterr().err
    assert log.read_bytes() == before
    assert list(tmp_path.iterdir()) == [log]


def test_an_attempt_that_was_cut_off_by_the_power_is_refused(tmp_path: Path, capsys: Told) -> None:
    whole = tmp_path / "whole.jsonl"
    shutil.copy(LOGS / "craps-12-034-voids.jsonl.gz", tmp_path / "whole.jsonl.gz")
    with open_log(str(tmp_path / "whole.jsonl.gz")) as log:
        lines = [msgspec.json.encode(log.header), *map(msgspec.json.encode, list(log)[:300])]
    whole.write_bytes(b"\n".join(lines) + b'\n{"kind":"die')
    assert main(["cut", str(whole), str(tmp_path / "case.jsonl")]) == 2
    assert "which depends on readings outside it" in capsys.readouterr().err
