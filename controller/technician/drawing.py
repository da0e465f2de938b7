"""Drawings: strokes, discs, words at exact places, labels that find a free one, and the sheet around."""

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
"""Dark blue and dark orange: distinct for every eye, also by lightness; the marks differ as well."""
CHARACTER = 0.56
"""A character's mean width relative to its size: enough for the widest of the usual fonts."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a line is drawn; `dash` are the lengths of strokes and gaps, none for a whole line."""

    colour: str = INK
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line through these spots, closed and filled where `fill` names a colour."""

    spots: tuple[Spot, ...]
    stroke: Stroke = field(default_factory=Stroke)
    fill: str | None = None


@dataclass(frozen=True, slots=True)
class Disc:
    """A disc, or a ring where nothing fills it."""

    at: Spot
    radius: float
    stroke: Stroke = field(default_factory=Stroke)
    fill: str | None = None


@dataclass(frozen=True, slots=True)
class TextMark:
    """Words that begin, end or are centred at a spot on their base line; a white edge keeps them readable."""

    at: Spot
    text: str
    size: float = 13.0
    anchor: str = "start"
    colour: str = INK
    bold: bool = False

    @property
    def width(self) -> float:
        """Return about how wide they are."""
        return width_of(self.text, self.size)

    @property
    def left(self) -> float:
        """Return where they begin."""
        return self.at[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width


Mark = Polyline | Disc | TextMark


@dataclass(slots=True)
class Drawing:
    """A sheet; what comes later lies on top. `title` is what a reader who can't see it is told."""

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

    def words(
        self,
        at: Spot,
        text: str,
        size: float = 13.0,
        *,
        anchor: str = "start",
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """Write words."""
        self.marks.append(TextMark(at, text, size, anchor, colour, bold))


def width_of(text: str, size: float) -> float:
    """Return about how wide words are."""
    return len(text) * size * CHARACTER


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """Break words into lines of this width; what does not fit into that many lines ends in dots."""
    room = max(int(width / (size * CHARACTER)), 8)
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: room - 4] + " ..."]
    return lines


_ANGLES = (60, 120, 300, 240, 0, 180, 90, 270)
_AWAY = (12.0, 20.0, 32.0, 46.0, 64.0, 88.0)
LEADER = Stroke("#595959", 0.8)


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
        self._written: list[_Box] = []
        self._first: TextMark | None = None

    def keep_free(self, at: Spot, radius: float) -> None:
        """Keep labels off this area."""
        x, y = at
        self._taken.append(_Box(x - radius, y - radius, x + radius, y + radius))

    def keep_line_free(self, spots: Sequence[Spot], radius: float) -> None:
        """Keep labels off this line."""
        for (x, y), (x_next, y_next) in pairwise(spots):
            steps = max(int(max(abs(x_next - x), abs(y_next - y)) / (2 * radius)), 1)
            for step in range(steps + 1):
                share = step / steps
                self.keep_free((x + share * (x_next - x), y + share * (y_next - y)), radius)

    def keep_words_free(self, words: TextMark) -> None:
        """Keep labels off words that were written otherwise."""
        self._taken.append(_box_of(words))

    def put(self, at: Spot, text: str, size: float = 12.0, *, colour: str = INK, must: bool = True) -> None:
        """Write a label near a spot; one that must be there takes the least crowded place."""
        tried: list[tuple[int, TextMark]] = []
        for away in _AWAY:
            for angle in _ANGLES:
                words = _placed(at, TextMark(at, text, size, "start", colour), angle, away)
                box = _box_of(words)
                if not self._area.holds(box):
                    continue
                crowd = sum(box.meets(other) for other in self._taken)
                if away > _AWAY[1]:
                    crowd += sum(
                        other.meets(part) for part in _parts(at, _end(at, box)) for other in self._written
                    )
                if crowd == 0:
                    self._write(words, box, at, away)
                    return
                tried.append((crowd, words))
        if must and tried:
            _, words = min(tried, key=lambda entry: entry[0])
            self._write(words, _box_of(words), at, _AWAY[-1])

    def _write(self, words: TextMark, box: _Box, at: Spot, away: float) -> None:
        self._taken.append(box)
        self._written.append(box)
        if away > _AWAY[1]:
            end = _end(at, box)
            # Beneath all labels, whose white edge keeps them readable.
            marks = self._drawing.marks
            beneath = next((i for i, mark in enumerate(marks) if mark is self._first), len(marks))
            marks.insert(beneath, Polyline((at, end), LEADER))
            self._taken += _parts(at, end)
        self._first = self._first or words
        self._drawing.marks.append(words)


