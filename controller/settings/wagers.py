"""A rule set's game, opened with the pay table of its file, and that table's exact edges."""

from typing import TypeVar

from controller.games.registry import game_of
from controller.model.rulesets import RuleSet
from controller.settings.mistakes import Mistake, SettingsError, shown_path
from controller.settings.paytables import load_paytable
from controller.settings.places import config_file
from controller.settings.rulesets import load_ruleset
from controller.settlement.book import Book
from controller.settlement.edges import Report
from controller.settlement.wagers import LoadPayTable, PayTableDiffers

T = TypeVar("T")


def game_for(ruleset: str) -> Book:
    """Open a rule set's game with its pay table and an empty wager book.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    try:
        return game_of(rules.game).wagers().open(rules, _load(rules))
    except PayTableDiffers as error:
        raise SettingsError(_differing(rules, error)) from error


def check(ruleset: str) -> Report:
    """Work out the exact edges of a rule set's pay table and what its owner should know of it.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    return game_of(rules.game).wagers().report(rules, _load(rules))


def _load(rules: RuleSet) -> LoadPayTable:
    def load(shape: type[T], /) -> T:
        return load_paytable(rules.name, shape)

    return load


def _differing(rules: RuleSet, error: PayTableDiffers) -> list[Mistake]:
    where, there = (shown_path(config_file(kind, rules.name)) for kind in ("paytables", "rulesets"))
    return [
        Mistake(
            file=where,
            key=f"settings.{figure.key}",
            found=str(figure.paid),
            expected=f"{figure.played}, as `{figure.section}.{figure.key}` of {there}",
            hint="set the one or the other: the table tells what the settlement pays",
        )
        for figure in error.figures
    ]
