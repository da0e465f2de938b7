"""Measure the time from the earliest possible call to its durable publication.

`python -m tests.benchmarks.latency [--throws N] [--camera]` throws dice in real time at a daemon with all its
threads, first alone and then beside a busy core or a working dice camera. A call is possible once the dice
are at rest, the hold is over and the watermark has passed. The goal at p99 is twice the sum of an fsynced
commit and the judge's time, both measured in the same run. The exit status is 1 if the goal is missed.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import apsw

from controller.app.clock import MonotonicClock
from controller.app.daemon import Daemon
from controller.app.hub import Watcher
from controller.app.options import Options
from controller.cli.run import SWITCH_S
from controller.model.readings import AnyReading
from controller.rules.dice.judge import judge_throw
from controller.settings.tables import load_table
from tests.app.house import live_of
from tests.app.rig import until
from tests.benchmarks.figures import Figure, hand_over
from tests.benchmarks.watching_camera import watching
from tests.scenes import TABLE, rest_of, throw

GOAL = 2.0
PROBE_S, ALONE_S = 0.002, 5.0
REST_S = 0.3
CALLED_WITHIN_S = 20.0
CALLED = b'"type":"roll.called"'


def p99(values: Sequence[float]) -> float:
    """Return the value that 99 % do not exceed."""
    return sorted(values)[max(0, round(len(values) * 0.99) - 1)]


class Floor:
    """The minimum cost of a call: a bare commit and the judge's work.

    Both are timed between two throws, after a pause like the pause before a call. An idle disk and cold
    caches cost more than in a tight loop (here 0.5 ms per commit instead of 0.1 ms).
    """

    def __init__(self, folder: Path) -> None:
        """Open a database beside the journal, with the journal's settings."""
        rules = load_table("craps").rules.throw
        assert rules is not None
        self._rules = rules
        self._connection = apsw.Connection(str(folder / "floor.db"))
        self._connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (b BLOB)"
        ).fetchall()
        self.commits_s: list[float] = []
        self.judgements_s: list[float] = []

    def measure(self, readings: list[AnyReading]) -> None:
        """Time the judge, and the fsynced commit of a row of the size of a call with its evidence."""
        threading.Event().wait(REST_S)
        start = time.perf_counter()
        self._connection.execute("INSERT INTO t VALUES (zeroblob(4096))")
        committed = time.perf_counter()
        judge_throw(
            tuple(readings), TABLE, self._rules, decided_at_us=rest_of(readings), warnings=0, sources={}
        )
        self.commits_s.append(committed - start)
        self.judgements_s.append(time.perf_counter() - committed)


def play(daemon: Daemon, readings: list[AnyReading]) -> None:
    """Post the readings as they happen."""
    pause = threading.Event()
    clock = MonotonicClock()
    for reading in readings:
        early_us = reading.t - clock.now_us()
        if early_us > 0:
            pause.wait(early_us / 1e6)
        daemon.inlet.post(reading)


def called(watcher: Watcher) -> bool:
    """Return whether the current throw was called. It is not called if its readings arrive too late."""
    end_s = time.monotonic() + CALLED_WITHIN_S
    while time.monotonic() < end_s:
        if any(CALLED in line for line in watcher.take(1.0)):
            return True
    return False


class LockProbe:
    """A thread that wakes up every 2 ms and measures its wait for the interpreter's lock."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.is_set():
            start = time.perf_counter()
            time.sleep(PROBE_S)
            self.waits_s.append(time.perf_counter() - start - PROBE_S)


def alone_s(seconds: float) -> list[float]:
    """Probe an idle process: the cost of the kernel's timer and scheduler."""
    with LockProbe() as probe:
        time.sleep(seconds)
    return probe.waits_s


