"""Tests that the technician's pages list every fault and every setting."""

import dataclasses
import re
from pathlib import Path

import pytest

import drivers
from drivers.gpio.lines import GPIO_FAULTS
from drivers.health import DEVICE_FAULTS, Cause, reason_for
from drivers.registry import device_type
from drivers.ss2.faults import WHEEL_FAULTS

DOCS = Path(drivers.__file__).parent.parent / "docs" / "devices"
RESTART = re.compile(r"restart the (?:service|controller)")
RESTART_AT_LAST = re.compile(r"if (?:it stays|that does not help), restart the (?:service|controller)")
READ_AT_THE_START = {"no_permission"}
"""The unit's DeviceAllow is resolved when the service starts."""


@pytest.mark.parametrize("code", sorted(DEVICE_FAULTS))
def test_every_device_fault_is_on_a_page(code: str) -> None:
    assert any(f"| `{code}` |" in (DOCS / page).read_text() for page in ("serial.md", "node.md"))


@pytest.mark.parametrize("name", ["node", "json-camera"])
def test_every_setting_is_on_its_devices_page(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text()
    for setting in dataclasses.fields(device_type(name).settings):
        assert f"`{setting.name}`" in page


@pytest.mark.parametrize("family", ["node", "shoe", "cameras"])
def test_every_code_that_a_device_reports_is_in_the_catalogue(family: str) -> None:
    told = re.compile(
        r'(?:\.(?:record|record_minor|record_loss|fault)|_start_over|_reject|Fault|_record_loss)\(\s*(?:now_us,\s*)*"(\w+)"'
    )
    sources = (Path(drivers.__file__).parent / family).glob("*.py")
    codes = {code for source in sources for code in told.findall(source.read_text())}
    assert codes
    assert codes <= set(DEVICE_FAULTS)


def test_a_reason_states_what_was_seen_and_what_to_do() -> None:
    reason = reason_for("stuck_writer", "/dev/table-w1 did not accept all bytes within 0.5 s")
    assert reason == (
        "/dev/table-w1 did not accept all bytes within 0.5 s; "
        "power-cycle the device; check that its port uses no flow control"
    )


@pytest.mark.parametrize("troubles", [DEVICE_FAULTS, GPIO_FAULTS, WHEEL_FAULTS], ids=["ports", "gpio", "ss2"])
def test_a_fault_that_ends_by_itself_asks_for_a_restart_only_if_it_did_not_end(
    troubles: dict[str, Cause],
) -> None:
    asks_at_once = {
        code
        for code, cause in troubles.items()
        if len(RESTART.findall(cause.do)) > len(RESTART_AT_LAST.findall(cause.do))
    }
    assert asks_at_once <= READ_AT_THE_START
