"""The roulette layout: the positions of the numbers, and the wagers on them.

Numbers 1 to 36 are in twelve rows of three, with 0 and 00 above the first row: 0 over 1 and 2, and 00 over 2
and 3 (R-BET-2, R-BET-3a). The valid combinations are computed from these positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from controller.model.pockets import RED

Wheel = Literal["double_zero", "single_zero"]
Numbers = frozenset[str]

_ROWS = 12
_ALL = tuple(str(n) for n in range(1, 37))
_FIRST_FIVE = frozenset({"0", "00", "1", "2", "3"})
_ZERO_SPLITS = (("0", "1"), ("0", "2"), ("00", "2"), ("00", "3"))
_TRIOS = (("0", "1", "2"), ("0", "2", "00"), ("00", "2", "3"))

RULES: Mapping[str, str] = {
    "straight": "R-BET-1",
    "split": "R-BET-2",
    "three": "R-BET-3",
    "four": "R-BET-4",
    "five": "R-BET-5",
    "six": "R-BET-6",
    "column": "R-BET-7",
    "dozen": "R-BET-8",
    "red": "R-BET-9",
    "black": "R-BET-10",
    "odd": "R-BET-11",
    "even": "R-BET-12",
    "low": "R-BET-13",
    "high": "R-BET-14",
}
"""The rule that defines each wager."""

NUMBERS_PER_WAGER: Mapping[str, int] = {"straight": 1, "split": 2, "three": 3, "four": 4, "five": 5, "six": 6}
"""How many numbers each inside wager covers."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A spot on the layout, identified by its wager and its winning numbers."""

    wager: str
    covers: Numbers


