"""The serial protocol of the SS2 wheel reader: lines, permitted commands and replies.

The port runs at 9600 baud, 8N1, without flow control. Every line begins with `*`, except the bare winning
number and any page of the wheel's log without a prefix. The wheel ends its lines with CR LF, but either
character alone is accepted too. If a full buffer truncates a line, the line has no line end and runs into the
next line. The decoder therefore tries to decode a bad line again from its last `*`.

Requests are sent one at a time. Some wheels acknowledge a setting but keep the old value, and an invalid
setting can look like a failed sensor. Every value is therefore read back before the table opens.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Literal

from controller.model.printable import printable
from drivers.framing import Line, LineSplitter

BAUD = 9600
MAX_LINE = 300
"""Maximum length of a line. The longest line is a page of the wheel's log: a prefix and 258 characters."""
LAST_SPIN = 256
"""The last spin number, after which the numbers restart from 1."""

Direction = Literal["cw", "ccw"]


class State(IntEnum):
    """The wheel's state in its status frames."""

    ROTOR_STARTED = 1
    PLACE_BETS = 2
    BALL_IN_RIM = 3
    NO_MORE_BETS = 4
    WINNING_NUMBER = 5
    CLOSED = 6
    BALL_NOT_DETECTED = 7


class Flag(IntFlag):
    """The bits of the wheel's warning flags."""

    BALL_MISSING = 1
    BALL_WITH_ROTOR = 2
    COMPONENT_FAULT = 4
    LAUNCH_FAILED = 8


class Mode(IntFlag):
    """The bits of the mode word."""

    REVERSE_EACH_GAME = 1
    WAIT_FOR_HOST = 2
    RANDOM_ROTOR_SPEED = 4
    NO_BARE_NUMBER = 16
    AUTOMATIC_STATUS = 128
    SELF_TEST_CODES = 256
    HOLD_IN_STATE_1 = 1024
    HOLD_IN_STATE_2 = 2048
    BONUS_NUMBERS = 32768


SELF_TEST = {
    0: "no fault",
    1: "hardware",
    2: "no ball",
    3: "no ball position",
    4: "ball direction wrong",
    5: "motor not driving",
    6: "encoder failed or not calibrated",
    7: "cannot play clockwise",
    8: "cannot play anti-clockwise",
    11: "sensor 1 stuck on",
    12: "sensor 2 stuck on",
    13: "sensor 3 stuck on",
    21: "sensor 1 blind",
    22: "sensor 2 blind",
    23: "sensor 3 blind",
    100: "timed out",
}
"""The meaning of each code of the wheel's self-test."""


@dataclass(frozen=True, slots=True)
class Status:
    """A status frame, with the last winning number (None before the first)."""

    state: int
    spin: int
    number: str | None
    flags: int
    rotor_rpm_x10: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class BareNumber:
    """The winning number on a separate line, sent just before the wheel reports state 5."""

    number: str


@dataclass(frozen=True, slots=True)
class Bonus:
    """A bonus number and, if the licence expires soon, the remaining days."""

    kind: int
    value: int
    licence_days: int | None


@dataclass(frozen=True, slots=True)
class SelfTestCode:
    """A result of the wheel's self-test. Code 0 means no fault."""

    code: int

    @property
    def meaning(self) -> str:
        """The meaning of the code."""
        return SELF_TEST.get(self.code, f"unknown code {self.code}")


