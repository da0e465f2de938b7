"""The operator's guide names only inputs that the game has."""

import re
from pathlib import Path

import pytest

from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.scenes import SECOND_US, input_at
from tests.wheels import AMERICAN

GUIDE = Path(__file__).parents[2] / "docs" / "guide-operator.md"
ENTERED = ("input", "what you do", "what you enter")
"""The headings of the columns that list a person's inputs."""
GAMES = {
    "Craps": "craps-12-034",
    "Roulette": "roulette",
    "High Roller": "high-roller-12-005",
    "Three Card Poker": "three-card-poker-12-014",
}


def inputs_of(section: str) -> set[str]:
    """Return the code words in the columns of a section's tables that list inputs."""
    found: set[str] = set()
    columns: list[int] = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = [number for number, cell in enumerate(cells) if cell in ENTERED]
        else:
            for number in columns:
                found |= set(re.findall(r"`([a-z_]+)`", cells[number]))
    return found


def sections() -> dict[str, str]:
    """Return the guide's sections by their headings; the text before the first applies to all games."""
    first, *others = re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {"": first} | {text.split("\n", 1)[0]: text for text in others}


def table(ruleset: str) -> Played:
    rules = load_ruleset(ruleset)
    return Played(ruleset=rules, wheel=AMERICAN if rules.game == "roulette" else None)


@pytest.mark.parametrize(("game", "ruleset"), GAMES.items())
def test_every_input_named_in_the_guide_is_known_at_its_table(game: str, ruleset: str) -> None:
    guide = sections()
    inputs = inputs_of(guide[""]) | inputs_of(guide[game])
    assert len(inputs) >= 10
    for name in inputs:
        assert "unknown_input" not in table(ruleset).feed(input_at(SECOND_US, name)).finish().refusals(), name


def test_an_input_that_no_table_has_is_reported_as_unknown() -> None:
    assert table("craps-12-034").feed(input_at(SECOND_US, "abracadabra")).finish().refusals() == [
        "unknown_input"
    ]
