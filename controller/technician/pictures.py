"""The drawing of an attempt as SVG: the plan of a throw, the chart of a spin, or a sheet of text."""

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from controller.app.view import AttemptDrawing, PictureFile
from controller.model.effects import Judged
from controller.model.readings import DieLost, DieRest
from controller.model.verdicts import DealVerdict, SpinVerdict, ThrowVerdict
from controller.technician.drawing import (
    PAPER,
    Disc,
    Drawing,
    Exhibit,
    Mark,
    Polyline,
    Stroke,
    TextMark,
    draw_text_sheet,
    hand_lines,
)
from controller.technician.spin_picture import SpinSeen, draw_spin, spin_seen
from controller.technician.throw_picture import ThrowSeen, draw_throw, throw_seen

Seen = ThrowSeen | SpinSeen


def observed(exhibit: Exhibit) -> Seen | None:
    """Return the judge's view of the attempt; None if nothing can be drawn to scale."""
    setup, judged = exhibit.setup, exhibit.judged
    throw, spin = setup.ruleset.throw, setup.ruleset.spin
    match judged:
        case Judged(verdict=ThrowVerdict()) if throw is not None and setup.dice_table is not None:
            return throw_seen(judged, setup.dice_table, throw)
        case Judged(verdict=SpinVerdict(grade="sensors")) if spin is not None and setup.wheel is not None:
            closed_us = None if exhibit.closed is None else exhibit.closed.t
            return spin_seen(judged, setup.wheel, spin, closed_us)
    return None


def draw(exhibit: Exhibit, seen: Seen | None, sentence: str, when: str, lines: list[str]) -> Drawing:
    """Draw an attempt to scale or, if `seen` is None, as a sheet of text with `lines`.

    `sentence` is the verdict.
    """
    if isinstance(seen, ThrowSeen):
        return draw_throw(exhibit, seen, sentence, when)
    if isinstance(seen, SpinSeen):
        return draw_spin(exhibit, seen, sentence, when)
    verdict = None if exhibit.judged is None else exhibit.judged.verdict
    hands = hand_lines(verdict) if isinstance(verdict, DealVerdict) else []
    return draw_text_sheet(exhibit, sentence, when, [*hands, *lines])


def picture_of(journal: Path, number: int) -> AttemptDrawing:
    """Draw attempt `number` of a journal, and list the camera's pictures of the attempt.

    Raises:
        JournalFault: The journal has no such attempt, or cannot be read.
    """
    # Reading a journal needs the `journal` extra; explaining a log does not.
    from controller.journal.contents import decode_outcome, unpack  # noqa: PLC0415 - needs the `journal` extra
    from controller.journal.faults import JournalFault  # noqa: PLC0415 - needs the `journal` extra
    from controller.journal.reading import Reader  # noqa: PLC0415 - needs the `journal` extra
    from controller.journal.recall import build_judged, find_attempt  # noqa: PLC0415 - needs the `journal` extra

    with Reader(journal) as reader:
        found = find_attempt(reader, number)
        identity = reader.identity_at(found.rows[0].n)
    if identity is None:
        raise JournalFault("journal_not_one", journal, "an outcome before any session", "a session before it")
    outcomes = tuple(decode_outcome(row.body) for row in found.rows if row.body is not None)
    judged_outcomes = [
        (outcomes[i], row.evidence) for i, row in enumerate(found.rows) if row.evidence is not None
    ]
    if not judged_outcomes:
        return AttemptDrawing()
    closed = None if found.closed is None or found.closed.body is None else decode_outcome(found.closed.body)
    judged = build_judged(judged_outcomes[-1][0], unpack(judged_outcomes[-1][1]))
    exhibit = Exhibit(identity.setup, found.number, outcomes, closed, judged)
    pictures = tuple(
        PictureFile(reading.die, reading.pictures)
        for reading in judged.readings
        if isinstance(reading, DieRest | DieLost) and reading.pictures is not None
    )
    seen = observed(exhibit)
    if seen is None:
        return AttemptDrawing(None, pictures)
    when = f"at {exhibit.last.t / 1e6:.1f} s"
    return AttemptDrawing(as_svg(draw(exhibit, seen, judged.verdict.sentence, when, [])), pictures)


_FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
_EDGE = 3


def as_svg(drawing: Drawing) -> str:
    """Return the drawing as SVG; the same drawing always produces the same text."""
    size = f'width="{drawing.width}" height="{drawing.height}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {drawing.width} {drawing.height}"'
        f' role="img" font-family={quoteattr(_FONT)}>\n<title>{escape(_printable(drawing.title))}</title>\n'
        f'<rect {size} fill="{PAPER}"/>\n'
    )
    return head + "".join(_mark(mark) + "\n" for mark in drawing.marks) + "</svg>\n"


def _mark(mark: Mark) -> str:
    match mark:
        case Polyline(spots=spots, stroke=stroke, fill=fill):
            places = " ".join(f"{_number(x)},{_number(y)}" for x, y in spots)
            return f'<polyline points="{places}" fill="{fill or "none"}"{_stroke(stroke)}/>'
        case Disc(at=(x, y), radius=radius, stroke=stroke, fill=fill):
            place = f'cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"'
            return f'<circle {place} fill="{fill or "none"}"{_stroke(stroke)}/>'
        case TextMark():
            return _text(mark)


def _text(mark: TextMark) -> str:
    """Return the text on top of a copy with a white outline, because few viewers support `paint-order`."""
    weight = ' font-weight="bold"' if mark.bold else ""
    text = (
        f'<text x="{_number(mark.at[0])}" y="{_number(mark.at[1])}" font-size="{_number(mark.size)}"'
        f' text-anchor="{mark.anchor}"{weight}'
    )
    message = f">{escape(_printable(mark.text))}</text>"
    edge = (
        f' fill="{PAPER}" stroke="{PAPER}" stroke-width="{_EDGE}" stroke-linejoin="round" aria-hidden="true"'
    )
    return f'{text}{edge}{message}\n{text} fill="{mark.colour}"{message}'


def _stroke(stroke: Stroke) -> str:
    if not stroke.width:
        return ""
    dash = f' stroke-dasharray="{" ".join(map(_number, stroke.dash))}"' if stroke.dash else ""
    return f' stroke="{stroke.colour}" stroke-width="{_number(stroke.width)}"{dash}'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if value > -0.05 else "-0")


def _printable(text: str) -> str:
    """Replace characters that XML does not allow. Text from a log might contain such characters."""
    return "".join(c if c.isprintable() else " " for c in text)
