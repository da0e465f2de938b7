"""Verify the whole journal, in a process of its own: a start checks only what the state rests on.

A thread of the controller's would take twelve seconds for what a process does in two, and be in play's way.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

import msgspec

from controller.app.board import Board
from controller.app.faults import Fault, of_journal
from controller.app.log import INFO, log
from controller.app.verifying import Found
from controller.journal.faults import FAULTS, JournalFault
from controller.journal.verify import Verified

DUTY = "verifying"
AGAIN_S = 10.0
"""After a process that ended without a word: something else on the machine took it."""
_decode = msgspec.json.Decoder(Found).decode


class Verifier:
    """One walk along the journal, from its first row."""

    def __init__(self, journal: Path, board: Board, *, done: Callable[[Verified], None]) -> None:
        """`done` hears of a sound journal; a fault goes to the board and locks play."""
        self._journal = journal
        self._board = board
        self._done = done
        self._stop = Event()
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._work, name="verifier", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Leave off."""
        self._stop.set()
        with self._lock:
            if self._process is not None:
                self._process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while not self._stop.is_set():
            found = self._found()
            if found is not None:
                self._board.over("verifier_ended")
                self._tell(found)
                return
            if not self._stop.is_set():
                self._board.began(Fault("verifier_ended", "verifier", "no word at its end"))
                self._stop.wait(AGAIN_S)

    def _found(self) -> Found | None:
        """Run the process to its end; return what it says, None where it says nothing."""
        words = [sys.executable, "-m", "controller.app.verifying", str(self._journal)]
        with self._lock:
            if self._stop.is_set():
                return None
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the words are this module's own
                    words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
                )
            except OSError:
                return None
        told, _ = self._process.communicate()
        try:
            return _decode(told)
        except msgspec.MsgspecError:
            return None

    def _tell(self, found: Found) -> None:
        if found.verified is not None:
            verified = Verified(**msgspec.structs.asdict(found.verified))
            log(INFO, f"{self._journal}: sound: {verified.rows} rows, {verified.outcomes} outcomes")
            self._done(verified)
        elif found.fault is not None and found.fault.code in FAULTS:
            fault = found.fault
            self._board.began(
                of_journal(JournalFault(fault.code, fault.where, fault.found, fault.expected)), DUTY
            )
