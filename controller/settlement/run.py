"""Join a game to JSON Lines: the settle command without its arguments.

The one module of this package that reads configuration; the games know none of it. Only the game that is
asked for is imported: a craps table never loads a poker hand.
"""

# ruff: noqa: PLC0415 - the imports inside functions are the lazy ones named above

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TextIO

import msgspec

from controller.model.rulesets import RuleSet
from controller.settings.mistakes import Mistake, SettingsError, shown_path
from controller.settings.paytables import load_paytable
from controller.settings.places import config_file
from controller.settings.rulesets import load_ruleset
from controller.settlement.amounts import impossible_amount
from controller.settlement.decoding import Decoder
from controller.settlement.edges import Report
from controller.settlement.game import Game
from controller.settlement.wire import Malformed

if TYPE_CHECKING:
    from controller.settlement.high_roller.paytable import HighRollerPayTable

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

SETTLED = 0
BAD_INPUT = 2


def game_for(ruleset: str) -> Game:
    """Open a rule set's game with its pay table and an empty wager book.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    match rules.game:
        case "craps":
            from controller.settlement.craps.game import Craps
            from controller.settlement.craps.paytable import CrapsPayTable

            return Craps(load_paytable(rules.name, CrapsPayTable))
        case "roulette":
            from controller.settlement.roulette.game import Roulette
            from controller.settlement.roulette.paytable import RoulettePayTable

            return Roulette(load_paytable(rules.name, RoulettePayTable))
        case "three_card":
            from controller.settlement.three_card.game import ThreeCard
            from controller.settlement.three_card.paytable import ThreeCardPayTable

            assert rules.deal is not None
            return ThreeCard(load_paytable(rules.name, ThreeCardPayTable), rules.deal.equal_hands)
        case "high_roller":
            from controller.rules.high_roller.rolls import policy_of
            from controller.settlement.high_roller.game import HighRoller
            from controller.settlement.high_roller.paytable import HighRollerPayTable

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
            from controller.settlement.craps.edges import report as craps_report
            from controller.settlement.craps.paytable import CrapsPayTable

            return craps_report(load_paytable(rules.name, CrapsPayTable))
        case "roulette":
            from controller.settlement.roulette.edges import report as roulette_report
            from controller.settlement.roulette.paytable import RoulettePayTable

            return roulette_report(load_paytable(rules.name, RoulettePayTable))
        case "three_card":
            from controller.settlement.three_card.edges import report as three_card_report
            from controller.settlement.three_card.paytable import ThreeCardPayTable

            assert rules.deal is not None
            return three_card_report(load_paytable(rules.name, ThreeCardPayTable), rules.deal.equal_hands)
        case "high_roller":
            from controller.settlement.high_roller.edges import report as high_roller_report
            from controller.settlement.high_roller.paytable import HighRollerPayTable

            return high_roller_report(load_paytable(rules.name, HighRollerPayTable))


def settle(lines: Iterable[bytes], game: Game) -> Iterator[bytes]:
    """Answer request lines with result lines, each as soon as it is known, and end with the bets left.

    Blank lines are skipped. Raises Malformed at the first line that is no request of the game; what was
    answered before stands.
    """
    decoder = Decoder(game.vocabulary)
    encoder = msgspec.json.Encoder()
    for number, raw in enumerate(lines, start=1):
        if raw.isspace():
            continue
        request = decoder.decode(raw, number)
        unheard_of = impossible_amount(request)
        answers = game.apply(request) if unheard_of is None else [unheard_of]
        if answers:
            yield encoder.encode_lines(answers)
    if left := game.finish():
        yield encoder.encode_lines(left)


def settle_stream(source: BinaryIO, out: BinaryIO, err: TextIO, ruleset: str, name: str = "-") -> int:
    """Settle a stream by a rule set's name; `name` is the source's, for messages. Give the exit status."""
    try:
        game, answered = game_for(ruleset), False
        for answer in settle(source, game):
            out.write(answer)
            out.flush()
            answered = True
        if not answered:
            err.write(f"{name}: found no bet in it, so nothing was settled\n")
    except SettingsError as error:
        err.write(f"{error}\n")
        return BAD_INPUT
    except Malformed as error:
        err.write(f"{name}: {error}; correct the line and settle the file again from its start\n")
        return BAD_INPUT
    return SETTLED
