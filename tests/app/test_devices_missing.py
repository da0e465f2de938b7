"""The self-test waits for the devices in the table's file, and reports each missing device."""

from controller.app.devices import FREE_AFTER_US, STUCK_AFTER, SWITCHES_WITHIN_US
from controller.app.running import DEVICES_WITHIN_US
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, DieAt, Input, Switch
from tests.app.house import HouseMaker, drain, live_of, play, unlocked

NAMES = ("cam", "wall-left", "wall-right", "console")
DOOR = Switch(t=2_000, dev="console", name="door", open=False)
"""The switch report that a board sends as soon as the table listens."""


def test_the_table_stays_locked_until_every_device_is_up_and_names_the_missing_one(house: HouseMaker) -> None:
    one = house(self_test_devices=True)
    daemon = one.open()
    play(daemon, [*(DeviceUp(t=1_000, dev=name) for name in NAMES if name != "wall-right"), DOOR])
    down = DeviceDown(t=2_000, dev="wall-right", code="no_port", reason="it is not there; plug it in")
    play(daemon, [down])
    live_of(daemon).test()
    check = next(check for check in live_of(daemon).tested if check.name == "devices")
    assert check.says == "not up: wall-right (device_down: it is not there; plug it in)"
    assert [fault.code for fault in daemon.faults.locking] == ["self_test_waits"]

    daemon.clock.reach(DEVICES_WITHIN_US + 10_000_000)
    live_of(daemon).test()
    missing = daemon.faults.locking[-1]
    assert (missing.code, missing.where) == ("device_missing", "wall-right")
    assert "plug it in" in daemon.headline()

    play(daemon, [DeviceUp(t=daemon.clock.now_us(), dev="wall-right")])
    live_of(daemon).test()
    assert daemon.faults.locking == ()
    unlocked(daemon)


def test_a_device_lost_during_play_does_not_lock_the_table(house: HouseMaker) -> None:
    one = house(self_test_devices=True)
    daemon = one.open()
    play(daemon, [*(DeviceUp(t=1_000, dev=name) for name in NAMES), DOOR])
    unlocked(daemon)
    play(daemon, [DeviceDown(t=daemon.clock.now_us(), dev="cam", code="unplugged")])
    daemon.clock.reach(daemon.clock.now_us() + 2 * DEVICES_WITHIN_US)
    live_of(daemon).test()
    drain(daemon)
    assert daemon.faults.locking == ()
    assert live_of(daemon).core.view.state.lock == "unlocked"


def test_wheel_settings_other_than_the_approved_ones_lock_the_table_until_they_match(
    house: HouseMaker,
) -> None:
    one = house(table="roulette-ss2")
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev="wheel")])
    unlocked(daemon)
    t = daemon.clock.now_us()
    play(daemon, [DeviceDown(t=t, dev="wheel", code="configuration", reason="m is 20000, approved 1.5")])
    assert [fault.code for fault in daemon.faults.locking] == ["device_configuration"]
    assert live_of(daemon).core.view.state.lock == "locked"
    play(daemon, [DeviceUp(t=daemon.clock.now_us(), dev="wheel")])
    assert daemon.faults.locking == ()


def test_a_failed_part_locks_the_table_until_a_person_has_inspected_it(house: HouseMaker) -> None:
    one = house(table="roulette-ss2")
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev="wheel")])
    unlocked(daemon)
    play(daemon, [DeviceFault(t=daemon.clock.now_us(), dev="wheel", code="component", reason="flag 4")])
    assert [fault.code for fault in daemon.faults.locking] == ["device_component"]
    assert live_of(daemon).core.view.state.lock == "locked"
    daemon.approve_devices()
    assert daemon.faults.locking == ()


def test_a_wheel_with_a_failed_part_stays_locked_when_another_of_its_faults_ends(house: HouseMaker) -> None:
    one = house(table="roulette-ss2")
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev="wheel")])
    unlocked(daemon)
    t = daemon.clock.now_us()
    play(daemon, [DeviceFault(t=t, dev="wheel", code="self_test_11", reason="self-test: sensor 1 stuck on")])
    (fault,) = daemon.faults.locking
    assert (fault.code, fault.kind.next_step.partition(" and ")[0]) == (
        "device_component",
        "clean ball sensor 1",
    )
    play(daemon, [DeviceFault(t=t + 1, dev="wheel", code="rotor_speed", reason="rotor at 95.3 rpm in play")])
    assert [fault.code for fault in daemon.faults.present] == ["device_component", "device_doubtful"]
    play(daemon, [DeviceUp(t=t + 2, dev="wheel")])
    assert [fault.code for fault in daemon.faults.present] == ["device_component"]
    play(daemon, [DeviceDown(t=t + 3, dev="wheel", code="silent"), DeviceUp(t=t + 4, dev="wheel")])
    assert daemon.faults.present == ()


