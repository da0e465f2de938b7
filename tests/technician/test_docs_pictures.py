"""The pictures of the docs exist, are well-formed, and have a title."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("no-roll", "Roll 3: No Roll. Die 1 stopped 109 mm short"),
        ("roll", "Roll 9: called. Roll 5-5"),
        ("spin", "Spin 1: called. 0: the ball ran clockwise"),
        ("too-few-revolutions", "Spin 2: No Spin. 2.2 turns (2.2 to 2.9), 4 required"),
    ],
)
def test_a_picture_of_the_docs_has_its_title(name: str, begins: str) -> None:
    root = ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert (title.text or "").startswith(begins)


@pytest.mark.parametrize("page", [*PICTURES.parent.glob("*.md"), PICTURES.parents[1] / "README.md"], ids=str)
def test_every_picture_on_a_page_exists(page: Path) -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [name for name in shown if not (page.parent / name).is_file()] == []


def test_every_picture_of_the_terminal_is_on_a_page() -> None:
    pages = [*PICTURES.parent.glob("*.md"), PICTURES.parents[1] / "README.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [one.name for one in (PICTURES / "terminal").glob("*.png") if one.name not in text] == []
