"""The files with boards' keys: read at the start, and again whenever one changes."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from drivers.node.device import KEY

MAKE_ONE = "make one: tablectl keys make node FILE"


@runtime_checkable
class Keyed(Protocol):
    """Settings whose key may stand in a file of its own, so that the table's file holds no secret."""

    @property
    def key(self) -> str:
        """The key in hexadecimal digits."""
        ...

    @property
    def key_file(self) -> str:
        """The file that it is in."""
        ...


class KeyFileError(Exception):
    """A key that can't be used: what was found, what was expected, what to do. It never shows the key."""

    def __init__(self, found: str, expected: str, hint: str) -> None:
        super().__init__(f"found {found}, expected {expected}; {hint}")
        self.found = found
        self.expected = expected
        self.hint = hint


def key_in(path: Path) -> str:
    """Return the key in this file, as hexadecimal digits; raises KeyFileError."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        denied = isinstance(error, PermissionError)
        hint = f"give it to the controller's user: chown table {path}" if denied else MAKE_ONE
        raise KeyFileError(f"no readable file {path} ({why})", "a node's key", hint) from error
    except UnicodeDecodeError as error:
        raise KeyFileError("bytes that are not text", "32 to 128 hexadecimal digits", MAKE_ONE) from error
    if mode & stat.S_IRWXO:
        raise KeyFileError(
            f"mode {stat.S_IMODE(mode):04o}", "a file that only its owner can read", f"chmod 0600 {path}"
        )
    if not KEY.fullmatch(text):
        raise KeyFileError("something else in it", "32 to 128 hexadecimal digits", MAKE_ONE)
    return text


class NewKey(NamedTuple):
    """A device's key has changed: to this one, or to none, and `flaw` says why."""

    device: str
    key: str
    flaw: str = ""


class _State(NamedTuple):
    """What changes where a file does."""

    number: int
    size: int
    mode: int
    written_ns: int
    changed_ns: int


class KeyFiles:
    """The key files of a table's devices; one thread looks at them."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        """Watch those that these settings name, by device; their keys have been read already."""
        self._keys = {
            name: (Path(one.key_file), bytes.fromhex(one.key))
            for name, one in settings.items()
            if isinstance(one, Keyed) and one.key_file
        }
        self._states: dict[str, _State | None] = {}
        self._flaws: dict[str, str] = {}

    def look(self) -> Iterator[NewKey]:
        """Yield each key that has changed since the last look."""
        for name, (path, key) in list(self._keys.items()):
            state = _state_of(path)
            if state is not None and self._states.get(name) == state:
                continue
            try:
                found = key_in(path)
            except KeyFileError as error:
                self._states[name] = None  # It is read at every look until it can be used.
                if self._flaws.get(name) != str(error):
                    self._flaws[name] = str(error)
                    self._keys[name] = path, b""
                    yield NewKey(name, "", str(error))
                continue
            self._states[name] = state
            self._flaws.pop(name, None)
            if bytes.fromhex(found) != key:
                self._keys[name] = path, bytes.fromhex(found)
                yield NewKey(name, found)


def _state_of(path: Path) -> _State | None:
    with suppress(OSError):
        found = os.stat(path)
        return _State(found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns, found.st_ctime_ns)
    return None
