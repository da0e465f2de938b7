"""What `tablectl` tells the shell, and how it says what is wrong."""

import sys

OK = 0
FAILED = 1
"""A check did not hold."""
BAD_INPUT = 2
"""A bad log, bad settings or bad usage; nothing was done."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""As a shell reports a writer whose reader is gone."""


def say(text: object) -> None:
    """Write one line for people to standard error."""
    print(f"tablectl: {text}", file=sys.stderr)