class NoSuchSpot(Exception):
    """The layout has no such spot. `rule` is the rule to cite; `reason` says what is accepted."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason


class Layout:
    """The layout for one kind of wheel.

    `zero_splits` says whether the splits 0-1, 0-2, 00-2 and 00-3 are offered (!R-13).
    """

    def __init__(self, wheel: Wheel = "double_zero", *, zero_splits: bool = True) -> None:
        self.wheel = wheel
        zeros = ("0", "00") if wheel == "double_zero" else ("0",)
        self.pockets: tuple[str, ...] = (*zeros, *_ALL)
        self._pockets = frozenset(self.pockets)
        inside = _inside(zero_splits=zero_splits)
        self._inside: dict[str, dict[Numbers, Spot]] = {
            wager: {covers: Spot(wager, covers) for covers in places if covers <= self._pockets}
            for wager, places in inside.items()
        }
        self._outside = {name: Spot(name, covers) for name, covers in _outside().items()}
        self._parts = {
            wager: tuple(Spot(wager, covers) for covers in parts)
            for wager, parts in (("column", _columns()), ("dozen", _dozens()))
        }

    def spots(self, wager: str) -> tuple[Spot, ...]:
        """Return all spots of a wager."""
        if wager in self._inside:
            return tuple(self._inside[wager].values())
        return self._parts[wager] if wager in self._parts else (self._outside[wager],)

    def find(self, wager: str, numbers: tuple[str, ...], which: int | None) -> Spot:
        """Return the spot for `numbers` in any order or, for a column or dozen, for `which` (1 to 3).

        Raises:
            NoSuchSpot: the layout has no such spot.
        """
        rule = RULES.get(wager)
        if rule is None:
            raise NoSuchSpot(
                "R-BET-1", f"there is no wager {wager!r} on this layout; choose one of {', '.join(RULES)}"
            )
        if wager in self._inside:
            return self._on_numbers(wager, rule, numbers, which)
        if numbers:
            raise NoSuchSpot(rule, f"{wager} takes no numbers; found {_listing(numbers)}")
        if wager in self._parts:
            if which not in (1, 2, 3):
                raise NoSuchSpot(rule, f"{wager} takes `which` 1, 2 or 3; found {_shown(which)}")
            return self._parts[wager][which - 1]
        if which is not None:
            raise NoSuchSpot(rule, f"{wager} takes no `which`; found {which}")
        return self._outside[wager]

    def _on_numbers(self, wager: str, rule: str, numbers: tuple[str, ...], which: int | None) -> Spot:
        if which is not None:
            raise NoSuchSpot(rule, f"{wager} takes `numbers`, not `which`; found {which}")
        covers = frozenset(numbers)
        spot = self._inside[wager].get(covers)
        if spot is not None and len(numbers) == len(covers):
            return spot
        unknown = sorted(covers - self._pockets)
        if unknown:
            raise NoSuchSpot(rule, f"this wheel has no number {_listing(unknown)}; it has {self._range()}")
        if not self._inside[wager]:
            raise NoSuchSpot(rule, f"{wager} is not offered on a {self.wheel.replace('_', '-')} wheel")
        count = NUMBERS_PER_WAGER[wager]
        if len(numbers) != count or len(covers) != count:
            wanted = "one number" if count == 1 else f"{count} different numbers"
            raise NoSuchSpot(rule, f"{wager} takes {wanted}; found {_listing(numbers) or 'none'}")
        raise NoSuchSpot(
            rule, f"{_listing(numbers)} is not a {wager} on this layout; {self._nearest(wager, numbers)}"
        )

    def _nearest(self, wager: str, numbers: tuple[str, ...]) -> str:
        places = self._inside[wager]
        best_count = max(len(covers.intersection(numbers)) for covers in places)
        nearest = [covers for covers in places if len(covers.intersection(numbers)) == best_count]
        verb = "is" if len(nearest) == 1 else "are"
        return f"the nearest {verb} " + ", ".join("-".join(in_order(covers)) for covers in nearest[:4])

    def _range(self) -> str:
        return "0, 00 and 1 to 36" if self.wheel == "double_zero" else "0 and 1 to 36"


def in_order(numbers: Numbers | tuple[str, ...]) -> list[str]:
    """Return numbers in the order of the layout: 0, 00, 1 to 36."""
    return sorted(numbers, key=lambda number: (int(number), len(number)))


def _shown(which: int | None) -> str:
    return "none" if which is None else str(which)


def _listing(numbers: tuple[str, ...] | list[str]) -> str:
    return ", ".join(repr(number) for number in numbers)


def _box(row: int, column: int) -> str:
    return str(3 * row + column + 1)


def _block(row: int, rows: int, column: int, columns: int) -> Numbers:
    return frozenset(_box(r, c) for r in range(row, row + rows) for c in range(column, column + columns))


def _blocks(rows: int, columns: int) -> list[Numbers]:
    return [
        _block(row, rows, column, columns)
        for row in range(_ROWS - rows + 1)
        for column in range(3 - columns + 1)
    ]


def _inside(*, zero_splits: bool) -> dict[str, list[Numbers]]:
    splits = [("0", "00"), *(_ZERO_SPLITS if zero_splits else ())]
    return {
        "straight": [frozenset({number}) for number in ("0", "00", *_ALL)],
        "split": [*map(frozenset, splits), *_blocks(1, 2), *_blocks(2, 1)],
        "three": [*map(frozenset, _TRIOS), *_blocks(1, 3)],
        "four": _blocks(2, 2),
        "five": [_FIRST_FIVE],
        "six": _blocks(2, 3),
    }


def _columns() -> list[Numbers]:
    return _blocks(_ROWS, 1)


def _dozens() -> list[Numbers]:
    return [_block(row, 4, 0, 3) for row in (0, 4, 8)]


def _outside() -> dict[str, Numbers]:
    """Return the numbers of the even-money wagers. None of these wagers includes 0 or 00 (!R-6)."""
    return {
        "red": RED,
        "black": frozenset(_ALL) - RED,
        "odd": frozenset(_ALL[0::2]),
        "even": frozenset(_ALL[1::2]),
        "low": frozenset(_ALL[:18]),
        "high": frozenset(_ALL[18:]),
    }
