"""The threat table of docs/security.md names at least one existing test for each threat."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("## Threats")[2].splitlines()
    if re.match(r"\| [A-Z]+\d+ \|", line)
]
NAMED = re.compile(r"`(tests/[^`]+\.py)::(\w+)`")


def test_the_whole_table_is_read() -> None:
    assert len(ROWS) == PAGE.partition("## Threats")[2].count("\n| ") - 1 > 25
    ids = [row[0] for row in ROWS]
    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_threat_names_existing_tests(row: list[str]) -> None:
    _, threat, happens, tests = row
    assert threat
    assert happens
    named = NAMED.findall(tests)
    assert "<br>".join(f"`{file}::{name}`" for file, name in named) == tests
    for file, name in named:
        text = (ROOT / file).read_text("utf-8")
        found = re.search(rf"^ *def {name}\(", text, re.MULTILINE)
        assert found is not None, f"{file} has no test {name}"
