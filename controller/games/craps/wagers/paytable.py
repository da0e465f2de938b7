"""A craps pay table: the offered wagers, their payouts, and the policies that the document leaves open.

The tables are in `config/paytables/craps-*.yaml`. Every value in them names its rule, and every setting
states its reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Literal, TypeVar

from controller.settlement.paytable import AtLeastOne, Figure, Pays, Switch

BOX_NUMBERS = (4, 5, 6, 8, 9, 10)
FLAT = ("pass", "dont_pass", "come", "dont_come")
LineWager = Literal["pass", "dont_pass", "come", "dont_come"]
OddsWager = Literal["pass_odds", "dont_pass_odds", "come_odds", "dont_come_odds"]
OneRollWager = Literal["field", "any7", "any_craps", "craps2", "craps3", "craps12", "yo", "hi_lo"]
CombinedWager = Literal["c_and_e", "horn", "horn_high", "whirl"]
Wager = Literal[
    LineWager, OddsWager, OneRollWager, CombinedWager, "place", "place_lose", "hard", "big6", "big8", "hop",
    "sharp_shooter",
]  # fmt: skip
_Name = TypeVar("_Name", bound=str)
_Row = TypeVar("_Row")

FLAT_OF: Mapping[str, LineWager] = {
    "pass_odds": "pass",
    "dont_pass_odds": "dont_pass",
    "come_odds": "come",
    "dont_come_odds": "dont_come",
}
"""The flat bet behind which each kind of odds is placed."""
LAY_ODDS = ("dont_pass_odds", "dont_come_odds")
"""Odds that are laid. They win on a 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBet:
    """Pass, Don't Pass, Come or Don't Come: the payout, and the ids of the rules."""

    made: str
    """The rule for making the bet."""
    pay: Pays
    natural: str
    """The rule for 7 or 11 on the bet's first roll."""
    craps: str
    """The rule for 2, 3 or 12 on the bet's first roll."""
    number_first: str
    seven_first: str
    bar_12: str = ""
    """The rule for 12 on the first roll of a Don't bet, which is a push."""
    lowered: str
    """The rule for reducing or removing the bet."""
    raised: str
    """The rule for increasing the bet."""
    off: str
    """The rule that forbids calling the bet off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """Odds behind one kind of flat bet, by the bet's number."""

    rule: str
    limit: str
    pays: Mapping[int, Pays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A wager on a number against the 7. `results` overrides `rule` for some numbers."""

    rule: str
    pays: Mapping[int, Pays]
    results: Mapping[int, str] = field(default_factory=dict)

    def result(self, number: int) -> str:
        """Return the rule by which a number wins or loses."""
        return self.results.get(number, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRoll:
    """A one-roll wager, which wins on the totals in `pays` and loses on all others."""

    rule: str
    pays: Mapping[int, Pays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """Several one-roll wagers in one bet.

    `parts` holds the number of units on each wager. `high` holds, for each number of a Horn High, the wager
    that has an extra unit.
    """

    rule: str
    units: str
    pay: str
    parts: Mapping[OneRollWager, AtLeastOne]
    high: Mapping[int, OneRollWager] = field(default_factory=dict)

    def shares(self, high: int | None = None) -> dict[OneRollWager, int]:
        """Return the number of units on each part. A Horn High has an extra unit on its number."""
        shares = dict(self.parts)
        if high is not None:
            shares[self.high[high]] = shares.get(self.high[high], 0) + 1
        return shares

    @property
    def unit_count(self) -> int:
        """The number of units in one bet."""
        return sum(self.parts.values()) + (1 if self.high else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A wager that the next roll will show two particular faces."""

    rule: str
    easy: Pays
    pair: Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class SharpShooter:
    """A wager on the number of points that one shooter makes. The last row also covers higher numbers."""

    rule: str
    """The rule for making the bet."""
    result: str
    """The rule for deciding the bet."""
    pays: Mapping[int, Pays]
    printed_chances: Mapping[int, str] = field(default_factory=dict)
    """The chance that the document prints for each number of points.

    The entry just below the lowest paid number also covers lower numbers.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """An upper or lower limit; null for none."""

    value: AtLeastOne | None
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wagers:
    """The wagers to which a policy applies."""

    value: tuple[Wager, ...]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The box numbers to which a policy applies."""

    value: tuple[Literal[4, 5, 6, 8, 9, 10], ...]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLock:
    """The stage after which a Pass or Come bet can't be taken down."""

    value: Literal["with_point", "once_made"]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandEnd:
    """The event that ends the count of a shooter's points."""

    value: Literal["seven_out", "crapping_out"]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPaid:
    """When the top row of the Sharp Shooter is paid."""

    value: Literal["hand_over", "at_once"]
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToOrFor:
    """Whether the printed payout includes the stake."""

    value: Literal["to_one", "for_one"]
    rule: str
    reason: str


_ANY_NUMBER = Switch(
    value=False, rule="C34-PASS-1", reason="the document does not limit the number of Pass or Don't Pass bets"
)
_ORIGINAL_CAPS = Switch(
    value=False,
    rule="!34-27",
    reason="lay odds are capped by the amount originally wagered, even if the bet is reduced later",
)
_CALLS_STAND = Wagers(
    value=(), rule="!34-18", reason="a call is valid until the player changes it or the bet is decided"
)
"""Like `_ANY_NUMBER` and `_ORIGINAL_CAPS`, the default for pay table files that lack the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsSettings:
    """The policies of a craps table. Each names the rule that it applies or the contradiction it resolves."""

    minimum_cents: Limit
    maximum_cents: Limit
    unit_cents: Figure
    """Each unit of a combined bet must be a multiple of this amount."""
    pay_unit_cents: Figure
    """Winnings are rounded down to a multiple of this amount."""
    max_win_cents: Limit
    """The maximum win of one bet in one decision."""
    odds_multiple: Limit
    """The maximum odds as a multiple of the flat bet.

    The limit applies to the stake of odds taken and to the win of odds laid.
    """
    no_lay_on: Numbers
    """The box numbers on which odds can't be laid."""
    minimum_per_unit: Wagers
    """The combined bets in which every unit must be at least the table minimum."""
    come_needs_point: Switch
    """Whether Come and Don't Come are accepted only while a point is on."""
    one_come_per_roll: Switch
    """Whether a player may make only one Come and one Don't Come per roll."""
    one_pass_per_roll: Switch = _ANY_NUMBER
    """Whether a player may make only one Pass and one Don't Pass per roll (CV1-PASS-1, CV1-DP-1)."""
    lay_odds_follow_reduction: Switch = _ORIGINAL_CAPS
    """Whether to hand back lay odds that a reduced Don't bet no longer covers."""
    call_lapses: Wagers = _CALLS_STAND
    """The wagers whose on or off call ends when the next point is set."""
    line_locked: LineLock
    no_action: Switch
    """Whether No Action may hand back a Don't Come bet."""
    dont_lowered_stays_low: Switch
    """Whether a reduced or removed Don't bet can't be raised or replaced until that bet is decided."""
    shooter_keeps_dont_pass: Switch
    """Whether the shooter is forbidden to reduce or remove a Don't Pass bet."""
    late_if_confirmed: Switch
    """Whether a late bet is accepted if the dealer and the boxperson have confirmed it."""
    field_may_ride: Switch
    """Whether a player may let the winnings of a Field bet ride."""
    run_out: Switch
    """Whether a shooter without a line bet may roll for the remaining Come and Don't Come bets."""
    may_be_off: Wagers
    """The wagers that a player may call off."""
    off_on_come_out: Wagers
    """The wagers that are off on a come-out roll unless the player calls them on."""
    stays_up: Wagers
    """The wagers that stay up after a win."""
    sharp_shooter_ends: HandEnd
    sharp_shooter_top: TopPaid
    sharp_shooter_pays: ToOrFor


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsPayTable:
    """One document's wagers. A wager that is left out is not offered (CV1-LIM-3)."""

    name: str
    title: str
    line: Mapping[LineWager, LineBet]
    odds: Mapping[OddsWager, Odds]
    place: Numbered
    place_lose: Numbered | None = None
    hard: Numbered
    big: Numbered | None = None
    one_roll: Mapping[OneRollWager, OneRoll]
    combined: Mapping[CombinedWager, Combined]
    hop: Hop | None = None
    sharp_shooter: SharpShooter | None = None
    offered_by: str
    """The rule by which a wager is refused if it is neither offered nor in `not_offered`."""
    not_offered: Mapping[str, str] = field(default_factory=dict)
    """For each wager that the document does not allow, the rule by which it is refused."""
    printed_edges: Mapping[str, str] = field(default_factory=dict)
    """The house edges printed in the document, in per cent, keyed by the row names of the edge report."""
    settings: CrapsSettings

    def __post_init__(self) -> None:
        """Raise ValueError if bets can't be settled with this table."""
        if missing := [wager for wager in FLAT if wager not in self.line]:
            raise ValueError(f"{', '.join(missing)} under line too")
        for name, numbers, possible in self._numbers():
            if wrong := [number for number in numbers if number not in possible]:
                raise ValueError(f"{name} on {', '.join(map(str, possible))}, not on {wrong[0]}")
        if unpaid := [*self._unpaid_odds()]:
            raise ValueError("\n".join(unpaid))
        minimum, maximum = self.settings.minimum_cents.value, self.settings.maximum_cents.value
        if minimum and maximum and minimum > maximum:
            raise ValueError(f"a maximum_cents of at least the minimum_cents ({minimum})")
        for name, combined in self.combined.items():
            self._check_parts(name, combined)

    def _unpaid_odds(self) -> Iterator[str]:
        """Yield a message for each kind of odds that lacks a number. Bets on that number can't be settled."""
        for name, odds in self.odds.items():
            if unpaid := [str(number) for number in BOX_NUMBERS if number not in odds.pays]:
                yield (
                    f"odds.{name}.pays: found no odds on {', '.join(unpaid)},"
                    " expected odds on every number that may be the point; add what is missing"
                )

    def _numbers(self) -> Iterator[tuple[str, Iterable[int], Sequence[int]]]:
        yield from ((name, odds.pays, BOX_NUMBERS) for name, odds in self.odds.items())
        yield "place", self.place.pays, BOX_NUMBERS
        yield "place_lose", self.place_lose.pays if self.place_lose else (), BOX_NUMBERS
        yield "hard", self.hard.pays, (4, 6, 8, 10)
        yield "big", self.big.pays if self.big else (), (6, 8)
        yield from ((name, bet.pays, range(2, 13)) for name, bet in self.one_roll.items())
        yield from ((name, bet.high, range(2, 13)) for name, bet in self.combined.items())

    def _check_parts(self, name: str, combined: Combined) -> None:
        parts = {*combined.parts, *combined.high.values()}
        if missing := sorted(parts - {*self.one_roll}):
            raise ValueError(f"{', '.join(missing)} under one_roll too, as a part of {name}")
        highs: tuple[int | None, ...] = tuple(combined.high) or (None,)
        for high, total in product(highs, range(2, 13)):
            net = self.net(combined, total, high)
            if -1 < net < 0:
                lost = f"{-net} of the stake on {total}"
                raise ValueError(f"a {name} that loses its whole stake or nothing, not {lost}")

    def net(self, combined: Combined, total: int, high: int | None = None) -> Fraction:
        """Return a combined bet's net win on a total, as a fraction of the whole stake.

        Each part is a separate wager (C34-PAY-22, C34-PAY-23). The net win is the payout of the winning part
        minus the stakes of the losing parts; it is -1 if all parts lose.
        """
        shares = combined.shares(high)
        won = Fraction()
        for part, units in shares.items():
            pay = self.one_roll[part].pays.get(total)
            won += units * (pay.ratio.exact if pay else -1)
        return won / sum(shares.values())


def by_name(rows: Mapping[_Name, _Row]) -> dict[str, _Row]:
    """Return the rows keyed by plain str, so that any name can be looked up."""
    return {str(name): row for name, row in rows.items()}


def rules_of(table: CrapsPayTable) -> dict[str, str]:
    """Return the rule that defines each offered wager, in the order of the pay table's fields."""
    rules: dict[str, str] = {}
    rules.update({wager: line.made for wager, line in table.line.items()})
    rules.update({wager: odds.rule for wager, odds in table.odds.items()})
    rules["place"] = table.place.rule
    if table.place_lose:
        rules["place_lose"] = table.place_lose.rule
    rules["hard"] = table.hard.rule
    if table.big:
        rules.update({f"big{number}": table.big.result(number) for number in table.big.pays})
    rules.update({wager: bet.rule for wager, bet in table.one_roll.items()})
    rules.update({wager: combined.rule for wager, combined in table.combined.items()})
    if table.hop:
        rules["hop"] = table.hop.rule
    if table.sharp_shooter:
        rules["sharp_shooter"] = table.sharp_shooter.rule
    return rules
