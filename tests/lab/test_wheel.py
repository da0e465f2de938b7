"""A wheel on the lines of a real GPIO chip: every call matches the truth."""

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import spins
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

CALLS = ("valid", "glitchy", "missed_pulses", "hop", "drop_unsensed")
VOIDS = ("short_spin", "same_direction", "rotor_reversed", "valid")
REVOLUTIONS_APART = 0.6
"""Maximum error: a third of a revolution between two beams, and as much up to the drop."""
PRESSES = 60


@pytest.mark.parametrize("bounces", [0, 3])
@pytest.mark.parametrize("kinds", [CALLS, VOIDS], ids=["calls", "voids"])
def test_every_spin_on_kernel_lines_gets_its_own_outcome(
    machine: MakeMachine, report: Report, kinds: tuple[str, ...], bounces: int
) -> None:
    table = machine(arguments=[VIRTUAL_TIME])

    found = table.call(spins.play_session, list(kinds) * 2, seed=bounces + 1, bounces=bounces, panel=False)

    report.note(f"spins in virtual time, {bounces} bounces", _words(found))
    assert found.not_judged == [], "virtual time must stand still while lines are pulled"
    assert found.different == []
    assert all(abs(off) < REVOLUTIONS_APART for off in found.revolutions_off)
    assert all(before_us > 0 for before_us in found.bets_closed_before_drop_us)
    assert found.exit_code == 0


def test_spins_in_real_time_next_to_a_panel(machine: MakeMachine, report: Report) -> None:
    found = machine().call(spins.play_session, ["valid", "short_spin"] * 2, seed=3, bounces=0, panel=True)

    report.note("spins in real time", _words(found))
    assert found.exit_code == 0
    assert found.different == []
    if len(found.not_judged) == found.spins:
        pytest.skip(f"the host was too busy to pull any spin's lines in time: {found.not_judged}")


def test_a_button_is_reported_each_time(machine: MakeMachine, report: Report) -> None:
    found = machine().call(spins.press_often, times=PRESSES)

    report.times("edge to reading", found.to_reading_us)
    report.times("edge to durable outcome", found.to_outcome_us)
    report.times("edge to its timestamp", found.stamp_off_us)
    report.note("presses lost", f"{found.lost} of {PRESSES}")
    assert found.lost == 0


def _words(found: spins.SpinResults) -> str:
    before_s = [round(us / 1e6, 1) for us in found.bets_closed_before_drop_us]
    return (
        f"{found.spins} spins with {found.edges} edges, {len(found.different)} differ from the truth, "
        f"{len(found.not_judged)} not judged {found.not_judged}: "
        f"{', '.join(found.words)}; lines pulled late by p99 {found.late.p99_us} us; "
        f"bets closed before the drop by {before_s} s; "
        f"revolutions off by {found.revolutions_off}; faults {found.faults}"
    )
