"""Background work: processes at the lowest priority, and the upkeep of a running table's journal.

At startup, the controller verifies only the rows on which the state depends. A separate process, `python -m
controller.app.background JOURNAL`, verifies the whole journal and writes the result as one line of JSON. The
process is six times as fast as a thread of the controller, and it does not slow down play. Once an hour,
contents older than the table's retention period are dropped.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

import msgspec

from controller.app.faults import ActiveFaults, Fault, journal_fault
from controller.app.service import ERROR, INFO, log
from controller.journal.chain import WallTime
from controller.journal.faults import FAULTS, JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.verify import VerificationResult
from controller.model.tables import RetentionSettings

RESTART_S = 10.0
"""Delay before restarting a process that ended without a result, probably because it was killed."""
OVERDUE_TIMEOUT_S = 600.0
"""A process that returns no result for this long is reported as a fault, but is not stopped."""


def lower_priority() -> None:
    """Set this process's scheduling priority to idle, and exit when the controller exits."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        Thread(target=_end_with_controller, daemon=True).start()
    with suppress(OSError):  # A service manager might forbid the change; the priority then remains normal.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_controller() -> None:
    """Exit when the controller exits, which closes the other end of standard input."""
    while os.read(0, 1):
        pass
    os._exit(1)


class BackgroundProcess:
    """A Python process that writes a result to standard output, and is restarted until the result is
    valid.
    """

    def __init__(
        self, what: str, arguments: Sequence[str], faults: ActiveFaults, *, accept: Callable[[bytes], bool]
    ) -> None:
        """Prepare the process; `what` names it in faults, and `accept` checks its output."""
        self._what = what
        self._command = (sys.executable, *arguments)
        self._faults = faults
        self._accept = accept
        self._stop = Event()
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._work, name=what, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Kill the process and wait for the thread to end."""
        self._stop.set()
        with self._lock:
            if self._process is not None:
                self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while not self._stop.is_set():
            output = self._run()
            if output is not None and self._accept(output):
                self._faults.clear("verifier_ended", self._what)
                return
            if not self._stop.is_set():
                self._faults.report(Fault("verifier_ended", self._what, "ended without a result"), self._what)
                self._stop.wait(RESTART_S)

    def _run(self) -> bytes | None:
        """Run the process until it ends; return its output, or None if it could not be started."""
        its_end, our_end = os.pipe()
        with os.fdopen(our_end, "wb"):  # closed if the controller exits, which ends the process
            try:
                process = self._start_process(its_end)
            finally:
                os.close(its_end)
            return None if process is None else self._read_output(process)

    def _start_process(self, its_end: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stop.is_set():
                return None
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the arguments are this program's own
                    self._command, stdin=its_end, stdout=subprocess.PIPE
                )
            except OSError:
                return None
            return self._process

    def _read_output(self, process: subprocess.Popen[bytes]) -> bytes:
        while True:
            try:
                output, _ = process.communicate(timeout=OVERDUE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                found = f"process {process.pid} has returned no result for {OVERDUE_TIMEOUT_S:.0f} s"
                self._faults.report(Fault("verifier_ended", self._what, found), self._what)
            else:
                return output


class FaultFound(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault found in a journal, with the fields of `JournalFault`."""

    code: str
    where: str
    found: str
    expected: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """A verification's result: the counts of a valid journal, or the journal's first fault."""

    verified: VerificationResult | None = None
    fault: FaultFound | None = None


def verify(journal: Path) -> Verification:
    """Verify every page, row and signature of a journal."""
    try:
        with Reader(journal) as reader:
            return Verification(verified=reader.verify_all())
    except JournalFault as fault:
        found = FaultFound(code=fault.code, where=fault.where, found=fault.found, expected=fault.expected)
        return Verification(fault=found)


def main(journal: str) -> None:
    """Verify this journal at the lowest priority, and write the result to standard output."""
    lower_priority()
    sys.stdout.buffer.write(msgspec.json.encode(verify(Path(journal))) + b"\n")


DUTY = "verifying"
_decode = msgspec.json.Decoder(Verification).decode


class Verifier:
    """One verification of the whole journal in the background."""

    def __init__(
        self, journal: Path, faults: ActiveFaults, *, done: Callable[[VerificationResult], None]
    ) -> None:
        """Prepare the verification; `done` is called with the counts if the journal is valid."""
        self._journal = journal
        self._faults = faults
        self._done = done
        arguments = ("-m", "controller.app.background", str(journal))
        self._process = BackgroundProcess("verifier", arguments, faults, accept=self._accept)
        self.start = self._process.start
        self.stop = self._process.stop

    def _accept(self, output: bytes) -> bool:
        try:
            result = _decode(output)
        except msgspec.MsgspecError:
            return False
        if (verified := result.verified) is not None:
            log(INFO, f"{self._journal}: sound: {verified.rows} rows, {verified.outcomes} outcomes")
            self._done(verified)
        elif (fault := result.fault) is not None and fault.code in FAULTS:
            self._faults.report(
                journal_fault(JournalFault(fault.code, fault.where, fault.found, fault.expected)), DUTY
            )
        return True


PRUNED_BY = "retention"
"""The `by` of the journal's row that records a deletion."""
CHECK_EVERY_US = 3_600_000_000
"""The interval between checks for expired contents; a check takes milliseconds."""
DAY_US = 86_400_000_000


class Retention:
    """Drops the journal's expired contents, as the retention settings require, and keeps their digests."""

    def __init__(self, journal: Journal, settings: RetentionSettings, wall: Callable[[], WallTime]) -> None:
        """Use these settings; the first call of `drop_expired` checks at once."""
        self._journal = journal
        self._settings = settings
        self._wall = wall
        self._due_us = 0

    def drop_expired(self, now_us: int) -> None:
        """Drop expired contents, at most once an hour; `now_us` is monotonic time.

        Nothing is dropped while the wall clock is not synchronized, because the clock might be ahead.
        """
        settings, wall = self._settings, self._wall()
        if now_us < self._due_us or settings.keeps_all or not wall.synced:
            return
        self._due_us = now_us + CHECK_EVERY_US
        evidence_before_us = _expiry_us(wall, settings.evidence_days)
        bodies_before_us = _expiry_us(wall, settings.outcomes_days)
        try:
            with Reader(self._journal.place.journal) as reader:
                if not reader.has_older(evidence_before_us, bodies_before_us):
                    return
            self._journal.prune(
                evidence_before_us=evidence_before_us, bodies_before_us=bodies_before_us, by=PRUNED_BY
            )
        except JournalFault as fault:
            log(ERROR, f"{fault}; expired contents were not dropped; the next attempt is in an hour")
            return
        log(INFO, f"{self._journal.place.journal}: dropping expired contents")


def _expiry_us(wall: WallTime, days: int | None) -> int:
    return 0 if days is None else max(0, wall.us - days * DAY_US)


if __name__ == "__main__":
    main(sys.argv[1])
