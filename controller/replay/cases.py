"""Recorded logs as regression tests: a log, and beside it the outcomes that it must give."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

EXPECTED = ".expected.jsonl"
LOG_ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded log and the file of the outcomes that it must give."""

    name: str
    log: Path
    expected: Path


def find_cases(folder: Path) -> list[Case]:
    """Find every `NAME.jsonl` or `NAME.jsonl.gz`, each with its `NAME.expected.jsonl`, in order of name."""
    return sorted(_cases(folder), key=lambda case: (case.name, case.log))


def _cases(folder: Path) -> Iterator[Case]:
    for path in folder.iterdir():
        ending = next((ending for ending in LOG_ENDINGS if path.name.endswith(ending)), None)
        if ending is not None and not path.name.endswith(EXPECTED):
            name = path.name.removesuffix(ending)
            yield Case(name, path, path.with_name(name + EXPECTED))
