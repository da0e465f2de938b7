"""A disk that hangs when the controller stops. Exactly the unwritten rows are reported."""

from pathlib import Path

from tests.lab import games
from tests.lab.conftest import MakeMachine
from tests.lab.guest import hung_disk
from tests.lab.machine import VIRTUAL_TIME, empty_disk
from tests.lab.report import Report

NOT_FLUSHED = 5
"""The exit code of a controller whose last rows could not be written."""


def test_a_disk_that_hangs_at_the_stop_is_named_and_its_journal_is_sound(
    machine: MakeMachine, report: Report, tmp_path: Path
) -> None:
    table = machine(disks=[empty_disk(tmp_path / "journal.img", 24)], arguments=[VIRTUAL_TIME])
    games.lay_out("craps", table.folder)

    found = table.call(hung_disk.stop, hangs_ms=25_000)

    report.note("a disk that hangs for 25 s during the stop", f"exit {found.exit_code}, {found.words[-2:]}")
    assert found.exit_code == NOT_FLUSHED
    assert any("journal_not_flushed" in word for word in found.words), found.words
    assert "0 entries" not in " ".join(found.words)
    assert "sound" in found.verified or "ok" in found.verified.lower(), found.verified
