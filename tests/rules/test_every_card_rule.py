"""Every rule of the card documents that is sensed or computed has a test with its id.

The ids are those of the rule catalogue: T- is Three Card Poker 12 014, H- is High Roller 12 005, and an id
without letters after that is a gap in the text. Rules that only people apply (who deals, who sits where) are
left out, as is T-DEAL-2b, because no sensor detects positions without a Pair Plus wager.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
RULES = """
T-DECK-1 T-RANK-1 T-RANK-2 T-ANTE-1 T-RES-1 T-RES-2 T-RES-3 T-RES-4 T-AB-1 T-PP-1 T-PP-2 T-BOTH-1 T-BOTH-2
T-DEAL-2 T-DEAL-3 T-DEAL-5 T-DEAL-6 T-DEAL-7 T-DEAL-8 T-DEAL-9 T-IRR-1 T-PROB-1 T-SIDE-1 T-SIDE-2
H-EQ-1 H-BET-1 H-BTN-1 H-BTN-2 H-BTN-3 H-START-1 H-DEAL-1 H-REBUY-1 H-CAP-1 H-MONEY-1 H-ROLL-1
H-LEGAL-1 H-LEGAL-2 H-LEGAL-3 H-LEGAL-4 H-MATCH-1 H-ORDER-1 H-WIN-1 H-MULTI-1 H-TIE-1 H-BONUS-1
H-CLOSE-1 H-CLOSE-2
"""
GAPS = """
T-2 T-3 T-5 T-6 T-7 T-8 T-9 T-12 T-14 T-15 T-17
H-1 H-2 H-3 H-4 H-5 H-6 H-7 H-8 H-9 H-10 H-11 H-12 H-14 H-15 H-16 H-17 H-18 H-19
"""
"""Gaps that change money, or the actions allowed at a time (!T-1 is T-DEAL-9's limit)."""
EVERY_RULE = f"{RULES} {GAPS}".split()
_NAMED = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
_SCENE = re.compile(r"""^\s*(?:\(["'])?!?([TH](?:-[A-Z]+)?-\d+)(?:["'],|$)""", re.MULTILINE)


def names_of_tests() -> str:
    """Return all test names and scene ids in one normalized form, separated by spaces."""
    names: list[str] = []
    for file in TESTS.rglob("test_*.py"):
        if file != Path(__file__):
            text = file.read_text(encoding="utf-8")
            names += [*_NAMED.findall(text), *_SCENE.findall(text)]
    return " ".join(name.lower().replace("-", "_") for name in names)


@pytest.fixture(scope="module")
def all_tested() -> str:
    return names_of_tests()


@pytest.mark.parametrize("rule", EVERY_RULE)
def test_a_rule_has_a_test_named_after_it(rule: str, all_tested: str) -> None:
    name = rule.lower().replace("-", "_")
    assert re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", all_tested), (
        f"no test is named after {rule} and no scene has its id: write one"
    )


def test_a_rule_without_a_test_is_found(all_tested: str) -> None:
    assert not re.search(r"(?<![a-z0-9])h_match_9(?![a-z0-9])", all_tested)
