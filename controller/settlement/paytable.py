"""The common parts of pay tables: money, odds, limits, policies, and exact house edges.

Money is in whole cents, and odds are ratios of whole numbers. Each payout is rounded down once. No document
specifies the rounding (!X-8). The amount that the house keeps by rounding down is its breakage, which a
ledger sums exactly. The settings are frozen dataclasses, so the games need no configuration library.

Each game's `wagers` package compares the house edges of a pay table with the document's figures. `tablectl
rules check` prints this comparison for a rule set's pay table.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

MAX_CENTS = 10**15
"""The maximum amount, in cents, of a request. It exceeds the limits of all tables and is exact in any JSON
parser."""


class Ratio(NamedTuple):
    """The odds of a bet, `pays` to `to`. Odds of 7 to 4 are Ratio(7, 4)."""

    pays: int
    to: int = 1

    def __str__(self) -> str:
        return f"{self.pays}:{self.to}"

    @property
    def exact(self) -> Fraction:
        """The winnings as a fraction of the stake."""
        return Fraction(self.pays, self.to)


class Payout(NamedTuple):
    """The winnings without the stake, and the breakage as a numerator over the ratio's denominator."""

    paid_cents: int
    breakage: int
    over: int

    @property
    def breakage_cents(self) -> Fraction:
        """The exact amount that the house keeps by rounding down."""
        return Fraction(self.breakage, self.over)


def payout(stake_cents: int, ratio: Ratio, pay_unit_cents: int = 1) -> Payout:
    """Return the winnings of a bet, rounded down once to the pay unit."""
    exact = stake_cents * ratio.pays
    paid_cents = exact // (ratio.to * pay_unit_cents) * pay_unit_cents
    return Payout(paid_cents, exact - paid_cents * ratio.to, ratio.to)


class BreakageLedger:
    """The sum of all breakage. It is kept per denominator, so each addition is an integer addition."""

    def __init__(self) -> None:
        self._over: dict[int, int] = {}

    def keep(self, part: Payout) -> None:
        """Add the breakage of a bet."""
        if part.breakage:
            self._over[part.over] = self._over.get(part.over, 0) + part.breakage

    @property
    def total_cents(self) -> Fraction:
        """The exact total of all breakage, in cents."""
        return sum((Fraction(part, over) for over, part in self._over.items()), Fraction())


