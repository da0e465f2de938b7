"""Memory, files and descriptors in a day of play in virtual time."""

import os

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import day
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

HOURS = int(os.environ.get("LAB_HOURS") or 24)
SPINS_AN_HOUR = 12
WARM_HOURS = 4
"""Number of hours after which all code is loaded."""
GROWTH_KIB = 4096
"""Permitted increase in memory in the rest of the day.

Caches use 3.3 MB more after about 220 spins than after 20. They increase no further, as 400 spins at full
speed show.
"""
PATIENCE_S = 7200


@pytest.mark.long
@pytest.mark.timeout(PATIENCE_S + 300, func_only=True)
@pytest.mark.parametrize("hours_played", [HOURS])
def test_a_day_of_play_increases_neither_memory_nor_descriptors(
    machine: MakeMachine, report: Report, hours_played: int
) -> None:
    table = machine(arguments=[VIRTUAL_TIME], patience_s=PATIENCE_S)

    found = table.call(day.play_day, hours_played, SPINS_AN_HOUR, seed=8)

    hours = found.hours
    warm, last = hours[min(WARM_HOURS, len(hours)) - 1], hours[-1]
    report.note(
        f"{len(hours)} hours in virtual time, {found.spins} spins",
        f"{len(found.different)} differ from the truth;"
        f" own memory {hours[0].own_kib} KiB after the first hour,"
        f" {warm.own_kib} after {WARM_HOURS}, {last.own_kib} at the end, resident {warm.resident_kib} and"
        f" {last.resident_kib}; descriptors"
        f" {hours[0].descriptors} to {last.descriptors}, threads {hours[0].threads} to {last.threads}, files"
        f" {hours[0].files} to {last.files}, {last.kib - hours[0].kib} KiB of journal and recordings",
    )
    assert found.different == []
    assert last.descriptors <= hours[0].descriptors
    assert last.threads <= hours[0].threads
    assert last.own_kib - warm.own_kib < GROWTH_KIB
    assert found.exit_code == 0
