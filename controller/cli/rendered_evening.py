"""An evening whose throws are drawn: each is worked out, in a process of its own, while another is played.

A throw takes some seconds of a core: the virtual table goes on speaking for its devices meanwhile.
"""

import signal
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

from controller.model.geometry import DiceTable
from drivers.sim.rendered_throws import Filmed, throw
from drivers.sim.table import Act, act_of

_SEEDS = 1_000_003
"""Throws of different evenings never share a number."""


class RenderedEvening:
    """An evening's throws, in order; the same seed, the same throws."""

    def __init__(self, seed: int, table: DiceTable) -> None:
        """Begin to work out the first throw."""
        # A fresh process: one that is forked would hold the virtual table's ports open.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _leave_stopping_to_the_table)
        self._table = table
        self._number = seed * _SEEDS
        self._coming = self._begun()

    def ready(self) -> bool:
        """Return whether the next throw is worked out."""
        return self._coming.done()

    def play(self, _seed: int, _count: int, _after_trouble: bool, /) -> Act:
        """Return the next throw once it is worked out, and begin with the one after it."""
        made = self._coming.result()
        self._coming = self._begun()
        return act_of(made.feed, [made.scene])

    def close(self) -> None:
        """End the process, after the throw that it works out."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begun(self) -> Future[Filmed]:
        self._number += 1
        return self._pool.submit(throw, self._number, self._table)


def _leave_stopping_to_the_table() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
