"""The self-test waits for the devices that the table's file names, and says which is missing, and why."""

from controller.app.running import DEVICES_WITHIN_US
from controller.model.readings import DeviceDown, DeviceFault, DeviceUp
from tests.app.house import HouseMaker, drain, live_of, play, unlocked

NAMES = ("cam", "wall-left", "wall-right", "console")


def test_play_waits_for_every_device_and_names_the_missing_one(house: HouseMaker) -> None:
    one = house(self_test_devices=True)
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev=name) for name in NAMES if name != "wall-right"])
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


def test_a_device_that_goes_away_in_play_does_not_lock_the_table(house: HouseMaker) -> None:
    one = house(self_test_devices=True)
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev=name) for name in NAMES])
    unlocked(daemon)
    play(daemon, [DeviceDown(t=daemon.clock.now_us(), dev="cam", code="unplugged")])
    daemon.clock.reach(daemon.clock.now_us() + 2 * DEVICES_WITHIN_US)
    live_of(daemon).test()
    drain(daemon)
    assert daemon.faults.locking == ()
    assert live_of(daemon).core.view.state.lock == "unlocked"


def test_settings_that_are_not_the_approved_ones_lock_until_they_are(house: HouseMaker) -> None:
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


def test_a_failed_part_locks_until_a_person_has_looked(house: HouseMaker) -> None:
    one = house(table="roulette-ss2")
    daemon = one.open()
    play(daemon, [DeviceUp(t=1_000, dev="wheel")])
    unlocked(daemon)
    play(daemon, [DeviceFault(t=daemon.clock.now_us(), dev="wheel", code="component", reason="flag 4")])
    assert [fault.code for fault in daemon.faults.locking] == ["device_component"]
    assert live_of(daemon).core.view.state.lock == "locked"
    daemon.approve_devices()
    assert daemon.faults.locking == ()
