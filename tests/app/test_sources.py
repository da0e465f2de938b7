"""Readings from scripts over every kind of source: their times, and bad lines, which are skipped."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.app.faults import ActiveFaults
from controller.app.inlet import MAX_LINE, Inlet, JsonLines, Mapper
from controller.model.readings import AnyReading, BallBeam
from tests.app.house import ManualClock
from tests.app.rig import PATIENCE_S, until

BEAM = b'{"kind":"ball_beam","dev":"wheel","beam":1}\n'


class Bench:
    """A source on an inlet, with a manual clock."""

    def __init__(self, path: Path, *, data_time: bool = False) -> None:
        self.clock = ManualClock()
        self.faults = ActiveFaults()
        self.inlet = Inlet(self.clock)
        self.source = JsonLines(str(path), self.faults, self.clock.now_us, data_time=data_time)

    def next(self) -> AnyReading:
        """Return the next reading, after a wait if necessary."""
        reading = self.inlet.take(PATIENCE_S).reading
        assert reading is not None
        return reading

    @property
    def codes(self) -> list[str]:
        return [fault.code for fault in self.faults.present]


@contextmanager
def bench(path: Path, *, data_time: bool = False) -> Iterator[Bench]:
    one = Bench(path, data_time=data_time)
    one.source.start(one.inlet)
    try:
        yield one
    finally:
        assert one.source.stop(PATIENCE_S)


@contextmanager
def fifo(path: Path) -> Iterator[int]:
    """Write to a FIFO that the source has made."""
    until(path.exists, "the FIFO to be made")
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_line_without_a_time_is_timestamped_on_arrival(tmp_path: Path) -> None:
    with bench(tmp_path / "in") as one, fifo(tmp_path / "in") as out:
        one.clock.us = 77_000
        os.write(out, BEAM)
        reading = one.next()
    assert (reading.t, reading.arrived) == (77_000, 77_000)


def test_a_senders_clock_is_mapped_by_the_smallest_delay_seen() -> None:
    mapper = Mapper()
    assert mapper.to_table(5_000_000, 90_000_000) == 90_000_000
    assert mapper.to_table(6_000_000, 91_040_000) == 91_000_000
    assert mapper.to_table(7_000_000, 91_990_000) == 91_990_000
    assert mapper.to_table(8_000_000, 93_000_000) == 92_990_000


def test_a_sender_on_the_tables_own_clock_is_left_alone() -> None:
    mapper = Mapper()
    assert mapper.to_table(1_000_000, 1_030_000) == 1_000_000
    assert mapper.to_table(2_000_000, 2_001_000) == 2_000_000


def test_a_mapped_line_keeps_its_own_time_and_gets_its_arrival(tmp_path: Path) -> None:
    with bench(tmp_path / "in") as one, fifo(tmp_path / "in") as out:
        one.clock.us = 900_000_000
        os.write(out, BEAM.replace(b"{", b'{"t":1000,', 1))
        assert one.next().t == 900_000_000
        one.clock.us += 60_000
        os.write(out, BEAM.replace(b"{", b'{"t":21000,', 1))
        second = one.next()
    assert (second.t, second.arrived) == (900_020_000, 900_060_000)


def test_bad_lines_raise_a_fault_and_the_next_good_one_counts(tmp_path: Path) -> None:
    with bench(tmp_path / "in") as one, fifo(tmp_path / "in") as out:
        os.write(out, b'not json\n{"kind":"ball_beam"}\n\xff\n\n[]\n{"log":"table-readings"}\n' + BEAM)
        assert one.next().dev == "wheel"
        assert one.source.bad_lines == 4
        assert one.codes == ["source_bad_line"]
        one.clock.us += 60_000_000
        os.write(out, BEAM)
        one.next()
        until(lambda: not one.codes, "the fault to clear")


def test_a_line_without_end_does_not_exhaust_the_memory(tmp_path: Path) -> None:
    with bench(tmp_path / "in") as one, fifo(tmp_path / "in") as out:
        for _ in range(MAX_LINE // 4096 + 2):
            os.write(out, b"x" * 4096)
        until(lambda: one.source.bad_lines == 1, "the endless line to be dropped")
        os.write(out, b"\n" + BEAM)
        assert one.next().dev == "wheel"


def test_no_part_of_a_line_that_is_too_long_is_a_reading(tmp_path: Path) -> None:
    padded = BEAM.replace(b",", b"," + b" " * (MAX_LINE + 1), 1)
    with bench(tmp_path / "in") as one, fifo(tmp_path / "in") as out:
        for long in (padded, b"x" * (3 * MAX_LINE) + BEAM.replace(b'"beam":1', b'"beam":2')):
            for begin in range(0, len(long), 4096):
                os.write(out, long[begin : begin + 4096])
        os.write(out, BEAM.replace(b'"beam":1', b'"beam":3'))
        reading = one.next()
        assert isinstance(reading, BallBeam)
        assert (reading.beam, one.source.bad_lines) == (3, 2)


def test_a_socket_that_does_not_exist_yet_is_a_fault_until_it_does(tmp_path: Path) -> None:
    path = tmp_path / "readings"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        with bench(path) as one:
            until(lambda: one.codes == ["source_failed"], "the refused connection to be reported")
            listener.listen()
            link, _ = listener.accept()
            with link:
                link.sendall(BEAM)
                assert one.next().dev == "wheel"
            assert one.codes == []


def test_with_data_time_the_lines_set_the_time_and_a_full_inlet_holds_up_the_sender(tmp_path: Path) -> None:
    one = Bench(tmp_path / "in", data_time=True)
    one.inlet = Inlet(one.clock, capacity=2)
    one.source.start(one.inlet)
    with fifo(tmp_path / "in") as out:
        for t in (100, 200, 300, 400):
            os.write(out, BEAM.replace(b"{", b'{"t":%d,"arrived":%d,' % (t, t + 7), 1))
        until(lambda: one.inlet.waiting == 2, "the inlet to be full")
        readings = [one.next() for _ in range(4)]
    assert one.source.stop(PATIENCE_S)
    assert [(reading.t, reading.arrived) for reading in readings] == [
        (t, t + 7) for t in (100, 200, 300, 400)
    ]
    assert one.clock.us == 407
