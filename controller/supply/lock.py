"""A lock file as pip-compile writes it: each release, the digests of its files, and who asked for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OURS = "table-controller"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"#\s*via\s+(.*)")


class LockFault(Exception):
    """A lock file that can't be read: the file, the line, what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One release that the lock names; `via` are the names of those that asked for it."""

    name: str
    version: str
    digests: tuple[str, ...] = ()
    via: tuple[str, ...] = field(default=())


def canonical(name: str) -> str:
    """Return a project's name as packaging tools compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> list[Pinned]:
    """Read every pinned release of a lock file.

    Raises:
        LockFault: a line pins nothing, or the file holds no release.
        OSError: the file can't be read.
    """
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    pinned = [_pinned(path, entry) for entry in _entries(text)]
    if not pinned:
        raise LockFault(f"{path}: found no release, expected lines as pip-compile writes them: NAME==VERSION")
    return pinned


def _entries(text: str) -> Iterator[str]:
    """Join each release with the comment lines below it."""
    entry = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith((" ", "\t")):
            entry += f" {line.strip()}"
            continue
        if entry:
            yield entry
        entry = line
    if entry:
        yield entry


def _pinned(path: Path, entry: str) -> Pinned:
    pin = _PIN.match(entry)
    if pin is None:
        raise LockFault(f"{path}: found {entry[:60]!r}, expected NAME==VERSION")
    via = _VIA.search(entry)
    asked = [] if via is None else [word.strip().split(" ")[0] for word in via[1].split(",")]
    return Pinned(
        name=canonical(pin["name"]),
        version=pin["version"],
        digests=tuple(sorted(_HASH.findall(entry))),
        via=tuple(sorted({canonical(word) for word in asked if word and not word.startswith("-")})),
    )
