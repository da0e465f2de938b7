"""The watchdog notifies systemd only when every thread has run, and reports a stuck thread as a fault."""

from controller.app.faults import ActiveFaults
from controller.app.service import STUCK_TIMEOUT_S, Watchdog

SECOND_US = 1_000_000


class Turns:
    """Counts a thread's turns."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        return self.count


def test_systemd_is_notified_again_only_after_every_thread_has_run() -> None:
    core, recorder = Turns(), Turns()
    watchdog = Watchdog(ActiveFaults())
    watchdog.watch("core", core)
    watchdog.watch("recorder", recorder)
    assert watchdog.check(0)
    assert not watchdog.check(SECOND_US)
    core.count += 1
    assert not watchdog.check(2 * SECOND_US)
    recorder.count += 1
    assert watchdog.check(3 * SECOND_US)
    assert not watchdog.check(4 * SECOND_US)


def test_a_stuck_thread_is_a_fault_until_it_runs_again() -> None:
    core, recorder = Turns(), Turns()
    board = ActiveFaults()
    watchdog = Watchdog(board)
    watchdog.watch("core", core)
    watchdog.watch("recorder", recorder)
    for second in range(round(STUCK_TIMEOUT_S) + 2):
        recorder.count += 1
        watchdog.check(second * SECOND_US)
    assert [(fault.code, fault.where) for fault in board.locking] == [("thread_stopped", "core")]
    core.count += 1
    recorder.count += 1
    watchdog.check(100 * SECOND_US)
    assert board.present == ()
