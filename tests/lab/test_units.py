"""The shipped unit under systemd, with all its hardening: the table recovers from every disturbance."""

from pathlib import Path

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import units
from tests.lab.machine import empty_disk
from tests.lab.report import Report

KILLS = 5
SMALL_MIB = 24


def _rises(found: units.Found) -> bool:
    """Return whether every start began a new session and no row is missing."""
    return found.sessions == sorted(set(found.sessions))


def test_a_process_that_hangs_or_is_killed_comes_back_and_a_read_only_etc_changes_nothing(
    machine: MakeMachine, report: Report
) -> None:
    hung, killed, read_only = machine(systemd=True).call(units.ended, KILLS)

    report.times("hang to ready again", hung.ready_us)
    report.times("kill to ready again", killed.ready_us)
    for found in (hung, killed, read_only):
        assert found.active == "active"
        assert _rises(found)
    assert any("watchdog" in word.lower() for word in hung.words)
    assert len(killed.sessions) == KILLS + 1
    assert "Read-only" in read_only.words[0]
    assert "sound" in read_only.verified or "ok" in read_only.verified.lower(), read_only.verified


def test_a_clock_set_back_locks_the_table_until_a_person_approves_it(
    machine: MakeMachine, report: Report
) -> None:
    found = machine(systemd=True).call(units.clock_back)

    report.note("clock 80 days back", f"{found.faults}, {found.locks}")
    back, restarted, forward, approved, last = found.faults[1:]
    for codes in (back, restarted, forward):
        assert "clock_stepped" in codes, "a restart must not lift a lock that only a person may lift"
    assert "clock_stepped" not in approved
    assert "clock_stepped" not in last
    assert found.locks[:3] == ["locked"] * 3


def test_a_table_that_starts_in_1970_continues_once_the_time_is_known(
    machine: MakeMachine, report: Report
) -> None:
    found = machine(systemd=True).call(units.boot_in_1970)

    report.note("a start in 1970", f"{found.faults}, {found.words}")
    assert found.active == "active"
    assert _rises(found)


@pytest.mark.parametrize("mib", [SMALL_MIB])
def test_a_full_disk_locks_the_table_until_there_is_room(
    machine: MakeMachine, report: Report, tmp_path: Path, mib: int
) -> None:
    found = machine(systemd=True, disks=[empty_disk(tmp_path / "journal.img", mib)]).call(units.full_disk)

    report.note("a full disk", f"{found.faults}, {found.locks}")
    _, full, restarted, room = found.faults
    for codes in (full, restarted):
        assert any(code.startswith("journal") for code in codes)
    assert found.locks == ["locked", "locked"]
    assert not any(code.startswith("journal") for code in room)
    assert _rises(found)
