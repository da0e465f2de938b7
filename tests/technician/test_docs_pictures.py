"""The pictures of the docs are there, well-formed, and say what they show."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("no-roll", "Roll 3: No Roll. Die 1 stopped 109 mm short"),
        ("roll", "Roll 9: called. Roll 5-5"),
        ("spin", "Spin 1: called. 0: the ball ran cw"),
        ("too-few-revolutions", "Spin 2: No Spin. 2.2 turns of 4"),
    ],
)
def test_a_picture_of_the_docs_says_what_it_shows(name: str, begins: str) -> None:
    root = ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert (title.text or "").startswith(begins)
