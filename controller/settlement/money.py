"""Money: whole cents, ratios of whole numbers, one rounding a bet, always down.

No document says how to round (!X-8). What the house keeps by rounding down is its breakage, exact to a
fraction of a cent and never lost: a ledger sums it.
"""

from fractions import Fraction
from typing import NamedTuple

MAX_CENTS = 10**15
"""The largest amount taken in one request: far above any table, and still whole in any JSON reader."""


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
    """Winnings without the stake, and the breakage as a numerator over the ratio's own denominator."""

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
        """Add what one bet's rounding left with the house."""
        if part.breakage:
            self._over[part.over] = self._over.get(part.over, 0) + part.breakage

    @property
    def total_cents(self) -> Fraction:
        """The whole breakage, exactly."""
        return sum((Fraction(part, over) for over, part in self._over.items()), Fraction())
