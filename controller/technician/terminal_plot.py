"""Plots of throws and spins for a terminal, in braille characters or plain ASCII."""

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap

from controller.rules.dice.hits import Hit
from controller.technician.drawing import Spot
from controller.technician.spin_picture import SpinSeen
from controller.technician.throw_picture import DieShown, ThrowSeen, Touch

Dot = tuple[float, float]

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


class Grid:
    """A grid of characters. Positions are fractions of its width and height, from the upper left corner."""

    def __init__(self, columns: int, rows: int, *, braille: bool) -> None:
        """Create an empty grid."""
        self.columns = columns
        self.rows = rows
        self._braille = braille
        self._dots_per_cell = (2, 4) if braille else (1, 1)
        self._cells: list[list[int]] = [[0] * columns for _ in range(rows)]
        self._letters: dict[tuple[int, int], str] = {}

    def line(self, spots: Sequence[Dot], mark: str = ".", *, every: int = 1) -> None:
        """Draw a line through spots, setting one dot in `every`; `mark` is the character used in ASCII."""
        for start, end in pairwise(spots):
            (x0, y0), (x1, y1) = self._dot(start), self._dot(end)
            steps = max(abs(x1 - x0), abs(y1 - y0), 1)
            for step in range(steps + 1):
                if step % every == 0:
                    self._set(
                        round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps), mark
                    )

    def dot(self, spot: Dot, mark: str = ".") -> None:
        """Set one dot."""
        self._set(*self._dot(spot), mark)

    def write(self, spot: Dot, text: str) -> None:
        """Write text over the dots, starting at this spot."""
        column, row = self._cell(spot)
        column = max(min(column, self.columns - len(text)), 0)
        for i, letter in enumerate(text[: self.columns - column]):
            self._letters[column + i, row] = letter

    def lines(self) -> list[str]:
        """Return the rows as text."""
        return [
            "".join(self._character(x, y) for x in range(self.columns)).rstrip() for y in range(self.rows)
        ]

    def _character(self, x: int, y: int) -> str:
        letter = self._letters.get((x, y))
        if letter is not None:
            return letter
        dots = self._cells[y][x]
        return chr(_BLANK + dots) if self._braille and dots else chr(dots) if dots else " "

    def _dot(self, spot: Dot) -> tuple[int, int]:
        wide, high = self.columns * self._dots_per_cell[0], self.rows * self._dots_per_cell[1]
        return _within(spot[0], wide), _within(spot[1], high)

    def _cell(self, spot: Dot) -> tuple[int, int]:
        return _within(spot[0], self.columns), _within(spot[1], self.rows)

    def _set(self, x: int, y: int, mark: str) -> None:
        across, down = self._dots_per_cell
        if self._braille:
            self._cells[y // down][x // across] |= _DOTS[y % down][x % across]
        else:
            self._cells[y][x] = ord(mark)


def _within(fraction: float, size: int) -> int:
    return min(max(int(fraction * size), 0), size - 1)


_MIN_COLUMNS, _MAX_COLUMNS = 40, 160
_SPEED_ROWS = 9
_GUTTER = 7


def plot(seen: ThrowSeen | SpinSeen, columns: int, *, braille: bool) -> list[str]:
    """Return a plot of a throw or spin that fits into this many columns, but at least 40 and at most 160."""
    columns = min(max(columns, _MIN_COLUMNS), _MAX_COLUMNS)
    if isinstance(seen, ThrowSeen):
        return _throw(seen, columns, braille=braille)
    return _spin(seen, columns, braille=braille)


def _throw(seen: ThrowSeen, columns: int, *, braille: bool) -> list[str]:
    """Plot the table's plan with each die's release (1), resting place ([4]) and encounters (H, X or ?)."""
    table, inside = seen.table, columns - 4
    # A character is about twice as high as it is wide.
    rows = max(min(round(inside * table.width_mm / table.length_mm / 2), 14), 5)
    grid = Grid(inside, rows, braille=braille)

    def spot(x: float, y: float) -> Spot:
        return x / table.length_mm, 1.0 - y / table.width_mm

    for zone in table.zones:
        grid.line([spot(*corner) for corner in (*zone.polygon, zone.polygon[0])], "'", every=2)
    for die in seen.dice:
        for leg in die.legs:
            grid.line([spot(*point) for point in leg.points], str(die.number), every=4 if leg.hidden else 1)
    for die in seen.dice:
        if die.points:
            grid.write(spot(*die.points[0][1]), str(die.number))
        for touch in _encounters(die):
            grid.write(
                spot(*touch.centre), {Hit.YES: "H", Hit.NO: "X", Hit.UNCLEAR: "?"}[touch.encounter.hit]
            )
        if die.rest is not None:
            grid.write(spot(die.rest.x, die.rest.y), f"[{die.rest.up or '?'}]")
    impact_keys: dict[tuple[str, int], str] = {}
    for drawn in seen.impacts:
        fraction = 1.0 - drawn.impact.pos_mm / table.width_mm
        impact_keys[drawn.impact.wall, min(max(int(fraction * rows), 0), rows - 1)] = drawn.key
    edge = "+" + "-" * inside + "+"
    body = [
        f"{impact_keys.get(('left', i), ' ')}|{row:<{inside}}|{impact_keys.get(('right', i), ' ')}".rstrip()
        for i, row in enumerate(grid.lines())
    ]
    legend = "1, 2 release and track; [n] at rest; H hit, X short, ? unclear; A, B impacts"
    return [f" {edge}", *body, f" {edge}", *wrap(legend, columns)]


def _encounters(die: DieShown) -> list[Touch]:
    missed = [die.best] if die.best is not None and die.best.encounter.hit is Hit.NO else []
    return [*die.touches, *missed]


def _spin(seen: SpinSeen, columns: int, *, braille: bool) -> list[str]:
    """Plot the speed over time above rows for each beam, the rotor and the pocket readings."""
    inside = columns - _GUTTER - 1
    first, last = min(0.0, max(seen.closed_s or 0.0, -2.0)), seen.last_s * 1.02
    fastest = 1.1 * max([0.5, *(v for _, v in seen.laps), *(s.speed_rev_per_s for s in seen.run)])
    grid = Grid(inside, _SPEED_ROWS, braille=braille)

    def across(seconds: float) -> float:
        return (seconds - first) / (last - first)

    for seconds, value in seen.laps:
        grid.dot((across(seconds), 1.0 - value / fastest), "o")
    grid.line([(across(s.seconds), 1.0 - s.speed_rev_per_s / fastest) for s in seen.run], "*")
    for at, name in ((seen.closed_s, "no more bets"), (seen.left_track_s, "drop")):
        if at is not None and first <= at <= last:
            grid.line([(across(at), 0.0), (across(at), 1.0)], "|", every=2)
            grid.write((across(at) + 1.5 / inside, 0.0 if name == "drop" else 0.13), name)
    names = {0: f"{fastest:.1f}", _SPEED_ROWS // 2: "rev/s", _SPEED_ROWS - 1: "0"}
    rows = [f"{names.get(i, ''):>{_GUTTER - 1}} |{row}" for i, row in enumerate(grid.lines())]
    for beam in range(seen.beams):
        ticks = [(pulse.seconds, "|" if pulse.own else "x") for pulse in seen.pulses if pulse.beam == beam]
        rows.append(
            _row(f"beam {beam}", [(across(s), mark) for s, mark in ticks] or [(0.0, "silent")], inside)
        )
    rows.append(_row("rotor", [(across(s), "|") for s in seen.rotor_s if s >= first], inside))
    rows.append(_row("pocket", [(across(read.seconds), read.number or "?") for read in seen.reads], inside))
    scale = [
        (fraction, f"{first + fraction * (last - first):.0f} s") for fraction in (0.0, 0.25, 0.5, 0.75, 0.999)
    ]
    return [*rows, _row("", scale, inside)]


def _row(name: str, marks: list[tuple[float, str]], inside: int) -> str:
    row = Grid(inside, 1, braille=False)
    for fraction, mark in marks:
        row.write((fraction, 0.0), mark)
    return f"{name:>{_GUTTER - 1}} |{row.lines()[0]}".rstrip()
