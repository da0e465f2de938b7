"""A High Roller pay table, the split of a game's money, and the chances of the throws."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated

from annotated_types import Ge, Le

from controller.rules.high_roller.rolls import Split
from controller.rules.high_roller.rolls import split as split_money
from controller.settlement.paytable import Amount, Chance, Edge, Figure, Finding, Report

Cents = Annotated[int, Ge(0), Le(10**6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price, in cents, of every card in a game."""

    value: Amount
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentage:
    """A percentage of the players' money."""

    value: Annotated[int, Ge(0), Le(100)]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An amount in cents, which can be 0."""

    value: Cents
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalShare:
    """An amount in cents; null if the policy is off."""

    value: Cents | None
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decks:
    """The number of decks in the shoe."""

    value: Annotated[int, Ge(4), Le(10)]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HighRollerSettings:
    """The policies of a High Roller table."""

    card_cents: Price
    cards_per_player: Figure
    decks: Decks
    rake_percent: Percentage
    bonus_most_cents: Share
    """The maximum amount that a game may pay into the Bonus Pot."""
    bonus_take_cents: Share
    """The amount that a game pays into the Bonus Pot if no other amount is entered at its start."""
    rake_above_bonus_cents: OptionalShare
    """The minimum amount by which the rake must exceed the amount for the Bonus Pot."""
    wins_for_bonus: Figure
    """The number of wins in a row that wins the Bonus Pot."""

    def __post_init__(self) -> None:
        """Raise ValueError if the amount for the Bonus Pot exceeds its maximum."""
        if self.bonus_take_cents.value > self.bonus_most_cents.value:
            raise ValueError(f"bonus_take_cents of at most bonus_most_cents ({self.bonus_most_cents.value})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HighRollerPayTable:
    """A pay table without odds.

    The prize is the players' money minus the rake and the amount for the Bonus Pot.
    """

    name: str
    title: str
    printed_rake_per_cent: str
    settings: HighRollerSettings


def split(gross: int, bonus_take: int, settings: HighRollerSettings) -> Split:
    """Return the split of a game's money, in cents (H-MONEY-1)."""
    return split_money(
        gross,
        bonus_take,
        rake_percent=settings.rake_percent.value,
        rake_above_bonus_cents=settings.rake_above_bonus_cents.value,
    )


_SEVEN, _LOWEST = 7, 2
TOTALS = Counter(one + other for one, other in product(range(1, 7), repeat=2))
"""The number of throws, out of 36, with each total."""


def stays_in(total: int) -> Fraction:
    """Return the chance that the elimination throw matches a card of this rank (2 to 12)."""
    return Fraction(TOTALS[total], 36)


def no_match_chance(cards: int, decks: int) -> Fraction:
    """Return the chance that the elimination throw matches none of this many cards and must be repeated.

    The cards are dealt from full decks of eleven ranks.
    """
    per_rank, all_cards = 4 * decks, 44 * decks
    missing = Fraction(1)
    for dealt in range(cards):
        missing *= Fraction(all_cards - per_rank - dealt, all_cards - dealt)
    return missing


def wins_roll_off(rolls: Sequence[int]) -> tuple[Fraction, ...]:
    """Return each player's chance of winning a roll-off with these numbers of rolls (H-WIN-1, H-MULTI-1).

    Players who are tied for the highest roll throw again, once each (!H-3), with equal chances.
    """
    return tuple(
        sum((_wins_with(best, rolls, player) for best in TOTALS), Fraction(0)) for player in range(len(rolls))
    )


def _wins_with(best: int, rolls: Sequence[int], player: int) -> Fraction:
    """Return the chance that the player's best roll is `best` and wins the game, outright or after a tie."""
    tied_with = [_best_is(best, rolls[player])]
    for other, count in enumerate(rolls):
        if other == player:
            continue
        level, below = _best_is(best, count), _best_below(best, count)
        alone = [chance * below for chance in tied_with] + [Fraction(0)]
        joined = [Fraction(0)] + [chance * level for chance in tied_with]
        tied_with = [one + more for one, more in zip(alone, joined, strict=True)]
    return sum((chance / (others + 1) for others, chance in enumerate(tied_with)), Fraction(0))


def _best_below(total: int, rolls: int) -> Fraction:
    return Fraction(sum(count for thrown, count in TOTALS.items() if thrown < total), 36) ** rolls


def _best_is(total: int, rolls: int) -> Fraction:
    return _best_below(total + 1, rolls) - _best_below(total, rolls)


def report(table: HighRollerPayTable) -> Report:
    """Return the edge, the chances of the throws, and the findings.

    The edge is the rake, which the house and the charity share. It excludes the Bonus Pot, which is paid to
    players.
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
        chance = no_match_chance(cards, decks)
        event = f"nobody matches with {cards} cards from {decks} decks"
        yield Chance(event=event, chance=chance, in_per_cent=True)
    for rank in (_LOWEST, _SEVEN):
        yield Chance(event=f"a card of rank {rank} stays in", chance=stays_in(rank), in_per_cent=True)
    for rolls in (1, 2, 3):
        event = "1 matching card beats 1" if rolls == 1 else f"{rolls} matching cards beat 1"
        yield Chance(event=event, chance=wins_roll_off((rolls, 1))[0], in_per_cent=True)


def _small_games(table: HighRollerPayTable) -> Iterator[Finding]:
    """Yield a finding if a small game's prize does not exceed the price of a card (!H-7)."""
    settings = table.settings
    price, take = settings.card_cents.value, settings.bonus_take_cents.value
    cards = 2
    while split(cards * price, take, settings).prize <= price and cards < settings.cards_per_player.value:
        cards += 1
    if cards > 2:
        smallest = split(2 * price, take, settings).prize
        yield Finding(
            code="small_games",
            wager="card",
            rule="!H-7",
            text=f"with {take} cents for the Bonus Pot, a game needs at least {cards} cards to give the "
            f"winner more than the price of a card ({price} cents); with 2 cards, the prize is "
            f"{smallest} cents",
        )
