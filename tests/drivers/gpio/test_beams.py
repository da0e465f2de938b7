"""Tests of the readings of timed inputs."""

from collections import deque

import pytest

from controller.model.readings import (
    BallBeam,
    BallDrop,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    ForeignObject,
    PocketBall,
    WallImpact,
)
from drivers.device import Level
from tests.drivers.gpio.rig import SECOND, BeamsBench, beams, timed, times, wheel_settings


def test_a_device_is_down_until_its_lines_are_known() -> None:
    bench = BeamsBench(wheel_settings(beams(2)))
    bench.reported += bench.device.start(bench.time.us)
    assert bench.health() == ["DeviceDown starting"]
    bench.open().after(1000)
    assert bench.health()[-1] == "DeviceUp up"


def test_a_device_is_up_only_when_every_line_has_been_read() -> None:
    device = BeamsBench(wheel_settings(beams(2))).device
    device.start(1000)
    device.on_open(1000)
    assert device.receive(2000, (Level(5, False, 2000),)) == []
    (up,) = device.receive(3000, (Level(6, False, 3000),))
    assert isinstance(up, DeviceUp)


def test_a_fault_from_while_the_device_was_down_is_reported_again_when_it_is_up() -> None:
    device = BeamsBench(wheel_settings(beams(1))).device
    device.start(1000)
    device.on_open(1000)
    reported = [*device.on_overflow(2000, 7), *device.receive(3000, (Level(5, False, 3000),))]
    assert [type(reading) for reading in reported] == [DeviceFault, DeviceUp, DeviceFault]


