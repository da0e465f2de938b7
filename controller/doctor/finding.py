"""One answer to one question about a table's machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

State = Literal["ok", "warning", "fault", "unchecked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do where it is not well."""

    state: State
    about: str
    says: str
    remedy: str = ""


Call = Callable[[Sequence[str]], str | None]
"""Runs a program and gives what it printed; None where it is not there or failed."""


class Machine(NamedTuple):
    """The machine under the table: its files from this root on, and its programs."""

    root: Path
    call: Call

    def read(self, name: str) -> str | None:
        """Give a file's text; None where it is not there or closed to this user."""
        try:
            return (self.root / name).read_text(encoding="utf-8", errors="replace").rstrip("\0\n")
        except OSError:
            return None
