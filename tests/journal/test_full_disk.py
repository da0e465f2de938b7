"""A table's rows wait while the disk is full, and are written once there is space again."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal.faults import JournalFault
from controller.journal.keys import load_key, new_key
from controller.journal.lock import Lock, lock_path, os_fault
from controller.journal.reading import Reader
from tests.journal.rig import PATIENCE_S, append, begin, durable, play_throws, rig_in

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    # Detach lazily, so that a journal left open by a failed test does not keep the disk mounted.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Use up all free space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return ballast


def test_a_full_disk_is_a_fault_that_clears_when_space_returns(small: Path) -> None:
    rig = rig_in(small)
    steps = play_throws(6)
    journal = rig.open()
    durable(begin(journal))
    ballast = fill(small)
    tickets = [append(journal, step) for step in steps]
    assert rig.alarmed.wait(PATIENCE_S)
    assert not tickets[-1].durable
    ballast.unlink()
    for ticket in tickets:
        durable(ticket)
    journal.close()
    assert rig.alarms[0] == "journal_disk_full"
    assert rig.alarms[-1] is None
    assert [row.seq for row in rig.published] == [o.seq for step in steps for o in step.outcomes]
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().outcomes == len(rig.published)
        assert [row.name for row in reader.rows(types={"journal.healed"})]


def test_a_disk_mounted_read_only_is_named_at_the_start(small: Path) -> None:
    rig = rig_in(small)
    rig.open().close()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    with pytest.raises(JournalFault, match="journal_read_only"):
        rig.open()
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().outcomes == 0
    subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    rig.open().close()


def test_a_controller_that_starts_on_a_full_disk_still_locks_its_journal(small: Path) -> None:
    journal = small / "journal.db"
    lock_path(journal).touch()
    fill(small)
    held = Lock(journal)
    with pytest.raises(JournalFault, match="journal_in_use"):
        Lock(journal)
    held.release()


def test_a_table_restarted_on_a_full_disk_reports_that_the_disk_is_full(small: Path) -> None:
    rig = rig_in(small)
    rig.open().close()
    ballast = fill(small)
    with pytest.raises(JournalFault, match="journal_disk_full"):
        rig.open()
    ballast.unlink()
    rig.open().close()


def test_a_key_that_did_not_fit_on_a_full_disk_leaves_no_partial_file(small: Path) -> None:
    ballast = fill(small)
    with pytest.raises(OSError, match="No space left") as raised:
        new_key(small / "key")
    assert os_fault(raised.value, small / "key", "a key file").code == "journal_disk_full"
    assert not (small / "key").exists()
    ballast.unlink()
    assert new_key(small / "key").raw == load_key(small / "key").public.raw
