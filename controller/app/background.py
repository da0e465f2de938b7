"""Background work: processes at the lowest priority, and the upkeep of a running table's journal.

A thread of the controller would take many times as long for the same work, and slow down play. So a start
verifies only what the state rests on, and a process verifies the rest of the journal: `python -m
controller.app.background JOURNAL` takes two seconds for what a thread of the controller did in twelve, and
writes what it found as one line of JSON. Contents older than the table keeps are dropped once an hour.
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

from controller.app.faults import ActiveFaults, Fault, of_journal
from controller.app.service import ERROR, INFO, log
from controller.journal.chain import WallTime
from controller.journal.faults import FAULTS, JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.verify import Verified
from controller.model.tables import RetentionSettings

AGAIN_S = 10.0
"""The wait after a process ended without an answer: something else on the machine killed it."""
PATIENCE_S = 600.0
"""How long a process may work without an answer before a fault reports it; it is allowed to continue."""


def lower_priority() -> None:
    """Lower this process's priority to idle, and end it when the controller ends."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        Thread(target=_end_with_the_controller, daemon=True).start()
    with suppress(OSError):  # a service manager may forbid it; then it runs like any other process
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_the_controller() -> None:
    """Wait for the end of standard input: if the controller was killed, nobody reads the answer."""
    while os.read(0, 1):
        pass
    os._exit(1)


class BackgroundProcess:
    """A run of `python` with these arguments, whose output is its answer."""

    def __init__(
        self, what: str, words: Sequence[str], faults: ActiveFaults, *, answered: Callable[[bytes], bool]
    ) -> None:
        """`answered` receives the output and returns whether it is an answer; if not, the process is run
        again."""
        self._what = what
        self._words = (sys.executable, *words)
        self._faults = faults
        self._answered = answered
        self._stop = Event()
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._work, name=what, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Stop the process and its thread."""
        self._stop.set()
        with self._lock:
            if self._process is not None:
                self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while not self._stop.is_set():
            output = self._output()
            if output is not None and self._answered(output):
                self._faults.over("verifier_ended", self._what)
                return
            if not self._stop.is_set():
                self._faults.began(Fault("verifier_ended", self._what, "ended without a result"), self._what)
                self._stop.wait(AGAIN_S)

    def _output(self) -> bytes | None:
        """Run the process to its end; return its output, None if it can't be started."""
        its_end, our_end = os.pipe()
        with os.fdopen(our_end, "wb"):  # open for as long as the controller lives
            try:
                process = self._begun(its_end)
            finally:
                os.close(its_end)
            return None if process is None else self._output_of(process)

    def _begun(self, its_end: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stop.is_set():
                return None
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the words are this program's own
                    self._words, stdin=its_end, stdout=subprocess.PIPE
                )
            except OSError:
                return None
            return self._process

    def _output_of(self, process: subprocess.Popen[bytes]) -> bytes:
        while True:
            try:
                output, _ = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                found = f"process {process.pid} gave no result for {PATIENCE_S:.0f} s"
                self._faults.began(Fault("verifier_ended", self._what, found), self._what)
            else:
                return output


class Sound(msgspec.Struct, frozen=True, kw_only=True):
    """A sound journal, as in `Verified`."""

    rows: int
    outcomes: int
    signatures: int
    evidence: int
    dropped: int
    last_n: int
    last_link: bytes
    unvouched: tuple[str, ...]


class Unsound(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault, as in `JournalFault`."""

    code: str
    where: str
    found: str
    expected: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The result: one of the two."""

    verified: Sound | None = None
    fault: Unsound | None = None


def verify(journal: Path) -> Found:
    """Verify every page, row and signature."""
    try:
        with Reader(journal) as reader:
            return Found(verified=Sound(**reader.verify_all()._asdict()))
    except JournalFault as fault:
        told = Unsound(code=fault.code, where=fault.where, found=fault.found, expected=fault.expected)
        return Found(fault=told)


def main(journal: str) -> None:
    """Verify at the lowest priority, and say what was found."""
    lower_priority()
    sys.stdout.buffer.write(msgspec.json.encode(verify(Path(journal))) + b"\n")


DUTY = "verifying"
_decode = msgspec.json.Decoder(Found).decode


class Verifier:
    """One walk along the journal, from its first row."""

    def __init__(self, journal: Path, faults: ActiveFaults, *, done: Callable[[Verified], None]) -> None:
        """`done` is called when the journal is sound; a fault becomes active and locks play."""
        self._journal = journal
        self._faults = faults
        self._done = done
        words = ("-m", "controller.app.background", str(journal))
        self._process = BackgroundProcess("verifier", words, faults, answered=self._answered)
        self.start = self._process.start
        self.stop = self._process.stop

    def _answered(self, output: bytes) -> bool:
        try:
            found = _decode(output)
        except msgspec.MsgspecError:
            return False
        if found.verified is not None:
            verified = Verified(**msgspec.structs.asdict(found.verified))
            log(INFO, f"{self._journal}: sound: {verified.rows} rows, {verified.outcomes} outcomes")
            self._done(verified)
        elif found.fault is not None and found.fault.code in FAULTS:
            fault = found.fault
            self._faults.began(
                of_journal(JournalFault(fault.code, fault.where, fault.found, fault.expected)), DUTY
            )
        return True


PRUNED_BY = "retention"
"""Named in the journal's own row as who decided it."""
LOOK_EVERY_US = 3_600_000_000
"""An hour: nothing outlives its time by more, and finding nothing to drop takes milliseconds."""
DAY_US = 86_400_000_000


class Retention:
    """Has the journal drop what the table keeps no longer; digests stay, so the chain goes on verifying."""

    def __init__(self, journal: Journal, settings: RetentionSettings, wall: Callable[[], WallTime]) -> None:
        """Look first when asked for the first time."""
        self._journal = journal
        self._settings = settings
        self._wall = wall
        self._due_us = 0

    def drop_expired(self, now_us: int) -> None:
        """Drop what is too old by now, once an hour of monotonic time `now_us`.

        A clock that is not synchronized drops nothing: one that is ahead would take what must stay.
        """
        settings, wall = self._settings, self._wall()
        if now_us < self._due_us or settings.keeps_all or not wall.synced:
            return
        self._due_us = now_us + LOOK_EVERY_US
        evidence_before_us = _before_us(wall, settings.evidence_days)
        bodies_before_us = _before_us(wall, settings.outcomes_days)
        try:
            with Reader(self._journal.place.journal) as reader:
                if not reader.has_older(evidence_before_us, bodies_before_us):
                    return
            self._journal.prune(
                evidence_before_us=evidence_before_us, bodies_before_us=bodies_before_us, by=PRUNED_BY
            )
        except JournalFault as fault:
            log(ERROR, f"{fault}; old contents are dropped in an hour instead")
            return
        log(INFO, f"{self._journal.place.journal}: dropping expired contents")


def _before_us(wall: WallTime, days: int | None) -> int:
    return 0 if days is None else max(0, wall.us - days * DAY_US)


if __name__ == "__main__":
    main(sys.argv[1])
