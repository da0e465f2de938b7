"""Lines in use by other programs, a chip that is removed and returns, equal labels, bursts of edges."""

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import lines
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

LAB = (VIRTUAL_TIME,)
KERNEL_KEEPS = 16
"""Number of edges of a line that the kernel buffers by default; the controller requests 1,024."""
LEAK = 2
"""Permitted increase in open descriptors, because a request's connection might just be closing."""


@pytest.mark.parametrize("device", ["wheel", "console"])
def test_a_line_held_by_another_program_is_named_and_opened_when_it_is_free(
    machine: MakeMachine, report: Report, device: str
) -> None:
    found = machine(arguments=LAB).call(lines.held, device)

    report.note(f"a line of {device} held", f"{found.troubles}, up {found.up_after_us / 1e6:.1f} s after")
    assert set(found.troubles) == {device}, "the other device must be up"
    assert f"is in use by {lines.OTHER}" in found.troubles[device]
    assert found.after == [""]
    assert found.exit_code == 0


def test_a_chip_removed_during_a_spin_costs_that_spin_and_recovers_by_itself(
    machine: MakeMachine, report: Report
) -> None:
    found = machine(arguments=LAB).call(lines.chip_goes, seed=5)

    report.times("chip gone to both devices down", [found.down_after_us])
    report.times("chip back to both devices up", [found.up_after_us])
    report.note("a chip that was removed", f"{found.words}, {found.troubles}, faults {found.faults}")
    assert found.words == ["spin.review"]
    assert set(found.troubles) == {"wheel", "console"}
    assert found.after == ["", ""]
    assert found.open_files[1] <= found.open_files[0] + LEAK
    assert found.exit_code == 0


def test_a_chip_is_found_only_by_its_label(machine: MakeMachine, report: Report) -> None:
    two, none = machine(arguments=LAB).call(lines.labels)

    report.note("two chips with one label, and none", f"{two.troubles}; {none.troubles}")
    for found in (two, none):
        assert set(found.troubles) == {"wheel", "console"}
        assert all("expected one chip with the label" in says for says in found.troubles.values())
        assert found.after == [""]
        assert found.exit_code == 0


@pytest.mark.parametrize(
    ("edges", "apart_us", "lost"), [(KERNEL_KEEPS * 2, 1_500, False), (2_600, 150, True)]
)
def test_a_burst_while_the_reader_is_stopped_is_kept_or_reported_and_never_miscounted(
    machine: MakeMachine, report: Report, edges: int, apart_us: int, lost: bool
) -> None:
    found = machine(arguments=LAB).call(lines.burst, edges, apart_us, seed=6)

    report.note(f"{edges} edges of a beam unread", f"{found.words}, {found.faults}")
    assert found.wrong == []
    assert any("lost" in fault for fault in found.faults) is lost
    assert found.after == [""]
    assert found.exit_code == 0


def test_an_object_in_a_beam_is_reported_until_it_is_removed(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(lines.stuck)

    report.note("a beam held", f"{found.troubles}, well {found.up_after_us / 1e6:.1f} s after")
    assert "beam-2 (GPIO13)" in found.troubles["wheel"]
    assert found.after == [""]
    assert found.exit_code == 0
