"""`tablectl explain` and `tablectl cut` on a daemon's journal and recording."""

import json
from pathlib import Path

import msgspec
import pytest

from controller.cli.main import main
from tests.app.house import House, HouseMaker, live_of, unlocked
from tests.app.rig import PATIENCE_S
from tests.scenes import SECOND_US, throw

Output = pytest.CaptureFixture[str]


@pytest.fixture
def played(house: HouseMaker) -> House:
    """Return a craps table after three throws, stopped in order."""
    one = house()
    daemon = one.open()
    unlocked(daemon)
    live = live_of(daemon)
    live.recorder.start()
    for start_s in (10, 30, 50):
        for reading in throw(start_s * SECOND_US):
            daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
            live.core.turn(0)
    daemon.clock.reach(70 * SECOND_US)
    live.core.turn(0)
    live.core.drain()
    assert live.recorder.stop(PATIENCE_S)
    daemon.close()
    return one


def journal_of(one: House) -> list[str]:
    """Return the option that names the table's journal."""
    return ["--journal", str(one.options.journal)]


def id_of(one: House, roll: int) -> str:
    """Return the id of the outcome that called this roll."""
    for row in one.rows():
        outcome = {} if row.body is None or row.seq is None else json.loads(row.body)
        if outcome.get("type") == "roll.called" and outcome["data"]["roll"] == roll:
            return str(outcome["id"])
    raise AssertionError(f"no roll {roll} was called")


@pytest.mark.parametrize("asked_by", ["number", "id"])
def test_a_throw_in_the_journal_is_explained(asked_by: str, played: House, capsys: Output) -> None:
    which = "2" if asked_by == "number" else id_of(played, 2)
    assert main(["explain", which, *journal_of(played), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["attempt"] == 2
    assert [outcome["id"] for outcome in printed["outcomes"]] == [id_of(played, 2)]
    assert {"die_released", "wall_impact", "die_rest"} <= {reading["kind"] for reading in printed["readings"]}


def test_explain_without_an_id_explains_the_journals_last_outcome(played: House, capsys: Output) -> None:
    assert main(["explain", *journal_of(played), "--no-plot"]) == 0
    assert capsys.readouterr().out.startswith("Roll 3: called.")


@pytest.mark.parametrize("asked_by", ["number", "id"])
def test_a_throw_cut_out_of_the_recording_replays_to_the_published_outcome(
    asked_by: str, played: House, tmp_path: Path, capsys: Output
) -> None:
    which = "2" if asked_by == "number" else id_of(played, 2)
    case, expected = tmp_path / "case.jsonl", tmp_path / "case.expected.jsonl"
    assert main(["cut", which, str(case), *journal_of(played)]) == 0
    assert id_of(played, 2) in {json.loads(line)["id"] for line in expected.read_text().splitlines()}
    assert main(["replay", str(case), "--check", str(expected)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("which", ["99", "craps/1/9999"])
def test_an_attempt_missing_from_the_journal_is_reported_and_no_file_is_written(
    which: str, played: House, tmp_path: Path, capsys: Output
) -> None:
    case = tmp_path / "case.jsonl"
    for words in (["explain", which], ["cut", which, str(case)]):
        assert main([*words, *journal_of(played)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert which in printed.err
    assert not case.exists()


def test_a_recording_that_is_gone_is_named(played: House, tmp_path: Path, capsys: Output) -> None:
    for recording in played.options.recordings.iterdir():
        recording.unlink()
    assert main(["cut", "2", str(tmp_path / "case.jsonl"), *journal_of(played)]) == 2
    printed = capsys.readouterr().err
    assert str(played.options.recordings) in printed
    assert "LOG#n" in printed
