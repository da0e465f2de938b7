"""The track's beams as a ball passes them: how far it is from each to each, and which stand between."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Sense = Literal[1, -1]
SENSES: tuple[Sense, Sense] = (1, -1)
"""Which way round: 1 is ccw, -1 is cw."""
_UNEVEN = 1.5
"""Two beams tell the way round at once where one way between them is so much longer than the other."""

Rows = tuple[tuple[float, ...], ...]
"""Turns from each beam to each, in (0, 1]: to itself it is a whole turn."""
Beams = tuple[tuple[tuple[int, ...], ...], ...]
"""The beams that stand between each two."""


class Ring:
    """One wheel's beams, by the way round that a ball runs."""

    __slots__ = ("ahead", "between", "count", "tells_way")

    def __init__(self, beams_deg: Sequence[float]) -> None:
        """`beams_deg` are the beams' angles in the bowl."""
        beams = range(len(beams_deg))
        places = [deg / 360.0 for deg in beams_deg]
        self.count = len(beams_deg)
        self.ahead: dict[Sense, Rows] = {
            sense: tuple(
                tuple(_ahead(sense * (places[to] - places[since])) for to in beams) for since in beams
            )
            for sense in SENSES
        }
        self.between: dict[Sense, Beams] = {
            sense: tuple(
                tuple(
                    tuple(b for b in beams if b not in (since, to) and row[b] < row[to] - 1e-9)
                    for to in beams
                )
                for since, row in enumerate(rows)
            )
            for sense, rows in self.ahead.items()
        }
        self.tells_way = self.count > 2 or (self.count == 2 and self._longer_way() >= _UNEVEN)
        """Whether a ball that passes beam after beam fits no way round but its own."""

    def _longer_way(self) -> float:
        way = self.ahead[1][0][1]
        return max(way / (1.0 - way), (1.0 - way) / way) if 0.0 < way < 1.0 else 1.0


@lru_cache(maxsize=16)
def ring_of(beams_deg: tuple[float, ...]) -> Ring:
    """Return the ring of these beams, the same for every spin of a wheel."""
    return Ring(beams_deg)


def _ahead(turns: float) -> float:
    return (turns - 1e-9) % 1.0 + 1e-9
