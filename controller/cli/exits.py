"""What `tablectl` tells the shell, and how it says what is wrong."""

import sys

OK = 0
FAILED = 1
"""A check did not hold."""
BAD_INPUT = 2
"""A bad log, bad settings or bad usage; nothing was done."""
OUT_OF_REACH = 3
"""No controller answers at the control socket."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""As a shell reports a writer whose reader is gone."""


def say(text: object) -> None:
    """Write for people to standard error."""
    for line in str(text).split("\n"):
        print(f"tablectl: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """Escape what could move a terminal's cursor: names in a log are its writer's to choose."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
