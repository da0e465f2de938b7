"""Lamps, buzzer, buttons, key and door on real lines. The lit lamps match the table's state."""

from tests.lab.conftest import MakeMachine
from tests.lab.guest import panel
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

BUZZ_US = 300_000
VOID_US = 5_000_000
LOOKED_US = 50_000
"""Maximum error of a lamp's times, because lamps are polled every 20 ms."""
MAX_WAKEUPS_PER_S = 60


def test_lamps_buzzer_door_key_and_buttons_match_the_tables_state(
    machine: MakeMachine, report: Report
) -> None:
    found = machine(arguments=[VIRTUAL_TIME]).call(panel.lamps)

    lit = [(one.lamp, (one.to_us or 0) - one.from_us) for one in found.lit]
    report.note("a panel's lamps", f"{found.words}; lit (us): {lit}")
    dark = dict.fromkeys(found.in_play, False)
    assert found.in_play == dark
    assert found.locked == {**dark, "lock": True}
    assert found.door_locks
    assert found.door_open == {**dark, "lock": True, "fault": True}
    assert found.key[-2:] == [True, False]
    assert found.words == ["spin.no_spin", "spin.called"]
    assert found.reasons[0] == ["called"]
    buzzes = [for_us for lamp, for_us in lit if lamp == "buzzer"]
    assert len(buzzes) == 3, "a lock, the door's lock and a No Spin"
    assert all(abs(for_us - BUZZ_US) <= LOOKED_US for for_us in buzzes), buzzes
    [void_us] = [for_us for lamp, for_us in lit if lamp == "no-spin"]
    assert abs(void_us - VOID_US) <= LOOKED_US
    from_us, to_us = next(
        (one.from_us, one.to_us) for one in reversed(found.lit) if one.lamp == "no-more-bets"
    )
    assert found.spin_us[0] < from_us < found.drop_us
    assert to_us is not None
    assert to_us > found.drop_us
    assert found.exit_code == 0


def test_an_untouched_panel_causes_no_wake_ups(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=[VIRTUAL_TIME]).call(panel.idle, 60)

    figures = f"{found.wakeups_per_s:g} wake-ups a second, {found.threads} threads"
    report.note("idle with a panel", f"{figures}, {found.resident_kib // 1024} MiB")
    assert found.wakeups_per_s < MAX_WAKEUPS_PER_S
