"""The pages of the wheel and the smart camera name every setting and every fault that these devices have."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from drivers.devices import jevois, ss2, ss2_watch
from drivers.devices.registry import device_type

DOCS = Path(__file__).parents[3] / "docs" / "devices"


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


@pytest.mark.parametrize("module", [ss2, ss2_watch, jevois])
def test_every_fault_code_is_on_the_page(module: object) -> None:
    source = Path(str(getattr(module, "__file__", ""))).read_text()
    page = (DOCS / ("jevois.md" if module is jevois else "ss2.md")).read_text()
    codes = set(re.findall(r'(?:Fault\(|_lose\(now_us, )"(\w+)"', source)) - {"link"}
    codes |= {ss2_watch.POWER_CYCLE, ss2_watch.ROTOR_SPEED} if module is ss2_watch else set()
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
