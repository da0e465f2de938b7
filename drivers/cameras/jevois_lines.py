"""The standardized serial messages of JeVois smart cameras, as far as they tell of objects in the image.

Normal (`N2 id x y w h`) and Detail (`D2 id x1 y1 ... x4 y4 extra`) messages in two dimensions, with or
without a stamp before them, and the marks of each frame's start and end. Coordinates are the camera's own:
0 in the middle, x from -1000 (left) to 1000, y downwards. The firmware departs from its own description, so
it is read leniently: a corner that is sent twice, an unannounced count of corners, blanks at a line's end.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

BAUD = 115_200
MAX_LINE = 1024
FARTHEST = 10_000.0
"""Far outside any image: a coordinate beyond it is damage."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Detection:
    """An object in the image: its category, the camera's score for it (0 to 100) and its middle."""

    category: str
    score: float | None
    x: float
    y: float
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """The start or the end of what the camera has to say of one frame."""

    which: Literal["start", "stop"]
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class Discarded:
    """A line that is none of these, as a technician can read it."""

    text: str


Message = Detection | Mark | Discarded

_LINE_END = re.compile(rb"[\r\n\0]")
_STAMP = re.compile(r"\d+(?:/\d{4}-\d{2}-\d{2})?(?:/\d{2}:\d{2}:\d{2})?|\d{2}:\d{2}:\d{2}")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,10})?")
_SHOWN = 60


class Decoder:
    """Bytes in, messages out, in any chunking and with any of the camera's line ends."""

    def __init__(self) -> None:
        """Start with an empty buffer."""
        self.lines = 0
        """Lines seen that were not empty."""
        self.discarded = 0
        """Lines that were no message of these."""
        self._tail = b""
        self._overlong = False
        self._joining = False

    def join(self) -> None:
        """Take no message from what stands before the next line end: it may be the end of a line."""
        self.reset()
        self._joining = True

    def feed(self, data: bytes) -> list[Message]:
        """Take bytes as they come; give the messages of the lines that they end."""
        *lines, rest = _LINE_END.split(data)
        messages: list[Message] = []
        for line in lines:
            self._keep(line)
            if self._tail.strip():
                messages.append(self._read())
            self.reset()
            self._joining = False
        self._keep(rest)
        return messages

    def reset(self) -> None:
        """Forget a line that was begun: the link was lost."""
        self._tail = b""
        self._overlong = False

    def _keep(self, data: bytes) -> None:
        line = self._tail + data
        self._overlong = self._overlong or len(line) > MAX_LINE
        self._tail = line[:MAX_LINE]

    def _read(self) -> Message:
        self.lines += 1
        text = self._tail.decode("ascii", "backslashreplace")
        readable = self._tail.isascii() and not self._overlong
        message = _parsed(text.split()) if readable and not self._joining else None
        if message is None:
            self.discarded += 1
            return Discarded(text[:_SHOWN])
        return message


def _parsed(words: Sequence[str]) -> Message | None:
    stamp = words[0] if words and _STAMP.fullmatch(words[0]) else None
    match words[1:] if stamp else words:
        case ["MARK", "START"]:
            return Mark("start", stamp)
        case ["MARK", "STOP"]:
            return Mark("stop", stamp)
        case ["N2", name, *fields]:
            return _normal(name, fields, stamp)
        case ["D2", name, *fields]:
            return _detail(name, fields, stamp)
    return None


def _normal(name: str, fields: Sequence[str], stamp: str | None) -> Detection | None:
    numbers = _numbers(fields)
    if len(numbers) != 4 or len(fields) != 4 or min(numbers[2:]) < 0:
        return None
    return _detection(name, numbers[0], numbers[1], stamp)


def _detail(name: str, fields: Sequence[str], stamp: str | None) -> Detection | None:
    """Read four corners: other categories may follow them, and the count 4 may come before them."""
    numbers = _numbers(fields)
    if len(numbers) == 9 and numbers[0] == 4:
        numbers = numbers[1:]
    if len(numbers) != 8:
        return None
    x, y = _middle(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return _detection(name, x, y, stamp)


def _middle(corners: list[Point]) -> Point:
    """Find the middle of four corners; the firmware may have sent one of them twice and another not."""
    if len(set(corners)) == len(corners):
        return sum(x for x, _ in corners) / 4, sum(y for _, y in corners) / 4
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2


def _numbers(fields: Sequence[str]) -> list[float]:
    """Give the numbers that the fields begin with."""
    numbers: list[float] = []
    for field in fields:
        if not _NUMBER.fullmatch(field) or abs(float(field)) > FARTHEST:
            break
        numbers.append(float(field))
    return numbers


def _detection(name: str, x: float, y: float, stamp: str | None) -> Detection | None:
    category, colon, said = name.rpartition(":")
    if not colon:
        return Detection(name, None, x, y, stamp)
    if not _NUMBER.fullmatch(said) or not category:
        return Detection(name, None, x, y, stamp)
    score = float(said)
    return Detection(category, score, x, y, stamp) if 0 <= score <= 100 and math.isfinite(score) else None
