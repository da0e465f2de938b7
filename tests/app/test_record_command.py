"""A recording by `tablectl record` on a running daemon replays to the published outcomes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli.main import main
from tests.app.rig import PATIENCE_S, Table, lines_of, tick, until
from tests.scenes import SECOND_US, throw

Output = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Yield a craps table whose time follows its readings, after one throw."""
    one = Table(tmp_path / "table")
    one.folder.mkdir()
    one.start()
    one.unlock()
    plays(one, 10)
    yield one
    one.kill()


def plays(table: Table, *starts_s: int) -> None:
    """Throw the dice at these times, then advance time."""
    for start_s in starts_s:
        readings = throw(start_s * SECOND_US)
        table.feed(lines_of((reading.t, reading) for reading in readings))
        table.feed([tick((start_s + 15) * SECOND_US)])


def begins(table: Table, out: Path, *limit: str) -> subprocess.Popen[str]:
    """Start recording, and wait until the command reports the start."""
    where = ("--socket", table.socket)
    command = [sys.executable, "-m", "controller.cli.main", "record", str(out), *limit, *where]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("tablectl: recording from #")
    return process


def test_a_recording_replays_to_what_the_table_published(
    table: Table, tmp_path: Path, capsys: Output
) -> None:
    out, expected = tmp_path / "two.jsonl.gz", tmp_path / "two.expected.jsonl"
    process = begins(table, out, "--attempts", "2")
    plays(table, 30, 50)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert main(["replay", str(out), "--check", str(expected)]) == 0
    answer = [json.loads(line) for line in expected.read_text().splitlines()]
    assert [one["data"]["roll"] for one in answer if one["type"] == "roll.called"] == [2, 3]
    journaled = {row.seq: row.body for row in table.rows() if row.seq is not None}
    assert all(json.loads(bytes(journaled[one["seq"]] or b"{}"))["id"] == one["id"] for one in answer)
    capsys.readouterr()


def test_a_recording_without_play_writes_nothing(table: Table, tmp_path: Path) -> None:
    process = begins(table, tmp_path / "none.jsonl", "--seconds", "1")
    _, said = process.communicate()
    assert (process.returncode, said) == (1, "tablectl: nothing was played, so nothing was written\n")
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.usefixtures("hears_signals")
def test_a_hang_up_during_a_throw_leaves_no_log_and_the_throw_is_called(table: Table, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    process = begins(table, folder / "cut.jsonl.gz", "--attempts", "1")
    thrown = throw(30 * SECOND_US)
    half = len(thrown) // 2
    table.feed(lines_of((reading.t, reading) for reading in thrown[:half]))
    until(lambda: table.status()["attempt_open"] is True, "the throw in progress")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGHUP
    assert list(folder.iterdir()) == []
    table.feed(lines_of((reading.t, reading) for reading in thrown[half:]))
    table.feed([tick(50 * SECOND_US)])
    until(lambda: sum(row.name == "roll.called" for row in table.rows()) == 2, "the call")


def test_a_name_of_another_kind_and_a_table_that_does_not_run_are_refused(
    tmp_path: Path, capsys: Output
) -> None:
    assert main(["record", str(tmp_path / "a.txt"), "--socket", "/nonexistent"]) == 2
    assert main(["record", str(tmp_path / "a.jsonl"), "--socket", "/nonexistent"]) == 3
    assert list(tmp_path.iterdir()) == []
    capsys.readouterr()
