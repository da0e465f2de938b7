"""A drawing as PNG, painted by Pillow with its built-in font. A Raspberry Pi might have no fonts
installed."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from math import dist

from PIL import Image, ImageDraw, ImageFont

from controller.technician.drawing import PAPER, Disc, Drawing, Polyline, Spot, Stroke, TextMark

_SCALE = 2
"""Factor by which the drawing is enlarged for painting. Reducing it again at the end smooths all edges."""
_OUTLINE_PX = 1.5
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def as_png(drawing: Drawing) -> bytes:
    """Return the drawing as a PNG file."""
    image = Image.new("RGB", (drawing.width * _SCALE, drawing.height * _SCALE), PAPER)
    brush = ImageDraw.Draw(image)
    for mark in drawing.marks:
        match mark:
            case Polyline():
                _line(brush, mark)
            case Disc():
                _disc(brush, mark)
            case TextMark():
                _words(brush, mark)
    png = BytesIO()
    image.resize((drawing.width, drawing.height), Image.Resampling.LANCZOS).save(png, "PNG")
    return png.getvalue()


def _line(brush: ImageDraw.ImageDraw, line: Polyline) -> None:
    spots = [(x * _SCALE, y * _SCALE) for x, y in line.spots]
    if line.fill is not None:
        brush.polygon(spots, fill=line.fill)
    if line.stroke.width:
        for part in _dashed(spots, line.stroke):
            brush.line(part, fill=line.stroke.colour, width=_width(line.stroke), joint="curve")


def _disc(brush: ImageDraw.ImageDraw, disc: Disc) -> None:
    (x, y), r = disc.at, disc.radius
    box = ((x - r) * _SCALE, (y - r) * _SCALE, (x + r) * _SCALE, (y + r) * _SCALE)
    width = _width(disc.stroke) if disc.stroke.width else 0
    brush.ellipse(box, fill=disc.fill, outline=disc.stroke.colour if width else None, width=width)


def _words(brush: ImageDraw.ImageDraw, words: TextMark) -> None:
    size = words.size * _SCALE
    x, y = words.at
    brush.text(
        (x * _SCALE, y * _SCALE),
        words.text,
        fill=words.colour,
        font=ImageFont.load_default(size),
        anchor=_ANCHORS[words.anchor],
        stroke_width=_OUTLINE_PX * _SCALE,
        stroke_fill=PAPER,
    )
    if words.bold:
        brush.text(
            (x * _SCALE, y * _SCALE),
            words.text,
            fill=words.colour,
            font=ImageFont.load_default(size),
            anchor=_ANCHORS[words.anchor],
            stroke_width=0.4 * _SCALE,
            stroke_fill=words.colour,
        )


def _width(stroke: Stroke) -> int:
    return max(round(stroke.width * _SCALE), 1)


def _dashed(spots: Sequence[Spot], stroke: Stroke) -> Iterator[list[Spot]]:
    """Yield a line's dashes, because Pillow draws only solid lines."""
    if not stroke.dash:
        yield list(spots)
        return
    lengths = [length * _SCALE for length in stroke.dash]
    at, left, drawn = 0, lengths[0], [spots[0]]
    for start, end in pairwise(spots):
        done, whole = 0.0, dist(start, end)
        while whole - done > left:
            done += left
            fraction = done / whole
            spot = (start[0] + fraction * (end[0] - start[0]), start[1] + fraction * (end[1] - start[1]))
            if at % 2 == 0:
                yield [*drawn, spot]
            drawn, at = [spot], at + 1
            left = lengths[at % len(lengths)]
        left -= whole - done
        drawn.append(end)
    if at % 2 == 0 and len(drawn) > 1:
        yield drawn
