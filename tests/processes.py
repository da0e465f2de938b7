"""`tablectl` in a process of its own, forked from one that has imported it: a short life is mostly imports.

It has streams, environment, arguments and an end of its own, as a process that is started anew. Where the
start itself is tested, or each life shall hash with a seed of its own, or another release runs, begin anew.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock

from controller.cli import main as cli

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "controller.cli.console",
        "controller.cli.run",
        "controller.cli.settlement",
        "controller.cli.sign_in",
        "controller.cli.simulate",
        "controller.console.serving",
        "controller.settlement_service.serving",
    ]
)


class Forked:
    """One process, with what the tests ask of `subprocess.Popen`."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        log: Path,
        output: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Start `tablectl` with these words; what it writes goes behind what the log (and output) hold."""
        args = (tuple(words), output or log, log, dict(environ))
        self._process = _FORKS.Process(target=_run, args=args, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._turn = Lock()

    def poll(self) -> int | None:
        """Return the exit code, negative where a signal ended it; None while it runs."""
        with self._turn:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit code."""
        if (code := self.poll()) is None:
            wait([self._process.sentinel], timeout)
            if (code := self.poll()) is None:
                assert timeout is not None
                raise subprocess.TimeoutExpired("tablectl", timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def _run(words: tuple[str, ...], output: Path, log: Path, environ: Mapping[str, str]) -> None:
    """Be `tablectl`, in the process that was forked."""
    os.environ.clear()
    os.environ.update(environ)
    for number, path in ((1, output), (2, log)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.argv = [cli.__file__, *words]
    sys.exit(cli.main())
