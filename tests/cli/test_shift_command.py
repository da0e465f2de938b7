"""`tablectl shift`: the outcomes since the table opened, the people who ruled, and the interruptions."""

import json
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.engine.session import Session
from controller.machines.setup import NextNumbers, State
from controller.model.readings import AnyReading, DeviceDown
from tests.journal.rig import Rig, append, begin, durable, rig_in, session_steps, setup_at
from tests.scenes import SECOND_US, input_at, throw


def journaled(rig: Rig, readings: list[AnyReading]) -> Path:
    """Play readings from the first one on; return their journal."""
    with rig.open() as journal:
        begin(journal)
        for step in session_steps(Session(setup_at(NextNumbers(), State())), readings):
            durable(append(journal, step))
    return rig.place.journal


def shift_played() -> list[AnyReading]:
    """Return a roll, a void by Ann, a ruling by Bo, a seven-out, and Cy closing and reopening."""
    at = [number * 10 * SECOND_US for number in range(1, 8)]
    return [
        *throw(at[0], (4, 4)),
        *throw(at[1], (2, 1)),
        input_at(at[1] + 5 * SECOND_US, "no_roll", who="Ann"),
        *throw(at[2], (5, 5), confidence=0.4),
        input_at(at[2] + 5 * SECOND_US, "set_dice", dice=[5, 5], who="Bo"),
        *throw(at[3], (6, 1)),
        input_at(at[4], "close_table", by="manager", who="Cy"),
        input_at(at[5], "open_table", by="manager", who="Cy"),
        DeviceDown(t=at[5] + SECOND_US, dev="cam", code="unplugged"),
        input_at(at[6], "dice_collected"),
    ]


def shift(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["shift", *words]) == 0
    return capsys.readouterr().out


def test_a_shift_sums_up_the_outcomes_and_the_rulings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = str(journaled(rig_in(tmp_path), shift_played()))
    printed = json.loads(shift(capsys, "--journal", journal, "--back", "1", "--json"))
    assert printed["opened_by"] is None, "a new table must be open from its first row"
    assert printed["closed_by"] == "manager Cy"
    assert printed["results"] == 3, "the roll that was called back must not count"
    assert printed["voids"] == {"called": 1}
    assert printed["rulings_by"] == {
        "boxperson Ann": {"called": 0, "voided": 0, "corrected": 1},
        "boxperson Bo": {"called": 1, "voided": 0, "corrected": 0},
    }
    (review,) = printed["reviews"]
    assert (review["ended_as"], review["by"]) == ("result", "boxperson Bo")
    assert review["ended_us"] >= review["wall_us"]


def test_a_ruling_by_a_role_without_a_name_counts_as_a_ruling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at_us = 10 * SECOND_US
    called_off = [*throw(at_us, (2, 1)), input_at(at_us + 5 * SECOND_US, "no_roll", by="dealer")]
    printed = json.loads(shift(capsys, "--journal", str(journaled(rig_in(tmp_path), called_off)), "--json"))
    assert printed["rulings_by"] == {"dealer": {"called": 0, "voided": 0, "corrected": 1}}


def test_a_void_by_sensors_is_not_counted_as_a_ruling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = throw(10 * SECOND_US, (2, 1), short_mm=(0.0, 300.0))
    end = input_at(20 * SECOND_US, "dice_collected")
    printed = json.loads(
        shift(capsys, "--journal", str(journaled(rig_in(tmp_path), [*short, end])), "--json")
    )
    assert printed["voids"] == {"no_wall_hit": 1}
    assert printed["rulings"] == []


def test_the_shift_since_the_table_opened_again_starts_from_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shift(capsys, "--journal", str(journaled(rig_in(tmp_path), shift_played())))
    assert "by manager Cy, not closed" in text
    assert "no results, no voids" in text
    assert "1 device outage\n" in text
    assert "cam: unplugged, ongoing" in text


def test_a_fault_across_a_restart_is_listed_once_and_ends_when_it_is_not_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_in(tmp_path)
    failed, late = (
        {"code": code, "where": "cam", "found": "as found"} for code in ("test_failed", "readings_late")
    )
    for found in ([failed, late], [failed]):
        with rig.open() as journal:
            begin(journal)
            for fault in found:
                durable(journal.note("fault.began", fault))
    printed = json.loads(shift(capsys, "--journal", str(rig.place.journal), "--json"))
    lasting = [(fault["cause"], fault["ended_us"] is None) for fault in printed["faults"]]
    assert lasting == [("test_failed", True), ("readings_late", False)]


def test_a_page_holds_every_result_and_nothing_that_a_browser_would_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = str(journaled(rig_in(tmp_path), shift_played()))
    page = tmp_path / "shift.html"
    shift(capsys, "--journal", journal, "--back", "1", "--page", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.count("<tr>") == 6
    assert "boxperson Ann: 1 corrected" in text
    assert not {"src=", "href=", "<script", "url("} & {
        part for part in ("src=", "href=", "<script", "url(") if part in text
    }


def test_an_unknown_shift_is_refused_with_the_number_of_shifts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journaled(rig_in(tmp_path), shift_played())
    assert main(["shift", "--journal", str(journal), "--back", "2"]) == 2
    assert "found 2 shifts, expected at least 3; use a smaller --back" in capsys.readouterr().err


def test_a_table_that_never_opened_has_no_shift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = rig_in(tmp_path)
    with rig.open() as journal:
        durable(journal.note("clock.noted", {}))
    assert main(["shift", "--journal", str(rig.place.journal)]) == 2
    err = capsys.readouterr().err
    assert "found no shifts, expected at least 1; a shift begins when the table opens" in err
    assert "--back" not in err


def test_a_page_that_cannot_be_written_is_reported_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journaled(rig_in(tmp_path), shift_played())
    assert main(["shift", "--journal", str(journal), "--page", str(tmp_path / "no" / "page.html")]) == 2
    assert f"the folder {tmp_path / 'no'} does not exist" in capsys.readouterr().err