AtLeastOne = Annotated[int, Ge(1)]
Amount = Annotated[int, Ge(1), Le(MAX_CENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pays:
    """A row of a pay table. `pays: [17, 1]` means 17 to 1. `rule` is the source."""

    pays: tuple[AtLeastOne, AtLeastOne]
    rule: str

    @property
    def ratio(self) -> Ratio:
        """The odds as a ratio."""
        return Ratio(*self.pays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The minimum and maximum bet, in cents, inclusive."""

    value: tuple[Amount, Amount]
    rule: str
    reason: str

    def __post_init__(self) -> None:
        """Raise ValueError if no bet can be within the limits."""
        if self.max_cents < self.min_cents:
            raise ValueError(f"a second amount (the maximum) no less than the first ({self.min_cents})")

    @property
    def min_cents(self) -> int:
        """The minimum bet."""
        return self.value[0]

    @property
    def max_cents(self) -> int:
        """The maximum bet."""
        return self.value[1]

    def includes(self, cents: int) -> bool:
        """Return whether an amount is within the limits."""
        return self.min_cents <= cents <= self.max_cents

    def __str__(self) -> str:
        return f"{self.min_cents} to {self.max_cents} cents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A policy that is on or off."""

    value: bool
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A policy whose value is a whole number of at least 1."""

    value: AtLeastOne
    rule: str
    reason: str


def decimal(value: Fraction, places: int) -> str:
    """Return a fraction as text with this many decimal places. Halves are rounded away from zero."""
    scaled = abs(value) * 10**places + Fraction(1, 2)
    digits = str(scaled.numerator // scaled.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 and digits.strip("0") else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def matches_printed(value: Fraction, printed: str) -> bool:
    """Return whether a document's figure equals the value, rounded to the figure's decimal places."""
    return decimal(value, len(printed.partition(".")[2])) == printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A wager's house edge as a fraction of the stake. It is negative if the player has the advantage.

    `edge` is per bet made, including pushes. `decided` is per bet won or lost, for wagers that can push.
    `printed` is the document's figure in per cent; None if there is none.
    """

    wager: str
    edge: Fraction
    decided: Fraction | None = None
    printed: str | None = None

    @property
    def per_cent(self) -> str:
        """The edge in per cent, with four decimal places."""
        return decimal(self.edge * 100, 4)

    @property
    def agrees(self) -> bool | None:
        """Whether the document's figure is correct; None if there is none."""
        return None if self.printed is None else matches_printed(self.edge * 100, self.printed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The exact probability of an event, and the document's figure for it."""

    event: str
    chance: Fraction
    printed: str | None = None
    in_per_cent: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether the document's figure is correct; None if there is none."""
        shown = self.chance * 100 if self.in_per_cent else self.chance
        return None if self.printed is None else matches_printed(shown, self.printed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A property of a pay table that its owner should know about. `rule` is the source of the figure."""

    code: str
    wager: str
    rule: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The edges, chances and findings of a pay table."""

    ruleset: str
    title: str
    edges: tuple[Edge, ...]
    chances: tuple[Chance, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether all figures of the document are correct."""
        rows: tuple[Edge | Chance, ...] = (*self.edges, *self.chances)
        return all(row.agrees is not False for row in rows)


def find_uneven_pay(
    wager: str, ratio: Ratio, rule: str, chip_cents: int, pay_unit_cents: int
) -> Finding | None:
    """Return a finding if a bet of one chip can't be paid exactly at this ratio.

    The finding states the stakes that can be paid exactly.
    """
    part = payout(chip_cents, ratio, pay_unit_cents)
    if not part.breakage:
        return None
    chips = next(
        n
        for n in range(2, ratio.to * pay_unit_cents + 1)
        if not _breaks(n * chip_cents, ratio, pay_unit_cents)
    )
    return Finding(
        code="uneven_pay",
        wager=wager,
        rule=rule,
        text=f"{ratio} on {chip_cents} cents pays {part.paid_cents} cents, and the house keeps "
        f"{_cents(part.breakage_cents)}; stakes in multiples of {chips * chip_cents} cents are paid exactly",
    )


def _cents(amount: Fraction) -> str:
    """Return an amount as text, such as `2/3 of a cent`, `1 cent` or `1 2/3 cents`."""
    whole, part = divmod(amount, 1)
    if not whole:
        return f"{part} of a cent"
    if amount == 1:
        return "1 cent"
    return f"{whole} {part} cents" if part else f"{whole} cents"


def _breaks(stake_cents: int, ratio: Ratio, pay_unit_cents: int) -> bool:
    return payout(stake_cents, ratio, pay_unit_cents).breakage != 0


STEEP_EDGE = Fraction(1, 4)
"""The minimum house edge that is reported as a finding. The worst typical wager has an edge of 1/6."""


def edge_findings(edges: Iterable[Edge], rules: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each wager that favours the player or has an edge of at least STEEP_EDGE."""
    for row in edges:
        per_cent = decimal(abs(row.edge) * 100, 2)
        if row.edge < 0:
            yield Finding(
                code="favours_player",
                wager=row.wager,
                rule=rules[row.wager],
                text=f"the player has an advantage of {-row.edge} of the bet ({per_cent} per cent)",
            )
        if row.edge >= STEEP_EDGE:
            yield Finding(
                code="steep",
                wager=row.wager,
                rule=rules[row.wager],
                text=f"the house keeps {row.edge} of the bet ({per_cent} per cent): are these odds intended?",
            )


def breakage_findings(
    pays: Iterable[tuple[str, Pays]], chip_cents: int, pay_unit_cents: int
) -> Iterator[Finding]:
    """Yield a finding for each row of odds at which a bet of one chip can't be paid exactly."""
    for wager, row in pays:
        if found := find_uneven_pay(wager, row.ratio, row.rule, chip_cents, pay_unit_cents):
            yield found
