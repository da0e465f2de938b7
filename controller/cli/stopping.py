"""SIGTERM and Ctrl-C for a command that goes on until it is told to stop."""

import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Thread


def on_stop(stop: Callable[[], None]) -> None:
    """Let SIGTERM and Ctrl-C call this.

    The handler may interrupt the main thread inside the very wait whose lock `stop` takes, so another thread
    takes it; a signal at the interpreter's own end finds none any more, and is not needed.
    """

    def heard(*_: object) -> None:
        with suppress(RuntimeError):
            Thread(target=stop, name="stop", daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, heard)
