"""The catalogue of rules contains every cited id, and the page lists them all."""

from pathlib import Path

import pytest

from controller.cli.main import main
from controller.rulebook.catalogue import rules
from controller.rulebook.page import HOME, find_citations, page

PAGE = HOME / "docs" / "rules.md"
SHORTENED = frozenset({"C34-1", "C34-INV-1", "C34-INV-2", "C34-PAY-9"})
"""Ids that tests use as placeholders."""


def test_every_rule_cited_in_code_settings_or_tests_is_in_the_catalogue() -> None:
    assert set(find_citations()) - set(rules()) - SHORTENED == set()


def test_every_rule_has_its_place_and_its_meaning() -> None:
    for rule in rules().values():
        assert rule.place, rule.id
        assert len(rule.meaning.split()) >= 2, rule.id


def test_the_page_lists_every_rule_with_its_lines_and_its_meaning() -> None:
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in page() if line.startswith("| ")}
    kept = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text("utf-8").splitlines()}
    assert set(rules()) <= kept, "docs/rules.md is stale: run `make rules`"
    for rule in rules().values():
        assert f"| {rule.lines} | {rule.meaning} |" in rows[rule.id]


def test_the_page_names_the_code_and_the_tests_that_cite_a_rule() -> None:
    row = next(line for line in page() if line.startswith("| R-SPIN-2 "))
    assert "`config/rulesets/roulette.yaml`" in row
    assert "`tests/" in row


def test_explain_prints_a_rules_meaning_its_place_and_its_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rules", "explain", "C34-INV-2ii"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("C34-INV-2ii: No Roll if a die hits neither end of the table.")
    assert "Craps 12 034, line 133" in said
    assert "wall: end" in said


def test_explain_of_an_unknown_rule_says_what_an_id_looks_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "explain", "C34-INV-2"]) == 2
    assert "did you mean" in capsys.readouterr().err


@pytest.mark.parametrize("rule", ["!34-15", "R-SPIN-2", "T-IRR-1", "H-BTN-2", "CV1-SHARP-2"])
def test_explain_knows_the_rules_of_every_document(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "explain", rule, "--json"]) == 0
    out = capsys.readouterr().out
    assert f'"id":"{rule}"' in out
    assert f'"sense":"{rules()[rule].meaning[:10]}' in out


def test_no_sentence_of_the_catalogue_is_too_long() -> None:
    assert max(len(rule.meaning) for rule in rules().values()) < 220
    assert Path(PAGE).exists()
