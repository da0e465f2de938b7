"""Tests of the rotor's two sensors: passes, and directions if they are certain."""

import pytest

from controller.model.readings import (
    RotorIndex,
)
from tests.drivers.gpio.rig import SECOND, BeamsBench, timed, wheel_settings


def rotor(phase_first: str = "cw") -> BeamsBench:
    inputs = {"index": timed(20, "rotor_index"), "phase": timed(21, "rotor_phase")}
    bench = BeamsBench(wheel_settings(inputs, phase_first))
    bench.open().after(10_000)
    return bench


@pytest.mark.parametrize(("first", "second", "turns"), [("phase", "index", "cw"), ("index", "phase", "ccw")])
def test_the_order_of_the_two_index_sensors_shows_the_direction(first: str, second: str, turns: str) -> None:
    bench = rotor(phase_first="cw")
    began_us = bench.time.us
    bench.drive(first, active=True)
    bench.drive(second, active=True, at_us=began_us + 5000)
    bench.drive(first, active=False, at_us=began_us + 15_000)
    bench.drive(second, active=False, at_us=began_us + 20_000)
    bench.after(5000)
    (passed,) = bench.of(RotorIndex)
    middle_us = began_us + (12_500 if first == "phase" else 7500)
    assert (passed.direction, passed.t) == (turns, middle_us)
    assert bench.faults() == []


@pytest.mark.parametrize("stays", [True, False])
def test_a_dead_phase_sensor_is_a_fault_and_no_direction_is_guessed(stays: bool) -> None:
    bench = rotor()
    bench.drive("phase", active=stays)
    bench.after(SECOND)
    bench.pulse("index", 15_000)
    bench.after(5000)
    assert bench.of(RotorIndex) == []
    assert ("wheel", "direction_unclear") in bench.faults()
    bench.drive("phase", active=False)
    bench.after(SECOND)
    bench.drive("phase", active=True)
    bench.after(5000)
    bench.drive("index", active=True)
    bench.after(5000)
    bench.drive("phase", active=False)
    bench.after(5000)
    bench.drive("index", active=False)
    bench.after(5000)
    assert len(bench.of(RotorIndex)) == 1
    assert bench.health()[-1] == "DeviceUp up"


def test_a_pass_waits_until_both_sensors_have_reported_it_completely() -> None:
    inputs = {"index": timed(20, "rotor_index"), "phase": timed(21, "rotor_phase", debounce_us=2000)}
    bench = BeamsBench(wheel_settings(inputs, "cw"))
    bench.open().after(10_000)
    began_us = bench.time.us
    bench.drive("index", active=True)
    bench.drive("phase", active=True, at_us=began_us + 14_000)
    bench.drive("index", active=False, at_us=began_us + 15_000)
    bench.after(20_000)
    assert [passed.direction for passed in bench.of(RotorIndex)] == ["ccw"]


def test_a_chattering_phase_sensor_delays_no_verdict_on_the_pass() -> None:
    bench = rotor()
    start_us = bench.time.us
    for n in range(260):
        if n == 220:
            bench.drive("index", active=True)
        bench.drive("phase", active=n % 2 == 0, at_us=start_us + n * 300)
    bench.drive("index", active=False)
    bench.drive("phase", active=True)
    bench.after(2000)
    assert bench.of(RotorIndex) == []
    assert ("wheel", "direction_unclear") in bench.faults()


def test_a_rotor_that_reverses_under_the_sensors_reports_no_direction() -> None:
    bench = rotor()
    began_us = bench.time.us
    bench.drive("index", active=True)
    bench.drive("phase", active=True, at_us=began_us + 5000)
    bench.drive("phase", active=False, at_us=began_us + 15_000)
    bench.drive("index", active=False, at_us=began_us + 20_000)
    bench.after(5000)
    assert bench.of(RotorIndex) == []
    assert ("wheel", "direction_unclear") in bench.faults()


def test_index_edges_too_close_to_the_phase_sensors_show_no_direction() -> None:
    bench = rotor()
    began_us = bench.time.us
    bench.drive("phase", active=True)
    bench.drive("index", active=True, at_us=began_us + 100)
    bench.drive("phase", active=False, at_us=began_us + 15_000)
    bench.drive("index", active=False, at_us=began_us + 20_000)
    bench.after(5000)
    assert bench.of(RotorIndex) == []


def test_a_rotor_parked_under_the_sensor_is_not_a_fault_and_its_start_is_not_a_pass() -> None:
    bench = rotor()
    bench.drive("index", active=True)
    bench.after(600 * SECOND)
    assert bench.faults() == []
    bench.drive("index", active=False)
    bench.after(5000)
    assert bench.of(RotorIndex) == []
