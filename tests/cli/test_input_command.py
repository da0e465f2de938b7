"""`tablectl input` waits for the table's answer. A refusal includes the reason and the allowed inputs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli.input import arguments_of
from controller.cli.main import main
from tests.app.rig import Table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Yield an unlocked craps table that runs in its own time."""
    one = Table(tmp_path_factory.mktemp("table"), arguments=("--no-self-test-devices", "--unlock", "person"))
    one.start(watch=False)
    one.unlock()
    yield one
    one.kill()


def enter(table: Table, *words: str) -> int:
    return main(["input", *words, "--socket", table.socket])


def test_a_refused_input_is_exit_1_with_the_reason_and_the_allowed_inputs(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(table, "no_roll") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    why, instead = printed.err.splitlines()
    assert why.startswith("tablectl: no_roll: no attempt is open to a ruling")
    assert why.endswith("[no_attempt]")
    assert instead.startswith("tablectl: allowed now: ")
    assert "new_shooter" in instead


def test_an_input_that_the_game_does_not_have_is_refused(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(table, "shuffle") == 1
    assert "[unknown_input]" in capsys.readouterr().err


def test_an_accepted_input_is_exit_0_with_its_result(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(table, "new_shooter", "3", "--by", "dealer") == 0
    assert capsys.readouterr() == ("Shooter: seat 3; come out\n", "")
    state = table.status()["state"]
    assert isinstance(state, dict)
    assert state["shooter"] == "3"


def test_json_prints_the_whole_answer(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert enter(table, "accept", "--json") == 1
    refused = json.loads(capsys.readouterr().out)
    assert (refused["ok"], refused["code"]) == (False, "nothing_to_accept")
    assert "lock" in refused["allowed"]
    assert enter(table, "pass_dice", "--json") == 0
    says = "Shooter: none named; come out"
    answer = {"ok": True, "entered": "pass_dice", "obeyed": True, "says": says}
    assert json.loads(capsys.readouterr().out) == answer


def test_an_unknown_role_is_refused_with_the_list(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        enter(table, "no_roll", "--by", "nobody")
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert "'nobody'" in said
    assert "boxperson" in said
    assert "stickperson" in said


def test_an_input_without_an_answer_is_not_a_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded readings do not advance time between two of them, so nothing is decided."""
    monkeypatch.setattr("controller.cli.input.WAIT_S", 0.05)
    still = Table(tmp_path)
    still.start(watch=False)
    try:
        assert enter(still, "no_roll") == 3
    finally:
        still.kill()
    assert "[no_answer]" in capsys.readouterr().err


def test_a_misdeal_is_entered_with_its_reason_as_in_the_guide() -> None:
    assert arguments_of("misdeal", ["a", "card", "fell"]) == {"reason": "a card fell"}
