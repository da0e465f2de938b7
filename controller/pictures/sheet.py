"""What every picture has: a sheet of one size, the verdict as its title, columns of words and a legend."""

from collections.abc import Iterable

from controller.pictures.drawing import INK, SOFT, Drawing, Spot, wrapped
from controller.pictures.exhibit import Exhibit

WIDTH, HEIGHT = 1200, 700
MARGIN = 40.0
LINE = 17.0
_SIZE = 12.5


def titled(exhibit: Exhibit, sentence: str, when: str) -> Drawing:
    """Begin a sheet: the verdict in a word, then in a sentence, and where and when it was."""
    drawing = Drawing(WIDTH, HEIGHT, f"{exhibit.heading}. {sentence}")
    drawing.words((MARGIN, 40), exhibit.heading, 23, bold=True)
    place = f"table {exhibit.setup.table}, rules {exhibit.setup.ruleset.name}, {when}"
    drawing.words((WIDTH - MARGIN, 40), place, 12.5, anchor="end", colour=SOFT)
    for i, line in enumerate(wrapped(sentence, WIDTH - 2 * MARGIN, 14.5, 2)):
        drawing.words((MARGIN, 66 + i * 19), line, 14.5)
    return drawing


def column(drawing: Drawing, at: Spot, width: float, head: str, lines: Iterable[str], *, most: int) -> None:
    """Write a column: a head, then lines, so many at most."""
    x, y = at
    drawing.words((x, y), head, 13.5, bold=True, colour=INK)
    rows: list[str] = []
    for line in lines:
        rows += wrapped(line, width, _SIZE, 3)
    if len(rows) > most:
        rows = [*rows[: most - 1], "... tablectl explain says it all"]
    for i, row in enumerate(rows, 1):
        drawing.words((x, y + i * LINE), row, _SIZE)
