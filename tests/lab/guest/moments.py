"""The installed controller, modified to report and stop at one of the most critical moments for a power cut.

`python -m tests.lab.guest.moments MOMENT NTH run ...` runs `tablectl run ...`, modified only at the moment.
At the moment's NTH occurrence, the program writes the moment's name to the FIFO. The thread then waits
forever, or continues if the power is to be cut during the next operation.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from controller.app.background import PRUNED_BY
from controller.app.core import Core
from controller.app.recording import RecordingSeries, Rotation
from controller.app.running import RunningTable
from controller.cli.main import main
from controller.journal import writer
from controller.journal.contents import CHECKPOINT
from controller.journal.journal import Journal
from controller.journal.writer import Limits, Writer
from tests.lab.guest.cut_table import MOMENT

ROWS_BETWEEN_CHECKPOINTS = 24
WAL_PAGES = 48
PRUNED_AFTER_US = 3_000_000
"""The age at which this table prunes data, verified or not. A real table prunes data after days."""
SHORT = Rotation(size=20_000, quiet_us=0)
"""Limits that cause frequent rotation. A real table begins a new recording only after six hours or 16 MB."""
After = Callable[[tuple[Any, ...], Any], None]
"""Called with the arguments of a call and its return value."""


class Moment:
    """One moment, whose occurrences are counted up to the chosen occurrence."""

    def __init__(self, name: str, nth: int) -> None:
        self._name, self._left = name, nth

    def comes(self, *, stops: bool) -> None:
        """Count an occurrence. At the chosen one, notify the host, and stop here if `stops` is true."""
        self._left -= 1
        if self._left:
            return
        line = os.open(MOMENT, os.O_WRONLY)
        os.write(line, self._name.encode() + b"\n")
        os.close(line)
        if stops:
            threading.Event().wait()


def _put(owner: object, name: str, call: Callable[..., Any]) -> None:
    """Replace a function that the controller calls; fail if it no longer exists."""
    assert hasattr(owner, name), f"{owner} has no {name}"
    setattr(owner, name, call)


def _before(owner: object, name: str, act: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        act()
        return original(*args, **kwargs)

    _put(owner, name, call)


def _after(owner: object, name: str, act: After) -> None:
    original = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        returned = original(*args, **kwargs)
        act(args, returned)
        return returned

    _put(owner, name, call)


def _in_the_opening(moment: Moment) -> None:
    _before(Journal, "start", lambda: moment.comes(stops=True))


def _before_a_commit(moment: Moment) -> None:
    _before(writer, "insert", lambda: moment.comes(stops=True))


def _in_a_commit(moment: Moment) -> None:
    _before(writer, "insert", lambda: moment.comes(stops=False))


def _between_commit_and_tell(moment: Moment) -> None:
    _after(writer, "insert", lambda _args, _returned: moment.comes(stops=True))


def _between_tell_and_head(moment: Moment) -> None:
    _before(Writer, "_write_head", lambda: moment.comes(stops=True))


def _behind_a_checkpoint(moment: Moment) -> None:
    def look(args: tuple[Any, ...], _returned: object) -> None:
        _, rows, _ = args
        if rows and rows[-1].name == CHECKPOINT:
            moment.comes(stops=True)

    _after(writer, "insert", look)


def _in_a_write_back(moment: Moment) -> None:
    _before(Writer, "_write_back", lambda: moment.comes(stops=False))


def _in_a_pruning(moment: Moment) -> None:
    due_us = 0

    def look(self: RunningTable, now_us: int) -> None:
        nonlocal due_us
        if now_us >= due_us:
            due_us = now_us + PRUNED_AFTER_US
            now = self.journal._wall().us
            self.journal.prune(evidence_before_us=now, bodies_before_us=now, by=PRUNED_BY)

    def dropped(_args: object, some: bool) -> None:
        if some:
            moment.comes(stops=True)

    _put(RunningTable, "drop_expired", look)
    _after(writer, "prune_batch", dropped)


def _in_a_rotation(moment: Moment) -> None:
    """Rotate between two attempts, because a feed without pauses would never cause a rotation."""
    original = RecordingSeries.__init__

    def init(self: RecordingSeries, *args: Any) -> None:
        setup, epoch, recorder, _, *rest = args
        original(self, setup, epoch, recorder, SHORT, *rest)

    def is_idle(self: Core, _now_us: int) -> bool:
        return not (self._attempt_open or self._bets_closed or self._testing or self._lock_requested)

    def rotate(args: tuple[Any, ...], _returned: object) -> None:
        core, _, now_us = args
        core._rotate(now_us)

    _put(RecordingSeries, "__init__", init)
    _put(Core, "_is_idle", is_idle)
    _after(Core, "_handle", rotate)
    _after(RunningTable, "_note_recording", lambda _args, _returned: moment.comes(stops=False))


MOMENTS: Mapping[str, Callable[[Moment], None]] = {
    "in the opening": _in_the_opening,
    "before a commit": _before_a_commit,
    "in a commit": _in_a_commit,
    "between commit and tell": _between_commit_and_tell,
    "between tell and head": _between_tell_and_head,
    "behind a checkpoint": _behind_a_checkpoint,
    "in a write-back": _in_a_write_back,
    "in a pruning": _in_a_pruning,
    "in a rotation": _in_a_rotation,
}


def _smaller() -> None:
    """Increase the frequency of the journal's checkpoints and those of SQLite's log."""
    original = Writer.__init__

    def init(self: Writer, *args: Any, **kwargs: Any) -> None:
        kwargs["limits"] = Limits(rows_between_checkpoints=ROWS_BETWEEN_CHECKPOINTS, wal_pages=WAL_PAGES)
        original(self, *args, **kwargs)

    _put(Writer, "__init__", init)


if __name__ == "__main__":
    _smaller()
    MOMENTS[sys.argv[1]](Moment(sys.argv[1], int(sys.argv[2])))
    sys.argv[:] = ["tablectl", *sys.argv[3:]]
    sys.exit(main())
