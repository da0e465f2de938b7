"""Background work: processes at the lowest priority, and the upkeep of a running table's journal.

A start verifies only the rows on which the state depends. A separate process, `python -m
controller.app.background JOURNAL`, verifies the rest and writes the result as one line of JSON. The process
needs two seconds where a thread of the controller would need twelve, and it does not slow down play. Contents
older than the table's retention period are dropped once an hour.
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
from controller.journal.verify import Verified
from controller.model.tables import RetentionSettings

RESTART_S = 10.0
"""The wait before a process that ended without a result is started again; it was probably killed."""
OVERDUE_TIMEOUT_S = 600.0
"""A process that returns no result for this long is reported as a fault, but not stopped."""


def lower_priority() -> None:
    """Lower this process's scheduling priority to idle, and end it when the controller ends."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        Thread(target=_end_with_controller, daemon=True).start()
    with suppress(OSError):  # a service manager may forbid it; the priority then stays normal
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_controller() -> None:
    """Wait for the end of standard input, which means that the controller ended; then exit."""
    while os.read(0, 1):
        pass
    os._exit(1)


class BackgroundProcess:
    """A process that runs `python` with these arguments and writes its result to standard output.

    It is restarted until it returns a result.
    """

    def __init__(
        self, what: str, arguments: Sequence[str], faults: ActiveFaults, *, accept: Callable[[bytes], bool]
    ) -> None:
        """Prepare a process; `what` names it in faults, `accept` returns whether its output is valid."""
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
        """Kill the process and end its thread."""
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
        """Run the process until it ends; return its output, or None if it can't be started or is stopping."""
        its_end, our_end = os.pipe()
        with os.fdopen(our_end, "wb"):  # the process ends with the controller, which closes this end
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
    """The first fault of a journal, as in `JournalFault`."""

    code: str
    where: str
    found: str
    expected: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the process: the counts of a valid journal, or the journal's fault."""

    verified: Verified | None = None
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
    """Verify at the lowest priority, and write the result."""
    lower_priority()
    sys.stdout.buffer.write(msgspec.json.encode(verify(Path(journal))) + b"\n")


DUTY = "verifying"
_decode = msgspec.json.Decoder(Verification).decode


class Verifier:
    """One verification of the whole journal in the background."""

    def __init__(self, journal: Path, faults: ActiveFaults, *, done: Callable[[Verified], None]) -> None:
        """Prepare the verification; `done` is called if the journal is valid, else its fault locks play."""
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
"""One hour: contents are kept at most an hour too long, and a check takes only milliseconds."""
DAY_US = 86_400_000_000


class Retention:
    """Drops the journal's expired contents; their digests are kept, so that the chain can be verified."""

    def __init__(self, journal: Journal, settings: RetentionSettings, wall: Callable[[], WallTime]) -> None:
        """Set up the retention; the first call of `drop_expired` checks at once."""
        self._journal = journal
        self._settings = settings
        self._wall = wall
        self._due_us = 0

    def drop_expired(self, now_us: int) -> None:
        """Drop expired contents, at most once an hour of monotonic time `now_us`.

        Nothing is dropped while the wall clock is not synchronized, because it may be ahead.
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
            log(ERROR, f"{fault}; dropping expired contents will be retried in an hour")
            return
        log(INFO, f"{self._journal.place.journal}: dropping expired contents")


def _expiry_us(wall: WallTime, days: int | None) -> int:
    return 0 if days is None else max(0, wall.us - days * DAY_US)


if __name__ == "__main__":
    main(sys.argv[1])
