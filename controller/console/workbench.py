"""What a guided test, a calibration or the doctor needs of the machine: named here, made by the command line.

The console itself knows nothing but the control socket; `tablectl console` brings a bench along.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

Does = Literal["test", "camera", "walls", "wheel"]
"""A guided test, or the calibration of a camera, a wall sensor or a wheel."""
Answer = Literal["done", "skip", "yes", "no", "lamp"]
"""What a technician answers: a step is done or skipped; a question's yes or no; lamps may be lit."""
Look = Literal["plain", "ask", "pass", "fail", "skipped", "next"]


class Line(NamedTuple):
    """A line of the work so far, and how it is shown."""

    look: Look
    text: str


class CheckResult(NamedTuple):
    """One finding of the doctor: how it is, about what, in words, and the remedy."""

    state: str
    about: str
    says: str
    remedy: str


class GuidedWork(Protocol):
    """A test or a calibration under way, in a thread of its own."""

    @property
    def title(self) -> str:
        """What is done with which device."""

    @property
    def lines(self) -> Sequence[Line]:
        """All that was said so far."""

    @property
    def asks(self) -> str:
        """What the technician is asked to do now; empty where nothing is awaited."""

    @property
    def answers(self) -> Sequence[Answer]:
        """What can be answered now."""

    @property
    def over(self) -> bool:
        """Whether it has ended, and with it test mode."""

    def answer(self, given: Answer) -> None:
        """Answer."""

    def stop(self) -> None:
        """End it; the table leaves test mode."""


class Bench(Protocol):
    """Begins work at the table, and looks at the machine."""

    def begin(self, does: Does, device: str, token: str) -> GuidedWork:
        """Begin as the technician whom this token names."""

    def doctor(self) -> Sequence[CheckResult]:
        """Look at what this process can see of the machine and the table; it takes seconds."""
