"""The service's log: lines on standard error, which journald keeps with the level in front (sd-daemon(3))."""

import sys
from typing import Literal

Level = Literal["<2>", "<3>", "<4>", "<5>", "<6>"]
CRITICAL: Level = "<2>"
ERROR: Level = "<3>"
NOTICE: Level = "<5>"
INFO: Level = "<6>"


def log(level: Level, text: object) -> None:
    """Write one line; to a terminal without the level."""
    mark = "" if sys.stderr.isatty() else level
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    sys.stderr.write(f"{mark}{line}\n")
    sys.stderr.flush()
