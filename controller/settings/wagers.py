"""A rule set's game, opened with the pay table of its file, and that table's exact edges.

Only the game that is asked for is imported: a craps table never loads a poker hand.
"""

# ruff: noqa: PLC0415 - the imports inside functions are the lazy ones named above

from typing import TYPE_CHECKING

from controller.model.rulesets import RuleSet
from controller.settings.mistakes import Mistake, SettingsError, shown_path
from controller.settings.paytables import load_paytable
from controller.settings.places import config_file
from controller.settings.rulesets import load_ruleset
from controller.settlement.edges import Report
from controller.settlement.game import Game

if TYPE_CHECKING:
    from controller.games.high_roller.wagers.paytable import HighRollerPayTable

SHARED_FIGURES = (
    "card_cents",
    "cards_per_player",
    "decks",
    "rake_percent",
    "bonus_most_cents",
    "bonus_take_cents",
    "rake_above_bonus_cents",
    "wins_for_bonus",
)
"""The figures of High Roller that its rule set and its pay table both hold, by the same names."""


def game_for(ruleset: str) -> Game:
    """Open a rule set's game with its pay table and an empty wager book.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    match rules.game:
        case "craps":
            from controller.games.craps.wagers.game import Craps
            from controller.games.craps.wagers.paytable import CrapsPayTable

            return Craps(load_paytable(rules.name, CrapsPayTable))
        case "roulette":
            from controller.games.roulette.wagers.game import Roulette
            from controller.games.roulette.wagers.paytable import RoulettePayTable

            return Roulette(load_paytable(rules.name, RoulettePayTable))
        case "three_card":
            from controller.games.three_card.wagers.game import ThreeCard
            from controller.games.three_card.wagers.paytable import ThreeCardPayTable

            assert rules.deal is not None
            return ThreeCard(load_paytable(rules.name, ThreeCardPayTable), rules.deal.equal_hands)
        case "high_roller":
            from controller.games.high_roller.wagers.game import HighRoller
            from controller.games.high_roller.wagers.paytable import HighRollerPayTable
            from controller.rules.high_roller.rolls import policy_of

            assert rules.high_roller is not None
            paytable = _as_played(rules, load_paytable(rules.name, HighRollerPayTable))
            return HighRoller(paytable, policy_of(rules.high_roller))


def _as_played(rules: RuleSet, table: "HighRollerPayTable") -> "HighRollerPayTable":
    """Give the pay table where it parts the money as the table that plays tells it; raises SettingsError."""
    assert rules.high_roller is not None
    settings = table.settings
    mistakes = []
    for key in SHARED_FIGURES:
        played, paid = getattr(rules.high_roller, key), getattr(settings, key).value
        if played != paid:
            where, there = (shown_path(config_file(kind, rules.name)) for kind in ("paytables", "rulesets"))
            expected = f"{played}, as `high_roller.{key}` of {there}"
            hint = "set the one or the other: the table tells what the settlement pays"
            mistakes.append(
                Mistake(file=where, key=f"settings.{key}", found=str(paid), expected=expected, hint=hint)
            )
    if mistakes:
        raise SettingsError(mistakes)
    return table


def check(ruleset: str) -> Report:
    """Work out the exact edges of a rule set's pay table and what its owner should know of it.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    match rules.game:
        case "craps":
            from controller.games.craps.wagers.edges import report as craps_report
            from controller.games.craps.wagers.paytable import CrapsPayTable

            return craps_report(load_paytable(rules.name, CrapsPayTable))
        case "roulette":
            from controller.games.roulette.wagers.edges import report as roulette_report
            from controller.games.roulette.wagers.paytable import RoulettePayTable

            return roulette_report(load_paytable(rules.name, RoulettePayTable))
        case "three_card":
            from controller.games.three_card.wagers.edges import report as three_card_report
            from controller.games.three_card.wagers.paytable import ThreeCardPayTable

            assert rules.deal is not None
            return three_card_report(load_paytable(rules.name, ThreeCardPayTable), rules.deal.equal_hands)
        case "high_roller":
            from controller.games.high_roller.wagers.edges import report as high_roller_report
            from controller.games.high_roller.wagers.paytable import HighRollerPayTable

            return high_roller_report(load_paytable(rules.name, HighRollerPayTable))
