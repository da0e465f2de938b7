"""Questions to an SS2 wheel, one at a time, and what reading its approved settings back shows.

A wheel's OK proves nothing: it was seen to acknowledge a setting and keep the old value. And a setting that
has drifted can look like a broken sensor. So every value is read back before the table opens.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from drivers.ss2.protocol import READ_STATE_AND_MODE, Reply, read_parameter

ANSWER_WITHIN_US = 1_500_000
"""The wheel answers within a few hundred milliseconds, or not at all."""

Outcome = Literal["ok", "busy", "refused", "value", "no_answer"]


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The result of a request: its name, how it ended, and what the wheel said after the letter."""

    name: str
    outcome: Outcome
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    command: bytes
    letters: str


class Requests:
    """The requests of one link, in order. Replies bear no number: the letter says what they answer."""

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
        """Ask once the requests before are answered; `letters` are those that a reply may bear, else the
        command's.

        The wheel's replies sometimes bear other letters than its guide says.
        """
        self._waiting.append(_Request(name, command, letters or chr(command[1])))
        self._send_next(now_us)

    def send(self, command: bytes) -> None:
        """Send a command whose answer is not a reply: a status frame comes like those sent unasked."""
        self._output += command

    def forget(self) -> None:
        """Drop every request: the link is gone."""
        self._waiting.clear()
        self._asked = None
        self._output.clear()

    def take_output(self) -> bytes:
        """Return the bytes to send now."""
        output = bytes(self._output)
        self._output.clear()
        return output

    def handle_reply(self, now_us: int, reply: Reply) -> StatusAnswer | None:
        """Handle a reply; None if nothing was asked that it answers."""
        asked = self._asked
        if asked is None or reply.letter not in asked.letters:
            return None
        return self._end(now_us, asked, reply.outcome, reply.text)

    def next_deadline(self) -> int | None:
        """Return when the request under way is given up."""
        return None if self._asked is None else self._due_us

    def tick(self, now_us: int) -> StatusAnswer | None:
        """Abandon a request whose answer is overdue."""
        asked = self._asked
        if asked is None or now_us < self._due_us:
            return None
        return self._end(now_us, asked, "no_answer", "")

    def _end(self, now_us: int, asked: _Request, outcome: Outcome, text: str) -> StatusAnswer:
        self._asked = None
        self._send_next(now_us)
        return StatusAnswer(asked.name, outcome, text)

    def _send_next(self, now_us: int) -> None:
        if self._asked is None and self._waiting:
            self._asked = self._waiting.popleft()
            self._due_us = now_us + ANSWER_WITHIN_US
            self._output += self._asked.command


_MODE = "mode"
_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True)
class Question:
    """One value to read: its name, the command, and the letters that the reply may bear."""

    name: str
    command: bytes
    letters: str


class ApprovedSettings:
    """Which values the wheel must have, and which it was seen to have."""

    def __init__(self, parameters: Mapping[str, tuple[float, ...]], mode: int | None) -> None:
        """`parameters` by the letter that sets them, as `m`: (1.5,); raises ValueError for an unknown one."""
        self._wanted: dict[str, tuple[float, ...]] = dict(parameters)
        self._commands = {letter: read_parameter(letter) for letter in parameters}
        if mode is not None:
            self._wanted[_MODE] = (float(mode),)
            self._commands[_MODE] = READ_STATE_AND_MODE
        self._wrong: dict[str, str] = {}
        self._unread = set(self._wanted)

    @property
    def verified(self) -> bool:
        """Whether every value was read back and is the approved one."""
        return not self._unread and not self._wrong

    @property
    def differences(self) -> tuple[str, ...]:
        """Return, for each value that differs, what was found and what is approved."""
        return tuple(self._wrong[name] for name in sorted(self._wrong))

    def begin(self) -> None:
        """Read everything again: the wheel was away, and what was not committed is lost."""
        self._unread = set(self._wanted)
        self._wrong.clear()

    def questions(self) -> Iterator[Question]:
        """Return what is still to be read."""
        for name in sorted(self._unread):
            yield Question(name, self._commands[name], "O" if name == _MODE else "T")

    def handle_answer(self, answer: StatusAnswer) -> None:
        """Handle an answer to one of the questions; one without a value leaves it unread."""
        wanted = self._wanted.get(answer.name)
        values = _values(answer)
        if wanted is None or not values:
            return
        if answer.name == _MODE:
            values = values[-1:]
        self._unread.discard(answer.name)
        self._wrong.pop(answer.name, None)
        if len(values) != len(wanted) or any(
            abs(found - right) > _TOLERANCE for found, right in zip(values, wanted, strict=True)
        ):
            what = _MODE if answer.name == _MODE else f"parameter {answer.name}"
            self._wrong[answer.name] = f"{what} is {_words(values)}, approved is {_words(wanted)}"


def _values(answer: StatusAnswer) -> tuple[float, ...]:
    if answer.outcome != "value":
        return ()
    words = answer.text.split()
    if words and words[0].isalpha():
        words = words[1:]
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        return ()


def _words(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
