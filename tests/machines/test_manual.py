"""The manual of the machines is drawn from their tables."""

from pathlib import Path

from controller.games.diagrams import manual

MANUAL = Path(__file__).parents[2] / "docs" / "machines.md"


def test_the_manual_in_the_docs_is_what_the_tables_say() -> None:
    assert MANUAL.read_text(encoding="utf-8") == manual(), "docs/machines.md is stale: run `make diagrams`"
