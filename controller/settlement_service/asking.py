"""What an outcome asks of a table's wager book at once: lines of the settle contract.

A correction gives the lines that hold in place of those of the outcome that it corrects. What decides nothing
(a review, a device's health) gives none. Each game's own are in `wagers.contract` of its room.
"""

from controller.games.registry import game_of
from controller.model.outcomes import Outcome
from controller.settlement.wire import Asked

CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
RESULTS = frozenset(
    {"roll.called", "roll.no_roll", "spin.called", "spin.no_spin", "deal.called", "deal.void"}
)
"""Outcomes that end an attempt: the attempt before can't be corrected after them."""


def asked_by(outcome: Outcome, game: str) -> list[Asked]:
    """Return the requests of an outcome to the table's game, in order."""
    return game_of(game).wagers().asked_by(outcome)
