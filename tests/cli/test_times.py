"""Every command prints the time of day in the machine's local time."""

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the journal needs the `journal` extra")

from controller.cli.main import main
from controller.cli.words import wall_clock, wall_date
from tests.journal.rig import rig_in

ZONE = "TST-05:30"
"""Five and a half hours east of Greenwich, so that a time in UTC fails the test."""
LOG = Path("tests/logs/sim-craps-12-034-a.jsonl.gz")


@pytest.fixture(autouse=True)
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", ZONE)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    return capsys.readouterr().out


def test_a_wall_time_is_printed_in_local_time() -> None:
    assert wall_clock(1_800_000_000_000_000) == "13:30:00"
    assert wall_date(1_800_000_000_000_000) == "2027-01-15 13:30:00 TST"


def test_shift_recall_and_explain_print_the_same_time_for_an_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_in(tmp_path)
    rig.played(3)
    journal = ("--journal", str(rig.place.journal))
    rows = map(json.loads, printed(capsys, "journal", "show", "--json", *journal).splitlines())
    row = next(row for row in rows if row["name"] == "roll.called")
    hours, minutes = divmod((int(row["wall"][11:13]) * 60 + int(row["wall"][14:16]) + 330) % 1440, 60)
    at = f"{hours:02}:{minutes:02}:{row['wall'][17:19]}"
    number = str(row["body"]["data"]["roll"])
    assert f"{at}  roll.called" in printed(capsys, "shift", *journal)
    assert f"{at}  roll.called" in printed(capsys, "recall", row["body"]["id"], *journal)
    assert f"{at}  roll.called" in printed(capsys, "explain", number, "--no-plot", *journal)


def test_a_tables_recording_is_printed_in_wall_time_and_any_other_log_in_its_own_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *readings = gzip.decompress(LOG.read_bytes()).decode().splitlines()
    recording = tmp_path / "recording.jsonl"
    of_a_table = json.dumps({**json.loads(header), "session": 1})
    recording.write_text("\n".join((of_a_table, *readings, "")), encoding="utf-8")
    own = printed(capsys, "replay", str(LOG)).splitlines()[0]
    by_the_wall = printed(capsys, "replay", str(recording)).splitlines()[0]
    assert own.split()[0].startswith("0:00:")
    assert by_the_wall.split()[0].startswith("01:30:"), "this is 20:00 in UTC"
    assert own.split()[1:] == by_the_wall.split()[1:]
