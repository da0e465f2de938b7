"""Drawings: lines, discs, text and labels on a sheet with a heading and columns.

Positions and sizes are in pixels from the sheet's upper left corner.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import cos, radians, sin
from typing import NamedTuple

from controller.machines.setup import Setup
from controller.model.effects import Judged
from controller.model.outcomes import Bets, Outcome
from controller.model.verdicts import DealVerdict

Spot = tuple[float, float]

INK = "#1a1a1a"
SOFT = "#595959"
PALE = "#c8c8c8"
PAPER = "#ffffff"
DIE_COLOURS = ("#0b3c8c", "#a63c00")
"""Dark blue and dark orange, which colour-blind readers can distinguish; the dice's marks differ too."""
CHARACTER_WIDTH = 0.56
"""Mean width of a character relative to the font size, for the widest of the common fonts."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """Style of a line; `dash` holds the lengths of strokes and gaps, and is empty for a solid line."""

    colour: str = INK
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line through spots; `fill` is the colour of the area inside."""

    spots: tuple[Spot, ...]
    stroke: Stroke = field(default_factory=Stroke)
    fill: str | None = None


@dataclass(frozen=True, slots=True)
class Disc:
    """A disc; a ring if `fill` is None."""

    at: Spot
    radius: float
    stroke: Stroke = field(default_factory=Stroke)
    fill: str | None = None


@dataclass(frozen=True, slots=True)
class TextMark:
    """Text that starts, ends or is centred at a spot on its baseline, with a white outline."""

    at: Spot
    text: str
    size: float = 13.0
    anchor: str = "start"
    colour: str = INK
    bold: bool = False

    @property
    def width(self) -> float:
        """Approximate width."""
        return text_width(self.text, self.size)

    @property
    def left(self) -> float:
        """x of the left edge."""
        return self.at[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width


Mark = Polyline | Disc | TextMark


@dataclass(slots=True)
class Drawing:
    """A sheet with its marks, the topmost last; `title` is the description for screen readers."""

    width: int
    height: int
    title: str
    marks: list[Mark] = field(default_factory=list)

    def line(self, *spots: Spot, stroke: Stroke = Stroke(), fill: str | None = None) -> None:
        """Draw a line through spots."""
        self.marks.append(Polyline(tuple(spots), stroke, fill))

    def disc(self, at: Spot, radius: float, stroke: Stroke = Stroke(), fill: str | None = None) -> None:
        """Draw a disc."""
        self.marks.append(Disc(at, radius, stroke, fill))

    def box(self, at: Spot, size: Spot, stroke: Stroke = Stroke(), fill: str | None = None) -> None:
        """Draw a box from its upper left corner."""
        (x, y), (w, h) = at, size
        self.line((x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y), stroke=stroke, fill=fill)

    def cross(self, at: Spot, size: float, stroke: Stroke = Stroke()) -> None:
        """Draw a cross."""
        x, y = at
        self.line((x - size, y - size), (x + size, y + size), stroke=stroke)
        self.line((x - size, y + size), (x + size, y - size), stroke=stroke)

    def text(
        self,
        at: Spot,
        text: str,
        size: float = 13.0,
        *,
        anchor: str = "start",
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """Write text."""
        self.marks.append(TextMark(at, text, size, anchor, colour, bold))


def text_width(text: str, size: float) -> float:
    """Return the approximate width of a line of text."""
    return len(text) * size * CHARACTER_WIDTH


def wrap_text(text: str, width: float, size: float, max_lines: int) -> list[str]:
    """Break text into at most `max_lines` lines of this width; truncated text ends in dots."""
    room = max(int(width / (size * CHARACTER_WIDTH)), 8)
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], lines[max_lines - 1][: room - 4] + " ..."]
    return lines


