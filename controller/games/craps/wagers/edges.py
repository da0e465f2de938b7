"""The exact house edges of craps, computed from the rows of endings that settle the bets."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from controller.games.craps.wagers.decisions import CRAPS, ROLLS, Decisions, Ending, Endings
from controller.games.craps.wagers.paytable import (
    BOX_NUMBERS,
    FLAT,
    FLAT_OF,
    LAY_ODDS,
    CrapsPayTable,
    rules_of,
)
from controller.games.craps.wagers.table_state import SharpShooterEndings
from controller.settlement.paytable import (
    Chance,
    Edge,
    Finding,
    Pays,
    Ratio,
    Report,
    breakage_findings,
    decimal,
    edge_findings,
)

DOLLAR_CENTS = 100
"""The chip value assumed for breakage if a table has no minimum."""


class BetValue(NamedTuple):
    """The expected net win of a bet of 1, and its chance of a push."""

    net: Fraction
    pushed: Fraction


def report(table: CrapsPayTable) -> Report:
    """Return every wager's edge, the printed chances, and the findings."""
    edges, pays = tuple(_edges(table)), tuple(_single_pays(table))
    rules = {row.wager: rules_of(table)[row.wager.partition(" ")[0]] for row in edges}
    rules.update({wager: pay.rule for wager, pay in pays})
    settings = table.settings
    chip_cents = settings.minimum_cents.value or DOLLAR_CENTS
    findings = chain(
        edge_findings(edges, rules),
        _full_lay(table, edges),
        _untrue_odds(table),
        _uncovered_lays(table),
        breakage_findings(pays, chip_cents, settings.pay_unit_cents.value),
    )
    return Report(
        ruleset=table.name,
        title=table.title,
        edges=edges,
        chances=tuple(_printed_chances(table)),
        findings=tuple(findings),
    )


def bet_value(endings: Endings, on_number: Mapping[int, BetValue] | None = None) -> BetValue:
    """Return the value of a bet, computed from its row of endings.

    A roll without an ending leaves the bet up. With `on_number`, such a roll moves the bet to the rolled
    number.
    """
    net, pushed, counted = Fraction(), Fraction(), 0
    for roll, ending in zip(ROLLS, endings, strict=True):
        if ending is not None:
            counted += 1
            pushed += ending.status == "push"
            net += _net(ending)
        elif on_number is not None:
            counted += 1
            moved = on_number[sum(roll)]
            net, pushed = net + moved.net, pushed + moved.pushed
    return BetValue(net / counted, pushed / counted)


def _net(ending: Ending) -> Fraction:
    if ending.ratio is not None:
        return ending.ratio.exact
    return Fraction(0 if ending.status == "push" else -1)


def sharp_shooter_chances(table: CrapsPayTable) -> dict[int, Fraction]:
    """Return the chance of each number of points in a hand. The last entry also covers higher numbers."""
    if table.sharp_shooter is None:
        return {}
    top = max(table.sharp_shooter.pays)
    made = _point_made(crapping_out=table.settings.sharp_shooter_ends.value == "crapping_out")
    chances = {points: made**points * (1 - made) for points in range(top)}
    return {**chances, top: made**top}


def _point_made(*, crapping_out: bool) -> Fraction:
    ends_come_out = (*BOX_NUMBERS, *CRAPS) if crapping_out else BOX_NUMBERS
    made = sum((Fraction(_ways(box) ** 2, _ways(box) + _ways(7)) for box in BOX_NUMBERS), Fraction())
    return made / sum(_ways(total) for total in ends_come_out)


def _edges(table: CrapsPayTable) -> Iterator[Edge]:
    decisions = Decisions(table)
    for wager in FLAT:
        on_number = {number: bet_value(decisions.rows[wager, number]) for number in BOX_NUMBERS}
        yield _edge(table, wager, bet_value(decisions.rows[wager, None], on_number))
    for (wager, number), endings in decisions.rows.items():
        if wager not in FLAT:
            yield _edge(table, wager if number is None else f"{wager} {number}", bet_value(endings))
    for name, faces in (("hop easy", (1, 2)), ("hop pair", (1, 1))):
        if hop := decisions.hop(faces):
            yield _edge(table, name, bet_value(hop))
    if table.sharp_shooter is not None:
        yield _edge(table, "sharp_shooter", _sharp_shooter_value(table))


