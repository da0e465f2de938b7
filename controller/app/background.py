"""Background processes of the controller, at the lowest priority, each restarted until it has answered.

A thread of the controller would take many times as long for the same work, and slow down play.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread

from controller.app.faults import ActiveFaults, Fault

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