_ANGLES_DEG = (60, 120, 300, 240, 0, 180, 90, 270)
_DISTANCES = (12.0, 20.0, 32.0, 46.0, 64.0, 88.0)
LEADER = Stroke("#595959", 0.8)


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def contains(self, other: "_Box") -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class Labels:
    """Labels that are placed in the free space within an area of a drawing."""

    def __init__(self, drawing: Drawing, upper_left: Spot, lower_right: Spot) -> None:
        """Keep all labels inside this area."""
        self._drawing = drawing
        self._area = _Box(*upper_left, *lower_right)
        self._occupied: list[_Box] = []
        self._written: list[_Box] = []
        self._first: TextMark | None = None

    def keep_free(self, at: Spot, radius: float) -> None:
        """Keep labels off a square around a spot."""
        x, y = at
        self._occupied.append(_Box(x - radius, y - radius, x + radius, y + radius))

    def keep_line_free(self, spots: Sequence[Spot], radius: float) -> None:
        """Keep labels off this line."""
        for (x, y), (x_next, y_next) in pairwise(spots):
            steps = max(int(max(abs(x_next - x), abs(y_next - y)) / (2 * radius)), 1)
            for step in range(steps + 1):
                fraction = step / steps
                self.keep_free((x + fraction * (x_next - x), y + fraction * (y_next - y)), radius)

    def keep_text_free(self, mark: TextMark) -> None:
        """Keep labels off text that is already in the drawing."""
        self._occupied.append(_box_of(mark))

    def put(
        self, at: Spot, text: str, size: float = 12.0, *, colour: str = INK, required: bool = True
    ) -> None:
        """Write a label in free space near a spot.

        If there is no free space, a `required` label is written where it overlaps least, and any other label
        is omitted.
        """
        tried: list[tuple[int, TextMark]] = []
        for distance in _DISTANCES:
            for angle in _ANGLES_DEG:
                mark = _placed(at, TextMark(at, text, size, "start", colour), angle, distance)
                box = _box_of(mark)
                if not self._area.contains(box):
                    continue
                crowd = sum(box.overlaps(other) for other in self._occupied)
                if distance > _DISTANCES[1]:
                    crowd += sum(
                        other.overlaps(part)
                        for part in _leader_boxes(at, _end(at, box))
                        for other in self._written
                    )
                if crowd == 0:
                    self._write(mark, box, at, distance)
                    return
                tried.append((crowd, mark))
        if required and tried:
            _, mark = min(tried, key=lambda entry: entry[0])
            self._write(mark, _box_of(mark), at, _DISTANCES[-1])

    def _write(self, mark: TextMark, box: _Box, at: Spot, distance: float) -> None:
        self._occupied.append(box)
        self._written.append(box)
        if distance > _DISTANCES[1]:
            end = _end(at, box)
            # The line goes below all labels, whose white outlines keep them readable.
            marks = self._drawing.marks
            beneath = next((i for i, mark in enumerate(marks) if mark is self._first), len(marks))
            marks.insert(beneath, Polyline((at, end), LEADER))
            self._occupied += _leader_boxes(at, end)
        self._first = self._first or mark
        self._drawing.marks.append(mark)


def _end(at: Spot, box: _Box) -> Spot:
    return min(max(at[0], box.left), box.right), min(max(at[1], box.top), box.bottom)


def _leader_boxes(at: Spot, end: Spot) -> list[_Box]:
    """Return the boxes that a leader line occupies, except at the labelled spot."""
    (x, y), (x_end, y_end) = at, end
    steps = max(int(max(abs(x_end - x), abs(y_end - y)) / 4), 1)
    spots = [(x + (x_end - x) * i / steps, y + (y_end - y) * i / steps) for i in range(1, steps)]
    return [_Box(left - 1, top - 1, left + 1, top + 1) for left, top in spots]


def _placed(at: Spot, mark: TextMark, angle: int, distance: float) -> TextMark:
    across, up = cos(radians(angle)), sin(radians(angle))
    anchor = "start" if across > 0.3 else "end" if across < -0.3 else "middle"
    x, y = at[0] + distance * across, at[1] - distance * up
    return replace(mark, at=(x, y + 0.35 * mark.size), anchor=anchor)


