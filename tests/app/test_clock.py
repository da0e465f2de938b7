"""A step of the wall clock by hours locks the table and is reported. Durations are unaffected."""

from controller.app.clock import ClockStep, WallWatch, iso, system_wall
from tests.app.house import NIGHT_US, HouseMaker, ManualWallClock, drain, live_of, unlocked

HOUR_US = 3_600_000_000


def test_a_clock_step_is_reported_once_with_its_size() -> None:
    wall = ManualWallClock()
    watch = WallWatch(wall, lambda: 0, 1_000_000)
    wall.us += 500_000
    assert watch.step() is None
    wall.us -= 2 * HOUR_US
    assert watch.step() == ClockStep(-2 * HOUR_US, first_sync=False)
    assert watch.step() is None


def test_the_first_synchronization_raises_no_fault() -> None:
    wall = ManualWallClock(synced=False)
    watch = WallWatch(wall, lambda: 0, 1_000_000)
    wall.us, wall.synced = wall.us + HOUR_US, True
    assert watch.step() == ClockStep(HOUR_US, first_sync=True)


def test_a_clock_stepped_by_hours_locks_the_table_until_a_person_has_looked(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    one.wall.us -= 5 * HOUR_US
    daemon.run_periodic_tasks()
    drain(daemon)
    daemon.clock.reach(daemon.clock.now_us() + 1_000_000)
    drain(daemon)
    assert live_of(daemon).core.view.state.lock == "locked"
    assert [fault.code for fault in daemon.faults.present] == ["clock_stepped"]
    assert "clock.noted" in [row.name for row in one.rows()]
    assert daemon.why_locked() is not None
    daemon.approve_clock()
    unlocked(daemon)


def test_a_clock_stepped_again_is_reported_with_its_last_step_and_the_number_of_steps(
    house: HouseMaker,
) -> None:
    one = house()
    daemon = one.open()
    for hours in (8, 4, -4):
        one.wall.us += hours * HOUR_US
        daemon.run_periodic_tasks()
    [fault] = [fault for fault in daemon.faults.present if fault.code == "clock_stepped"]
    assert fault.found.startswith("changed by -14,400 s to ")
    assert fault.found.endswith(", the last of 3 steps")
    daemon.approve_clock()
    one.wall.us += 2 * HOUR_US
    daemon.run_periodic_tasks()
    [fault] = [fault for fault in daemon.faults.present if fault.code == "clock_stepped"]
    assert "steps" not in fault.found


def test_a_start_with_a_clock_before_the_journals_last_row_locks_until_the_clock_is_right(
    house: HouseMaker,
) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    daemon.close()
    one.wall.us = NIGHT_US - HOUR_US
    daemon = one.open()
    assert "clock_behind" in [fault.code for fault in daemon.faults.locking]
    one.wall.us = NIGHT_US + HOUR_US
    one.wall.synced = True
    daemon.run_periodic_tasks()
    assert "clock_behind" not in [fault.code for fault in daemon.faults.present]


def test_wall_times_are_written_in_utc() -> None:
    assert iso(1_700_000_000_000_000) == "2023-11-14T22:13:20.000Z"
    assert system_wall().us > 1_700_000_000_000_000
