"""The effect of each of the 36 rolls on each bet, computed once from the pay table.

Each bet except a Sharp Shooter has a row of 36 endings, one per roll. None means that the bet stays up. When
a roll sets the number of a line bet, the bet switches to the row for that number. The house edges are
computed from the same rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple

from controller.games.craps.wagers.paytable import (
    BOX_NUMBERS,
    LAY_ODDS,
    Combined,
    CrapsPayTable,
    LineBet,
    LineWager,
    Odds,
    OddsWager,
    OneRoll,
    OneRollWager,
)
from controller.settlement.paytable import Pays, Ratio


class Ending(NamedTuple):
    """The result of a roll that ends a bet, with the reason and the payout ratio of a win."""

    status: Literal["win", "lose", "push"]
    reason: str
    ratio: Ratio | None = None


Faces = tuple[int, int]
Endings = tuple[Ending | None, ...]
"""A bet's endings, indexed by `roll_index`."""
Row = tuple[tuple[str, int | None], Endings]

ROLLS: tuple[Faces, ...] = tuple((first, second) for first in range(1, 7) for second in range(1, 7))
CRAPS = (2, 3, 12)
NATURALS = (7, 11)


def roll_index(dice: Faces) -> int:
    """Return a roll's index in a row of endings."""
    return dice[0] * 6 + dice[1] - 7


class Decisions:
    """All rows of endings of one pay table."""

    def __init__(self, table: CrapsPayTable) -> None:
        self.rows: Mapping[tuple[str, int | None], Endings] = dict(
            chain(
                _line_rows(table.line),
                _odds_rows(table.odds),
                _numbered_rows(table),
                _one_roll_rows(table.one_roll),
                _combined_rows(table),
            )
        )
        self._hops = dict(_hop_rows(table))

    def row(self, wager: str, number: int | None = None) -> Endings | None:
        """Return the row of a bet other than a Hop or a Sharp Shooter; None for an unknown bet.

        A line bet has no number before its first roll.
        """
        return self.rows.get((wager, number))

    def hop(self, faces: Sequence[int]) -> Endings | None:
        """Return the row of a Hop on two faces, in either order; None for invalid faces."""
        return self._hops.get((min(faces), max(faces))) if len(faces) == 2 else None


def _by_total(ending: Callable[[int], Ending | None]) -> Endings:
    by_total = {total: ending(total) for total in range(2, 13)}
    return tuple(by_total[first + second] for first, second in ROLLS)


def _wins(rule: str, what: str, ratio: Ratio) -> Ending:
    return Ending("win", f"{rule}: {what} pays {ratio}", ratio)


def _loses(rule: str, what: str) -> Ending:
    return Ending("lose", f"{rule}: {what} loses")


def _line_rows(line: Mapping[LineWager, LineBet]) -> Iterator[Row]:
    for wager, bet in line.items():
        yield (wager, None), _first_roll(wager, bet)
        for number in BOX_NUMBERS:
            yield (wager, number), _number_or_seven(wager, bet, number)


def _first_roll(wager: LineWager, line: LineBet) -> Endings:
    on_seven_side = wager in ("dont_pass", "dont_come")

    def ending(total: int) -> Ending | None:
        what = f"{total} on its first roll"
        if total in NATURALS:
            return _loses(line.natural, what) if on_seven_side else _wins(line.natural, what, line.pay.ratio)
        if total == 12 and on_seven_side:
            return Ending("push", f"{line.bar_12}: {what} is barred, so the stake is returned")
        if total in CRAPS:
            return _wins(line.craps, what, line.pay.ratio) if on_seven_side else _loses(line.craps, what)
        return None

    return _by_total(ending)


