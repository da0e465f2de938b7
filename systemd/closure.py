"""Select from the lock file the packages that one table needs, given the extras that its file requires.

Runs on the machine's own Python before anything is installed, with only the standard library.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ALWAYS = ("journal", "hardware", "web")
"""The extras that every table needs: the journal, the ports and the screens."""
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_REQUIRING = {
    "mqtt": re.compile(r"^\s*(?:to\s*:\s*mqtt|mqtt\s*:)", re.MULTILINE),
}
_SETTLED_ELSEWHERE = re.compile(r"^\s*to\s*:\s*(?:mqtt|socket)\b", re.MULTILINE)
"""Matches the file of a table whose outcomes are settled elsewhere. These patterns are approximate: an
unneeded extra only costs a download, and `tablectl doctor` reports a missing one."""


def extras_of(table: Path | None) -> tuple[str, ...]:
    """Return the extras that a table's file requires; without a file, all that a table might require."""
    if table is None:
        return (*ALWAYS, "mqtt", "settlement")
    text = table.read_text(encoding="utf-8")
    required = tuple(extra for extra, pattern in _REQUIRING.items() if pattern.search(text))
    return (*ALWAYS, *required, *(() if _SETTLED_ELSEWHERE.search(text) else ("settlement",)))


def roots_of(project: Path, extras: tuple[str, ...]) -> set[str]:
    """Return the packages that the project itself requires with these extras.

    Raises KeyError for an unknown extra.
    """
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    optional = [one for extra in extras for one in declared["optional-dependencies"][extra]]
    wanted = [*declared["dependencies"], *optional]
    return {_plain(one) for one in wanted}


def chosen(lock: str, roots: set[str]) -> Iterator[str]:
    """Yield the lock's entries for these packages and their dependencies."""
    entries = dict(_entries(lock))
    dependencies: dict[str, set[str]] = {name: set() for name in entries}
    for name, entry in entries.items():
        for by in re.findall(r"# via (.*)", entry):
            for one in by.split(", "):
                dependencies.setdefault(_plain(one), set()).add(name)
    for name in sorted(_reached(roots, dependencies)):
        if name in entries:
            yield entries[name]


def _reached(roots: set[str], dependencies: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(dependencies.get(name, ()))
    return found


def _entries(lock: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"\n(?=[A-Za-z0-9])", lock):
        if "==" in block.partition("\n")[0]:
            yield _plain(block), block.rstrip().partition("\n\n")[0]


def _plain(requirement: str) -> str:
    found = _NAME.match(requirement.strip())
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def main() -> int:
    """Print the extras of a table, or the selected part of the lock file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras-of", metavar="TABLE")
    parser.add_argument("--lock", type=Path)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--extras", default="")
    options = parser.parse_args()
    if options.extras_of is not None:
        sys.stdout.write(",".join(extras_of(Path(options.extras_of) if options.extras_of else None)) + "\n")
        return 0
    extras = tuple(one for one in options.extras.split(",") if one)
    try:
        roots = roots_of(options.project, extras)
    except KeyError as error:
        sys.stderr.write(f"install: found the extra {error}, expected one that {options.project} declares\n")
        return 2
    sys.stdout.writelines(f"{entry}\n" for entry in chosen(options.lock.read_text(encoding="utf-8"), roots))
    return 0


if __name__ == "__main__":
    sys.exit(main())
