"""A drawing: lines, shapes, discs and words on a white sheet, in pixels from its upper left corner."""

from dataclasses import dataclass, field

Spot = tuple[float, float]

INK = "#1a1a1a"
SOFT = "#595959"
PALE = "#c8c8c8"
PAPER = "#ffffff"
DIE_COLOURS = ("#0b3c8c", "#a63c00")
"""Dark blue and dark orange: told apart by every eye, and by their lightness too; marks differ besides."""
CHARACTER = 0.56
"""A character's mean width in its size: what the widest of the usual fonts need."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a line is drawn; `dash` are the lengths of strokes and gaps, none for a whole line."""

    colour: str = INK
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
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
class Words:
    """Words that begin, end or are centred at a spot on their base line; a white edge keeps them readable."""

    at: Spot
    text: str
    size: float = 13.0
    anchor: str = "start"
    colour: str = INK
    bold: bool = False

    @property
    def width(self) -> float:
        """Give about how wide they are."""
        return width_of(self.text, self.size)

    @property
    def left(self) -> float:
        """Give where they begin."""
        return self.at[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width


Mark = Line | Disc | Words


@dataclass(slots=True)
class Drawing:
    """A sheet; what comes later lies on top. `title` is what a reader who can't see it is told."""

    width: int
    height: int
    title: str
    marks: list[Mark] = field(default_factory=list)

    def line(self, *spots: Spot, stroke: Stroke = Stroke(), fill: str | None = None) -> None:
        """Draw a line through spots."""
        self.marks.append(Line(tuple(spots), stroke, fill))

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
        self.marks.append(Words(at, text, size, anchor, colour, bold))


def width_of(text: str, size: float) -> float:
    """Give about how wide words are."""
    return len(text) * size * CHARACTER


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """Break words into lines of this width; what does not fit into so many lines ends in dots."""
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
