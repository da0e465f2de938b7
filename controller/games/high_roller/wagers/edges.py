"""What a High Roller table keeps, and what its throws are worth."""

from collections.abc import Iterator
from fractions import Fraction

from controller.games.high_roller.wagers.chances import nobody_matches_of, stays_in, wins_roll_off
from controller.games.high_roller.wagers.money import split
from controller.games.high_roller.wagers.paytable import HighRollerPayTable
from controller.settlement.edges import Chance, Edge, Finding, Report

_SEVEN, _LOWEST = 7, 2


def report(table: HighRollerPayTable) -> Report:
    """Work out what the house and charity keep, the chances of the throws, and look for what stands out.

    The Bonus Pot's share is no edge: it leaves one winner and comes back to another.
    """
    rake = Fraction(table.settings.rake_percent.value, 100)
    return Report(
        ruleset=table.name,
        title=table.title,
        edges=(Edge(wager="card", edge=rake, printed=table.printed_rake_per_cent),),
        chances=tuple(_chances(table)),
        findings=tuple(_small_games(table)),
    )


def _chances(table: HighRollerPayTable) -> Iterator[Chance]:
    decks = table.settings.decks.value
    for cards in (2, 10, 30):
        chance = nobody_matches_of(cards, decks)
        yield Chance(event=f"nobody matches, {cards} cards of {decks} decks", chance=chance, in_per_cent=True)
    for rank in (_LOWEST, _SEVEN):
        yield Chance(event=f"a card of rank {rank} stays in", chance=stays_in(rank), in_per_cent=True)
    for rolls in (1, 2, 3):
        yield Chance(
            event=f"{rolls} matching against 1 wins", chance=wins_roll_off((rolls, 1))[0], in_per_cent=True
        )


def _small_games(table: HighRollerPayTable) -> Iterator[Finding]:
    """Find the games that leave their winner no more than the price of his card (!H-7)."""
    settings = table.settings
    price, take = settings.card_cents.value, settings.bonus_take_cents.value
    cards = 2
    while split(cards * price, take, settings).prize <= price and cards < settings.cards_per_player.value:
        cards += 1
    if cards > 2:
        least = split(2 * price, take, settings).prize
        yield Finding(
            code="small_games",
            wager="card",
            rule="!H-7",
            text=f"with {take} cents for the Bonus Pot a game needs {cards} cards to give the winner more "
            f"than the {price} cents of a card; with 2 cards the prize is {least}",
        )
