"""A game is one package. Other code uses the game's value and never compares its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.games.diagrams import TABLES
from controller.games.game import Game
from controller.games.registry import GAMES
from controller.settings.paytables import check, open_book
from controller.settings.places import config_names
from controller.settings.rulesets import load_ruleset

CONTROLLER = Path(__file__).parents[2] / "controller"
OWN_WORDS = {
    "games": "the packages of the games",
    "console": "screens use only the controller's socket, and have separate keys and texts for each game",
}
CALLS = {("cli/words.py", "craps")}
"""Uses of a game's name as a dealer's call: 2, 3 or 12 is called craps."""


def asked_for(file: Path) -> Iterator[str]:
    """Yield each game's name that a module compares with, matches, or uses as a dictionary key."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Compare(left=left, comparators=others):
                words: list[ast.expr | None] = [left, *others]
            case ast.MatchValue(value=value):
                words = [value]
            case ast.Dict(keys=keys):
                words = list(keys)
            case _:
                continue
        for word in words:
            for part in word.elts if isinstance(word, ast.Tuple | ast.List | ast.Set) else [word]:
                if isinstance(part, ast.Constant) and part.value in GAMES:
                    yield str(part.value)


def test_no_module_outside_the_games_packages_compares_a_games_name() -> None:
    modules = [
        file for file in CONTROLLER.rglob("*.py") if file.relative_to(CONTROLLER).parts[0] not in OWN_WORDS
    ]
    asked = {(str(file.relative_to(CONTROLLER)), name) for file in modules for name in asked_for(file)}
    assert len(modules) > 100
    assert asked - CALLS == set()


def test_a_compared_game_name_is_found(tmp_path: Path) -> None:
    written = tmp_path / "module.py"
    written.write_text('if game == "craps" or game in ("roulette",): ...\nWORDS = {"three_card": 1}\n')
    assert set(asked_for(written)) == {"craps", "roulette", "three_card"}


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_each_game_is_in_its_package_and_in_the_manual(game: Game) -> None:
    assert (CONTROLLER / "games" / game.name / "game.py").is_file()
    assert game.table in TABLES
    assert game.table.name == game.name


@pytest.mark.parametrize("name", config_names("rulesets"))
def test_each_rule_set_belongs_to_a_game_and_has_its_pay_table(name: str) -> None:
    game = GAMES[load_ruleset(name).game]
    assert open_book(name).vocabulary
    assert check(name).ruleset == name
    assert not game.wagers().play_state().prelude(), "a new table must not need any state"
