"""Open what a command was told to read."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from controller.replay.errors import LogError

STDIN = "-"


def open_input(path: str, expected: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, or standard input for `-`; raises LogError where there is nothing readable."""
    if path == STDIN:
        if sys.stdin is None:
            raise LogError(name_of(path), "it closed", expected, "feed it by a pipe, or name a file")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except IsADirectoryError as error:
        raise LogError(path, "a directory", expected, "name a file in it") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogError(path, f"no readable file ({reason})", expected, "check the name") from error


def name_of(path: str) -> str:
    """Give the name that messages call this input by."""
    return "standard input" if path == STDIN else path
