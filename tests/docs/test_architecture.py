"""Every name in docs/architecture.md and in the picture of a reading's time exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CODE = ("controller", "drivers", "tests", "config", "systemd")
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in CODE
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".yaml") or path.is_dir()
)
QUOTED = re.findall(r"`([^`\n]+)`", PAGE)
MODULES = sorted({name for name in QUOTED if re.fullmatch(r"[\w/]+\.py", name)})
FOLDERS = sorted({name for name in QUOTED if re.fullmatch(rf"(?:{'|'.join(CODE)})/[a-z_/]*", name)})
PICTURE = (ROOT / "docs" / "pictures" / "reading-time.svg").read_text("utf-8")
BARS = sorted(set(re.findall(r">([\w/]+/\w+)</text>", PICTURE)))
DEFINED = sorted(set(re.findall(r"`(\w+)` in\s+`([\w/]+\.py)`", PAGE)))


@pytest.mark.parametrize("name", MODULES)
def test_every_module_exists(name: str) -> None:
    assert any(f"/{file}".endswith(f"/{name}") for file in FILES)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_folder_exists(name: str) -> None:
    assert (ROOT / name).is_dir()


@pytest.mark.parametrize(("name", "module"), DEFINED)
def test_every_name_is_defined_in_its_module(name: str, module: str) -> None:
    texts = ((ROOT / file).read_text("utf-8") for file in FILES if f"/{file}".endswith(f"/{module}"))
    assert any(re.search(rf"^\s*(?:(?:async )?def |class )?{name}\b", text, re.MULTILINE) for text in texts)


@pytest.mark.parametrize("name", BARS)
def test_every_bar_belongs_to_a_module(name: str) -> None:
    assert (ROOT / "controller" / f"{name}.py").is_file(), "run: make pictures"


def test_page_and_picture_were_found() -> None:
    assert len(BARS) > 15
    assert len(MODULES) > 40
    assert len(FOLDERS) > 20
    assert len(DEFINED) > 4
