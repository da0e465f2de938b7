"""A roulette pay table, and its exact house edges, computed over all spots and all pockets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from controller.games.roulette.wagers.layout import RULES, Layout, Spot, Wheel
from controller.settlement.paytable import (
    Edge,
    Figure,
    Finding,
    Limits,
    Pays,
    Report,
    Switch,
    breakage_findings,
    decimal,
    edge_findings,
)

Wager = Literal[
    "straight",
    "split",
    "three",
    "four",
    "five",
    "six",
    "column",
    "dozen",
    "red",
    "black",
    "odd",
    "even",
    "low",
    "high",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelKind:
    """The kind of wheel, by the number of zeros."""

    value: Wheel
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RouletteSettings:
    """The policies of a roulette table."""

    wheel: WheelKind
    zero_splits: Switch
    """Whether the splits 0-1, 0-2, 00-2 and 00-3 are offered."""
    limits_cents: Limits
    """The limits on a player's stake on one spot."""
    pay_unit_cents: Figure
    """Winnings are rounded down to a multiple of this amount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoulettePayTable:
    """The payout of each wager, and the policies that the document leaves open."""

    name: str
    title: str
    pays: Mapping[Wager, Pays]
    settings: RouletteSettings

    def __post_init__(self) -> None:
        """Raise ValueError if a wager has no odds."""
        missing = [wager for wager in RULES if wager not in self.pays]
        if missing:
            raise ValueError(f"odds for every wager under `pays`; add {', '.join(missing)}")


_WITHOUT_A_ROW: Literal["high"] = "high"
"""The wager without a row in the printed pay table (!R-2)."""


def report(table: RoulettePayTable) -> Report:
    """Return every wager's edge and the findings."""
    settings = table.settings
    layout = Layout(settings.wheel.value, zero_splits=settings.zero_splits.value)
    edges = tuple(_edges(table, layout))
    rules: dict[str, str] = {wager: pays.rule for wager, pays in table.pays.items()}
    chip_cents, unit_cents = settings.limits_cents.min_cents, settings.pay_unit_cents.value
    findings = (
        *_find_lost_row(table, {row.wager: row.edge for row in edges}),
        *_find_unprinted_row(table),
        *edge_findings(edges, rules),
        *breakage_findings(table.pays.items(), chip_cents, unit_cents),
    )
    return Report(ruleset=table.name, title=table.title, edges=edges, findings=findings)


def standard_payout(covers: int) -> Fraction:
    """Return the usual odds to one for a wager on this many numbers.

    They are the fair odds on a wheel without zeros, rounded down.
    """
    return Fraction(36 // covers - 1)


def spot_edge(spot: Spot, pays: Fraction, pockets: tuple[str, ...]) -> Fraction:
    """Return the house edge of one spot over all pockets."""
    net = sum((pays if pocket in spot.covers else Fraction(-1) for pocket in pockets), Fraction(0))
    return -net / len(pockets)


def _edges(table: RoulettePayTable, layout: Layout) -> Iterator[Edge]:
    """Yield one row for each wager on the layout. All spots of a wager have the same edge."""
    for wager, pays in table.pays.items():
        for edge in {spot_edge(spot, pays.ratio.exact, layout.pockets) for spot in layout.spots(wager)}:
            yield Edge(wager=wager, edge=edge)


def _find_lost_row(table: RoulettePayTable, edges: Mapping[str, Fraction]) -> Iterator[Finding]:
    """Yield a finding if the odds are the usual list with one row missing and the rest moved up (!R-1)."""
    odds: dict[str, Fraction] = {wager: pays.ratio.exact for wager, pays in table.pays.items()}
    usual = {wager: standard_payout(len(Layout().spots(wager)[0].covers)) for wager in RULES}
    printed = [odds[wager] for wager in RULES if wager != _WITHOUT_A_ROW]
    whole = list(usual.values())
    moved = [wager for wager in RULES if odds[wager] != usual[wager]]
    lost = next((row for row in range(len(whole)) if whole[:row] + whole[row + 1 :] == printed), None)
    if moved and lost is not None:
        kept = ", ".join(
            f"{decimal(edges[wager] * 100, 2)} per cent of {wager}" for wager in moved if wager in edges
        )
        yield Finding(
            code="looks_misprinted",
            wager=", ".join(moved),
            rule="!R-1",
            text=f"the usual odds, but with the row {whole[lost]} to 1 missing and all rows below it moved "
            f"up: the house keeps {kept}; the usual odds are in roulette-conventional",
        )


def _find_unprinted_row(table: RoulettePayTable) -> Iterator[Finding]:
    """Yield the finding for the wager that the document offers without odds (!R-2)."""
    pays = table.pays[_WITHOUT_A_ROW]
    yield Finding(
        code="no_printed_odds",
        wager=_WITHOUT_A_ROW,
        rule=pays.rule,
        text=f"19 to 36 has no row in the printed pay table; it pays {pays.ratio}, like 1 to 18",
    )
