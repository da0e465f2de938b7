"""Choose from the lock what one table needs, with its hashes: the extras that its file asks for, no more.

Runs on the machine's own Python before anything is installed, so it knows the standard library alone.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ALWAYS = ("journal", "hardware", "web")
"""The daemon joins its table to ports and journal whatever the file says, and it has its screens."""
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_ASKS = {
    "mqtt": re.compile(r"^\s*(?:to\s*:\s*mqtt|mqtt\s*:)", re.MULTILINE),
}
_SETTLED_ELSEWHERE = re.compile(r"^\s*to\s*:\s*(?:mqtt|socket)\b", re.MULTILINE)
"""What in a table's file asks for an extra. One too many costs a download; `tablectl doctor` tells of one
too few."""


def extras_of(table: Path | None) -> tuple[str, ...]:
    """Name the extras that a table's file asks for; all that a table can have where there is no file yet."""
    if table is None:
        return (*ALWAYS, "mqtt", "settlement")
    text = table.read_text(encoding="utf-8")
    asked = tuple(extra for extra, asks in _ASKS.items() if asks.search(text))
    return (*ALWAYS, *asked, *(() if _SETTLED_ELSEWHERE.search(text) else ("settlement",)))


def roots_of(project: Path, extras: tuple[str, ...]) -> set[str]:
    """Give the packages that the project itself names; raises KeyError for an extra that it has not."""
    told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    brought = [one for extra in extras for one in told["optional-dependencies"][extra]]
    wanted = [*told["dependencies"], *brought]
    return {_plain(one) for one in wanted}


def chosen(lock: str, roots: set[str]) -> Iterator[str]:
    """Give the lock's entries for these packages and for what they bring along."""
    entries = dict(_entries(lock))
    brought: dict[str, set[str]] = {name: set() for name in entries}
    for name, entry in entries.items():
        for by in re.findall(r"# via (.*)", entry):
            for one in by.split(", "):
                brought.setdefault(_plain(one), set()).add(name)
    for name in sorted(_reached(roots, brought)):
        if name in entries:
            yield entries[name]


def _reached(roots: set[str], brought: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(brought.get(name, ()))
    return found


def _entries(lock: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"\n(?=[A-Za-z0-9])", lock):
        if "==" in block.partition("\n")[0]:
            yield _plain(block), block.rstrip().partition("\n\n")[0]


def _plain(requirement: str) -> str:
    found = _NAME.match(requirement.strip())
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def main() -> int:
    """Print the extras of a table, or the chosen part of the lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras-of", metavar="TABLE")
    parser.add_argument("--lock", type=Path)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--extras", default="")
    told = parser.parse_args()
    if told.extras_of is not None:
        sys.stdout.write(",".join(extras_of(Path(told.extras_of) if told.extras_of else None)) + "\n")
        return 0
    extras = tuple(one for one in told.extras.split(",") if one)
    try:
        roots = roots_of(told.project, extras)
    except KeyError as error:
        sys.stderr.write(f"install: found extra {error}, expected one of {told.project}\n")
        return 2
    sys.stdout.writelines(f"{entry}\n" for entry in chosen(told.lock.read_text(encoding="utf-8"), roots))
    return 0


if __name__ == "__main__":
    sys.exit(main())
