"""A process with the lowest priority verifies the whole journal while the table runs."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest

from controller.app import background
from controller.app.background import Verifier
from controller.app.faults import ActiveFaults
from controller.journal.verify import VerificationResult
from tests.app.rig import PATIENCE_S, until
from tests.journal.rig import Rig, rig_in
from tests.journal.tamper import sql, tamper


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Return a table that has played."""
    one = rig_in(tmp_path)
    one.played(3)
    return one


class VerifierReports:
    """Collects the verifier's reports."""

    def __init__(self, journal: Path) -> None:
        self.faults = ActiveFaults()
        self.found: list[VerificationResult] = []
        self.over = Event()
        self.verifier = Verifier(journal, self.faults, done=self._done)

    def _done(self, found: VerificationResult) -> None:
        self.found.append(found)
        self.over.set()

    @property
    def codes(self) -> list[str]:
        return [fault.code for fault in self.faults.present]


def test_a_sound_journal_is_reported_sound_with_all_findings(rig: Rig) -> None:
    heard = VerifierReports(rig.place.journal)
    heard.verifier.start()
    assert heard.over.wait(PATIENCE_S)
    (found,) = heard.found
    assert found.outcomes == len(rig.published)
    assert len(found.last_link) == 32
    assert heard.codes == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE rows SET wall_us = 0 WHERE n = 3", "journal_row_moved"),
        ("UPDATE rows SET body = x'7b7d' WHERE n = 3", "journal_row_changed"),
        ("UPDATE rows SET signature = zeroblob(64) WHERE n = 4", "journal_bad_signature"),
        ("UPDATE evidence SET packed = x'00' WHERE n = (SELECT min(n) FROM evidence)", "journal_row_changed"),
        ("DELETE FROM evidence WHERE n = (SELECT min(n) FROM evidence)", "journal_row_changed"),
    ],
    ids=["time", "contents", "signature", "evidence", "evidence gone"],
)
def test_an_old_change_locks_the_table(rig: Rig, change: str, code: str) -> None:
    tamper(rig.place.journal, sql(change))
    heard = VerifierReports(rig.place.journal)
    heard.verifier.start()
    until(lambda: heard.codes == [code], lambda: f"the change to be found: {heard.codes}")
    assert heard.faults.locking


def test_the_verifier_ends_when_its_controller_is_killed(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    os.mkfifo(journal)  # opening it for reading waits forever
    program = (
        "import sys, threading; from pathlib import Path;"
        "from controller.app.faults import ActiveFaults; from controller.app.background import Verifier;"
        "Verifier(Path(sys.argv[1]), ActiveFaults(), done=print).start(); threading.Event().wait()"
    )
    controller = subprocess.Popen([sys.executable, "-c", program, str(journal)])

    def verifying() -> bool:
        for words in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if f"controller.app.background\0{journal}\0".encode() in words.read_bytes():
                    return True
        return False

    until(verifying, "the verification to begin")
    controller.kill()
    controller.wait()
    until(lambda: not verifying(), "the verification to end")


def test_a_verifier_that_was_killed_is_started_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = VerifierReports(rig.place.journal)
    popen = subprocess.Popen
    ends = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    words = iter([ends])

    def first_one_ends(command: list[str], **given: int) -> "subprocess.Popen[bytes]":
        return popen(next(words, command), **given)  # type: ignore[call-overload,no-any-return]  # as passed in

    monkeypatch.setattr(background, "RESTART_S", 0.001)
    monkeypatch.setattr(subprocess, "Popen", first_one_ends)
    heard.verifier.start()
    assert heard.over.wait(PATIENCE_S)
    assert heard.codes == []
    changes = [(change.fault.code, change.began) for change in heard.faults.changes()]
    assert changes == [("verifier_ended", True), ("verifier_ended", False)]


def test_the_verifier_ends_at_once_when_the_controller_stops(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = subprocess.Popen
    begun = Event()

    def sleeps(_: list[str], **given: int) -> "subprocess.Popen[bytes]":
        begun.set()
        return popen(["sleep", "10000"], **given)  # type: ignore[call-overload,no-any-return]  # as passed in

    monkeypatch.setattr(subprocess, "Popen", sleeps)
    heard = VerifierReports(rig.place.journal)
    heard.verifier.start()
    assert begun.wait(PATIENCE_S)
    heard.verifier.stop(PATIENCE_S)
    assert not heard.verifier._process._thread.is_alive()
    assert (heard.found, heard.codes) == ([], [])


def test_a_stopped_verifier_is_a_fault_and_what_it_finds_later_counts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Play must not continue on an unverified journal while the verifier is stopped."""
    tamper(rig.place.journal, sql("UPDATE rows SET wall_us = 0 WHERE n = 3"))
    heard = VerifierReports(rig.place.journal)
    popen, made = subprocess.Popen, list[int]()

    def stopped(command: list[str], **given: int) -> "subprocess.Popen[bytes]":
        process: subprocess.Popen[bytes] = popen(command, **given)  # type: ignore[call-overload]  # as passed in
        os.kill(process.pid, signal.SIGSTOP)
        made.append(process.pid)
        return process

    monkeypatch.setattr(background, "OVERDUE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(subprocess, "Popen", stopped)
    heard.verifier.start()
    until(lambda: heard.codes == ["verifier_ended"], "the silence to be reported")
    (fault,) = heard.faults.present
    assert f"process {made[0]} has returned no result" in fault.found
    os.kill(made[0], signal.SIGCONT)
    until(lambda: heard.codes == ["journal_row_moved"], "the change to be found")
    assert len(made) == 1


def test_the_verifier_uses_only_idle_processor_time(rig: Rig) -> None:
    program = (
        "import os, sys; from controller.app.background import main; main(sys.argv[1]);"
        " sys.exit(os.sched_getscheduler(0) != os.SCHED_IDLE)"
    )
    assert hasattr(os, "SCHED_IDLE")
    done = subprocess.run([sys.executable, "-c", program, str(rig.place.journal)], check=False)
    assert done.returncode == 0
