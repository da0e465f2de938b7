"""Watch over the controller's own threads: systemd hears of us only when every one of them has turned."""

from collections.abc import Callable, Mapping

from controller.app.board import Board
from controller.app.faults import Fault

STUCK_S = 10.0
"""A thread that has not turned for so long is a fault; an SD card alone can stall for seven seconds."""
CODE = "thread_stopped"


class Watchdog:
    """Counts the turns of threads."""

    def __init__(self, board: Board) -> None:
        """Put threads that are stuck on this board."""
        self._board = board
        self._watched: dict[str, Callable[[], int]] = {}
        self._fed: Mapping[str, int] = {}
        self._moved: dict[str, tuple[int, int]] = {}

    def watch(self, name: str, turns: Callable[[], int]) -> None:
        """Watch over this thread as well; `turns` goes up while it lives."""
        self._watched[name] = turns

    def look(self, now_us: int) -> bool:
        """Tell whether every thread has turned since this last said so; note those that are stuck."""
        turns = {name: count() for name, count in self._watched.items()}
        for name, count in turns.items():
            before, since_us = self._moved.get(name, (-1, now_us))
            if count != before:
                self._moved[name] = (count, now_us)
                self._board.over(CODE, name)
            elif now_us - since_us > STUCK_S * 1e6:
                self._board.began(Fault("thread_stopped", name, f"no turn for {STUCK_S:g} s"), name)
        if any(count == self._fed.get(name) for name, count in turns.items()):
            return False
        self._fed = turns
        return True