def _box_of(mark: TextMark) -> _Box:
    y = mark.at[1]
    return _Box(mark.left - 2, y - 0.9 * mark.size, mark.left + mark.width + 2, y + 0.3 * mark.size)


class Exhibit(NamedTuple):
    """One attempt with all its outcomes and its last verdict.

    `outcomes` are in order, and the last one is in force. `closed` is the outcome that closed the bets.
    `judged` is None if only a person ruled, or the evidence was pruned. `wall_us` is the wall time of the
    last outcome (us since 1970), or None for a log.
    """

    setup: Setup
    number: int
    outcomes: tuple[Outcome, ...]
    closed: Outcome | None
    judged: Judged | None
    wall_us: int | None = None

    @property
    def last(self) -> Outcome:
        """The outcome in force."""
        return self.outcomes[-1]

    @property
    def closed_by(self) -> str:
        """The cause in the outcome that closed the bets; empty if they were not closed."""
        data = None if self.closed is None else self.closed.data
        return data.cause if isinstance(data, Bets) else ""

    @property
    def heading(self) -> str:
        """The attempt and its result, as in "Roll 3: No Roll"."""
        word, _, came = self.last.type.partition(".")
        labels = {"no_roll": "No Roll", "no_spin": "No Spin", "review": "under review", "void": "void"}
        return f"{word.capitalize()} {self.number}: {labels.get(came, came)}"


WIDTH, HEIGHT = 1200, 700
MARGIN = 40.0
LINE_PX = 17.0
_SIZE = 12.5


def new_sheet(exhibit: Exhibit, sentence: str, when: str) -> Drawing:
    """Return a new sheet with a heading: the result, the verdict, the table and the time."""
    drawing = Drawing(WIDTH, HEIGHT, f"{exhibit.heading}. {sentence}")
    drawing.text((MARGIN, 40), exhibit.heading, 23, bold=True)
    place = f"table {exhibit.setup.table}, rules {exhibit.setup.ruleset.name}, {when}"
    drawing.text((WIDTH - MARGIN, 40), place, 12.5, anchor="end", colour=SOFT)
    for i, line in enumerate(wrap_text(sentence, WIDTH - 2 * MARGIN, 14.5, 2)):
        drawing.text((MARGIN, 66 + i * 19), line, 14.5)
    return drawing


def column(
    drawing: Drawing, at: Spot, width: float, head: str, lines: Iterable[str], *, max_lines: int
) -> None:
    """Write a column: a bold head, then at most `max_lines` lines."""
    x, y = at
    drawing.text((x, y), head, 13.5, bold=True, colour=INK)
    rows: list[str] = []
    for line in lines:
        rows += wrap_text(line, width, _SIZE, 3)
    if len(rows) > max_lines:
        rows = [*rows[: max_lines - 1], "... tablectl explain shows the rest"]
    for i, row in enumerate(rows, 1):
        drawing.text((x, y + i * LINE_PX), row, _SIZE)


_MAX_ROWS = 32


def draw_text_sheet(exhibit: Exhibit, sentence: str, when: str, lines: Sequence[str]) -> Drawing:
    """Draw an attempt that cannot be drawn to scale, as a sheet with lines of text."""
    drawing = new_sheet(exhibit, sentence, when)
    column(drawing, (MARGIN, 130), WIDTH - 2 * MARGIN, "Evidence", lines, max_lines=_MAX_ROWS)
    return drawing


def hand_lines(verdict: DealVerdict) -> list[str]:
    """Return a deal's hands, one line each; empty if the deal is incomplete."""
    dealt = verdict.dealt
    if dealt is None:
        return []
    hands = [
        f"seat {seat}: {' '.join(cards)}{', folded' if seat in dealt.folds else ''}"
        for seat, cards in dealt.hands.items()
    ]
    return [*hands, f"dealer: {' '.join(dealt.dealer)}"]