def _end(at: Spot, box: _Box) -> Spot:
    """Return where a leader from this spot to a label ends."""
    return min(max(at[0], box.left), box.right), min(max(at[1], box.top), box.bottom)


def _parts(at: Spot, end: Spot) -> list[_Box]:
    """Return a leader as a row of small boxes, but for its beginning, which is what the label is about."""
    (x, y), (x_end, y_end) = at, end
    steps = max(int(max(abs(x_end - x), abs(y_end - y)) / 4), 1)
    spots = [(x + (x_end - x) * i / steps, y + (y_end - y) * i / steps) for i in range(1, steps)]
    return [_Box(left - 1, top - 1, left + 1, top + 1) for left, top in spots]


def _placed(at: Spot, words: TextMark, angle: int, away: float) -> TextMark:
    across, up = cos(radians(angle)), sin(radians(angle))
    anchor = "start" if across > 0.3 else "end" if across < -0.3 else "middle"
    x, y = at[0] + away * across, at[1] - away * up
    return replace(words, at=(x, y + 0.35 * words.size), anchor=anchor)


def _box_of(words: TextMark) -> _Box:
    y = words.at[1]
    return _Box(words.left - 2, y - 0.9 * words.size, words.left + words.width + 2, y + 0.3 * words.size)


class Exhibit(NamedTuple):
    """One attempt: everything that was told of it, and its last verdict.

    `told` are its outcomes in order, `closed` is the outcome that closed the bets on it, `last` the outcome
    that holds; `judged` is None if a person alone ruled, or the evidence is gone. `wall_us` is when `last`
    came, by the wall clock in microseconds since 1970; None if only a log's own time is known.
    """

    setup: Setup
    number: int
    told: tuple[Outcome, ...]
    closed: Outcome | None
    judged: Judged | None
    wall_us: int | None = None

    @property
    def last(self) -> Outcome:
        """Return the outcome that holds."""
        return self.told[-1]

    @property
    def closed_by(self) -> str:
        """Return what closed the bets, in the outcomes' own word."""
        data = None if self.closed is None else self.closed.data
        return data.cause if isinstance(data, Bets) else ""

    @property
    def heading(self) -> str:
        """The attempt and its result, as in "Roll 3: No Roll"."""
        word, _, came = self.last.type.partition(".")
        labels = {"no_roll": "No Roll", "no_spin": "No Spin", "review": "in review", "void": "void"}
        return f"{word.capitalize()} {self.number}: {labels.get(came, came)}"


WIDTH, HEIGHT = 1200, 700
MARGIN = 40.0
LINE = 17.0
_SIZE = 12.5


def titled(exhibit: Exhibit, sentence: str, when: str) -> Drawing:
    """Return a new sheet: the verdict in a word and in a sentence, the place and the time."""
    drawing = Drawing(WIDTH, HEIGHT, f"{exhibit.heading}. {sentence}")
    drawing.words((MARGIN, 40), exhibit.heading, 23, bold=True)
    place = f"table {exhibit.setup.table}, rules {exhibit.setup.ruleset.name}, {when}"
    drawing.words((WIDTH - MARGIN, 40), place, 12.5, anchor="end", colour=SOFT)
    for i, line in enumerate(wrapped(sentence, WIDTH - 2 * MARGIN, 14.5, 2)):
        drawing.words((MARGIN, 66 + i * 19), line, 14.5)
    return drawing


def column(drawing: Drawing, at: Spot, width: float, head: str, lines: Iterable[str], *, most: int) -> None:
    """Write a column: a head, then at most this many lines."""
    x, y = at
    drawing.words((x, y), head, 13.5, bold=True, colour=INK)
    rows: list[str] = []
    for line in lines:
        rows += wrapped(line, width, _SIZE, 3)
    if len(rows) > most:
        rows = [*rows[: most - 1], "... tablectl explain shows the rest"]
    for i, row in enumerate(rows, 1):
        drawing.words((x, y + i * LINE), row, _SIZE)


_ROWS = 32


def draw_words(exhibit: Exhibit, sentence: str, when: str, lines: Sequence[str]) -> Drawing:
    """Write a sheet of words."""
    drawing = titled(exhibit, sentence, when)
    column(drawing, (MARGIN, 130), WIDTH - 2 * MARGIN, "What it rests on", lines, most=_ROWS)
    return drawing


def hand_lines(verdict: DealVerdict) -> list[str]:
    """Return a deal's hands, a line each; one that is not whole has none."""
    dealt = verdict.dealt
    if dealt is None:
        return []
    hands = [
        f"seat {seat}: {' '.join(cards)}{', folded' if seat in dealt.folds else ''}"
        for seat, cards in dealt.hands.items()
    ]
    return [*hands, f"dealer: {' '.join(dealt.dealer)}"]
