"""Tests of a camera behind the kernel's V4L2 interface: the driver's timestamps, and the camera's faults."""

from itertools import pairwise

from tests.lab.conftest import MakeMachine
from tests.lab.guest import camera
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

LAB = ("vivid.node_types=0x1", VIRTUAL_TIME)
FRAME_US = 40_000
"""The driver produces 25 frames a second."""
STEADY_US = 2_000
"""Tolerance of the intervals between frames and of their delays, in virtual time."""
WAITED = 2
"""Number of frames that wait for a delayed reader; later frames are lost."""


def test_frames_have_the_drivers_own_times(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(camera.frames)

    apart_us = [later - earlier for earlier, later in pairwise(found.stamps_us)]
    behind_us = [taken - stamp for stamp, taken in zip(found.stamps_us, found.taken_us, strict=True)]
    report.note(
        "frames of a V4L2 camera",
        f"{len(found.stamps_us)} of {found.sizes[0]}, {min(apart_us)} to {max(apart_us)} us apart; taken"
        f" {min(behind_us)} to {max(behind_us)} us after their timestamps",
    )
    held = camera.FRAMES // 2
    steady = [*apart_us[1 : held - 1], *apart_us[held + WAITED :]]
    assert all(abs(us - FRAME_US) < STEADY_US for us in steady), apart_us
    for us in behind_us[held : held + WAITED]:
        assert camera.HELD_UP_US // 2 < us < camera.HELD_UP_US, "a delayed frame must have its own time"
    assert all(abs(us) < STEADY_US for us in [*behind_us[:held], *behind_us[held + WAITED :]]), behind_us
    assert "/dev/video9: can't open this camera" in found.missing


def test_a_camera_that_is_missing_or_unplugged_is_reported_and_comes_back(
    machine: MakeMachine, report: Report
) -> None:
    found = machine(arguments=LAB).call(camera.watched)

    report.times("camera unplugged to device down", [found.down_us])
    report.times("camera plugged in to device up", found.up_us)
    report.note("a camera's faults", f"{found.missing!r}, then {found.pulled!r}: {found.faults}")
    assert "/dev/video0: can't open this camera" in found.missing
    assert "/dev/video0 ended" in found.pulled
    assert found.exit_code == 0