def _sharp_shooter_value(table: CrapsPayTable) -> BetValue:
    endings = SharpShooterEndings(table)
    net = Fraction()
    for points, chance in sharp_shooter_chances(table).items():
        if ending := endings.by_points(points, "before the seven-out"):
            net += chance * _net(ending)
    return BetValue(net, Fraction())


def _edge(table: CrapsPayTable, name: str, bet: BetValue) -> Edge:
    printed = table.printed_edges.get(name, table.printed_edges.get(name.partition(" ")[0]))
    decided = -bet.net / (1 - bet.pushed) if bet.pushed else None
    return Edge(wager=name, edge=-bet.net, decided=decided, printed=printed)


def _printed_chances(table: CrapsPayTable) -> Iterator[Chance]:
    if table.sharp_shooter is None:
        return
    chances = sharp_shooter_chances(table)
    minimum, maximum = min(table.sharp_shooter.pays), max(table.sharp_shooter.pays)
    chances[minimum - 1] = sum((chance for points, chance in chances.items() if points < minimum), Fraction())
    suffix = {minimum - 1: " or less", maximum: " or more"}  # as the document prints it
    for points, printed in table.sharp_shooter.printed_chances.items():
        yield Chance(
            event=f"{points}{suffix.get(points, '')} points", chance=chances[points], printed=printed
        )


def _full_lay(table: CrapsPayTable, edges: Iterable[Edge]) -> Iterator[Finding]:
    """Yield a finding for each Don't bet that, with full odds on some numbers, favours the player (!34-3)."""
    multiple, edge_of = table.settings.odds_multiple.value, {row.wager: row.edge for row in edges}
    for wager, odds in table.odds.items():
        flat = FLAT_OF[wager]
        if wager not in LAY_ODDS or multiple is None:
            continue
        open_to_lay = [number for number in BOX_NUMBERS if number not in table.settings.no_lay_on.value]
        gains = {number: -edge_of[f"{wager} {number}"] for number in open_to_lay}
        numbers = [number for number, gain in gains.items() if gain > 0]
        on_odds = (
            Fraction(_ways(number), len(ROLLS)) * multiple / odds.pays[number].ratio.exact * gains[number]
            for number in numbers
        )
        ahead = sum(on_odds, -edge_of[flat])
        if ahead > 0:
            yield Finding(
                code="favours_player",
                wager=flat,
                rule=odds.rule,
                text=f"with full odds laid on {' and '.join(map(str, numbers))} only, the player has an "
                f"advantage of {ahead} of the flat bet ({decimal(ahead * 100, 3)} per cent)",
            )


def _uncovered_lays(table: CrapsPayTable) -> Iterator[Finding]:
    """Yield a finding for each kind of lay odds that can stay up in full behind a reduced bet (!34-27)."""
    settings = table.settings
    if settings.odds_multiple.value is None or settings.lay_odds_follow_reduction.value:
        return
    for wager, odds in table.odds.items():
        if wager in LAY_ODDS:
            yield Finding(
                code="lay_outlasts_bet",
                wager=wager,
                rule=odds.limit,
                text=f"a {FLAT_OF[wager]} can be reduced to almost nothing while its full odds stay up; "
                "lay_odds_follow_reduction: true hands back the odds that the reduced bet no longer covers",
            )


def _untrue_odds(table: CrapsPayTable) -> Iterator[Finding]:
    for wager, odds in table.odds.items():
        for number, pay in odds.pays.items():
            fair = Fraction(6, _ways(number)) if wager not in LAY_ODDS else Fraction(_ways(number), 6)
            if pay.ratio.exact != fair:
                yield Finding(
                    code="not_true_odds",
                    wager=f"{wager} {number}",
                    rule=pay.rule,
                    text=f"pays {pay.ratio}, but the true odds are {Ratio(*fair.as_integer_ratio())}; "
                    "either rounded on purpose or misprinted",
                )


def _single_pays(table: CrapsPayTable) -> Iterator[tuple[str, Pays]]:
    for wager, odds in table.odds.items():
        for number, pay in odds.pays.items():
            yield f"{wager} {number}", pay
    for name, bet in (("place", table.place), ("place_lose", table.place_lose), ("hard", table.hard)):
        for number, pay in bet.pays.items() if bet else ():
            yield f"{name} {number}", pay


def _ways(total: int) -> int:
    return sum(sum(roll) == total for roll in ROLLS)
