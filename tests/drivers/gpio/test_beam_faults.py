"""Tests of timed inputs that stick, chatter or miss an edge: faults without false readings."""

from controller.model.readings import (
    BallBeam,
    DeviceFault,
)
from drivers.device import ReadLevel
from tests.drivers.gpio.rig import SECOND, BeamsBench, beams, times, wheel_settings


def test_a_beam_that_stays_cut_is_a_fault_that_clears(wheel: BeamsBench) -> None:
    wheel.drive("beam-2", active=True)
    wheel.after(4_900_000)
    assert wheel.faults() == []
    wheel.after(300_000)
    (stuck,) = wheel.of(DeviceFault)
    assert stuck.code == "stuck"
    assert "beam-2 (GPIO7) has been active for 5.0 s" in stuck.reason
    wheel.after(60 * SECOND)
    assert len(wheel.faults()) == 1
    wheel.drive("beam-2", active=False)
    wheel.after(5000)
    assert wheel.health()[-1] == "DeviceUp up"
    assert wheel.of(BallBeam) == []


def test_a_beam_that_is_cut_when_the_table_starts_reports_no_ball() -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.kernel.active[5] = True
    bench.open().after(50_000)
    bench.drive("beam-0", active=False)
    bench.after(50_000)
    assert bench.of(BallBeam) == []
    bench.pulse("beam-0", 4000)
    bench.after(5000)
    assert len(bench.of(BallBeam)) == 1


def test_a_chattering_beam_is_a_fault_reports_nothing_and_delays_no_other(wheel: BeamsBench) -> None:
    wheel.after(100_000)
    start_us = wheel.time.us
    for n in range(1500):  # 1 kHz; each half period is longer than the debounce
        at_us = start_us + n * 1000
        if n == 700:
            wheel.pulse("beam-1", 400)
        wheel.drive("beam-0", active=n % 2 == 0, at_us=at_us)
    assert ("wheel", "babbling") in wheel.faults()
    told_before_it_was_known = [seen for seen in wheel.of(BallBeam) if seen.beam == 0]
    assert len(told_before_it_was_known) <= 4, "200 edges at 1 kHz, with a 50 ms hold-off"
    assert [seen.beam for seen in wheel.of(BallBeam) if seen.beam] == [1]
    wheel.drive("beam-0", active=False)
    wheel.after(2_500_000)
    assert wheel.health()[-1] == "DeviceUp up"
    count = len(wheel.of(BallBeam))
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == count + 1


def test_a_chattering_line_is_not_read_by_the_port(wheel: BeamsBench) -> None:
    at_us = wheel.time.us + 1000
    for n in range(250):
        wheel.drive("beam-0", active=n % 2 == 0, at_us=at_us + n * 500)
    wheel.turn()
    waiting = len(wheel.kernel.lines[5].edges)
    for n in range(50):
        wheel.drive("beam-0", active=n % 2 == 0, at_us=wheel.time.us + 500)
    assert len(wheel.kernel.lines[5].edges) > waiting, "edges wait in the kernel, not in the table's queue"
    wheel.after(400_000).turn()
    assert len(wheel.kernel.lines[5].edges) == 0


def test_a_chattering_line_is_polled_only_periodically(wheel: BeamsBench) -> None:
    looks = 0
    for n in range(900):
        wheel.kernel.drive(5, n % 2 == 0, wheel.time.us)
        wheel.time.us += 500
        wheel.reported += wheel.device.tick(wheel.time.us)
        orders = wheel.device.take_output()
        looks += orders.count(ReadLevel(5)) if n >= 205 else 0
        wheel.port.write(orders)
        wheel.port.wake()
        wheel.reported += wheel.device.receive(wheel.time.us, wheel.port.read())
    assert wheel.lines_babbling() == ["beam-0"]
    assert looks <= 1


def test_a_missed_edge_is_a_fault_and_inverts_nothing(wheel: BeamsBench) -> None:
    wheel.drive("beam-0", active=True)
    wheel.after(2000)
    wheel.kernel.miss(5, active=False)
    wheel.after(1_500_000)
    assert ("wheel", "missed_edge") in wheel.faults()
    assert wheel.of(BallBeam) == [], "it is unknown when the ball left the beam"
    began_us = wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert times(wheel.of(BallBeam)) == [began_us + 2000]


def test_a_level_ahead_of_its_edge_is_not_a_missed_edge(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 4000)
    wheel.kernel.miss(5, active=False)  # the level has changed, but its edge is still in transit
    wheel.turn()
    wheel.after(1000)
    wheel.kernel.lines[5].put(False, began_us + 4000)
    wheel.after(50_000)
    assert times(wheel.of(BallBeam)) == [began_us + 2000]
    assert wheel.faults() == []


def test_dropped_edges_are_a_fault(wheel: BeamsBench) -> None:
    wheel.reported += wheel.device.on_overflow(wheel.time.us, 1234)
    wheel.after(100_000)
    assert wheel.faults() == [("wheel", "lost_edges")] * len(wheel.faults())
    assert (
        "lost at most 1234 edges (the number discarded on all lines together)"
        in wheel.of(DeviceFault)[0].reason
    )
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == 1


def test_two_edges_in_one_direction_hide_a_missed_one(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 8000)
    wheel.kernel.miss(5, active=False)
    wheel.drive("beam-0", active=True, at_us=began_us + 9000)
    wheel.drive("beam-0", active=False, at_us=began_us + 15_000)
    wheel.after(5000)
    assert wheel.of(BallBeam) == [], "neither one pulse of 15 ms nor two with unseen ends"
    assert wheel.faults() == [("wheel", "missed_edge")]


def test_a_pulse_that_may_have_been_two_is_not_reported(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 2000)
    wheel.kernel.miss(5, active=False)
    wheel.drive("beam-0", active=True, at_us=began_us + 3000)
    wheel.drive("beam-0", active=False, at_us=began_us + 6000)
    wheel.after(5000)
    assert wheel.of(BallBeam) == []
    assert wheel.faults() == []


def test_bouncing_faster_than_the_hardware_is_not_a_fault(wheel: BeamsBench) -> None:
    """The kernel reads a line after its edge, so a rise and a fall within 20 us both look like falls."""
    fake = wheel.kernel.lines[5]
    for n in range(10):
        fake.put(False, wheel.time.us + n * 20)
    wheel.after(50_000)
    assert wheel.faults() == [("wheel", "missed_edge")], (
        "one report, because the first missed edge might hide a pulse of any length"
    )
    wheel.after(2 * SECOND)
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == 1
    assert wheel.health()[-1] == "DeviceUp up"
