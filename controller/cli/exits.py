"""What `tablectl` tells the shell, and how it says what is wrong."""

import sys

OK = 0
FAILED = 1
"""A check did not hold, or it was refused."""
BAD_INPUT = 2
"""A bad log, bad settings or bad usage; nothing was done."""
OUT_OF_REACH = 3
"""No controller answers at the control socket."""
DEFECT = 70
"""A defect of the program's own; as sysexits.h has it."""
UNWRITABLE = 74
"""Standard output took no more (a full disk, a closed stream); as sysexits.h has it."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""As a shell reports a writer whose reader is gone."""
IN_WORDS = (
    "exit codes:\n"
    "  0 fine, 1 findings or refused, 2 bad log, input or usage, 3 no controller answers,\n"
    "  4 another controller runs, 5 the disk did not take the last rows (both of `run`),\n"
    "  70 a defect of the program, 74 the output could not be written,\n"
    "  129 hung up, 130 Ctrl-C, 141 the reader went away, 143 SIGTERM"
)


def say(text: object) -> None:
    """Write for people to standard error; where there is none, the exit code still tells."""
    if sys.stderr is None:
        return
    for line in str(text).split("\n"):
        print(f"tablectl: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """Escape what could move a terminal's cursor: names in a log are its writer's to choose."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
