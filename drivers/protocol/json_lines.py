"""JSON objects, one a line, from a person's own script: bytes in, objects out, whatever the bytes are."""

from dataclasses import dataclass

from controller.model.strict_json import NotStrict, strict
from drivers.protocol.node_lines import Lines

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
