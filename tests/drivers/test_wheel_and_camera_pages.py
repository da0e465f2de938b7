"""Tests that the pages of the wheel and the smart camera list all settings and faults of these devices."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from drivers.cameras import jevois
from drivers.health import DEVICE_FAULTS
from drivers.registry import device_type
from drivers.ss2 import device as ss2
from drivers.ss2.faults import WHEEL_FAULTS

DOCS = Path(__file__).parents[2] / "docs" / "devices"


@pytest.mark.parametrize("name", ["ss2", "jevois"])
def test_every_setting_is_on_the_page_and_the_page_knows_no_other(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text()
    table = page.split("| key | default | |")[1].split("\n\n")[0]
    named = {
        word
        for row in re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", row)
    }
    assert named == {field.name for field in fields(device_type(name).settings)}


@pytest.mark.parametrize("module", [ss2, jevois])
def test_every_fault_code_is_on_the_page(module: object) -> None:
    source = Path(str(getattr(module, "__file__", ""))).read_text()
    page = (DOCS / ("jevois.md" if module is jevois else "ss2.md")).read_text()
    codes = set(re.findall(r'(?:Fault\(|_lose\(now_us, |\.trouble\(now_us, )"(\w+)"', source)) - {"link"}
    own = set(WHEEL_FAULTS) - set(DEVICE_FAULTS)
    codes |= {code for code in own if not code.startswith("self_test_")} if module is ss2 else set()
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