def latencies_s(folder: Path, throws: int, floor: Floor) -> tuple[list[float], list[float]]:
    """Throw `throws` times; return the time from each possible call to its publication, and the lock waits.

    The waits are measured after the table's unlocking, because imports hold the interpreter's lock before it.
    """
    options = Options(
        table="craps", journal=folder / "journal", socket=folder / "control", self_test_devices=False
    )
    daemon = Daemon(options, load_table("craps"), environ={})
    daemon.open()
    daemon.begin()
    until(lambda: live_of(daemon).journal.waiting == 0, "the journal")
    live_of(daemon).test()
    until(lambda: live_of(daemon).core.view.state.lock == "unlocked", "the self-test")
    rules = daemon.settings.rules
    assert rules.throw is not None
    wait_us = round((rules.throw.call_hold_ms + rules.max_lateness_ms) * 1000)
    watcher = daemon.hub.watch(frozenset({"outcomes"}))
    clock = MonotonicClock()
    measured = []
    with LockProbe() as probe:
        for _ in range(throws):
            readings = throw(clock.now_us() + 300_000)
            threading.Thread(target=play, args=(daemon, readings)).start()
            if not called(watcher):
                raise SystemExit(
                    "latency: a throw was not called, because the machine was too busy for its readings"
                )
            measured.append((clock.now_us() - rest_of(readings) - wait_us) / 1e6)
            floor.measure(readings)
    daemon.close()
    return measured, probe.waits_s


@contextmanager
def busy_cores(count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        yield


def measure(throws: int, beside: str) -> bool:
    """Print a row and return whether the goal is met; `beside` names the other load of the machine."""
    bare = alone_s(ALONE_S)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        least = Floor(Path(folder))
        published, waits = latencies_s(Path(folder), throws, least)
    commits, judged = least.commits_s, least.judgements_s
    floor = p99(commits) + p99(judged)
    hand_over(
        Figure(
            f"call to durable and told, median{beside}",
            statistics.median(published) * 1e3,
            (statistics.median(commits) + statistics.median(judged)) * 1e3,
            "ms",
            "commit + judge",
        ),
        Figure(
            f"call to durable and told, p99{beside}",
            p99(published) * 1e3,
            floor * 1e3,
            "ms",
            "commit p99 + judge p99",
        ),
        Figure(
            f"wait for the interpreter's lock, p99{beside}",
            p99(waits) * 1e3,
            p99(bare) * 1e3,
            "ms",
            "a process that does nothing else",
        ),
    )
    sys.stdout.write(
        f"wait for the interpreter's lock{beside}: p99 {p99(waits) * 1e3:.2f} ms, longest "
        f"{max(waits) * 1e3:.2f} ms of {len(waits):,}; a process that does nothing else: "
        f"p99 {p99(bare) * 1e3:.2f} ms, longest {max(bare) * 1e3:.2f} ms\n"
    )
    sys.stdout.write(
        f"call to durable and published{beside}: median {statistics.median(published) * 1e3:.2f} ms,"
        f" p99 {p99(published) * 1e3:.2f} ms;"
        f" commit p99 {p99(commits) * 1e3:.2f} ms + judge p99 {p99(judged) * 1e3:.2f} ms"
        f" = {floor * 1e3:.2f} ms: {p99(published) / floor:.2f} x (goal {GOAL:g} x)\n"
    )
    return p99(published) <= GOAL * floor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--throws", type=int, default=30)
    parser.add_argument(
        "--camera", action="store_true", help="measure beside the dice camera instead of a busy core"
    )
    arguments = parser.parse_args()
    throws = arguments.throws
    sys.setswitchinterval(SWITCH_S)  # as set by `tablectl run`
    met = measure(throws, "")
    if arguments.camera:
        with tempfile.TemporaryDirectory() as folder, watching(Path(folder)) as readings:
            met &= measure(throws, ", beside the dice camera")
        sys.stdout.write(f"the camera read {readings.read} dice during that time\n")
        return 0 if met else 1
    with busy_cores(1):
        met &= measure(throws, ", beside a busy core")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
