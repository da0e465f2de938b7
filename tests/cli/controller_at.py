"""A fake controller on a control socket, and a terminal of a given size for `tablectl`."""

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

PATIENCE_S = 120.0
Json = dict[str, object]
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class FakeController:
    """Answers each request with the answer for its `do`, and `watch` with every line of `stream`."""

    def __init__(self, path: Path) -> None:
        self.answers: dict[str, Json] = {}
        self.stream: list[Json] = []
        self.asked: list[Json] = []
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._server.accept()
                with link, link.makefile("rwb") as lines:
                    if asked := lines.readline():
                        self._answer(msgspec.json.decode(asked, type=Json), lines.write)

    def _answer(self, request: Json, write: Callable[[bytes], object]) -> None:
        self.asked.append(request)
        answer = (
            [{"ok": True}, *self.stream] if request["do"] == "watch" else [self.answers[str(request["do"])]]
        )
        for line in answer:
            write(msgspec.json.encode(line) + b"\n")


@contextmanager
def controller_at(path: Path) -> Iterator[FakeController]:
    controller = FakeController(path)
    yield controller
    controller.end()


class Terminal:
    """`tablectl` on a terminal with this many columns and rows."""

    def __init__(self, words: Sequence[str], columns: int, rows: int, **environ: str) -> None:
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "controller.cli.main", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**plain, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **environ},
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = ""

    @property
    def text(self) -> str:
        """Return the output, without colours and carriage returns."""
        return _COLOURS.sub("", self.raw).replace("\r\n", "\n")

    def until(self, fact: Callable[[str], bool]) -> str:
        """Read until a condition holds for the text; return the text."""
        deadline = time.monotonic() + PATIENCE_S
        while not fact(self.text):
            assert time.monotonic() < deadline, f"timed out waiting for the output; there is:\n{self.text}"
            if select.select([self._mine], [], [], 1.0)[0]:
                try:
                    block = os.read(self._mine, 65536)
                except OSError:
                    block = b""  # the other end of the terminal is closed
                assert block or fact(self.text), f"the command ended; there is:\n{self.text}"
                self.raw += block.decode()
        return self.text

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def whole(self) -> str:
        """Read to the end; return the text."""
        with suppress(OSError):
            while block := os.read(self._mine, 65536):
                self.raw += block.decode()
        return self.text

    def end(self) -> int:
        """Press Ctrl-C until the command has ended; return the exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.process.send_signal(signal.SIGINT)
            while select.select([self._mine], [], [], 0.2)[0]:  # a full buffer would stop the command
                try:
                    self.raw += os.read(self._mine, 65536).decode(errors="replace")
                except OSError:
                    break
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.2)
        os.close(self._mine)
        return self.process.wait(PATIENCE_S)
