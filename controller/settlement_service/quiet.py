"""A log that nobody outside can fill: so many lines a minute, and then how many there would have been."""

import logging
from collections.abc import Callable

MAX_LINES = 20
"""Lines a minute."""
MINUTE_S = 60.0
MAX_CHARACTERS = 2000
"""Of a line, or of a traceback."""


class FewLines(logging.Handler):
    """Writes few lines; the times are the records' own."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Write lines this way."""
        super().__init__()
        self._write = write
        self._since_s = 0.0
        self._lines = 0
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it."""
        if not 0 <= record.created - self._since_s < MINUTE_S:
            if self._left_out:
                self._write(f"{self._left_out} more lines were left out\n")
            self._since_s, self._lines, self._left_out = record.created, 0, 0
        if self._lines >= MAX_LINES:
            self._left_out += 1
            return
        self._lines += 1
        text = self.format(record)
        self._write(f"{text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + '...'}\n")
