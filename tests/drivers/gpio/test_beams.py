"""Timed inputs: what the ball, the rotor and the dice did, and never more than that."""

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
    RotorIndex,
    WallImpact,
)
from tests.drivers.gpio.rig import SECOND, BeamsBench, beams, timed, times, wheel_settings


@pytest.fixture
def wheel() -> BeamsBench:
    """Three beams and a drop sensor, open and well."""
    inputs = {**beams(3), "drop": timed(12, "ball_drop")}
    bench = BeamsBench(wheel_settings(inputs))
    bench.open().after(10_000)
    return bench


def rotor(phase_first: str = "cw") -> BeamsBench:
    inputs = {"index": timed(20, "rotor_index"), "phase": timed(21, "rotor_phase")}
    bench = BeamsBench(wheel_settings(inputs, phase_first))
    bench.open().after(10_000)
    return bench


def test_a_device_is_down_until_its_lines_are_known() -> None:
    bench = BeamsBench(wheel_settings(beams(2)))
    bench.told += bench.device.start(bench.time.us)
    assert bench.health() == ["DeviceDown starting"]
    bench.open().after(1000)
    assert bench.health()[-1] == "DeviceUp up"


def test_a_device_is_up_only_when_every_line_has_been_looked_at() -> None:
    device = BeamsBench(wheel_settings(beams(2))).device
    device.start(1000)
    device.opened(1000)
    assert device.receive(2000, b"level 5 0 2000\n") == []
    (up,) = device.receive(3000, b"level 6 0 3000\n")
    assert isinstance(up, DeviceUp)


def test_what_was_wrong_while_it_was_down_is_told_again_when_it_is_up() -> None:
    device = BeamsBench(wheel_settings(beams(1))).device
    device.start(1000)
    device.opened(1000)
    told = [*device.receive(2000, b"nonsense\n"), *device.receive(3000, b"level 5 0 3000\n")]
    assert [type(reading) for reading in told] == [DeviceFault, DeviceUp, DeviceFault]


