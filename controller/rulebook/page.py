"""The page that lists every rule with what obeys and tests it: `python -m controller.rulebook.page`."""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller.rulebook.catalogue import ID, rules

HOME = Path(__file__).resolve().parents[2]
_PLACES: Mapping[str, str] = {"config": "*.yaml", "controller": "*.py", "drivers": "*.py", "tests": "*.py"}


def cited(home: Path = HOME) -> Mapping[str, tuple[str, ...]]:
    """Return the files of a checkout that cite each rule."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder, pattern in _PLACES.items():
        for path in sorted((home / folder).rglob(pattern)):
            name = path.relative_to(home).as_posix()
            if name.startswith("controller/rulebook/"):
                continue
            for id_ in ID.findall(_as_written(path)):
                found[id_].add(name)
    return {id_: tuple(sorted(files)) for id_, files in found.items()}


def _as_written(path: Path) -> str:
    """Return a file's text; a test's name cites its rule with underscores (`test_C34_PT_3_...`)."""
    text = path.read_text(encoding="utf-8")
    named = (
        word.removeprefix("test_").removeprefix("gap_") for word in text.split() if word.startswith("test_")
    )
    return " ".join((text, *(word.replace("_", "-") for word in named)))


def page(home: Path = HOME) -> Iterator[str]:
    """Write the page, line by line."""
    files = cited(home)
    yield "# Rules"
    yield ""
    yield "Every rule of the documents by its id, in our own words, with its place and with the code, the"
    yield "settings and the tests that cite it. `tablectl rules explain ID` prints one."
    yield "Made by `python -m controller.rulebook.page`."
    document = ""
    for rule in rules().values():
        heading = f"What {rule.document} leaves open" if rule.id.startswith("!") else rule.document
        if heading != document:
            document = heading
            yield from (
                "",
                f"## {heading}",
                "",
                "| id | lines | sense | code and settings | tests |",
                "|---|---|---|---|---|",
            )
        at = files.get(rule.id, ())
        code = " ".join(f"`{name}`" for name in at if not name.startswith("tests/"))
        tests = " ".join(f"`{name}`" for name in at if name.startswith("tests/"))
        yield f"| {rule.id} | {rule.lines} | {rule.sense} | {code or 'a person'} | {tests or '-'} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
