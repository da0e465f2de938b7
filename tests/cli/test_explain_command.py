"""`tablectl explain`: the verdict of one attempt, as text, as JSON and as a picture."""

import json
import stat
from pathlib import Path

import pytest

from controller.cli.main import main

LOGS = Path(__file__).parents[1] / "logs"
VOIDS = str(LOGS / "craps-12-034-voids.jsonl.gz")
WHEEL = str(LOGS / "roulette-american.jsonl.gz")
Told = pytest.CaptureFixture[str]


def test_a_no_roll_is_stated_with_its_rule_die_figure_threshold_and_readings(capsys: Told) -> None:
    assert main(["explain", f"{VOIDS}#3"]) == 0
    printed = capsys.readouterr().out
    first, *rest = printed.splitlines()
    assert first == (
        "Roll 3: No Roll. Die 1 stopped 109 mm short of the right wall; both must hit an end (C34-INV-2ii)"
    )
    assert "cause  no_wall_hit die 1 [C34-INV-2ii]" in printed
    assert "needed no_wall_hit: both must hit an end; a track point has an error of 2 mm" in printed
    assert any("wall_impact" in line for line in rest)
    assert "\x1b" not in printed


def test_explain_without_a_number_explains_the_last_attempt(capsys: Told) -> None:
    assert main(["explain", VOIDS, "--no-plot"]) == 0
    assert capsys.readouterr().out.startswith("Roll 9: called. Roll 5-5: both dice hit")


def test_a_review_ended_by_a_person_is_explained_with_its_ruling(capsys: Told) -> None:
    assert main(["explain", f"{LOGS / 'craps-12-034-rulings.jsonl.gz'}#6", "--no-plot"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith("Roll 6: No Roll. #6 unruled, by nobody")
    assert "roll.review" in printed
    assert "roll.no_roll" in printed


def test_an_attempt_in_a_missing_journal_is_bad_input(tmp_path: Path, capsys: Told) -> None:
    pytest.importorskip("apsw", reason="apsw comes with the `journal` extra")
    assert main(["explain", "3", "--journal", str(tmp_path / "journal.db")]) == 2
    assert "journal_absent" in capsys.readouterr().err


def test_explain_uses_ascii_in_a_plain_locale(monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", f"{WHEEL}#2"]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "no more bets" in printed


def test_json_carries_outcomes_verdict_thresholds_and_readings(capsys: Told) -> None:
    assert main(["explain", f"{WHEEL}#2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["attempt"] == 2
    assert [outcome["type"] for outcome in printed["outcomes"]] == ["spin.no_spin"]
    assert printed["verdict"]["reasons"][0]["rule"] == "R-IRR-2"
    assert printed["asked"] == {
        "too_few_revolutions": "at least 4 full revolutions on the track, beyond doubt"
    }
    assert printed["bets_closed"]["type"] == "bets.closed"
    assert {"ball_beam", "ball_drop"} <= {reading["kind"] for reading in printed["readings"]}


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<svg"), ("a.PNG", b"\x89PNG")])
def test_a_picture_is_written_completely_and_readable_by_all(
    name: str, begins: bytes, tmp_path: Path, capsys: Told
) -> None:
    picture = tmp_path / name
    assert main(["explain", f"{VOIDS}#3", "--picture", str(picture), "--no-plot"]) == 0
    assert picture.read_bytes().startswith(begins)
    assert stat.S_IMODE(picture.stat().st_mode) & 0o400
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert f"{picture}: wrote the drawing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([f"{VOIDS}#99"], "numbers 1 to 9, expected number 99"),
        (["no-such.jsonl"], "no readable file"),
        ([f"{VOIDS}#3", "--picture", "a.gif"], "a name that ends in .svg or .png"),
        ([f"{VOIDS}#3", "--picture", "/no/such/folder/a.svg"], "/no/such/folder does not exist"),
        ([f"{VOIDS}#3", "--rules", "no-such"], "no-such"),
        (["12", "--rules", "craps-v1"], "--rules"),
    ],
)
def test_an_attempt_that_cannot_be_explained_is_refused_with_the_reason(
    words: list[str], says: str, capsys: Told
) -> None:
    assert main(["explain", *words]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.out == ""


def test_an_attempt_can_be_explained_under_another_rule_set(capsys: Told) -> None:
    assert main(["explain", f"{VOIDS}#2", "--rules", "craps-v1", "--no-plot"]) == 0
    assert "wall_warning" in capsys.readouterr().out
