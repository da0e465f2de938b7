"""The inlet: order of arrival, time that never runs ahead, and an overflow that is marked in the readings."""

import threading

from controller.app.inlet import Inlet, NextReading
from controller.model.readings import AnyReading, BallBeam, DeviceDown, DeviceUp
from tests.app.house import ManualClock
from tests.app.rig import PATIENCE_S


def beam(t: int, arrived: int | None = None, dev: str = "wheel") -> BallBeam:
    return BallBeam(t=t, dev=dev, beam=1, arrived=arrived)


def taken(inlet: Inlet) -> list[AnyReading]:
    readings: list[AnyReading] = []
    while (reading := inlet.take(0).reading) is not None:
        readings.append(reading)
    return readings


def test_a_reading_is_timestamped_with_its_arrival_and_keeps_its_own_time() -> None:
    clock = ManualClock()
    inlet = Inlet(clock)
    clock.us = 500
    inlet.post(beam(420))
    inlet.post(beam(0), has_time=False)
    assert [(reading.t, reading.arrived) for reading in taken(inlet)] == [(420, 500), (500, 500)]


def test_the_inlet_returns_the_time_only_when_nothing_waits_and_it_never_goes_back() -> None:
    clock = ManualClock()
    inlet = Inlet(clock)
    clock.us = 900
    assert inlet.take(0) == NextReading(None, 900)
    clock.us = 800
    inlet.post(beam(0), has_time=False)
    assert inlet.take(0).now_us == 900


def test_a_wake_ends_the_wait_of_the_current_or_the_next_take() -> None:
    inlet = Inlet(ManualClock())
    taken_at: list[NextReading] = []
    core = threading.Thread(target=lambda: taken_at.append(inlet.take(PATIENCE_S)))
    core.start()
    inlet.wake()
    core.join(PATIENCE_S / 2)
    assert taken_at == [NextReading(None, 0)]
    assert inlet.take(0).reading is None
    assert not inlet._woken, "a wake-up must end only one wait"


def test_an_overflow_marks_the_affected_device_down_where_readings_were_lost() -> None:
    clock = ManualClock()
    heard: list[bool] = []
    inlet = Inlet(clock, capacity=2, overflowed=lambda: heard.append(True))
    for t in (10, 20, 30, 40):
        clock.us = t
        inlet.post(beam(t))
    clock.us = 45
    inlet.post(beam(45, dev="cam"))
    assert len(heard) == 3
    clock.us = 50
    first, second, *rest = taken(inlet)
    assert (first.t, second.t) == (10, 20)
    down_wheel, down_cam, up_wheel, up_cam = rest
    assert isinstance(down_wheel, DeviceDown)
    assert (down_wheel.dev, down_wheel.t, down_wheel.arrived, down_wheel.code) == (
        "wheel",
        30,
        30,
        "inlet_overflow",
    )
    assert down_wheel.reason.startswith("2 readings lost")
    assert isinstance(down_cam, DeviceDown)
    assert down_cam.reason.startswith("1 reading lost")
    assert [type(up_wheel), type(up_cam)] == [DeviceUp, DeviceUp]
    assert taken(inlet) == []


def test_a_device_whose_down_reading_was_lost_stays_down() -> None:
    clock = ManualClock()
    inlet = Inlet(clock, capacity=1)
    inlet.post(beam(1))
    inlet.post(DeviceDown(t=2, dev="wheel"))
    assert [type(reading) for reading in taken(inlet)] == [BallBeam, DeviceDown]


def test_a_sender_of_simulated_readings_waits_for_room_instead_of_losing_any() -> None:
    inlet = Inlet(ManualClock(), capacity=1)
    inlet.post(beam(1, arrived=1))
    assert not inlet.post_patiently(beam(2, arrived=2), 0)
    sender = threading.Thread(target=inlet.post_patiently, args=(beam(2, arrived=2), PATIENCE_S))
    sender.start()
    assert inlet.take(0).now_us == 1
    sender.join(PATIENCE_S)
    assert [reading.t for reading in taken(inlet)] == [2]
