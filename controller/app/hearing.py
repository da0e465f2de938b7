"""A client's lines as its bytes come, and how long it may take with them."""

from drivers.lines import LineSplitter

FIRST_S = 60.0
"""So long a client may say nothing at all: it has one of few places."""
LINE_S = 5.0
"""So long a line that was begun may take to its end."""


class Hearing:
    """One client's requests: bytes and the time go in, whole lines come out, however the bytes are cut."""

    def __init__(self, now_us: int, limit: int) -> None:
        """Take lines of so many bytes at most."""
        self.waits_for = "a first request"
        """What has to come in time."""
        self._lines = LineSplitter(limit)
        self._due_us: int | None = now_us + round(FIRST_S * 1e6)
        self._begun = False

    def left_s(self, now_us: int) -> float | None:
        """Give how much time is left for what it waits for; None where that has time."""
        return None if self._due_us is None else max(0.0, (self._due_us - now_us) / 1e6)

    def hear(self, block: bytes, now_us: int) -> list[bytes | None]:
        """Take bytes; give each whole line, None for one that was too long."""
        lines = [None if dropped else line for line, dropped in self._lines.feed(block)]
        if block.endswith(b"\n"):
            self._begun, self._due_us = False, None
        elif lines or not self._begun:
            self._begun, self._due_us = True, now_us + round(LINE_S * 1e6)
            self.waits_for = "the end of a line"
        return lines
