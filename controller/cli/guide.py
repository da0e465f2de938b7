"""The dialogue with a technician at a table in test mode. Test mode ends when the connection closes."""

import argparse
import select
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal, Self, TextIO

import msgspec

from controller.cli.link import (
    TIMEOUT_S,
    Json,
    OutOfReachError,
    RefusedError,
    checked_answer,
    send,
    unreachable_error,
)
from controller.cli.screen import Entry, Screen, Style
from controller.cli.shell import real_number
from controller.model.readings import AnyReading
from controller.technician.steps import STEP_TIMEOUT_S, SensorFinding, Status, Step

POLL_S = 0.1
_STYLES: Mapping[Status, Style] = {"pass": "green", "fail": "red", "skipped": "dim"}
Ending = Literal["done", "skipped", "timeout"]


class _Line(msgspec.Struct):
    """A line received on the test connection: a reading or an answer."""

    reading: AnyReading | None = None
    ok: bool | None = None
    code: str = ""
    says: str = ""
    noted: str | None = None


_line_of = msgspec.json.Decoder(_Line).decode


class TestLink:
    """A connection that keeps a table in test mode."""

    __test__ = False  # pytest: not a test class
    begun: Json

    def __init__(
        self, path: str, who: str | None, *, token: str | None = None, keyboard: TextIO | None = None
    ) -> None:
        """Start a test; raises OutOfReachError or RefusedError.

        If a `token` is given, it identifies the person, and `who` is ignored. Answers are read from
        `keyboard`, by default standard input.
        """
        self._path = path
        self._keyboard = sys.stdin if keyboard is None else keyboard
        self._rest = b""
        self._readings: list[AnyReading] = []
        self._noted: str | None = None
        self._requests = 0
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Wait longer than usual, because all earlier readings are judged before test mode begins.
            self._link.settimeout(2 * TIMEOUT_S)
            self._link.connect(path)
            self._send({"do": "test", "who": who} if token is None else {"do": "test", "token": token})
            while b"\n" not in self._rest:
                self._read()
            line, _, self._rest = self._rest.partition(b"\n")
            self.begun = checked_answer(path, msgspec.json.decode(line, type=Json))
        except OSError as error:
            self._link.close()
            raise unreachable_error(path, error) from error
        except BaseException:
            self._link.close()
            raise
        if not self.begun["ok"]:
            self._link.close()
            raise RefusedError(f"{self.begun['says']} [{self.begun['code']}]")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()

    def hang_up(self) -> None:
        """Close the connection from another thread; a thread waiting on it raises OutOfReachError."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def show_request(self, lamp_text: str) -> None:
        """Show a request on the `test` lamp, with a number that distinguishes consecutive requests."""
        self._requests += 1
        self._send({"do": "ask", "shows": f"{lamp_text}-{self._requests}"})

    def try_out(self, device: str, lamp: str, shows: str) -> None:
        """Set a lamp or the buzzer to `shows`, such as `on` or `off`, until the test ends."""
        self._send({"do": "try", "device": device, "lamp": lamp, "shows": shows})

    def show_result(self, device: str, passed: Sequence[str], failed: Mapping[str, str]) -> None:
        """Report the test's result to the table, which shows a failure until the test passes.

        Wait for the table's confirmation, because a result sent just before the connection closes could be
        lost. Raises OutOfReachError or RefusedError.
        """
        self._noted = None
        self._send({"do": "tested", "device": device, "passed": passed, "failed": failed})
        while self._noted != device:
            self._read()
            list(self._lines())

    def fresh(self) -> None:
        """Discard all readings received so far."""
        while select.select([self._link], [], [], 0)[0]:
            self._read()
            list(self._lines())
        self._readings.clear()

    def wait(self, timeout_s: float, *, typed: bool) -> tuple[list[AnyReading], str | None]:
        """Wait up to `timeout_s`; return the readings received, and the line typed, if any."""
        keyboard = [self._keyboard] if typed and self._keyboard is not None else []
        ready, _, _ = select.select([self._link, *keyboard], [], [], timeout_s)
        if self._link in ready:
            self._read()
        for _ in self._lines():
            pass
        taken, self._readings = self._readings, []
        return taken, keyboard[0].readline() if keyboard and keyboard[0] in ready else None

    def _lines(self) -> Iterator[None]:
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            decoded = _line_of(line)
            if decoded.ok is False:
                raise RefusedError(f"{decoded.says} [{decoded.code}]")
            if decoded.reading is not None:
                self._readings.append(decoded.reading)
            self._noted = decoded.noted or self._noted
            yield

    def _read(self) -> None:
        try:
            block = self._link.recv(65536)
        except OSError as error:
            raise unreachable_error(self._path, error) from error
        if not block:
            raise OutOfReachError(
                f"{self._path}: the controller closed the connection; see the controller's log"
            )
        self._rest += block

    def _send(self, request: Json) -> None:
        try:
            send(self._link, request)
        except OSError as error:
            raise unreachable_error(self._path, error) from error


class Guide:
    """Guides a technician at a terminal through the steps of a test or a calibration."""

    def __init__(self, link: TestLink, timeout_s: float, *, quietly: bool) -> None:
        """Allow `timeout_s` for each step; with `quietly`, write requests to standard error."""
        self.link = link
        self._timeout_s = timeout_s
        self.stream = sys.stderr if quietly else sys.stdout
        self.typed = sys.stdin is not None and sys.stdin.isatty()
        self._screen = Screen(self.stream)

    def show(self, text: str) -> None:
        """Write a message for the technician."""
        self._screen.lines(self._screen.entry(Entry("", text)))

    def found(self, finding: SensorFinding) -> None:
        """Write a finding about a sensor, and the next step."""
        style = _STYLES[finding.status]
        for line in self._screen.entry(Entry(f"{finding.status:<7} {finding.sensor:<16} ", finding.says)):
            self._screen.line(line.replace(finding.status, self._screen.styled(finding.status, style), 1))
        if finding.next_step:
            self._screen.lines(self._screen.entry(Entry(" " * 8, f"-> {finding.next_step}", "bold")))

    def request(self, what: str) -> None:
        """Write a request to the technician."""
        hint = "  (Enter: done, s Enter: skip)" if self.typed else ""
        self._screen.lines(self._screen.entry(Entry("  > ", f"{what}{hint}")))

    def prompt(self, question: str) -> None:
        """Write a question, which is answered on the same line."""
        *first, last = self._screen.entry(Entry("  > ", question))
        self._screen.lines(first)
        print(f"{last} ", end="", file=self.stream, flush=True)

    def perform(self, step: Step, dev: str) -> Ending:
        """Request a step, pass it the readings, and return how it ended.

        Enter ends the step; `s` and Enter, or the end of the input, skips it.
        """
        self.request(step.request)
        self.link.fresh()
        self.link.show_request(step.lamp_text)
        began_s = heard_s = time.monotonic()
        while True:
            readings, typed = self.link.wait(POLL_S, typed=self.typed)
            for reading in readings:
                step.receive(reading)
                if reading.dev == dev:
                    heard_s = time.monotonic()
            if typed is not None:
                return "skipped" if typed.strip().lower().startswith("s") or not typed else "done"
            now_s = time.monotonic()
            if step.is_complete(now_s - heard_s):
                return "done"
            if now_s - began_s > self._timeout_s:
                return "timeout"

    def answer(self, question: str) -> str:
        """Return the typed answer to a question; empty after a timeout, or without a terminal."""
        if not self.typed:
            return ""
        self.prompt(question)
        end_s = time.monotonic() + self._timeout_s
        while time.monotonic() < end_s:
            _, typed = self.link.wait(POLL_S, typed=True)
            if typed is not None:
                return typed.strip()
        self.show("")
        return ""


def add_guide(parser: argparse.ArgumentParser) -> None:
    """Declare `--who` and `--timeout`."""
    parser.add_argument("--who", metavar="NAME", help="the technician's name (default: the Unix user)")
    parser.add_argument(
        "--timeout",
        type=real_number(1, 3600, "seconds"),
        default=STEP_TIMEOUT_S,
        metavar="S",
        help=f"seconds allowed for each step (default: {STEP_TIMEOUT_S:g})",
    )
