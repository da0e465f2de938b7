"""A grid of characters to draw on: eight dots a character in braille, one mark a character in ASCII."""

from collections.abc import Sequence
from itertools import pairwise

Dot = tuple[float, float]

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


class Grid:
    """So many columns and rows; spots are given as shares of the whole, from the upper left corner."""

    def __init__(self, columns: int, rows: int, *, braille: bool) -> None:
        """Begin empty."""
        self.columns = columns
        self.rows = rows
        self._braille = braille
        self._fine = (2, 4) if braille else (1, 1)
        self._cells: list[list[int]] = [[0] * columns for _ in range(rows)]
        self._letters: dict[tuple[int, int], str] = {}

    def line(self, spots: Sequence[Dot], mark: str = ".", *, every: int = 1) -> None:
        """Draw a line through spots; `every` leaves dots out, `mark` is what ASCII shows of it."""
        for here, there in pairwise(spots):
            (x0, y0), (x1, y1) = self._dot(here), self._dot(there)
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
        """Write characters over the dots, beginning there."""
        column, row = self._cell(spot)
        column = max(min(column, self.columns - len(text)), 0)
        for i, letter in enumerate(text[: self.columns - column]):
            self._letters[column + i, row] = letter

    def lines(self) -> list[str]:
        """Give the rows."""
        return ["".join(self._shown(x, y) for x in range(self.columns)).rstrip() for y in range(self.rows)]

    def _shown(self, x: int, y: int) -> str:
        letter = self._letters.get((x, y))
        if letter is not None:
            return letter
        dots = self._cells[y][x]
        return chr(_BLANK + dots) if self._braille and dots else chr(dots) if dots else " "

    def _dot(self, spot: Dot) -> tuple[int, int]:
        wide, high = self.columns * self._fine[0], self.rows * self._fine[1]
        return _within(spot[0], wide), _within(spot[1], high)

    def _cell(self, spot: Dot) -> tuple[int, int]:
        return _within(spot[0], self.columns), _within(spot[1], self.rows)

    def _set(self, x: int, y: int, mark: str) -> None:
        across, down = self._fine
        if self._braille:
            self._cells[y // down][x // across] |= _DOTS[y % down][x % across]
        else:
            self._cells[y][x] = ord(mark)


def _within(share: float, size: int) -> int:
    return min(max(int(share * size), 0), size - 1)
