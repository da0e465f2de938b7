"""Questions to an SS2 wheel, one at a time, each with its deadline: OK, BUSY, NO, a value or no answer."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from drivers.protocol.ss2 import Reply

ANSWER_WITHIN_US = 1_500_000
"""The wheel answers within a few hundred milliseconds, or not at all."""

Outcome = Literal["ok", "busy", "refused", "value", "no_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request: its name, how it ended, and what the wheel said after the letter."""

    name: str
    outcome: Outcome
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    command: bytes
    letters: str


class Requests:
    """The requests of one link, in order. The wheel does not number its replies: the letter tells."""

    def __init__(self) -> None:
        """Start with nothing to ask."""
        self._waiting: deque[_Request] = deque()
        self._asked: _Request | None = None
        self._due_us = 0
        self._output = bytearray()

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be asked or answered."""
        return self._asked is None and not self._waiting

    def ask(self, now_us: int, name: str, command: bytes, letters: str = "") -> None:
        """Ask when those before are answered; `letters` are those that a reply may bear, else the command's.

        The wheel's replies bear other letters than its guide says now and then.
        """
        self._waiting.append(_Request(name, command, letters or chr(command[1])))
        self._send_next(now_us)

    def send(self, command: bytes) -> None:
        """Send a command whose answer is no reply: a status frame comes as those sent unasked do."""
        self._output += command

    def forget(self) -> None:
        """Drop every request: the link is gone."""
        self._waiting.clear()
        self._asked = None
        self._output.clear()

    def take_output(self) -> bytes:
        """Give the bytes to send now."""
        output = bytes(self._output)
        self._output.clear()
        return output

    def hear(self, now_us: int, reply: Reply) -> Answer | None:
        """Take a reply; None where nothing was asked that it answers."""
        asked = self._asked
        if asked is None or reply.letter not in asked.letters:
            return None
        return self._end(now_us, asked, reply.outcome, reply.text)

    def next_deadline(self) -> int | None:
        """Give when the request under way is given up."""
        return None if self._asked is None else self._due_us

    def tick(self, now_us: int) -> Answer | None:
        """Give up a request whose answer is overdue."""
        asked = self._asked
        if asked is None or now_us < self._due_us:
            return None
        return self._end(now_us, asked, "no_answer", "")

    def _end(self, now_us: int, asked: _Request, outcome: Outcome, text: str) -> Answer:
        self._asked = None
        self._send_next(now_us)
        return Answer(asked.name, outcome, text)

    def _send_next(self, now_us: int) -> None:
        if self._asked is None and self._waiting:
            self._asked = self._waiting.popleft()
            self._due_us = now_us + ANSWER_WITHIN_US
            self._output += self._asked.command
