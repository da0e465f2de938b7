"""A program that never stops reading the journal. The WAL grows, and the fault names the program."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal import lock
from controller.journal.lock import list_readers
from controller.journal.writer import Limits
from tests.app.rig import until
from tests.journal.rig import Rig, begin, durable

READS = """
import apsw, sys
connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)
connection.execute("BEGIN; SELECT count(*) FROM rows").fetchall()
print("reads", flush=True)
sys.stdin.read()
"""
SMALL = Limits(retry_s=0.001, wal_pages=4, wal_fault_pages=40)


@pytest.fixture
def reading(rig: Rig) -> Iterator["subprocess.Popen[bytes]"]:
    """Read the journal from another process until this process is stopped."""
    rig.played(1)
    words = [sys.executable, "-c", READS, str(rig.place.journal)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reads\n"
        yield process
        process.kill()


def test_an_endless_reader_is_named_and_rows_are_still_written(
    rig: Rig, reading: "subprocess.Popen[bytes]"
) -> None:
    # The reader's process opened the file, and the table starts beside it.
    with rig.open(SMALL) as journal:
        begin(journal)
        while "journal_wal_grows" not in rig.alarms:
            durable(journal.note("test.row", {"text": "x" * 8000}))
        assert journal.fault is None, "play must continue"
        reading.communicate()
        wal = rig.place.journal.with_name("journal.db-wal")

        def written_back() -> bool:
            durable(journal.note("test.row", {}))
            return rig.alarms[-1] is None

        until(written_back, "the WAL to be checkpointed once no reader blocks it")
        assert wal.stat().st_size < 40 * 4096


def test_a_reader_is_named_by_program_and_process(rig: Rig, reading: "subprocess.Popen[bytes]") -> None:
    (named,) = list_readers(rig.place.journal)
    assert named.startswith("python")
    assert named.endswith(f" (process {reading.pid})")


def test_without_information_from_the_system_no_reader_is_named(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list_readers(tmp_path / "none.db") == []
    rig.played(1)
    monkeypatch.setattr(lock, "PROC_LOCKS", tmp_path / "not-there")
    with rig.open():
        assert list_readers(rig.place.journal) == []
