"""The technician's pages name every trouble and every setting."""

import dataclasses
from pathlib import Path

import pytest

import drivers
from drivers.health import TROUBLES, reason_for
from drivers.registry import device_type

DOCS = Path(drivers.__file__).parent.parent / "docs" / "devices"


@pytest.mark.parametrize("code", sorted(TROUBLES))
def test_every_trouble_is_on_a_page(code: str) -> None:
    assert any(f"| `{code}` |" in (DOCS / page).read_text() for page in ("serial.md", "node.md"))


@pytest.mark.parametrize("name", ["node", "json-camera"])
def test_every_setting_is_on_its_devices_page(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text()
    for setting in dataclasses.fields(device_type(name).settings):
        assert f"`{setting.name}`" in page


def test_a_reason_is_what_was_seen_and_what_to_do() -> None:
    reason = reason_for("stuck_writer", "/dev/table-w1 took no bytes for 0.5 s")
    assert reason == (
        "/dev/table-w1 took no bytes for 0.5 s; "
        "power-cycle the device; check that its port uses no flow control"
    )
