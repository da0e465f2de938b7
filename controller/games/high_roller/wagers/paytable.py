"""What a High Roller pay table file holds."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from controller.rules.high_roller import rolls
from controller.settlement.paytable import Amount, Figure

Cents = Annotated[int, Ge(0), Le(10**6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one card costs, in cents; the same for every card of a game."""

    value: Amount
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentage:
    """A part of the money, in whole per cent."""

    value: Annotated[int, Ge(0), Le(100)]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An amount in cents that may be nothing."""

    value: Cents
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalShare:
    """An amount in cents, or none where the policy is off."""

    value: Cents | None
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decks:
    """How many decks are in the shoe."""

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
    """The most that a game may give to the Bonus Pot."""
    bonus_take_cents: Share
    """What a game gives to the Bonus Pot where its opening does not say."""
    rake_above_bonus_cents: OptionalShare
    """By how much the rake must be more than the Bonus Pot's share."""
    wins_for_bonus: Figure
    """Games in a row that win the Bonus Pot."""

    def __post_init__(self) -> None:
        """Refuse a share above the most; raises ValueError."""
        if self.bonus_take_cents.value > self.bonus_most_cents.value:
            raise ValueError(f"bonus_take_cents of at most bonus_most_cents ({self.bonus_most_cents.value})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HighRollerPayTable:
    """High Roller has no odds: the players' money, less the rake and the Bonus Pot's share, is the prize."""

    name: str
    title: str
    printed_rake_per_cent: str
    settings: HighRollerSettings


def split(gross: int, bonus_take: int, settings: HighRollerSettings) -> rolls.Split:
    """Part a game's money (H-MONEY-1), in cents."""
    return rolls.split(
        gross,
        bonus_take,
        rake_percent=settings.rake_percent.value,
        rake_above_bonus_cents=settings.rake_above_bonus_cents.value,
    )
