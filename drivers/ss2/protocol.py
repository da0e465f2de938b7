"""The SS2 wheel reader's serial lines: bytes in, messages out, the permitted commands, their answers.

9600 baud, 8N1, no flow control. Every line begins with `*` except the bare winning number; the wheel ends its
lines with CR LF, and either is accepted. A line that a full buffer cut short runs into the next one, so the
decoder starts again at the last `*` of a bad line and counts what it left out.

Questions are asked one at a time. A wheel's OK proves nothing: it has acknowledged a setting and kept the old
value, and a setting that has drifted can look like a broken sensor. So every value is read back before the
table opens.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Literal

from drivers.framing import Line, LineSplitter

BAUD = 9600
MAX_LINE = 300
"""A page of the wheel's log is the longest line: 258 characters and a prefix."""
LAST_SPIN = 256
"""The spin number runs from 1 to 256 and begins again."""

Direction = Literal["cw", "ccw"]


class State(IntEnum):
    """The wheel's state, as it reports it."""

    ROTOR_STARTED = 1
    PLACE_BETS = 2
    BALL_IN_RIM = 3
    NO_MORE_BETS = 4
    WINNING_NUMBER = 5
    CLOSED = 6
    BALL_NOT_DETECTED = 7


class Flag(IntFlag):
    """The wheel's warnings, as bits."""

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
"""What each code of the wheel's self-test means."""


@dataclass(frozen=True, slots=True)
class Status:
    """A status frame: what the wheel does now, and its last winning number (None before the first)."""

    state: int
    spin: int
    number: str | None
    flags: int
    rotor_rpm_x10: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class BareNumber:
    """The winning number's own line, sent just before the wheel shows state 5."""

    number: str


@dataclass(frozen=True, slots=True)
class Bonus:
    """A bonus number, and the days left of a licence that is about to end."""

    kind: int
    value: int
    licence_days: int | None


@dataclass(frozen=True, slots=True)
class SelfTestCode:
    """One fault that the wheel's self-test found; 0 is none."""

    code: int

    @property
    def meaning(self) -> str:
        """Return what the code means."""
        return SELF_TEST.get(self.code, f"unknown code {self.code}")


@dataclass(frozen=True, slots=True)
class SensorEvent:
    """A raw sensor event: ball sensor `s` or pocket `n` by its number."""

    kind: Literal["sensor", "pocket"]
    number: int


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of the wheel's own log, its checksum right: wins and misfires by pocket number, oldest first."""

    wins_and_misfires: tuple[tuple[Literal["win", "misfire"], int], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a command: its letter (a blank and `)` echo unknown ones) and what follows."""

    letter: str
    text: str

    @property
    def outcome(self) -> Literal["ok", "busy", "refused", "value"]:
        """Return whether it is an acknowledgement, a refusal or a value; the last word decides."""
        word = self.text.rpartition(" ")[2]
        outcomes: dict[str, Literal["ok", "busy", "refused"]] = {"OK": "ok", "BUSY": "busy", "NO": "refused"}
        return outcomes.get(word, "value")


@dataclass(frozen=True, slots=True)
class DiscardedLine:
    """The start of a bad line, in printable form for technicians."""

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
_SHOWN = 40


def number_of(text: str) -> str | None:
    """Return a number from its two characters: None if blank; `0` and `00` differ only by the pad.

    38 and 39 are triple and quadruple zero. A number that no wheel has (37) is returned unchanged, for the
    judge.
    """
    if text == "  ":
        return None
    return _NUMBERS.get(text) or text.removeprefix(" ")


def with_its_blank(line: bytes) -> bytes:
    """Restore the leading blank that a recorder stripped from a bare number of one digit."""
    return b" " + line if len(line) == 1 and line.isdigit() else line


def games_between(before: int, after: int) -> int:
    """Count the games from one spin number to another, over the wrap at 256 (000 or 001 comes after it)."""
    return 1 if (before, after) == (LAST_SPIN, 0) else (after - before) % LAST_SPIN


class Decoder:
    """Bytes in, messages out, in any chunking."""

    def __init__(self) -> None:
        """Start with an empty buffer."""
        self.lines = 0
        """Lines received that were not empty."""
        self.discarded = 0
        """Bad lines, and bad beginnings of lines that were read again from their last `*`."""
        self._lines = LineSplitter(MAX_LINE, _LINE_ENDS)

    def join(self) -> None:
        """Accept no message before the next line end: reception may have begun anywhere in the line.

        The end of a sensor event, `17`, would be a winning number.
        """
        self._lines.join()

    def feed(self, data: bytes) -> list[Message]:
        """Handle bytes as they come; return the messages of the lines that they end."""
        return [message for line in self._lines.feed(data) if line.text for message in self._read(line)]

    def reset(self) -> None:
        """Forget an unfinished line: the link was lost."""
        self._lines.clear()

    def _read(self, whole: Line) -> Iterator[Message]:
        line, overlong = whole.text, whole.dropped > 0
        self.lines += 1
        if whole.maybe_cut:
            self.discarded += 1
            yield DiscardedLine(_shown(line))
            return
        message = None if overlong else _parsed(line)
        if message is not None:
            yield message
            return
        self.discarded += 1
        yield DiscardedLine(_shown(line))
        again = _parsed(line[line.rfind(b"*") :]) if b"*" in line[1:] or overlong else None
        if again is not None:
            yield again


def _parsed(line: bytes) -> Message | None:
    if match := _STATUS.fullmatch(line):
        return _status([part.decode() for part in match.groups()])
    if _BARE.fullmatch(line):
        number = number_of(line.decode())
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
    state, spin, number, flags, rpm, turning = fields
    spins, speed = spin.lstrip(), rpm.lstrip()
    if not (spins.isdigit() and speed.isdigit()) or (number[1] == " " and number != "  "):
        return None
    return Status(
        state=int(state),
        spin=int(spins),
        number=number_of(number),
        flags=int(flags, 16),
        rotor_rpm_x10=int(speed),
        direction="ccw" if turning == "1" else "cw",
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


def _shown(line: bytes) -> str:
    return line[:_SHOWN].decode("ascii", "backslashreplace")


# --- commands ---

READ_STATUS = b"*X\r"
VOID_GAME = b"*R\r"
"""Acknowledges a void game: the wheel goes back to state 1."""
READ_STATE_AND_MODE = b"*O\r"
SET_LETTERS = "nkrjtmhzidcpqg"
"""The parameters that `*T` sets in small letters and reads in capitals."""


def read_parameter(letter: str) -> bytes:
    """Return the command that reads a parameter; raises ValueError if there is none such."""
    return b"*T %s\r" % _letter(letter).upper().encode()


def _letter(letter: str) -> str:
    if len(letter) != 1 or letter not in SET_LETTERS:
        raise ValueError(f"the wheel has no parameter {letter!r}; it has {' '.join(SET_LETTERS)}")
    return letter


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
        """Ask once the earlier requests are answered; `letters` are those that a reply may bear, else the
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