def _number_or_seven(wager: LineWager, line: LineBet, number: int) -> Endings:
    number_first, seven_first = f"{number} before a 7", f"7 before {number}"
    if wager in ("dont_pass", "dont_come"):
        won = _wins(line.seven_first, seven_first, line.pay.ratio)
        return _race(number, on_number=_loses(line.number_first, number_first), on_seven=won)
    won = _wins(line.number_first, number_first, line.pay.ratio)
    return _race(number, on_number=won, on_seven=_loses(line.seven_first, seven_first))


def _race(number: int, on_number: Ending, on_seven: Ending) -> Endings:
    return _by_total({number: on_number, 7: on_seven}.get)


def _for_number(number: int, pay: Pays, lost: str) -> Endings:
    won = _wins(pay.rule, f"{number} before a 7", pay.ratio)
    return _race(number, on_number=won, on_seven=_loses(lost, f"7 before {number}"))


def _against_number(number: int, pay: Pays, lost: str) -> Endings:
    won = _wins(pay.rule, f"7 before {number}", pay.ratio)
    return _race(number, on_number=_loses(lost, f"{number} before a 7"), on_seven=won)


def _hard(number: int, pay: Pays, lost: str) -> Endings:
    pair = (number // 2, number // 2)
    won = _wins(pay.rule, f"{number} the hard way", pay.ratio)
    any_way = _race(number, on_number=_loses(lost, f"{number} the easy way"), on_seven=_loses(lost, "7"))
    return tuple(won if roll == pair else ending for roll, ending in zip(ROLLS, any_way, strict=True))


def _odds_rows(odds: Mapping[OddsWager, Odds]) -> Iterator[Row]:
    for wager, bet in odds.items():
        row = _against_number if wager in LAY_ODDS else _for_number
        for number, pay in bet.pays.items():
            yield (wager, number), row(number, pay, bet.rule)


def _numbered_rows(table: CrapsPayTable) -> Iterator[Row]:
    kinds = (("place", table.place, _for_number), ("place_lose", table.place_lose, _against_number),
             ("hard", table.hard, _hard))  # fmt: skip
    for name, bet, row in kinds:
        if bet is not None:
            for number, pay in bet.pays.items():
                yield (name, number), row(number, pay, bet.result(number))
    if table.big is not None:
        for number, pay in table.big.pays.items():
            yield (f"big{number}", None), _for_number(number, pay, table.big.result(number))


def _one_roll_rows(bets: Mapping[OneRollWager, OneRoll]) -> Iterator[Row]:
    for wager, bet in bets.items():
        yield (wager, None), _one_roll(bet)


def _one_roll(bet: OneRoll) -> Endings:
    def ending(total: int) -> Ending:
        pay = bet.pays.get(total)
        return _wins(pay.rule, str(total), pay.ratio) if pay else _loses(bet.rule, str(total))

    return _by_total(ending)


def _combined_rows(table: CrapsPayTable) -> Iterator[Row]:
    for name, bet in table.combined.items():
        highs: tuple[int | None, ...] = tuple(bet.high) or (None,)
        for high in highs:
            yield (name, high), _by_total(partial(_combined, table, bet, high))


def _combined(table: CrapsPayTable, bet: Combined, high: int | None, total: int) -> Ending:
    net = table.net(bet, total, high)
    if net < 0:
        return _loses(bet.rule, str(total))
    if net == 0:
        return Ending("push", f"{bet.pay}: on {total}, one part wins what the other parts lose")
    return _wins(bet.pay, str(total), Ratio(*net.as_integer_ratio()))


def _hop_rows(table: CrapsPayTable) -> Iterator[tuple[Faces, Endings]]:
    if table.hop is None:
        return
    for faces in ROLLS:
        if faces[0] <= faces[1]:
            pay = table.hop.pair if faces[0] == faces[1] else table.hop.easy
            won = _wins(pay.rule, f"{faces[0]}-{faces[1]}", pay.ratio)
            lost = _loses(table.hop.rule, f"anything but {faces[0]}-{faces[1]}")
            yield faces, tuple(won if tuple(sorted(roll)) == faces else lost for roll in ROLLS)
