"""A picture's sheet: the attempt that it shows, the verdict as its title, columns of words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controller.machines.setup import Setup
from controller.model.effects import Judged
from controller.model.outcomes import Bets, Outcome
from controller.model.verdicts import DealVerdict
from controller.technician.drawing import INK, SOFT, Drawing, Spot, wrapped


class Exhibit(NamedTuple):
    """One attempt: everything that was told of it, and its last verdict.

    `told` are its outcomes in order, `closed` is the outcome that closed the bets on it, `last` the outcome
    that holds; `judged` is None where a person alone ruled, or the evidence is gone. `wall_us` is when `last`
    came, by the wall clock in microseconds since 1970; None where only a log's own time is known.
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
        said = {"no_roll": "No Roll", "no_spin": "No Spin", "review": "in review", "void": "void"}
        return f"{word.capitalize()} {self.number}: {said.get(came, came)}"


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