@dataclass(frozen=True, slots=True)
class SensorEvent:
    """A raw sensor event: the number of a ball sensor (`s`) or a pocket (`n`)."""

    kind: Literal["sensor", "pocket"]
    number: int


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of the wheel's log: the pockets of wins and misfires, oldest first."""

    wins_and_misfires: tuple[tuple[Literal["win", "misfire"], int], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a command. If the wheel does not know the command, the letter is a space or `)`."""

    letter: str
    text: str

    @property
    def outcome(self) -> Literal["ok", "busy", "refused", "value"]:
        """The kind of reply, derived from its last word."""
        word = self.text.rpartition(" ")[2]
        outcomes: dict[str, Literal["ok", "busy", "refused"]] = {"OK": "ok", "BUSY": "busy", "NO": "refused"}
        return outcomes.get(word, "value")


@dataclass(frozen=True, slots=True)
class DiscardedLine:
    """The start of a bad line, in printable form."""

    text: str


Message = Status | BareNumber | Bonus | SelfTestCode | SensorEvent | LogPage | Reply | DiscardedLine

_STATUS = re.compile(rb"\*X;([1-7]);([ 0-9]{3});([ 0-9]{2});([0-9A-F]);([ 0-9]{3});([01])")
_BARE = re.compile(rb" [0-9]|[0-3][0-9]")
_BONUS = re.compile(rb"\*Y;([1-6]);([0-9]{3})(?:;([0-9]{2}))?")
_SENSOR = re.compile(rb"\*b([sn]) ?([0-9]{1,3})")
_SELF_TEST = re.compile(rb"\*F ([0-9]{1,3})")
_PAGE = re.compile(rb"(?:\*s r [0-9]+ )?([!-~]{256})([0-9A-Fa-f]{2})")
_REPLY = re.compile(rb"\*([ -)+-WZ-~])(?: ([ -)+-~]*))?")
_LINE_ENDS = b"\r\n"
_NUMBERS = {" 0": "0", "00": "00", "38": "000", "39": "0000"}
_MAX_SHOWN = 40


def decode_number(text: str) -> str | None:
    """Return the winning number that two characters encode; None if both are blank.

    ` 0` is zero and `00` is double zero; 38 and 39 are triple and quadruple zero. The invalid number 37 is
    returned unchanged, and the judge refuses it.
    """
    if text == "  ":
        return None
    return _NUMBERS.get(text) or text.removeprefix(" ")


def restore_blank(line: bytes) -> bytes:
    """Restore the leading blank that a recorder removed from a bare one-digit number."""
    return b" " + line if len(line) == 1 and line.isdigit() else line


def games_between(before: int, after: int) -> int:
    """Return the number of games from one spin number to another. 256 is followed by 001 or 000."""
    return 1 if (before, after) == (LAST_SPIN, 0) else (after - before) % LAST_SPIN


class Decoder:
    """Decodes bytes into messages."""

    def __init__(self) -> None:
        self.lines = 0
        """Number of non-empty lines received."""
        self.discarded = 0
        """Number of bad lines, including lines that were decoded from their last `*`."""
        self._lines = LineSplitter(MAX_LINE, _LINE_ENDS)

    def join(self) -> None:
        """Discard the text before the next line end, because reception might have begun in mid-line.

        The end of a sensor event, such as `17`, would look like a winning number.
        """
        self._lines.join()

    def feed(self, data: bytes) -> list[Message]:
        """Add bytes and return the messages of the completed lines."""
        return [message for line in self._lines.feed(data) if line.text for message in self._read(line)]

    def reset(self) -> None:
        """Discard an unfinished line after the loss of the link."""
        self._lines.clear()

    def _read(self, whole: Line) -> Iterator[Message]:
        line, overlong = whole.text, whole.dropped > 0
        self.lines += 1
        if whole.maybe_cut:
            self.discarded += 1
            yield DiscardedLine(_printable(line))
            return
        message = None if overlong else _parse(line)
        if message is not None:
            yield message
            return
        self.discarded += 1
        yield DiscardedLine(_printable(line))
        tail = _parse(line[line.rfind(b"*") :]) if b"*" in line[1:] or overlong else None
        if tail is not None:
            yield tail


def _parse(line: bytes) -> Message | None:
    if match := _STATUS.fullmatch(line):
        return _status([part.decode() for part in match.groups()])
    if _BARE.fullmatch(line):
        number = decode_number(line.decode())
        return None if number is None else BareNumber(number)
    if match := _BONUS.fullmatch(line):
        return Bonus(int(match[1]), int(match[2]), int(match[3]) if match[3] else None)
    if match := _SENSOR.fullmatch(line):
        return SensorEvent("sensor" if match[1] == b"s" else "pocket", int(match[2]))
    if match := _SELF_TEST.fullmatch(line):
        return SelfTestCode(int(match[1]))
    if match := _PAGE.fullmatch(line):
        return _log_page(match[1], int(match[2], 16))
    if match := _REPLY.fullmatch(line):
        return Reply(match[1].decode(), (match[2] or b"").decode())
    return None


def _status(fields: list[str]) -> Status | None:
    state, spin, number, flags, rpm, direction = fields
    spins, speed = spin.lstrip(), rpm.lstrip()
    if not (spins.isdigit() and speed.isdigit()) or (number[1] == " " and number != "  "):
        return None
    return Status(
        state=int(state),
        spin=int(spins),
        number=decode_number(number),
        flags=int(flags, 16),
        rotor_rpm_x10=int(speed),
        direction="ccw" if direction == "1" else "cw",
    )


def _log_page(data: bytes, checksum: int) -> LogPage | None:
    if sum(data) % 256 != checksum:
        return None
    entries: list[tuple[Literal["win", "misfire"], int]] = []
    for byte in data:
        value = byte - 0x21
        if value < 38:
            entries.append(("win", value))
        elif value < 76:
            entries.append(("misfire", value - 38))
        elif byte != 0x7E:
            return None
    return LogPage(tuple(entries))


def _printable(line: bytes) -> str:
    return printable(line[:_MAX_SHOWN].decode("ascii", "backslashreplace"))


# --- commands ---

READ_STATUS = b"*X\r"
VOID_GAME = b"*R\r"
"""Acknowledges a void game. The wheel then returns to state 1."""
READ_STATE_AND_MODE = b"*O\r"
SET_LETTERS = "nkrjtmhzidcpqg"
"""The letters of the wheel's parameters. `*T` with a lower-case letter sets a parameter; with an upper-case
letter, it reads the parameter."""


def read_parameter(letter: str) -> bytes:
    """Return the command that reads a parameter. Raises ValueError if there is no such parameter."""
    return b"*T %s\r" % _letter(letter).upper().encode()


def _letter(letter: str) -> str:
    if len(letter) != 1 or letter not in SET_LETTERS:
        raise ValueError(f"found parameter {letter!r}, expected one of {' '.join(SET_LETTERS)}")
    return letter


ANSWER_TIMEOUT_US = 1_500_000
"""Maximum time for a reply. The wheel replies within a few hundred milliseconds, or not at all."""

Outcome = Literal["ok", "busy", "refused", "value", "no_answer"]


@dataclass(frozen=True, slots=True)
class RequestResult:
    """A request's name and result, and the text that follows the letter in the reply."""

    name: str
    outcome: Outcome
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    command: bytes
    letters: str


class Requests:
    """The requests to one wheel, sent one at a time.

    A reply has no number, so it is matched to a command by its letter.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Request] = deque()
        self._pending: _Request | None = None
        self._due_us = 0
        self._output = bytearray()

    @property
    def idle(self) -> bool:
        """Whether no request is waiting to be sent or answered."""
        return self._pending is None and not self._waiting

    def add(self, now_us: int, name: str, command: bytes, letters: str = "") -> None:
        """Send a request after all earlier requests have ended.

        `letters` are the possible letters of the reply, by default only the command's. Some replies have a
        different letter from the one given in the wheel's manual.
        """
        self._waiting.append(_Request(name, command, letters or chr(command[1])))
        self._send_next(now_us)

    def send(self, command: bytes) -> None:
        """Send a command that the wheel answers with a status frame instead of a reply."""
        self._output += command

    def forget(self) -> None:
        """Discard all requests after the loss of the link."""
        self._waiting.clear()
        self._pending = None
        self._output.clear()

    def take_output(self) -> bytes:
        """Return the bytes to send."""
        output = bytes(self._output)
        self._output.clear()
        return output

    def handle_reply(self, now_us: int, reply: Reply) -> RequestResult | None:
        """Return the result of the request that a reply answers; None if the reply answers no request."""
        pending = self._pending
        if pending is None or reply.letter not in pending.letters:
            return None
        return self._end(now_us, pending, reply.outcome, reply.text)

    def next_deadline(self) -> int | None:
        """Return when the pending request will be abandoned; None if no request is pending."""
        return None if self._pending is None else self._due_us

    def tick(self, now_us: int) -> RequestResult | None:
        """Abandon an overdue request and return its result; None if no request is overdue."""
        pending = self._pending
        if pending is None or now_us < self._due_us:
            return None
        return self._end(now_us, pending, "no_answer", "")

    def _end(self, now_us: int, pending: _Request, outcome: Outcome, text: str) -> RequestResult:
        self._pending = None
        self._send_next(now_us)
        return RequestResult(pending.name, outcome, text)

    def _send_next(self, now_us: int) -> None:
        if self._pending is None and self._waiting:
            self._pending = self._waiting.popleft()
            self._due_us = now_us + ANSWER_TIMEOUT_US
            self._output += self._pending.command


_MODE = "mode"
_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True)
class Question:
    """A request's name, its command, and the letters with which the reply can begin."""

    name: str
    command: bytes
    letters: str


class ApprovedSettings:
    """Compares the approved values of the wheel's settings with the values read back."""

    def __init__(self, parameters: Mapping[str, tuple[float, ...]], mode: int | None) -> None:
        """Store the approved values. No value has been read back yet.

        Args:
            parameters: The approved values by the letter that sets the parameter, such as `m`: (1.5,).
            mode: The approved mode word.

        Raises:
            ValueError: If a parameter is unknown.
        """
        self._approved: dict[str, tuple[float, ...]] = dict(parameters)
        self._commands = {letter: read_parameter(letter) for letter in parameters}
        if mode is not None:
            self._approved[_MODE] = (float(mode),)
            self._commands[_MODE] = READ_STATE_AND_MODE
        self._differences: dict[str, str] = {}
        self._unread = set(self._approved)

    @property
    def verified(self) -> bool:
        """Whether every value has been read back and equals the approved value."""
        return not self._unread and not self._differences

    @property
    def differences(self) -> tuple[str, ...]:
        """A description of each value that differs."""
        return tuple(self._differences[name] for name in sorted(self._differences))

    def begin(self) -> None:
        """Discard the values read back, because a wheel that restarts loses settings that were not saved."""
        self._unread = set(self._approved)
        self._differences.clear()

    def questions(self) -> Iterator[Question]:
        """Yield a question for each value that has not been read back yet."""
        for name in sorted(self._unread):
            yield Question(name, self._commands[name], "O" if name == _MODE else "T")

    def handle_answer(self, answer: RequestResult) -> None:
        """Handle an answer to a question. If the answer has no value, the question remains open."""
        approved = self._approved.get(answer.name)
        values = _values(answer)
        if approved is None or not values:
            return
        if answer.name == _MODE:
            values = values[-1:]
        self._unread.discard(answer.name)
        self._differences.pop(answer.name, None)
        if len(values) != len(approved) or any(
            abs(found - value) > _TOLERANCE for found, value in zip(values, approved, strict=True)
        ):
            what = _MODE if answer.name == _MODE else f"parameter {answer.name}"
            self._differences[answer.name] = f"{what}: found {_text(values)}, expected {_text(approved)}"


def _values(answer: RequestResult) -> tuple[float, ...]:
    if answer.outcome != "value":
        return ()
    words = answer.text.split()
    if words and words[0].isalpha():
        words = words[1:]
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        return ()


def _text(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
