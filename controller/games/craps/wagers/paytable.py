"""A craps pay table: the wagers offered, what they pay, and the policies that the document leaves open.

It is loaded from `config/paytables/craps-*.yaml`, where every value carries the id of its rule and every
setting carries its reason.
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
"""The flat bet that each kind of odds supports."""
LAY_ODDS = ("dont_pass_odds", "dont_come_odds")
"""Odds that are laid: they win on a 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBet:
    """Pass, Don't Pass, Come or Don't Come: its pay, and the ids of its rules."""

    made: str
    """The rule that says when it may be made."""
    pay: Pays
    natural: str
    """The rule for 7 or 11 on its first roll."""
    craps: str
    """The rule for 2, 3 or 12 on its first roll."""
    number_first: str
    seven_first: str
    bar_12: str = ""
    """The rule for 12 on the first roll of a Don't bet, which is neither won nor lost."""
    lowered: str
    """The rule that says when it may be reduced or removed."""
    raised: str
    """The rule that says when it may be increased."""
    off: str
    """The rule that forbids calling it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """Odds behind one kind of flat bet, by the bet's number."""

    rule: str
    limit: str
    pays: Mapping[int, Pays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A wager on one number against the 7, by number; `results` if each number has its own rule."""

    rule: str
    pays: Mapping[int, Pays]
    results: Mapping[int, str] = field(default_factory=dict)

    def result(self, number: int) -> str:
        """Return the rule by which a number wins or loses."""
        return self.results.get(number, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRoll:
    """A one-roll wager: it wins on the totals in `pays`, and loses on all others."""

    rule: str
    pays: Mapping[int, Pays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """Several one-roll wagers in one bet, with the units of each in `parts`; `high` adds a unit to one."""

    rule: str
    units: str
    pay: str
    parts: Mapping[OneRollWager, AtLeastOne]
    high: Mapping[int, OneRollWager] = field(default_factory=dict)

    def shares(self, high: int | None = None) -> dict[OneRollWager, int]:
        """Return the units on each part, with the extra unit of a Horn High on its number."""
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
    """A wager on two exact faces on the next roll."""

    rule: str
    easy: Pays
    pair: Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class SharpShooter:
    """A wager on the points that one shooter makes; the row with the most points also covers more."""

    rule: str
    """The rule that says when it may be made."""
    result: str
    """The rule that says how it is decided."""
    pays: Mapping[int, Pays]
    printed_chances: Mapping[int, str] = field(default_factory=dict)
    """The printed chance of each number of points; the number just below the first row covers fewer too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A value, or null if there is no limit."""

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
    """When a Pass or Come bet becomes locked, so that it can't be taken down."""

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
    """Whether the pay of a row includes the stake."""

    value: Literal["to_one", "for_one"]
    rule: str
    reason: str


_ANY_NUMBER = Switch(value=False, rule="C34-PASS-1", reason="the document does not limit their number")
_ORIGINAL_CAPS = Switch(
    value=False, rule="!34-27", reason="lay odds are capped by the amount originally wagered, even if reduced"
)
_CALLS_STAND = Wagers(
    value=(), rule="!34-18", reason="a call is valid until the player changes it or the bet is decided"
)
"""This and the two above are the defaults for a pay table file that predates these settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsSettings:
    """The policies of a craps table, each with the rule or contradiction that it resolves."""

    minimum_cents: Limit
    maximum_cents: Limit
    unit_cents: Figure
    """The unit of combined bets."""
    pay_unit_cents: Figure
    """Winnings are rounded down to multiples of this."""
    max_win_cents: Limit
    """Maximum amount that one decision of one bet may win."""
    odds_multiple: Limit
    """Odds may be at most this many times the flat bet: by their stake if taken, by their win if laid."""
    no_lay_on: Numbers
    minimum_per_unit: Wagers
    """The combined bets in which every unit must be at least the table minimum."""
    come_needs_point: Switch
    one_come_per_roll: Switch
    one_pass_per_roll: Switch = _ANY_NUMBER
    """Whether a player may make only one Pass and one Don't Pass per roll (CV1-PASS-1, CV1-DP-1)."""
    lay_odds_follow_reduction: Switch = _ORIGINAL_CAPS
    """Whether lay odds that a reduced Don't bet no longer covers are handed back."""
    call_lapses: Wagers = _CALLS_STAND
    """The wagers whose call on or off ends when the next point is set, so that the default applies again."""
    line_locked: LineLock
    no_action: Switch
    """Whether a Don't Come may be handed back by No Action."""
    dont_lowered_stays_low: Switch
    shooter_keeps_dont_pass: Switch
    late_if_confirmed: Switch
    field_may_ride: Switch
    run_out: Switch
    may_be_off: Wagers
    off_on_come_out: Wagers
    stays_up: Wagers
    sharp_shooter_ends: HandEnd
    sharp_shooter_top: TopPaid
    sharp_shooter_pays: ToOrFor


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsPayTable:
    """One document's wagers; a wager that is left out is not offered (CV1-LIM-3)."""

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
    """The rule by which an unknown wager is refused, unless `not_offered` names one."""
    not_offered: Mapping[str, str] = field(default_factory=dict)
    """For each wager that the document does not allow, the rule by which it is refused."""
    printed_edges: Mapping[str, str] = field(default_factory=dict)
    """The house edges in per cent as printed in the document, by the row's name in an edge report."""
    settings: CrapsSettings

    def __post_init__(self) -> None:
        """Raise ValueError for a table that can't be settled."""
        if missing := [wager for wager in FLAT if wager not in self.line]:
            raise ValueError(f"{', '.join(missing)} under line too")
        for name, numbers, possible in self._numbers():
            if wrong := [number for number in numbers if number not in possible]:
                raise ValueError(f"{name} on {', '.join(map(str, possible))}, not on {wrong[0]}")
        minimum, maximum = self.settings.minimum_cents.value, self.settings.maximum_cents.value
        if minimum and maximum and minimum > maximum:
            raise ValueError(f"a maximum_cents of at least the minimum_cents ({minimum})")
        for name, combined in self.combined.items():
            self._check_parts(name, combined)

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
                raise ValueError(f"a {name} that loses all of its stake or none, not {-net} of it on {total}")

    def net(self, combined: Combined, total: int, high: int | None = None) -> Fraction:
        """Return a combined bet's net win on a total as a fraction of its whole stake; -1 if all of it loses.

        Each part is a separate wager (C34-PAY-22, C34-PAY-23): the net win is the pay of the winning part
        less the stakes of the others.
        """
        shares = combined.shares(high)
        won = Fraction()
        for part, units in shares.items():
            pay = self.one_roll[part].pays.get(total)
            won += units * (pay.ratio.exact if pay else -1)
        return won / sum(shares.values())


def by_name(rows: Mapping[_Name, _Row]) -> dict[str, _Row]:
    """Return the rows with keys of type str, to look up names that may be unknown."""
    return {str(name): row for name, row in rows.items()}


def rules_of(table: CrapsPayTable) -> dict[str, str]:
    """Return the rule that defines each offered wager, in the order of the document."""
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
