"""Roulette, computed from the layout: every spot as the set of its numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from tests.settlement.reference.lines import Line, Reduced, Refused, Rejected, Request, Settled

NUMBERS = ("0", "00", *(str(number) for number in range(1, 37)))
REDS = {1, 3, 5, 7, 9, 12, 14, 16, 18, 19, 21, 23, 25, 27, 30, 32, 34, 36}
PRINTED = {"straight": 35, "split": 17, "three": 8, "four": 6, "five": 5, "six": 2, "column": 2, "dozen": 1}
USUAL = {"straight": 35, "split": 17, "three": 11, "four": 8, "five": 6, "six": 5, "column": 2, "dozen": 2}
RULES = {
    name: f"R-BET-{place}"
    for place, name in enumerate(
        (
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
        ),
        1,
    )
}
LEAST, MAX = 100, 1000


def _sets(*groups: tuple[int | str, ...]) -> set[frozenset[str]]:
    return {frozenset(str(each) for each in group) for group in groups}


def _layout() -> dict[str, set[frozenset[str]]]:
    rows = [(first, first + 1, first + 2) for first in range(1, 37, 3)]
    across = [pair for row in rows for pair in pairwise(row)]
    down = [(number, number + 3) for number in range(1, 34)]
    return {
        "straight": {frozenset({number}) for number in NUMBERS},
        "split": _sets(*across, *down, ("0", "00"), ("0", 1), ("0", 2), ("00", 2), ("00", 3)),
        "three": _sets(*rows, ("0", 1, 2), ("0", 2, "00"), ("00", 2, 3)),
        "four": _sets(*((a, b, a + 3, b + 3) for a, b in across if b <= 33)),
        "five": _sets(("0", "00", 1, 2, 3)),
        "six": _sets(*((*upper, *lower) for upper, lower in pairwise(rows))),
    }


LAYOUT = _layout()


def _outside(wager: str, which: object) -> frozenset[str] | None:
    if wager in ("column", "dozen") and which not in (1, 2, 3):
        return None
    assert which is None or isinstance(which, int)
    covers: dict[str, Callable[[int], bool]] = {
        "column": lambda n: (n - 1) % 3 + 1 == which,
        "dozen": lambda n: (n - 1) // 12 + 1 == which,
        "red": lambda n: n in REDS,
        "black": lambda n: n not in REDS,
        "odd": lambda n: n % 2 == 1,
        "even": lambda n: n % 2 == 0,
        "low": lambda n: n <= 18,
        "high": lambda n: n >= 19,
    }
    return frozenset(str(number) for number in range(1, 37) if covers[wager](number))


@dataclass
class Chip:
    """A bet on the layout; amounts in cents."""

    id: str
    player: str
    wager: str
    covers: frozenset[str]
    stake: int


@dataclass
class Roulette:
    """One table with one of the two pay tables."""

    odds: dict[str, int]
    up: dict[str, Chip] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    closed: bool = False

    def take(self, ask: Request) -> list[Line]:
        match ask["do"]:
            case "bet":
                return self._bet(ask)
            case "close":
                self.closed = True
                return []
            case "no_spin":
                self.closed = False
                return []
            case "spin":
                return self._spin(str(ask["number"]))
            case _:
                return self._change(ask)

    def end(self) -> list[Line]:
        """Return the bets that are left."""
        return [Settled(chip.id, chip.wager, "pending", chip.stake, 0, 0) for chip in self.up.values()]

    def _covers(self, wager: str, ask: Request) -> frozenset[str] | None:
        if wager not in LAYOUT:
            return _outside(wager, ask.get("which"))
        numbers = ask.get("numbers")
        if wager == "five" and numbers is None:
            return next(iter(LAYOUT["five"]))
        assert isinstance(numbers, list)
        covers = frozenset(numbers)
        return covers if covers in LAYOUT[wager] and len(numbers) == len(covers) else None

    def _bet(self, ask: Request) -> list[Line]:
        name, wager, player, amount = str(ask["id"]), str(ask["wager"]), str(ask["player"]), ask["amount"]
        assert isinstance(amount, int)
        wrong = set[str]()
        if name in self.names:
            wrong |= {"BOOK-ID"}
        if amount <= 0:
            wrong |= {"BOOK-AMOUNT"}
        if self.closed:
            wrong |= {"R-IRR-4", "R-SPIN-3"}
        if wager not in RULES:
            return [Rejected(name, wager, frozenset())]
        covers = self._covers(wager, ask)
        if covers is None:
            wrong |= {RULES[wager], f"{RULES[wager]}a"}
        wrong |= self._limits(player, wager, covers, amount, None)
        if wrong or covers is None:
            return [Rejected(name, wager, frozenset(wrong))]
        self.names.add(name)
        self.up[name] = Chip(name, player, wager, covers, amount)
        return []

    def _limits(
        self, player: str, wager: str, covers: frozenset[str] | None, amount: int, standing: Chip | None
    ) -> set[str]:
        there = (player, wager, covers)
        beside = sum(
            chip.stake
            for chip in self.up.values()
            if chip is not standing and (chip.player, chip.wager, chip.covers) == there
        )
        return {"R-LIM-1", "!R-11"} if amount < LEAST or amount + beside > MAX else set()

    def _change(self, ask: Request) -> list[Line]:
        do, name = str(ask["do"]), str(ask["id"])
        chip = self.up.get(name)
        if chip is None:
            return [Refused(do, frozenset({"BOOK-ID"}), name)]
        wrong = {"R-IRR-4", "!R-12", "R-SPIN-3"} if self.closed else set[str]()
        if do == "remove":
            if wrong:
                return [Refused(do, frozenset(wrong), name)]
            del self.up[name]
            return [Settled(name, chip.wager, "removed", chip.stake, 0, chip.stake)]
        to = ask["to"]
        assert isinstance(to, int)
        if (do == "increase" and to <= chip.stake) or (do == "reduce" and not 0 < to < chip.stake):
            wrong |= {"BOOK-AMOUNT"}
        wrong |= self._limits(chip.player, chip.wager, chip.covers, to, chip)
        if wrong:
            return [Refused(do, frozenset(wrong), name)]
        before, chip.stake = chip.stake, to
        return [Reduced(name, before - to)] if do == "reduce" else []

    def _spin(self, number: str) -> list[Line]:
        out: list[Line] = []
        for chip in self.up.values():
            if number in chip.covers:
                won = chip.stake * self.odds.get(chip.wager, 1)
                out.append(Settled(chip.id, chip.wager, "win", chip.stake, won, chip.stake + won))
            else:
                out.append(Settled(chip.id, chip.wager, "lose", chip.stake, 0, 0))
        self.up.clear()
        self.closed = False
        return out
