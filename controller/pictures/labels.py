"""Labels that do not lie on each other: each takes the first free place around its spot."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import cos, radians, sin
from typing import NamedTuple

from controller.pictures.drawing import INK, Drawing, Spot, Stroke, Words

_ANGLES = (60, 120, 300, 240, 0, 180, 90, 270)
_AWAY = (12.0, 20.0, 32.0, 46.0, 64.0, 88.0)
_LEADER = Stroke("#595959", 0.8)


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: "_Box") -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class Labels:
    """Writes labels onto a drawing, inside an area of it."""

    def __init__(self, drawing: Drawing, upper_left: Spot, lower_right: Spot) -> None:
        """Keep every label inside this area."""
        self._drawing = drawing
        self._area = _Box(*upper_left, *lower_right)
        self._taken: list[_Box] = []

    def keep_free(self, at: Spot, radius: float) -> None:
        """Let no label lie here."""
        x, y = at
        self._taken.append(_Box(x - radius, y - radius, x + radius, y + radius))

    def keep_line_free(self, spots: Sequence[Spot], radius: float) -> None:
        """Let no label lie on this line."""
        for (x, y), (x_next, y_next) in pairwise(spots):
            steps = max(int(max(abs(x_next - x), abs(y_next - y)) / (2 * radius)), 1)
            for step in range(steps + 1):
                share = step / steps
                self.keep_free((x + share * (x_next - x), y + share * (y_next - y)), radius)

    def put(self, at: Spot, text: str, size: float = 12.0, *, colour: str = INK, must: bool = True) -> None:
        """Write a label near a spot; one that must be there takes the least crowded place."""
        tried: list[tuple[int, Words]] = []
        for away in _AWAY:
            for angle in _ANGLES:
                words = _placed(at, Words(at, text, size, "start", colour), angle, away)
                box = _box_of(words)
                if not self._area.holds(box):
                    continue
                crowd = sum(box.meets(other) for other in self._taken)
                if crowd == 0:
                    self._write(words, box, at, away)
                    return
                tried.append((crowd, words))
        if must and tried:
            _, words = min(tried, key=lambda entry: entry[0])
            self._write(words, _box_of(words), at, _AWAY[-1])

    def _write(self, words: Words, box: _Box, at: Spot, away: float) -> None:
        self._taken.append(box)
        if away > _AWAY[1]:
            x = min(max(at[0], box.left), box.right)
            y = min(max(at[1], box.top), box.bottom)
            self._drawing.line(at, (x, y), stroke=_LEADER)
        self._drawing.marks.append(words)


def _placed(at: Spot, words: Words, angle: int, away: float) -> Words:
    across, up = cos(radians(angle)), sin(radians(angle))
    anchor = "start" if across > 0.3 else "end" if across < -0.3 else "middle"
    x, y = at[0] + away * across, at[1] - away * up
    return replace(words, at=(x, y + 0.35 * words.size), anchor=anchor)


def _box_of(words: Words) -> _Box:
    y = words.at[1]
    return _Box(words.left - 2, y - 0.9 * words.size, words.left + words.width + 2, y + 0.3 * words.size)
