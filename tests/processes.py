"""`tablectl` in a process forked from one that has imported it, because imports dominate a short run.

The process has its own streams, environment, arguments and end, like a newly started process. Start a new
interpreter instead if the start itself is tested, if each run must have its own hash seed, or if another
release runs.
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
    """A process with the part of `subprocess.Popen` that the tests use."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        log: Path,
        output: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Start `tablectl` with these arguments; its output is appended to the log (and output)."""
        args = (tuple(words), output or log, log, dict(environ))
        self._process = _FORKS.Process(target=_run, args=args, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._turn = Lock()

    def poll(self) -> int | None:
        """Return the exit code, negative after a signal, or None while the process runs."""
        with self._turn:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process, and return the exit code."""
        if (code := self.poll()) is None:
            wait([self._process.sentinel], timeout)
            if (code := self.poll()) is None:
                assert timeout is not None
                raise subprocess.TimeoutExpired("tablectl", timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal if the process runs."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(words: tuple[str, ...], output: Path, log: Path, environ: Mapping[str, str]) -> None:
    """Run `tablectl` in the forked process."""
    os.environ.clear()
    os.environ.update(environ)
    for number, path in ((1, output), (2, log)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.argv = [cli.__file__, *words]
    sys.exit(cli.main())