def test_the_ball_cuts_a_beam_and_is_told_once_at_the_middle_of_its_pulse(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-1", 6000)
    wheel.after(5000)
    (seen,) = wheel.of(BallBeam)
    assert (seen.beam, seen.t, seen.dev) == (1, began_us + 3000, "wheel")
    assert seen.arrived is not None
    assert seen.arrived >= began_us + 6000


def test_an_object_is_told_at_its_first_moment_while_it_is_still_there() -> None:
    bench = BeamsBench(wheel_settings({"felt": timed(9, "foreign_object", fields={"where": "felt"})}))
    bench.open().after(1000)
    entered_us = bench.time.us
    bench.drive("felt", active=True)
    bench.after(5000)
    (seen,) = bench.of(ForeignObject)
    assert (seen.t, seen.where) == (entered_us, "felt")


def test_a_ball_that_glints_in_the_middle_of_a_slow_pass_is_told_once(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-0", 8000)
    wheel.after(1500)
    wheel.pulse("beam-0", 8000)
    wheel.after(10_000)
    assert times(wheel.of(BallBeam)) == [began_us + 4000]
    assert wheel.beams.doubled["beam-0"] == 1


@pytest.mark.parametrize("rev_per_s", [0.4, 1.0, 2.5, 4.0])
@pytest.mark.parametrize("count", [2, 5])
def test_no_pulse_of_a_real_ball_is_swallowed(rev_per_s: float, count: int) -> None:
    """A ball of 20 mm on a circle of 390 mm, its chord through the beam 12 mm only."""
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


def test_a_spike_is_no_pulse_and_hides_none(wheel: BeamsBench) -> None:
    for _ in range(5):
        wheel.pulse("beam-0", 100)
        wheel.after(50)
    assert wheel.of(BallBeam) == []
    began_us = wheel.pulse("beam-0", 3000)
    wheel.after(5000)
    assert times(wheel.of(BallBeam)) == [began_us + 1500]


def test_a_hand_over_a_beam_is_no_ball(wheel: BeamsBench) -> None:
    wheel.pulse("beam-0", 900_000)
    wheel.after(SECOND)
    assert wheel.of(BallBeam) == []
    assert wheel.faults() == []


def test_edges_that_the_kernel_dropped_are_a_fault_and_no_count(wheel: BeamsBench) -> None:
    wheel.kernel.lines[5].edges = deque(maxlen=16)  # what a kernel keeps where nobody asks for more
    wheel.pulse("beam-0", 3000)
    wheel.after(50_000)
    starved_us = wheel.time.us
    for n in range(12):  # the reader does not run: 24 edges
        wheel.kernel.drive(5, True, starved_us + n * 100_000)
        wheel.kernel.drive(5, False, starved_us + n * 100_000 + 4000)
    wheel.time.us = starved_us + 1_200_000
    wheel.turn()
    wheel.after(5000)
    (lost,) = wheel.of(DeviceFault)
    assert lost.code == "lost_edges"
    assert "beam-0 (GPIO5) lost 8 edges" in lost.reason
    told = times(wheel.of(BallBeam))[1:]
    assert told == [starved_us + n * 100_000 + 2000 for n in range(5, 12)], "after the first whole pulse"


def test_a_loss_bears_the_time_from_which_edges_are_missing(wheel: BeamsBench) -> None:
    began_us = wheel.pulse("beam-0", 3000)
    wheel.after(20_000)
    wheel.kernel.lines[5].seq += 2
    wheel.pulse("beam-0", 3000)
    (lost,) = wheel.of(DeviceFault)
    assert lost.t == began_us + 3000 + 1
    assert len(wheel.of(BallBeam)) == 1, "what began in the gap is not known, and not told"
    wheel.after(70_000)
    wheel.pulse("beam-0", 3000)
    wheel.after(SECOND + 100_000)
    assert len(wheel.of(BallBeam)) == 2
    assert wheel.health()[-2:] == ["DeviceFault lost_edges", "DeviceUp up"]


def test_a_loss_long_ago_bears_a_time_that_the_table_still_takes(wheel: BeamsBench) -> None:
    wheel.after(30 * SECOND)
    wheel.kernel.lines[5].seq += 1
    wheel.drive("beam-0", active=True)
    (lost,) = wheel.of(DeviceFault)
    assert lost.t == wheel.time.us - 100_000


def test_losses_that_go_on_are_told_again_but_not_every_time(wheel: BeamsBench) -> None:
    for _ in range(40):
        wheel.kernel.lines[5].seq += 1
        wheel.pulse("beam-0", 3000)
        wheel.after(7000)
    assert 4 <= len(wheel.faults()) <= 9
    assert wheel.of(BallBeam) == []


def test_only_the_wall_that_lost_edges_is_unwell() -> None:
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


def test_a_beam_that_stays_cut_is_a_fault_and_heals(wheel: BeamsBench) -> None:
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


def test_a_beam_that_is_cut_when_the_table_starts_tells_no_ball() -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.kernel.active[5] = True
    bench.open().after(50_000)
    bench.drive("beam-0", active=False)
    bench.after(50_000)
    assert bench.of(BallBeam) == []
    bench.pulse("beam-0", 4000)
    bench.after(5000)
    assert len(bench.of(BallBeam)) == 1


def test_a_babbling_beam_is_a_fault_tells_nothing_and_drowns_nobody(wheel: BeamsBench) -> None:
    wheel.after(100_000)
    start_us = wheel.time.us
    for n in range(1500):  # 1 kHz, each half of it longer than the debounce
        at_us = start_us + n * 1000
        if n == 700:
            wheel.pulse("beam-1", 400)
        wheel.drive("beam-0", active=n % 2 == 0, at_us=at_us)
    assert ("wheel", "babbling") in wheel.faults()
    told_before_it_was_known = [seen for seen in wheel.of(BallBeam) if seen.beam == 0]
    assert len(told_before_it_was_known) <= 4, "200 edges at 1 kHz, and a hold-off of 50 ms"
    assert [seen.beam for seen in wheel.of(BallBeam) if seen.beam] == [1]
    wheel.drive("beam-0", active=False)
    wheel.after(2_500_000)
    assert wheel.health()[-1] == "DeviceUp up"
    count = len(wheel.of(BallBeam))
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == count + 1


def test_a_babbling_line_is_left_alone_by_the_port(wheel: BeamsBench) -> None:
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


def test_a_babbling_line_is_looked_at_on_the_rounds_only(wheel: BeamsBench) -> None:
    looks = 0
    for n in range(900):
        wheel.kernel.drive(5, n % 2 == 0, wheel.time.us)
        wheel.time.us += 500
        wheel.told += wheel.device.tick(wheel.time.us)
        orders = wheel.device.take_output()
        looks += orders.count(b"look 5\n") if n >= 205 else 0
        wheel.port.write(orders)
        wheel.port.wake()
        wheel.told += wheel.device.receive(wheel.time.us, wheel.port.read())
    assert wheel.lines_babbling() == ["beam-0"]
    assert looks <= 1


def test_a_missed_edge_is_a_fault_and_inverts_nothing(wheel: BeamsBench) -> None:
    wheel.drive("beam-0", active=True)
    wheel.after(2000)
    wheel.kernel.miss(5, active=False)
    wheel.after(1_500_000)
    assert ("wheel", "missed_edge") in wheel.faults()
    assert wheel.of(BallBeam) == [], "when the ball left the beam nobody saw"
    began_us = wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert times(wheel.of(BallBeam)) == [began_us + 2000]


def test_a_level_that_is_ahead_of_its_edge_is_no_missed_edge(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 4000)
    wheel.kernel.miss(5, active=False)  # the level has changed, its edge is still on its way
    wheel.turn()
    wheel.after(1000)
    wheel.kernel.lines[5].put(False, began_us + 4000)
    wheel.after(50_000)
    assert times(wheel.of(BallBeam)) == [began_us + 2000]
    assert wheel.faults() == []


def test_bytes_thrown_away_on_the_way_are_a_fault(wheel: BeamsBench) -> None:
    wheel.told += wheel.device.overflowed(wheel.time.us, 1234)
    wheel.after(100_000)
    assert wheel.faults() == [("wheel", "lost_edges")] * len(wheel.faults())
    assert "lost 1234 bytes" in wheel.of(DeviceFault)[0].reason
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == 1


@pytest.mark.parametrize(("first", "second", "turns"), [("phase", "index", "cw"), ("index", "phase", "ccw")])
def test_the_order_of_the_two_index_sensors_tells_the_direction(first: str, second: str, turns: str) -> None:
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


def test_a_pass_waits_until_both_sensors_have_said_all_of_it() -> None:
    inputs = {"index": timed(20, "rotor_index"), "phase": timed(21, "rotor_phase", debounce_us=2000)}
    bench = BeamsBench(wheel_settings(inputs, "cw"))
    bench.open().after(10_000)
    began_us = bench.time.us
    bench.drive("index", active=True)
    bench.drive("phase", active=True, at_us=began_us + 14_000)
    bench.drive("index", active=False, at_us=began_us + 15_000)
    bench.after(20_000)
    assert [passed.direction for passed in bench.of(RotorIndex)] == ["ccw"]


def test_a_babbling_phase_sensor_holds_up_no_verdict_on_the_pass() -> None:
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


def test_a_rotor_that_turns_over_under_the_sensors_tells_no_direction() -> None:
    bench = rotor()
    began_us = bench.time.us
    bench.drive("index", active=True)
    bench.drive("phase", active=True, at_us=began_us + 5000)
    bench.drive("phase", active=False, at_us=began_us + 15_000)
    bench.drive("index", active=False, at_us=began_us + 20_000)
    bench.after(5000)
    assert bench.of(RotorIndex) == []
    assert ("wheel", "direction_unclear") in bench.faults()


def test_index_edges_too_close_to_the_phase_sensors_tell_no_direction() -> None:
    bench = rotor()
    began_us = bench.time.us
    bench.drive("phase", active=True)
    bench.drive("index", active=True, at_us=began_us + 100)
    bench.drive("phase", active=False, at_us=began_us + 15_000)
    bench.drive("index", active=False, at_us=began_us + 20_000)
    bench.after(5000)
    assert bench.of(RotorIndex) == []


def test_a_rotor_parked_under_the_sensor_is_no_fault_and_its_start_no_pass() -> None:
    bench = rotor()
    bench.drive("index", active=True)
    bench.after(600 * SECOND)
    assert bench.faults() == []
    bench.drive("index", active=False)
    bench.after(5000)
    assert bench.of(RotorIndex) == []


def test_the_pocket_reader_tells_when_the_ball_was_under_it() -> None:
    bench = BeamsBench(wheel_settings({"reader": timed(22, "pocket_ball")}))
    bench.open().after(1000)
    began_us = bench.pulse("reader", 50_000)
    bench.after(5000)
    assert times(bench.of(PocketBall)) == [began_us + 25_000]


def test_the_drop_is_told_at_once_and_once(wheel: BeamsBench) -> None:
    dropped_us = wheel.time.us
    wheel.drive("drop", active=True)
    wheel.after(5000)
    assert times(wheel.of(BallDrop)) == [dropped_us]
    wheel.drive("drop", active=False)
    wheel.after(100_000)
    wheel.pulse("drop", 3000)
    wheel.after(5000)
    assert times(wheel.of(BallDrop)) == [dropped_us]


def test_a_thread_that_hangs_takes_the_device_down_and_opens_it_anew(wheel: BeamsBench) -> None:
    start_us = wheel.time.us
    told = []
    for n in range(30):
        told += wheel.device.tick(start_us + n * 100_000)
    (down,) = told
    assert isinstance(down, DeviceDown)
    assert down.code == "silent"
    assert wheel.device.take_reopen()
    assert not wheel.device.take_reopen()
    assert wheel.device.take_output() == b""


def test_lines_opened_anew_begin_anew(wheel: BeamsBench) -> None:
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    wheel.drive("beam-1", active=True)
    wheel.close()
    assert isinstance(wheel.told[-1], DeviceDown)
    wheel.kernel.active.clear()
    wheel.port.open()
    wheel.told += wheel.device.opened(wheel.time.us)
    wheel.after(50_000)
    assert wheel.health()[-1] == "DeviceUp up"
    wheel.pulse("beam-1", 4000)
    wheel.after(5000)
    assert [seen.beam for seen in wheel.of(BallBeam)] == [0, 1]
    assert wheel.faults() == []


def test_a_sentence_that_is_none_is_a_fault_of_the_controller(wheel: BeamsBench) -> None:
    wheel.told += wheel.device.receive(wheel.time.us, b"edge 5 2 1 1\nedge 99 1 1 1\nedge 5 1\n\xff\n")
    (fault,) = wheel.of(DeviceFault)
    assert fault.code == "bad_sentence"
    assert wheel.device.status()["bad_sentences"] == 4


def test_status_tells_a_technician_what_each_line_sees(wheel: BeamsBench) -> None:
    wheel.drive("beam-0", active=True)
    wheel.after(5000)
    lines = wheel.device.status()["lines"]
    assert isinstance(lines, dict)
    assert lines["beam-0"]["active"] is True
    assert lines["beam-1"]["active"] is False


def test_two_edges_in_one_direction_hide_a_missed_one(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 8000)
    wheel.kernel.miss(5, active=False)
    wheel.drive("beam-0", active=True, at_us=began_us + 9000)
    wheel.drive("beam-0", active=False, at_us=began_us + 15_000)
    wheel.after(5000)
    assert wheel.of(BallBeam) == [], "neither one pulse of 15 ms nor two that nobody saw the ends of"
    assert wheel.faults() == [("wheel", "missed_edge")]


def test_a_pulse_that_may_have_been_two_for_a_moment_is_not_told(wheel: BeamsBench) -> None:
    began_us = wheel.time.us
    wheel.drive("beam-0", active=True)
    wheel.to(began_us + 2000)
    wheel.kernel.miss(5, active=False)
    wheel.drive("beam-0", active=True, at_us=began_us + 3000)
    wheel.drive("beam-0", active=False, at_us=began_us + 6000)
    wheel.after(5000)
    assert wheel.of(BallBeam) == []
    assert wheel.faults() == []


def test_bouncing_faster_than_the_hardware_is_no_fault(wheel: BeamsBench) -> None:
    """The kernel reads a line after its edge: a rise and a fall in 20 us both look like falls."""
    fake = wheel.kernel.lines[5]
    for n in range(10):
        fake.put(False, wheel.time.us + n * 20)
    wheel.after(50_000)
    assert wheel.faults() == [("wheel", "missed_edge")], "told once: the first may hide a pulse of any length"
    wheel.after(2 * SECOND)
    wheel.pulse("beam-0", 4000)
    wheel.after(5000)
    assert len(wheel.of(BallBeam)) == 1
    assert wheel.health()[-1] == "DeviceUp up"
