"""What an owner should know of any pay table, whatever the game."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from controller.settlement.edges import Edge, Finding, decimal, uneven
from controller.settlement.paytable import Pays

STEEP = Fraction(1, 4)
"""An edge from which a pay table is worth asking about: the worst of the usual wagers keep a sixth."""


def of_edges(edges: Iterable[Edge], rules: Mapping[str, str]) -> Iterator[Finding]:
    """Find wagers that favour the player, and those of which the house keeps a quarter or more."""
    for row in edges:
        share = decimal(abs(row.edge) * 100, 2)
        if row.edge < 0:
            yield Finding(
                code="favours_player",
                wager=row.wager,
                rule=rules[row.wager],
                text=f"the player is ahead by {-row.edge} of the bet ({share} per cent)",
            )
        if row.edge >= STEEP:
            yield Finding(
                code="steep",
                wager=row.wager,
                rule=rules[row.wager],
                text=f"the house keeps {row.edge} of the bet ({share} per cent): are these odds meant?",
            )


def of_breakage(pays: Iterable[tuple[str, Pays]], chip_cents: int, pay_unit_cents: int) -> Iterator[Finding]:
    """Find the odds that a single chip is not paid exactly at."""
    for wager, row in pays:
        if found := uneven(wager, row.ratio, row.rule, chip_cents, pay_unit_cents):
            yield found
