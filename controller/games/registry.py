"""The registry of games."""

from controller.games.craps.game import CRAPS
from controller.games.game import Game
from controller.games.high_roller.game import HIGH_ROLLER
from controller.games.roulette.game import ROULETTE
from controller.games.three_card.game import THREE_CARD

GAMES: dict[str, Game] = {game.name: game for game in (CRAPS, HIGH_ROLLER, ROULETTE, THREE_CARD)}
"""The games, keyed by their name in a rule set's `game` field, in the order of the manual."""


def game_of(name: str) -> Game:
    """Return the game with this name. Raise KeyError if there is none."""
    return GAMES[name]
