"""A drawing as SVG: plain shapes and words, no script, no style sheet, nothing fetched."""

from xml.sax.saxutils import escape, quoteattr

from controller.pictures.drawing import PAPER, Disc, Drawing, Line, Mark, Stroke, Words

_FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
_EDGE = 3


def as_svg(drawing: Drawing) -> str:
    """Write the drawing; the same drawing gives the same text."""
    size = f'width="{drawing.width}" height="{drawing.height}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {drawing.width} {drawing.height}"'
        f' role="img" font-family={quoteattr(_FONT)}>\n<title>{escape(_printable(drawing.title))}</title>\n'
        f'<rect {size} fill="{PAPER}"/>\n'
    )
    return head + "".join(_mark(mark) + "\n" for mark in drawing.marks) + "</svg>\n"


def _mark(mark: Mark) -> str:
    match mark:
        case Line(spots=spots, stroke=stroke, fill=fill):
            places = " ".join(f"{_n(x)},{_n(y)}" for x, y in spots)
            return f'<polyline points="{places}" fill="{fill or "none"}"{_stroke(stroke)}/>'
        case Disc(at=(x, y), radius=radius, stroke=stroke, fill=fill):
            place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
            return f'<circle {place} fill="{fill or "none"}"{_stroke(stroke)}/>'
        case Words():
            return _words(mark)


def _words(words: Words) -> str:
    weight = ' font-weight="bold"' if words.bold else ""
    return (
        f'<text x="{_n(words.at[0])}" y="{_n(words.at[1])}" font-size="{_n(words.size)}"'
        f' text-anchor="{words.anchor}" fill="{words.colour}"{weight}'
        f' stroke="{PAPER}" stroke-width="{_EDGE}" paint-order="stroke">'
        f"{escape(_printable(words.text))}</text>"
    )


def _stroke(stroke: Stroke) -> str:
    if not stroke.width:
        return ""
    dash = f' stroke-dasharray="{" ".join(map(_n, stroke.dash))}"' if stroke.dash else ""
    return f' stroke="{stroke.colour}" stroke-width="{_n(stroke.width)}"{dash}'


def _n(value: float) -> str:
    """Write a tenth of a pixel, which is finer than any eye."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if value > -0.05 else "-0")


def _printable(text: str) -> str:
    """Leave out what XML can't carry: a log's words are its writer's to choose."""
    return "".join(c if c.isprintable() else " " for c in text)
