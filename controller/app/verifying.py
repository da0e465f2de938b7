"""The process that verifies a journal beside a running controller: `python -m controller.app.verifying`.

It takes what processor time nobody else wants, and writes one line of JSON: what it found.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.journal.faults import JournalFault
from controller.journal.reading import Reader


class Sound(msgspec.Struct, frozen=True, kw_only=True):
    """A sound journal, as `Verified` has it."""

    rows: int
    outcomes: int
    signatures: int
    evidence: int
    dropped: int
    last_n: int
    last_link: bytes
    unvouched: tuple[str, ...]


class Unsound(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault, as `JournalFault` has it."""

    code: str
    where: str
    found: str
    expected: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: one of both."""

    verified: Sound | None = None
    fault: Unsound | None = None


def verify(journal: Path) -> Found:
    """Verify every page, row and signature."""
    try:
        with Reader(journal) as reader:
            return Found(verified=Sound(**reader.verify_all()._asdict()))
    except JournalFault as fault:
        told = Unsound(code=fault.code, where=fault.where, found=fault.found, expected=fault.expected)
        return Found(fault=told)


def main(journal: str) -> None:
    """Verify at the lowest priority, and say what was found."""
    with suppress(OSError):  # a service manager may forbid it; then it runs like any other process
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    sys.stdout.buffer.write(msgspec.json.encode(verify(Path(journal))) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
