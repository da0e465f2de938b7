"""`tablectl replay CAPTURE.tsv --device ss2`: outcomes from a wheel's raw serial lines."""

import json
from pathlib import Path

import pytest

from controller.cli.main import main
from tests.wheels import frame, game

LINES = [
    *game(12, " 7", " 8"),
    *game(13, " 8", "00"),
    "5; 9;0;158;0",
    *game(14, "00", "22")[:-8],
    *[frame(2, 15, "22")] * 4,
    *game(15, "22", "38"),
]


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """Return a capture by a recorder that strips leading blanks."""
    path = tmp_path / "wheel.tsv"
    rows = [f"{n * 500}\t{line.lstrip(' ')}\n" for n, line in enumerate(LINES)]
    path.write_text("".join(rows))
    return str(path)


def replayed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, object]], str]:
    code = main(["replay", *arguments, "--device", "ss2", "--json"])
    out, err = capfd.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def spins(outcomes: list[dict[str, object]]) -> list[tuple[str, object]]:
    return [(str(o["type"]), o["data"]) for o in outcomes if str(o["type"]).startswith("spin")]


def test_observed_numbers_are_called_and_all_others_are_reviewed(
    capture: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, printed, err = replayed(capfd, capture)
    assert code == 0
    assert [kind for kind, _ in spins(printed)] == [
        "spin.called",
        "spin.called",
        "spin.review",
        "spin.no_spin",
        "spin.review",
    ]
    called = [o["data"] for o in printed if o["type"] == "spin.called"]
    assert [(c["number"], c["grade"]) for c in called if isinstance(c, dict)] == [
        ("8", "wheel"),
        ("00", "wheel"),
    ]
    assert f"{len(LINES)} lines, {len(LINES) - 5} status frames, 1 malformed" in err


def test_a_capture_of_a_wheel_with_more_zeros_calls_them(
    capture: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _, printed, _ = replayed(capfd, capture, "--wheel", "39")
    called = [o["data"] for o in printed if o["type"] == "spin.called"]
    assert [(c["number"], c["colour"]) for c in called if isinstance(c, dict)][-1] == ("000", "green")


def test_a_wheel_with_one_zero_has_no_00(capture: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = replayed(capfd, capture, "--wheel", "37")
    called = [o["data"] for o in printed if o["type"] == "spin.called"]
    assert [c["number"] for c in called if isinstance(c, dict)] == ["8"]


def test_the_outcomes_can_be_checked_and_a_difference_fails(
    capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = tmp_path / "expected.jsonl"
    rows = [{"type": "spin.called", "data": {"number": number}} for number in ("8", "00")]
    expected.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert replayed(capfd, capture, "--check", str(expected))[0] == 0
    expected.write_text(json.dumps(rows[0]) + "\n")
    assert replayed(capfd, capture, "--check", str(expected))[0] == 1


def test_an_explained_call_names_its_rules_and_the_lines_behind_it(
    capture: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", capture, "--device", "ss2", "--explain"]) == 0
    out = capfd.readouterr().out
    assert "from state 4 to 5 of game 012 was observed after the number was announced (R-SPIN-4)" in out
    assert "ss2 wheel_status" in out


def test_the_same_capture_gives_the_same_outcomes(capture: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert replayed(capfd, capture) == replayed(capfd, capture)


def test_a_capture_can_be_replayed_under_the_conventional_rules(
    capture: str, capfd: pytest.CaptureFixture[str]
) -> None:
    usual, other = replayed(capfd, capture), replayed(capfd, capture, "--rules", "roulette-conventional")
    assert spins(usual[1]) == spins(other[1])


def test_rules_of_another_game_are_refused(capture: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, printed, err = replayed(capfd, capture, "--rules", "craps-v1")
    assert (code, printed) == (2, [])
    assert "--rules: found craps-v1, a rule set for craps, expected one for roulette" in err


def test_a_bad_line_ends_the_run_before_anything_is_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text("0\t*u OK\nnonsense\n")
    code, printed, err = replayed(capfd, str(path))
    assert (code, printed) == (2, [])
    assert "line 2: found nonsense, expected `milliseconds TAB line`" in err
    assert replayed(capfd, str(path), "--lenient")[0] == 0


def test_the_wheel_option_is_accepted_for_a_capture_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(tmp_path / "log.jsonl"), "--wheel", "38"]) == 2
    assert "the log's header describes the wheel" in capfd.readouterr().err
