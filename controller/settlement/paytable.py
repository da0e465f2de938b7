"""Money, and what pay table files of several games hold: odds, limits and policies, with their rules.

Money is whole cents and ratios of whole numbers; each bet is rounded once, always down. No document says how
to round (!X-8). What the house keeps by rounding down is its breakage, exact to a fraction of a cent and
never lost: a ledger sums it. Plain frozen dataclasses, so that the games need no configuration library.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

MAX_CENTS = 10**15
"""The largest amount accepted in one request: far above any table's limit, and exact in any JSON reader."""


class Ratio(NamedTuple):
    """What a bet pays: `pays` to `to`, so 7 to 4 is Ratio(7, 4)."""

    pays: int
    to: int = 1

    def __str__(self) -> str:
        return f"{self.pays}:{self.to}"

    @property
    def exact(self) -> Fraction:
        """The ratio as a fraction of the stake."""
        return Fraction(self.pays, self.to)


class Payout(NamedTuple):
    """Return the winnings without the stake, and the breakage as a numerator over the ratio's own
    denominator."""

    paid_cents: int
    breakage: int
    over: int

    @property
    def breakage_cents(self) -> Fraction:
        """What the house kept by rounding down, exactly."""
        return Fraction(self.breakage, self.over)


def payout(stake_cents: int, ratio: Ratio, pay_unit_cents: int = 1) -> Payout:
    """Work out the winnings of one bet, rounded down once to the pay unit."""
    exact = stake_cents * ratio.pays
    paid_cents = exact // (ratio.to * pay_unit_cents) * pay_unit_cents
    return Payout(paid_cents, exact - paid_cents * ratio.to, ratio.to)


class BreakageLedger:
    """The sum of all breakage, kept per denominator so that a sum costs one addition."""

    def __init__(self) -> None:
        self._over: dict[int, int] = {}

    def keep(self, part: Payout) -> None:
        """Add what rounding one bet left with the house."""
        if part.breakage:
            self._over[part.over] = self._over.get(part.over, 0) + part.breakage

    @property
    def total_cents(self) -> Fraction:
        """The whole breakage, exactly."""
        return sum((Fraction(part, over) for over, part in self._over.items()), Fraction())


AtLeastOne = Annotated[int, Ge(1)]
Amount = Annotated[int, Ge(1), Le(MAX_CENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pays:
    """What one row pays to one part of the stake: `pays: [17, 1]` is 17 to 1. `rule` is its source."""

    pays: tuple[AtLeastOne, AtLeastOne]
    rule: str

    @property
    def ratio(self) -> Ratio:
        """The odds as a ratio."""
        return Ratio(*self.pays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The least and the most that may be bet, in cents, inclusive."""

    value: tuple[Amount, Amount]
    rule: str
    reason: str

    def __post_init__(self) -> None:
        """Refuse limits that no bet could meet; raises ValueError."""
        if self.most_cents < self.least_cents:
            raise ValueError(f"a second amount of at least the first ({self.least_cents})")

    @property
    def least_cents(self) -> int:
        """The least that may be bet."""
        return self.value[0]

    @property
    def most_cents(self) -> int:
        """The most that may be bet."""
        return self.value[1]

    def holds(self, cents: int) -> bool:
        """Return whether an amount is within the limits."""
        return self.least_cents <= cents <= self.most_cents

    def __str__(self) -> str:
        return f"{self.least_cents} to {self.most_cents} cents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A policy that is on or off."""

    value: bool
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that must be there, at least 1."""

    value: AtLeastOne
    rule: str
    reason: str