def test_a_ball_that_cuts_a_beam_is_reported_once_at_the_middle_of_its_pulse(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-1", 6000)
    wheel.after(5000)
    (seen,) = wheel.of(BallBeam)
    assert (seen.beam, seen.t, seen.dev) == (1, began_us + 3000, "wheel")
    assert seen.arrived is not None
    assert seen.arrived >= began_us + 6000


def test_an_object_is_reported_with_its_first_time_while_it_is_still_there() -> None:
    bench = BeamsBench(wheel_settings({"felt": timed(9, "foreign_object", fields={"where": "felt"})}))
    bench.open().after(1000)
    entered_us = bench.time.us
    bench.drive("felt", active=True)
    bench.after(5000)
    (seen,) = bench.of(ForeignObject)
    assert (seen.t, seen.where) == (entered_us, "felt")


def test_a_ball_that_glints_in_the_middle_of_a_slow_pass_is_reported_once(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-0", 8000)
    wheel.after(1500)
    wheel.pulse("beam-0", 8000)
    wheel.after(10_000)
    assert times(wheel.of(BallBeam)) == [began_us + 4000]
    assert wheel.beams.doubled["beam-0"] == 1


@pytest.mark.parametrize("rev_per_s", [0.4, 1.0, 2.5, 4.0])
@pytest.mark.parametrize("count", [2, 5])
def test_no_pulse_of_a_real_ball_is_lost(rev_per_s: float, count: int) -> None:
    """A 20 mm ball on a 390 mm circle cuts the beam with a chord of only 12 mm."""
    bench = BeamsBench(wheel_settings(beams(count)))
    bench.open().after(1000)
    lap_us = round(SECOND / rev_per_s)
    pulse_us = round(12 / (2 * 3.14159 * 390 * rev_per_s) * SECOND)
    first_us = bench.time.us + 1000
    passes = 0
    for lap in range(4):
        for beam in range(count):
            bench.to(first_us + lap * lap_us + beam * lap_us // count)
            bench.pulse(f"beam-{beam}", pulse_us)
            passes += 1
    bench.after(20_000)
    assert [seen.beam for seen in bench.of(BallBeam)] == [n % count for n in range(passes)]


def test_a_spike_is_not_a_pulse_and_hides_none(wheel: BeamsBench) -> None:
    for _ in range(5):
        wheel.pulse("beam-0", 100)
        wheel.after(50)
    assert wheel.of(BallBeam) == []
    began_us = wheel.pulse("beam-0", 3000)
    wheel.after(5000)
    assert times(wheel.of(BallBeam)) == [began_us + 1500]


def test_a_hand_over_a_beam_is_not_a_ball(wheel: BeamsBench) -> None:
    wheel.pulse("beam-0", 900_000)
    wheel.after(SECOND)
    assert wheel.of(BallBeam) == []
    assert wheel.faults() == []


def test_edges_dropped_by_the_kernel_are_a_fault_and_not_counted(wheel: BeamsBench) -> None:
    wheel.kernel.lines[5].edges = deque(maxlen=16)  # the kernel's default buffer size
    wheel.pulse("beam-0", 3000)
    wheel.after(50_000)
    starved_us = wheel.time.us
    for n in range(12):  # the reader is not running: 24 edges
        wheel.kernel.drive(5, True, starved_us + n * 100_000)
        wheel.kernel.drive(5, False, starved_us + n * 100_000 + 4000)
    wheel.time.us = starved_us + 1_200_000
    wheel.turn()
    wheel.after(5000)
    (lost,) = wheel.of(DeviceFault)
    assert lost.code == "lost_edges"
    assert "beam-0 (GPIO5) lost 8 edges" in lost.reason
    reported = times(wheel.of(BallBeam))[1:]
    assert reported == [starved_us + n * 100_000 + 2000 for n in range(5, 12)], (
        "pulses are reported from the first complete pulse on"
    )


def test_a_loss_carries_the_time_from_which_edges_are_missing(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-0", 3000)
    wheel.after(20_000)
    wheel.kernel.lines[5].seq += 2
    wheel.pulse("beam-0", 3000)
    (lost,) = wheel.of(DeviceFault)
    assert lost.t == began_us + 3000 + 1
    assert len(wheel.of(BallBeam)) == 1, "a pulse that began in the gap must not be reported"
    wheel.after(70_000)
    wheel.pulse("beam-0", 3000)
    wheel.after(SECOND + 100_000)
    assert len(wheel.of(BallBeam)) == 2
    assert wheel.health()[-2:] == ["DeviceFault lost_edges", "DeviceUp up"]


def test_a_loss_long_ago_carries_a_time_that_the_table_still_accepts(wheel: BeamsBench) -> None:
    wheel.after(30 * SECOND)
    wheel.kernel.lines[5].seq += 1
    wheel.drive("beam-0", active=True)
    (lost,) = wheel.of(DeviceFault)
    assert lost.t == wheel.time.us - 100_000
    assert "beam-0 (GPIO5) lost one edge" in lost.reason


def test_continuing_losses_are_reported_again_but_not_every_time(wheel: BeamsBench) -> None:
    for _ in range(40):
        wheel.kernel.lines[5].seq += 1
        wheel.pulse("beam-0", 3000)
        wheel.after(7000)
    assert 4 <= len(wheel.faults()) <= 9
    assert wheel.of(BallBeam) == []


def test_only_the_wall_that_lost_edges_is_faulty() -> None:
    walls = {
        name: timed(
            line,
            "wall_impact",
            debounce_us=0,
            dev=f"wall-{name}",
            fields={"wall": name, "pos_mm": 500, "peak": 900},
        )
        for name, line in (("left", 16), ("right", 17))
    }
    bench = BeamsBench(wheel_settings(walls))
    bench.open().after(1000)
    hit_us = bench.time.us
    bench.pulse("left", 300)
    bench.kernel.lines[17].seq += 1
    bench.pulse("right", 300)
    (impact,) = bench.of(WallImpact)
    assert (impact.t, impact.dev, impact.wall, impact.pos_mm, impact.peak) == (
        hit_us,
        "wall-left",
        "left",
        500,
        900,
    )
    assert bench.faults() == [("wall-right", "lost_edges")]
    ups = [up.dev for up in bench.of(DeviceUp)]
    assert ups == ["wheel", "wall-left", "wall-right"]


def test_two_dice_ten_milliseconds_apart_make_two_impacts_and_ringing_one() -> None:
    fields = {"wall": "left", "pos_mm": 500, "peak": 900}
    bench = BeamsBench(wheel_settings({"left": timed(16, "wall_impact", debounce_us=0, fields=fields)}))
    bench.open().after(1000)
    first_us = bench.time.us
    for _ in range(4):
        bench.pulse("left", 150)
        bench.after(250)
    bench.to(first_us + 10_000)
    bench.pulse("left", 150)
    assert times(bench.of(WallImpact)) == [first_us, first_us + 10_000]


def test_the_pocket_reader_reports_when_the_ball_was_under_it() -> None:
    bench = BeamsBench(wheel_settings({"reader": timed(22, "pocket_ball")}))
    bench.open().after(1000)
    began_us = bench.pulse("reader", 50_000)
    bench.after(5000)
    assert times(bench.of(PocketBall)) == [began_us + 25_000]


def test_the_drop_is_reported_at_once_and_once(wheel: BeamsBench) -> None:
    dropped_us = wheel.time.us
    wheel.drive("drop", active=True)
    wheel.after(5000)
    assert times(wheel.of(BallDrop)) == [dropped_us]
    wheel.drive("drop", active=False)
    wheel.after(100_000)
    wheel.pulse("drop", 3000)
    wheel.after(5000)
    assert times(wheel.of(BallDrop)) == [dropped_us]


def test_a_thread_that_hangs_takes_the_device_down_and_reopens_it(wheel: BeamsBench) -> None:
    start_us = wheel.time.us
    readings = []
    for n in range(30):
        readings += wheel.device.tick(start_us + n * 100_000)
    (down,) = readings
    assert isinstance(down, DeviceDown)
    assert down.code == "silent"
    assert wheel.device.take_reopen()
    assert not wheel.device.take_reopen()
    assert wheel.device.take_output() == ()


def test_reopened_lines_start_from_an_unknown_state(wheel: BeamsBench) -> None:
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    wheel.drive("beam-1", active=True)
    wheel.close()
    assert isinstance(wheel.reported[-1], DeviceDown)
    wheel.kernel.active.clear()
    wheel.port.open()
    wheel.reported += wheel.device.on_open(wheel.time.us)
    wheel.after(50_000)
    assert wheel.health()[-1] == "DeviceUp up"
    wheel.pulse("beam-1", 4000)
    wheel.after(5000)
    assert [seen.beam for seen in wheel.of(BallBeam)] == [0, 1]
    assert wheel.faults() == []


def test_the_status_shows_a_technician_the_state_of_each_line(wheel: BeamsBench) -> None:
    wheel.drive("beam-0", active=True)
    wheel.after(5000)
    lines = wheel.device.status()["lines"]
    assert isinstance(lines, dict)
    assert lines["beam-0"]["active"] is True
    assert lines["beam-1"]["active"] is False
