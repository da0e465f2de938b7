"""Drawings are well-formed, inside their sheet, with separate labels, and alike in every format."""

import struct
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

import pytest
from PIL import Image

from controller.technician.drawing import LEADER, PAPER, Drawing, Labels, Polyline, Spot, Stroke, TextMark
from controller.technician.pictures import as_svg, draw, observed
from controller.technician.png import as_png
from tests.technician.recorded import attempt

SHOWN = [
    ("craps-12-034-voids", 1),
    ("craps-12-034-voids", 3),
    ("craps-12-034-voids", 5),
    ("craps-12-034-voids", 7),
    ("craps-12-034-rulings", 2),
    ("craps-12-034-rulings", 6),
    ("sim-high-roller-a", 3),
    ("roulette-american", 1),
    ("roulette-american", 2),
    ("roulette-american", 4),
    ("sim-roulette-dead-beam", 3),
    ("sim-three-card-rotation", 3),
]


def drawing(log: str, number: int) -> Drawing:
    exhibit = attempt(log, number)
    return draw(exhibit, observed(exhibit), "Said in a sentence", "at noon", ["a line"])


@pytest.mark.parametrize(("log", "number"), SHOWN)
def test_every_kind_of_attempt_is_drawn_inside_its_sheet(log: str, number: int) -> None:
    sheet = drawing(log, number)
    for mark in sheet.marks:
        spots = mark.spots if isinstance(mark, Polyline) else (mark.at,)
        assert all(0 <= x <= sheet.width and 0 <= y <= sheet.height for x, y in spots), mark
    texts = [mark.text for mark in sheet.marks if isinstance(mark, TextMark)]
    assert "Said in a sentence" in texts


@pytest.mark.parametrize(("log", "number"), SHOWN)
def test_svg_is_well_formed_the_same_every_time_and_needs_nothing_else(log: str, number: int) -> None:
    text = as_svg(drawing(log, number))
    assert text == as_svg(drawing(log, number))
    root = ElementTree.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg",
        "title",
        "rect",
        "polyline",
        "circle",
        "text",
    }
    assert "href" not in text


@pytest.mark.parametrize(("log", "number"), [(log, number) for log, number in SHOWN if "craps" in log])
def test_no_leader_is_drawn_on_top_of_a_label(log: str, number: int) -> None:
    marks = drawing(log, number).marks
    leaders = [
        (i, mark) for i, mark in enumerate(marks) if isinstance(mark, Polyline) and mark.stroke == LEADER
    ]
    for at, leader in leaders:
        for words in marks[:at]:
            if isinstance(words, TextMark):
                assert not any(holds(words, spot) for spot in spots_of(leader)), words.text


def spots_of(line: Polyline) -> list[Spot]:
    """Return points along a straight line, a twentieth of it apart, without its ends."""
    (x, y), (x_end, y_end) = line.spots
    return [(x + (x_end - x) * i / 20, y + (y_end - y) * i / 20) for i in range(1, 20)]


def holds(words: TextMark, spot: Spot) -> bool:
    """Return whether a point is inside the label."""
    x, y = spot
    return words.left < x < words.left + words.width and words.at[1] - 0.7 * words.size < y < words.at[1]


def test_text_from_a_log_cannot_break_out_of_the_svg() -> None:
    sheet = Drawing(100, 100, 'a"<b>\x00')
    sheet.text((10, 10), "</text><script>\x07&")
    root = ElementTree.fromstring(as_svg(sheet))
    texts = [element for element in root.iter() if element.tag.endswith("text")]
    assert {element.text for element in texts} == {"</text><script> &"}


def test_the_outline_of_a_label_is_a_copy_beneath_it_that_every_viewer_draws() -> None:
    sheet = Drawing(100, 100, "edge")
    sheet.text((10, 10), "die 1", colour="#123456")
    beneath, above = [mark for mark in ElementTree.fromstring(as_svg(sheet)) if mark.tag.endswith("text")]
    assert (beneath.get("stroke"), beneath.get("fill"), beneath.get("aria-hidden")) == (PAPER, PAPER, "true")
    assert (above.get("stroke"), above.get("fill")) == (None, "#123456")
    assert "paint-order" not in as_svg(sheet)


def test_png_has_the_sheets_size_and_something_on_it() -> None:
    painted = as_png(drawing("craps-12-034-voids", 3))
    assert painted.startswith(b"\x89PNG")
    assert struct.unpack(">II", painted[16:24]) == (1200, 700)


def test_a_dashed_line_leaves_its_gaps_white() -> None:
    sheet = Drawing(60, 10, "dashes")
    sheet.line((0, 5), (60, 5), stroke=Stroke("#000000", 4, (10, 10)))
    image = Image.open(BytesIO(as_png(sheet))).convert("L")
    assert [int(str(image.getpixel((x, 5)))) < 128 for x in (5, 15, 25, 35, 45)] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_labels_around_one_point_do_not_overlap() -> None:
    sheet = Drawing(400, 300, "labels")
    labels = Labels(sheet, (0, 0), (400, 300))
    labels.keep_free((200, 150), 6)
    for number in range(8):
        labels.put((200, 150), f"label {number}")
    written = [mark for mark in sheet.marks if isinstance(mark, TextMark)]
    assert len(written) == 8
    for one, two in combinations(written, 2):
        apart_x = one.left + one.width <= two.left or two.left + two.width <= one.left
        assert apart_x or abs(one.at[1] - two.at[1]) >= one.size


def test_a_label_without_room_is_left_out_unless_it_must_be_there() -> None:
    sheet = Drawing(80, 24, "crowded")
    labels = Labels(sheet, (0, 0), (80, 24))
    labels.keep_free((40, 12), 40)
    labels.put((20, 12), "aside", required=False)
    assert not sheet.marks
    labels.put((20, 12), "here")
    assert [mark.text for mark in sheet.marks if isinstance(mark, TextMark)] == ["here"]
