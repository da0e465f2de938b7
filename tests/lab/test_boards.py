"""Dice boards behind real USB serial ports. No disturbance of the cables causes a wrong call."""

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import throws
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

SOCKETS = "dummy_hcd.num=4"
"""A kernel argument: the number of USB sockets."""
LAB = (SOCKETS, VIRTUAL_TIME)
LEAK = 2
"""Permitted increase in open descriptors, because a port might just be opening."""


def test_throws_on_four_boards_get_their_own_outcomes(machine: MakeMachine, report: Report) -> None:
    kinds = ["valid", "one_short", "valid", "off_table", "valid"]

    found = machine(arguments=LAB).call(throws.plain, seed=1, kinds=kinds)

    report.note("throws on four USB boards", f"{found.words}; needless {found.needless}")
    assert found.wrong == []
    assert found.words[0] != "silent"
    assert "silent" not in found.words
    assert found.exit_code == 0


def test_a_cable_pulled_during_a_throw_is_reported_and_recovers_at_once(
    machine: MakeMachine, report: Report
) -> None:
    all_found = machine(arguments=LAB).call(throws.unplugged, list(throws.READS), seed=2)

    report.times("unplug to device down", [us for one in all_found for us in one.down_after_us])
    report.times("replug to device up", [us for one in all_found for us in one.up_after_us])
    for device, found in zip(throws.READS, all_found, strict=True):
        report.note(f"{device} unplugged in mid-throw", f"{found.words}, faults {found.faults}")
        assert found.wrong == [], device
        assert found.needless == [], device
        assert "silent" not in found.words, device
        assert found.faults, f"{device}: no fault was reported"


def test_boards_are_found_by_their_names_when_ports_change_their_numbers(
    machine: MakeMachine, report: Report
) -> None:
    found, changed = machine(arguments=LAB).call(throws.renumbered, seed=3)

    report.note("ports with another number", f"{changed}: {found.words}")
    assert changed, "no port changed its number, so nothing was tested"
    assert found.all_up
    assert found.wrong == []
    assert found.needless == []


def test_two_swapped_boards_never_report_for_each_other(machine: MakeMachine, report: Report) -> None:
    found, troubles = machine(arguments=LAB).call(throws.swapped, seed=4)

    report.note("walls swapped", f"{troubles}: {found.words}")
    assert set(troubles) >= {"wall-left", "wall-right"}
    assert found.wrong == []
    assert "valid" not in found.words


@pytest.mark.parametrize("device", ["wall-right", "cam"])
def test_garbage_on_the_wire_causes_no_wrong_call(machine: MakeMachine, report: Report, device: str) -> None:
    found = machine(arguments=LAB).call(throws.garbage, device, seed=5, size=200_000)

    report.note(f"200 kB of garbage from {device}", f"{found.words}, faults {found.faults}")
    assert found.wrong == []
    assert found.needless == []
    assert found.words[-1] == "valid"


@pytest.mark.parametrize("device", ["wall-right", "cam"])
def test_a_board_that_hangs_is_reported(machine: MakeMachine, report: Report, device: str) -> None:
    found = machine(arguments=LAB).call(throws.silent, device, seed=6)

    report.times(f"{device} hangs to down", found.down_after_us)
    report.times(f"{device} speaks again to up", found.up_after_us)
    assert found.wrong == []
    assert found.needless == []


def test_a_bus_reset_takes_all_boards_and_all_come_back(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(throws.bus_reset, times=8, seed=9)

    report.times("all four boards back up", found.up_after_us)
    report.note("after eight bus resets", f"{found.words}, descriptors {found.open_files}")
    assert found.wrong == []
    assert found.needless == []
    assert found.open_files[1] <= found.open_files[0] + LEAK
    assert found.exit_code == 0