def test_a_wheel_whose_settings_are_pending_is_reported_with_the_reason(house: HouseMaker) -> None:
    one = house(table="roulette-ss2")
    daemon = one.open()
    play(daemon, [DeviceDown(t=1_000, dev="wheel", code="unchecked", reason="not read back yet")])
    (fault,) = [fault for fault in daemon.faults.present if fault.code == "device_down"]
    assert "rotor has stopped" in fault.kind.next_step
    t = daemon.clock.now_us()
    play(daemon, [DeviceDown(t=t, dev="wheel", code="configuration", reason="m is 20000, approved is 1.5")])
    assert [fault.code for fault in daemon.faults.present if fault.where == "wheel"] == [
        "device_configuration"
    ]


def test_late_readings_are_reported_with_the_newest_figures(house: HouseMaker) -> None:
    daemon = house().open()
    devices = live_of(daemon).core.devices
    for count in range(8):
        devices.note_late(DieAt(t=0, dev="cam", die=1, x=0.0, y=0.0), 1_000 * (count + 1), count)
    (fault,) = [fault for fault in daemon.faults.present if fault.code == "readings_late"]
    assert fault.found == "8 readings, the last 8 ms too late to count"


def test_a_stuck_button_locks_the_table_until_it_is_released(house: HouseMaker) -> None:
    """Nobody calls these No Rolls, so they must not void the following throws."""
    daemon = house().open()
    unlocked(daemon)
    start = daemon.clock.now_us()
    says: list[AnyReading] = [
        Input(t=start + press * 200_000, dev="console", name="no_roll", by="boxperson")
        for press in range(STUCK_AFTER)
    ]
    play(daemon, says)
    (fault,) = daemon.faults.locking
    assert (fault.code, fault.where, fault.found) == (
        "button_stuck",
        "console",
        f"input no_roll sent {STUCK_AFTER} times without a pause",
    )
    assert live_of(daemon).core.view.state.lock == "locked"
    daemon.clock.reach(says[-1].t + FREE_AFTER_US + 1_000_000)
    drain(daemon)
    assert daemon.faults.present == ()
    live_of(daemon).test()
    unlocked(daemon)


def test_many_seats_pressing_at_once_are_not_a_stuck_button(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    start = daemon.clock.now_us()
    play(
        daemon,
        [
            Input(t=start + press * 50_000, dev="console", name="buy", by="player", seat=str(press % 14 + 1))
            for press in range(2 * STUCK_AFTER)
        ],
    )
    assert daemon.faults.present == ()


def test_repeated_presses_with_pauses_are_not_a_stuck_button(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    start = daemon.clock.now_us()
    play(
        daemon,
        [
            Input(t=start + press * 700_000, dev="console", name="no_roll", by="boxperson")
            for press in range(2 * STUCK_AFTER)
        ],
    )
    assert daemon.faults.present == ()


def test_a_device_with_named_switches_reports_each_one_that_locks(house: HouseMaker) -> None:
    devices = live_of(house().open()).core.devices
    wanted = {"console": None, "panel": frozenset({"door", "tamper"}), "shoe": frozenset[str]()}
    assert devices.unreported_switches(wanted, 0) == {"console": "any", "panel": "door, tamper"}
    devices.note(Switch(t=1, dev="panel", name="door", open=False))
    devices.note(Switch(t=2, dev="panel", name="key", open=False))
    devices.note(Switch(t=3, dev="console", name="key", open=False))
    assert devices.unreported_switches(wanted, 3) == {"panel": "tamper"}


def test_a_board_that_stays_up_without_reporting_a_switch_has_none(house: HouseMaker) -> None:
    """A table whose console has no switch must still be unlockable."""
    devices = live_of(house().open()).core.devices
    wanted: dict[str, frozenset[str] | None] = {"console": None}
    devices.note(DeviceUp(t=5, dev="console"))
    assert devices.unreported_switches(wanted, 5 + SWITCHES_WITHIN_US - 1) == {"console": "any"}
    assert devices.unreported_switches(wanted, 5 + SWITCHES_WITHIN_US) == {}
    devices.note(DeviceDown(t=20_000_000, dev="console", reason="unplugged", code="unplugged"))
    assert devices.unreported_switches(wanted, 40_000_000) == {"console": "any"}
