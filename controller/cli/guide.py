"""The way to a table in test mode: readings come, the technician is asked, and it ends with this process."""

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
    unreachable,
)
from controller.cli.screen import Entry, Screen, Style
from controller.cli.shell import say
from controller.model.readings import AnyReading
from controller.technician.acts import ACT_TIMEOUT_S, Act, SensorFinding, Status

POLL_S = 0.1
_STYLES: Mapping[Status, Style] = {"pass": "green", "fail": "red", "skipped": "dim"}
Ending = Literal["done", "skipped", "timeout"]


class _Line(msgspec.Struct):
    """A line of a test's connection: a reading, or an answer."""

    reading: AnyReading | None = None
    ok: bool | None = None
    code: str = ""
    says: str = ""
    noted: str | None = None


_line_of = msgspec.json.Decoder(_Line).decode


class TestLink:
    """A connection that holds a table in test mode."""

    __test__ = False  # pytest: no test class
    begun: Json

    def __init__(
        self, path: str, who: str | None, *, token: str | None = None, keyboard: TextIO | None = None
    ) -> None:
        """Start a test; raises OutOfReachError, or RefusedError with the reason.

        `token` says who is at a screen. `keyboard` is where answers are typed, else standard input.
        """
        self._path = path
        self._keyboard = sys.stdin if keyboard is None else keyboard
        self._rest = b""
        self._readings: list[AnyReading] = []
        self._noted: str | None = None
        self._asked = 0
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Test mode begins once all that came before has been judged.
            self._link.settimeout(2 * TIMEOUT_S)
            self._link.connect(path)
            self._send({"do": "test", "who": who} if token is None else {"do": "test", "token": token})
            while b"\n" not in self._rest:
                self._read()
            line, _, self._rest = self._rest.partition(b"\n")
            self.begun = checked_answer(path, msgspec.json.decode(line, type=Json))
        except OSError as error:
            self._link.close()
            raise unreachable(path, error) from error
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
        """End the connection from another thread: whoever waits for it is told that it is closed."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def ask(self, word: str) -> None:
        """Show on the lamp `test` what is asked for; a number tells it from the request before."""
        self._asked += 1
        self._send({"do": "ask", "shows": f"{word}-{self._asked}"})

    def try_out(self, device: str, lamp: str, shows: str) -> None:
        """Set a lamp or the buzzer until the test ends."""
        self._send({"do": "try", "device": device, "lamp": lamp, "shows": shows})

    def show_result(self, device: str, passed: Sequence[str], failed: Mapping[str, str]) -> None:
        """Report the test's result to the table, which keeps it until the test is repeated successfully.

        Return once it is noted: whoever hangs up before that may have said it to nobody. Raises
        OutOfReachError or RefusedError where it is not.
        """
        self._noted = None
        self._send({"do": "tested", "device": device, "passed": passed, "failed": failed})
        while self._noted != device:
            self._read()
            list(self._lines())

    def fresh(self) -> None:
        """Forget what was read before now."""
        while select.select([self._link], [], [], 0)[0]:
            self._read()
            list(self._lines())
        self._readings.clear()

    def wait(self, timeout_s: float, *, typed: bool) -> tuple[list[AnyReading], str | None]:
        """Return the readings that have come, and a line that was typed meanwhile."""
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
            told = _line_of(line)
            if told.ok is False:
                raise RefusedError(f"{told.says} [{told.code}]")
            if told.reading is not None:
                self._readings.append(told.reading)
            self._noted = told.noted or self._noted
            yield

    def _read(self) -> None:
        try:
            block = self._link.recv(65536)
        except OSError as error:
            raise unreachable(self._path, error) from error
        if not block:
            raise OutOfReachError(f"{self._path}: the controller closed the connection; see its log")
        self._rest += block

    def _send(self, request: Json) -> None:
        try:
            send(self._link, request)
        except OSError as error:
            raise unreachable(self._path, error) from error


class Guide:
    """Asks a technician for one act after the other."""

    def __init__(self, link: TestLink, timeout_s: float, *, quietly: bool) -> None:
        """Allow `timeout_s` for each act; with `quietly` the requests go to standard error."""
        self.link = link
        self._timeout_s = timeout_s
        self.stream = sys.stderr if quietly else sys.stdout
        self.typed = sys.stdin is not None and sys.stdin.isatty()
        self._screen = Screen(self.stream)

    def show(self, text: str) -> None:
        """Write a sentence for the technician, at once."""
        self._screen.lines(self._screen.entry(Entry("", text)))

    def found(self, finding: SensorFinding) -> None:
        """Write what was found of a sensor, and what to do about it."""
        style = _STYLES[finding.status]
        for line in self._screen.entry(Entry(f"{finding.status:<7} {finding.sensor:<16} ", finding.says)):
            self._screen.line(line.replace(finding.status, self._screen.styled(finding.status, style), 1))
        if finding.next_step:
            self._screen.lines(self._screen.entry(Entry(" " * 8, f"-> {finding.next_step}", "bold")))

    def request(self, what: str) -> None:
        """Ask the technician for an act."""
        hint = "  (Enter: done, s Enter: skip)" if self.typed else ""
        self._screen.lines(self._screen.entry(Entry("  > ", f"{what}{hint}")))

    def questions(self, question: str) -> None:
        """Ask a question that is answered by typing."""
        *first, last = self._screen.entry(Entry("  > ", question))
        self._screen.lines(first)
        print(f"{last} ", end="", file=self.stream, flush=True)

    def perform(self, act: Act, dev: str) -> Ending:
        """Ask for an act and let it hear the readings; Enter ends it, `s` and Enter skip it."""
        self.request(act.request)
        self.link.fresh()
        self.link.ask(act.lamp_text)
        began_s = heard_s = time.monotonic()
        while True:
            readings, typed = self.link.wait(POLL_S, typed=self.typed)
            for reading in readings:
                act.receive(reading)
                if reading.dev == dev:
                    heard_s = time.monotonic()
            if typed is not None:
                return "skipped" if typed.strip().lower().startswith("s") or not typed else "done"
            now_s = time.monotonic()
            if act.is_complete(now_s - heard_s):
                return "done"
            if now_s - began_s > self._timeout_s:
                return "timeout"

    def answer(self, question: str) -> str:
        """Ask a question that is answered by typing; nothing if nobody answers in time."""
        if not self.typed:
            return ""
        self.questions(question)
        end_s = time.monotonic() + self._timeout_s
        while time.monotonic() < end_s:
            _, typed = self.link.wait(POLL_S, typed=True)
            if typed is not None:
                return typed.strip()
        self.show("")
        return ""


def add_guide(parser: argparse.ArgumentParser) -> None:
    """Declare what every guided command takes."""
    parser.add_argument("--who", metavar="NAME", help="the technician (default: the unix user)")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=ACT_TIMEOUT_S,
        metavar="S",
        help=f"time for each act (default: {ACT_TIMEOUT_S:g} s)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected 1 to 3600 seconds")
    return seconds


def refused(error: RefusedError) -> None:
    """Print why the controller refused."""
    say(error)
