"""JSON objects, one a line, from a person's own script, and the script's clock as their arrival shows it."""

from collections import deque
from dataclasses import dataclass

from controller.model.strict_json import NotStrict, strict
from drivers.lines import Lines

MAX_LINE = 4096
"""Bytes of a line at most."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no JSON object, and why."""

    why: str


Object = dict[str, object]


class JsonLines:
    """The lines of one connection."""

    def __init__(self) -> None:
        self._lines = Lines(MAX_LINE)
        self.good = 0
        self.bad = 0

    def connect(self) -> None:
        """Forget an unfinished line of the connection before."""
        self._lines.clear()

    def feed(self, data: bytes) -> list[Object | BadLine]:
        """Take bytes; give what each whole line holds. Empty lines are nothing."""
        found = []
        for line, dropped in self._lines.feed(data):
            if dropped:
                item: Object | BadLine = BadLine(f"more than {MAX_LINE} bytes in one line")
            elif line.strip():
                item = _object(line)
            else:
                continue
            if isinstance(item, BadLine):
                self.bad += 1
            else:
                self.good += 1
            found.append(item)
        return found


def _object(line: bytes) -> Object | BadLine:
    try:
        value = strict(line)
    except NotStrict as error:
        return BadLine(f"{_shown(line)}, which is no JSON object ({error})")
    if not isinstance(value, dict):
        return BadLine(f"{_shown(line)}, where one JSON object was expected")
    return value


def _shown(line: bytes) -> str:
    text = line[:60].decode("ascii", "backslashreplace")
    return "".join(c if c.isprintable() else "?" for c in text)


WINDOW_US = 10_000_000
SLICE_US = 1_000_000
MAX_OFF_US = 2_000_000
ODD_ONES = 3
"""So many times in a row that can't be right are a clock that was set anew."""


class BadClockError(ValueError):
    """A time that can't be right."""


class ScriptClock:
    """The difference of two clocks, as the smallest delay of each second shows it."""

    def __init__(self) -> None:
        self._least: deque[tuple[int, int]] = deque()
        self._odd = 0

    def to_table(self, t_us: int, arrived_us: int) -> int:
        """Give the table's time of the script's time `t_us` on a line that arrived now.

        Raises BadClockError where it lies seconds beside that of the lines before.
        """
        delay = arrived_us - t_us
        self._check(delay)
        least = self._least
        if not least or arrived_us - least[-1][0] >= SLICE_US:
            least.append((arrived_us, delay))
        elif delay < least[-1][1]:
            least[-1] = (least[-1][0], delay)
        while arrived_us - least[0][0] > WINDOW_US:
            least.popleft()
        return max(0, t_us + self._quickest())

    def _quickest(self) -> int:
        return min(delay for _, delay in self._least)

    def _check(self, delay: int) -> None:
        if not self._least or abs(delay - self._quickest()) <= MAX_OFF_US:
            self._odd = 0
            return
        seconds = (self._quickest() - delay) / 1e6
        self._odd += 1
        if self._odd >= ODD_ONES:
            self._least.clear()
            self._odd = 0
        raise BadClockError(f"`t` is {seconds:+.1f} s off the lines before")
