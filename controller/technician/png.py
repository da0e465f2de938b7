"""A drawing as PNG, by Pillow, which brings its own font: a table's Pi may have none."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from math import dist

from PIL import Image, ImageDraw, ImageFont

from controller.technician.drawing import PAPER, Disc, Drawing, Polyline, Spot, Stroke, TextMark

_FINE = 2
"""It is drawn this many times larger and then scaled down, which smooths all edges."""
_EDGE = 1.5
_BASE_LINES = {"start": "ls", "middle": "ms", "end": "rs"}


def as_png(drawing: Drawing) -> bytes:
    """Paint the drawing."""
    image = Image.new("RGB", (drawing.width * _FINE, drawing.height * _FINE), PAPER)
    brush = ImageDraw.Draw(image)
    for mark in drawing.marks:
        match mark:
            case Polyline():
                _line(brush, mark)
            case Disc():
                _disc(brush, mark)
            case TextMark():
                _words(brush, mark)
    painted = BytesIO()
    image.resize((drawing.width, drawing.height), Image.Resampling.LANCZOS).save(painted, "PNG")
    return painted.getvalue()


def _line(brush: ImageDraw.ImageDraw, line: Polyline) -> None:
    spots = [(x * _FINE, y * _FINE) for x, y in line.spots]
    if line.fill is not None:
        brush.polygon(spots, fill=line.fill)
    if line.stroke.width:
        for part in _dashed(spots, line.stroke):
            brush.line(part, fill=line.stroke.colour, width=_thick(line.stroke), joint="curve")


def _disc(brush: ImageDraw.ImageDraw, disc: Disc) -> None:
    (x, y), r = disc.at, disc.radius
    box = ((x - r) * _FINE, (y - r) * _FINE, (x + r) * _FINE, (y + r) * _FINE)
    width = _thick(disc.stroke) if disc.stroke.width else 0
    brush.ellipse(box, fill=disc.fill, outline=disc.stroke.colour if width else None, width=width)


def _words(brush: ImageDraw.ImageDraw, words: TextMark) -> None:
    size = words.size * _FINE
    x, y = words.at
    brush.text(
        (x * _FINE, y * _FINE),
        words.text,
        fill=words.colour,
        font=ImageFont.load_default(size),
        anchor=_BASE_LINES[words.anchor],
        stroke_width=_EDGE * _FINE,
        stroke_fill=PAPER,
    )
    if words.bold:
        brush.text(
            (x * _FINE, y * _FINE),
            words.text,
            fill=words.colour,
            font=ImageFont.load_default(size),
            anchor=_BASE_LINES[words.anchor],
            stroke_width=0.4 * _FINE,
            stroke_fill=words.colour,
        )


def _thick(stroke: Stroke) -> int:
    return max(round(stroke.width * _FINE), 1)


def _dashed(spots: Sequence[Spot], stroke: Stroke) -> Iterator[list[Spot]]:
    """Cut a line into its dashes; Pillow itself draws whole lines alone."""
    if not stroke.dash:
        yield list(spots)
        return
    lengths = [length * _FINE for length in stroke.dash]
    at, left, drawn = 0, lengths[0], [spots[0]]
    for here, there in pairwise(spots):
        done, whole = 0.0, dist(here, there)
        while whole - done > left:
            done += left
            share = done / whole
            spot = (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
            if at % 2 == 0:
                yield [*drawn, spot]
            drawn, at = [spot], at + 1
            left = lengths[at % len(lengths)]
        left -= whole - done
        drawn.append(there)
    if at % 2 == 0 and len(drawn) > 1:
        yield drawn
