"""Many logs at once: each is replayed in one of several processes, and the results come in the logs' order.

A table's recordings are pieces that replay alone, so a year of them takes as many cores as there are.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from multiprocessing import active_children, get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

AHEAD = 4
"""Logs in hand for each worker: none idles, and few results wait for an earlier log's."""
_SHOWN_EVERY_S = 0.5
Result = TypeVar("Result")


class _Worker(NamedTuple):
    """What a worker process has from its parent: it is forked, so nothing of it needs to pickle."""

    lines: "Synchronized[int]"
    play: Callable[[str], object]


_worker: _Worker | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the logs are played; `fraction` is that of the bytes of the logs that are done."""

    logs: int
    done: int
    fraction: float
    lines: int
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at the pace so far; None before the first log is done."""
        return self.elapsed_s / self.fraction * (1 - self.fraction) if self.fraction else None


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def count_lines(lines: int) -> None:
    """In a worker: count lines that were read."""
    if _worker is not None:
        with _worker.lines.get_lock():
            _worker.lines.value += lines


def play_side_by_side(
    logs: Sequence[str],
    play: Callable[[str], Result],
    *,
    workers: int,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Result]:
    """Play each log in one of so many processes and yield the results in the logs' order.

    The results must pickle. `progress` is called twice a second. What `play` raises is raised
    here when its log's turn comes; a worker that is killed raises BrokenProcessPool. No process is left
    behind.
    """
    context = get_context("fork")
    lines = context.Value("q", 0)
    sizes = [_size_of(log) for log in logs]
    began = time.monotonic()

    def show(done: int) -> None:
        if progress is not None:
            fraction = sum(sizes[:done]) / (sum(sizes) or 1)
            progress(Progress(len(logs), done, fraction, lines.value, time.monotonic() - began))

    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(_Worker(lines, play),))
    others = set(active_children())
    try:
        waiting = iter(logs)
        in_hand = deque(pool.submit(_play, log) for log in islice(waiting, workers * AHEAD))
        done = 0
        while in_hand:
            show(done)
            if wait([in_hand[0]], _SHOWN_EVERY_S).done:
                yield cast("Result", in_hand.popleft().result())
                done += 1
                in_hand.extend(pool.submit(_play, log) for log in islice(waiting, 1))
        show(done)
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(worker: _Worker) -> None:
    global _worker  # noqa: PLW0603 a pool hands its workers what they share only so
    _worker = worker
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _play(log: str) -> object:
    assert _worker is not None
    return _worker.play(log)


def _size_of(log: str) -> int:
    try:
        return Path(log).stat().st_size
    except OSError:
        return 0  # its own replay says what is wrong with it
