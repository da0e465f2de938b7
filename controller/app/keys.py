"""Keys of nodes in files of their own: read once, at the start."""

import stat
from pathlib import Path

from drivers.node.device import KEY


class KeyFileError(Exception):
    """A key that can't be used: what was found, what was expected, what to do. It never shows the key."""

    def __init__(self, found: str, expected: str, hint: str) -> None:
        super().__init__(f"found {found}, expected {expected}; {hint}")
        self.found = found
        self.expected = expected
        self.hint = hint


def key_in(path: Path) -> str:
    """Give the key in this file, as hexadecimal digits; raises KeyFileError."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise KeyFileError(
            f"no readable file {path} ({why})", "a node's key", "make it: openssl rand -hex 16"
        ) from error
    except UnicodeDecodeError as error:
        raise KeyFileError(
            "bytes that are no text", "32 to 128 hexadecimal digits", "openssl rand -hex 16 makes one"
        ) from error
    if mode & stat.S_IRWXO:
        raise KeyFileError(
            f"mode {stat.S_IMODE(mode):04o}", "a file that others can't read", f"chmod 0600 {path}"
        )
    if not KEY.fullmatch(text):
        raise KeyFileError(
            "something else in it", "32 to 128 hexadecimal digits", "openssl rand -hex 16 makes one"
        )
    return text
