"""Verify the whole journal in the background: a start checks only what came since the last checkpoint."""

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

from controller.app.board import Board
from controller.app.faults import of_journal
from controller.app.log import INFO, log
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.verify import Verified

DUTY = "verifying"
_PAUSE_S = 0.2
"""Between two slices, so that it takes little of a core that has a table to run."""


class _StoppedError(Exception):
    """The controller stops before all is verified."""


class Verifier:
    """One walk along the journal, from its first row."""

    def __init__(self, journal: Path, board: Board, *, done: Callable[[Verified], None]) -> None:
        """`done` hears of a sound journal; a fault goes to the board and locks play."""
        self._journal = journal
        self._board = board
        self._done = done
        self._stop = Event()
        self._thread = Thread(target=self._work, name="verifier", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Leave off; a check of the file's pages that is under way ends with the process."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        try:
            with Reader(self._journal) as reader:
                found = reader.verify_all(self._walked)
        except _StoppedError:
            return
        except JournalFault as fault:
            self._board.began(of_journal(fault), DUTY)
            return
        log(INFO, f"{self._journal}: sound: {found.rows} rows, {found.outcomes} outcomes")
        self._done(found)

    def _walked(self, _rows: int, _of: int) -> None:
        if self._stop.wait(_PAUSE_S):
            raise _StoppedError
