"""Recorded logs in a folder, with their expected outcomes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.replay.run import EXPECTED, LOG_ENDINGS


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded log, with the path of the file of expected outcomes."""

    name: str
    log: Path
    expected: Path


def find_cases(folder: Path) -> list[Case]:
    """Return every `NAME.jsonl` or `NAME.jsonl.gz` in a folder as a case, sorted by name.

    The path of the expected outcomes is `NAME.expected.jsonl`; the file might not exist.
    """
    return sorted(_cases(folder), key=lambda case: (case.name, case.log))


def _cases(folder: Path) -> Iterator[Case]:
    for path in folder.iterdir():
        ending = next((ending for ending in LOG_ENDINGS if path.name.endswith(ending)), None)
        if ending is not None and not path.name.endswith(EXPECTED):
            name = path.name.removesuffix(ending)
            yield Case(name, path, path.with_name(name + EXPECTED))
