"""The manual of the machines is generated from their tables."""

from pathlib import Path

from controller.games.diagrams import manual

MANUAL = Path(__file__).parents[2] / "docs" / "machines.md"


def test_the_manual_in_the_docs_matches_the_tables() -> None:
    assert MANUAL.read_text(encoding="utf-8") == manual(), "docs/machines.md is stale: run `make diagrams`"
