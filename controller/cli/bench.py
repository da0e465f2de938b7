"""The technician's tests, calibrations and checks on a touch screen."""

import argparse
import io
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Final, get_args

from controller.app.clock import system_wall
from controller.cli import doctor as command
from controller.cli.calibrate import KNOCKS, SPINS, THROWS, RequestError, guided
from controller.cli.guide import Ending, Guide, TestLink
from controller.cli.link import OutOfReachError, RefusedError
from controller.cli.test import LAMP_WORD, ChoiceError, GuidedTest
from controller.console.technician import Answer, CheckResult, Does, GuidedWork, PageLine
from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import EditError
from controller.technician import machine_checks, table_checks
from controller.technician.calibration import UnfitError
from controller.technician.steps import STEP_TIMEOUT_S, SensorFinding, Step

_TYPED: Final[dict[Answer, str]] = {
    "done": "\n",
    "skip": "s\n",
    "yes": "yes\n",
    "no": "no\n",
    "lamp": f"{LAMP_WORD}\n",
}
"""The keyboard input for each answer."""
_STEP: tuple[Answer, ...] = ("done", "skip")
_QUESTION: tuple[Answer, ...] = ("yes", "no")
_LAMPS: tuple[Answer, ...] = ("lamp", "skip")
_NAMES: Final[dict[Does, str]] = dict.fromkeys(get_args(Does), "Calibration") | {"test": "Test"}


class _PageGuide(Guide):
    """A guide that shows requests on a screen and receives answers by touch."""

    def __init__(self, link: TestLink, job: "_Job") -> None:
        super().__init__(link, STEP_TIMEOUT_S, quietly=False)
        self.typed = True
        self.stream = io.StringIO()
        self._job = job

    def show(self, text: str) -> None:
        self._job.say(PageLine("plain", text))

    def found(self, finding: SensorFinding) -> None:
        self._job.say(PageLine(finding.status, f"{finding.sensor.replace('_', ' ')}: {finding.says}"))
        if finding.next_step:
            self._job.say(PageLine("next", finding.next_step))

    def request(self, what: str) -> None:
        self._job.ask(what, _STEP)

    def prompt(self, question: str) -> None:
        lamps = LAMP_WORD in question
        words = question.partition(": type the word")[0] if lamps else question.partition(" (y")[0]
        self._job.ask(words, _LAMPS if lamps else _QUESTION)

    def perform(self, step: Step, dev: str) -> Ending:
        """Request a step, and remove the request when the step ends."""
        try:
            return super().perform(step, dev)
        finally:
            self._job.ask("", ())

    def answer(self, question: str) -> str:
        try:
            return super().answer(question)
        finally:
            self._job.ask("", ())


class _Job:
    """A test or calibration that runs in a separate thread."""

    def __init__(self, socket: str, does: Does, device: str, token: str) -> None:
        self.title = f"{_NAMES[does]} of {device}"
        self.asks = ""
        self.answers: Sequence[Answer] = ()
        self.over = False
        self._lines: list[PageLine] = []
        self._socket, self._does, self._device, self._token = socket, does, device, token
        reads, self._writes = os.pipe()
        self._keyboard = os.fdopen(reads, encoding="utf-8")
        self._lock = Lock()
        self._link: TestLink | None = None
        self._stopped = False
        Thread(target=self._run, name="work", daemon=True).start()

    @property
    def lines(self) -> Sequence[PageLine]:
        return tuple(self._lines)

    def say(self, line: PageLine) -> None:
        self._lines.append(line)

    def ask(self, words: str, answers: Sequence[Answer]) -> None:
        """Show a request or a question with its keys; if `words` is empty, remove both."""
        self.asks, self.answers = words, answers
        if words:
            self.say(PageLine("ask", words))

    def answer(self, given: Answer) -> None:
        """Pass an answer to the test as keyboard input."""
        with self._lock:
            if not self.over:
                os.write(self._writes, _TYPED[given].encode())

    def stop(self) -> None:
        """Close the job's connection, which ends the table's test mode."""
        self._stopped = True
        if self._link is not None:
            self._link.hang_up()

    def _run(self) -> None:
        try:
            with TestLink(self._socket, None, token=self._token, keyboard=self._keyboard) as link:
                self._link = link
                if self._stopped:
                    return
                self._work(_PageGuide(link, self))
        except (RefusedError, OutOfReachError, ChoiceError, RequestError, UnfitError, EditError) as error:
            self.say(PageLine("plain", "Stopped." if self._stopped else f"Stopped: {error}"))
        except SettingsError as error:
            self.say(PageLine("fail", f"the table's file: {error}"))
        except OSError as error:
            self.say(PageLine("fail", self._unwritable_message(error)))
        finally:
            self.asks, self.answers = "", ()
            with self._lock:
                self.over = True
                os.close(self._writes)
                self._keyboard.close()

    def _work(self, guide: _PageGuide) -> None:
        if self._does == "test":
            arguments = argparse.Namespace(
                device=self._device, only=None, yes_i_am_at_the_table=False, report=None, json=False, who=None
            )
            GuidedTest(arguments, guide).run()
            return
        arguments = argparse.Namespace(
            what=self._does, device=self._device, points=None, point=[], throws=THROWS, knocks=KNOCKS,
            spins=SPINS, pocket=None, write=False, json=False,
        )  # fmt: skip
        guided(arguments, guide)

    def _unwritable_message(self, error: OSError) -> str:
        command = f"sudo tablectl calibrate {self._does} {self._device}"
        return (
            f"{error.filename}: this console can't write to the file ({error.strerror}); run `{command}`"
            " on the table's machine"
        )


def begin(socket: str, does: Does, device: str, token: str) -> GuidedWork:
    """Start a test or a calibration for the technician whom the token identifies."""
    return _Job(socket, does, device, token)


def doctor(socket: str) -> Sequence[CheckResult]:
    """Check the machine and the table, except ports and private folders, which the console can't access."""
    status, why = command.status_at(socket)
    name = command.TABLE if Path(command.TABLE).exists() else None
    settings, loaded = (None, []) if name is None else table_checks.load(name)
    found = [
        machine_checks.python(),
        machine_checks.sqlite(),
        *machine_checks.extras(table_checks.extras_of(settings)),
        machine_checks.clock(synchronized=system_wall().synced),
        *loaded,
        *(() if settings is None else table_checks.broker(settings.publish)),
        *machine_checks.controller(status, why),
    ]
    return [CheckResult(one.state, one.about, one.says, one.remedy) for one in found]
