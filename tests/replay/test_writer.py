"""Writing logs and reading them back."""

import gzip
import io
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.machines.setup import NextNumbers, State
from controller.model.geometry import DiceTable, Wheel, Zone
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    Card,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    ForeignObject,
    Input,
    PocketBall,
    RotorIndex,
    Switch,
    WallImpact,
    WheelStatus,
)
from controller.replay.log import Header, Log, LogWriter

HEADER = Header(
    version=1,
    table="t1",
    ruleset="craps-v1",
    epoch="2026-01-01T20:00:00Z",
    dice_table=DiceTable(
        length_mm=3600, width_mm=1100, die_mm=19, zones=(Zone(kind="bank", polygon=((0, 0), (1, 0), (1, 1))),)
    ),
    session="s7",
    first=NextNumbers(seq=12, roll=4),
    state=State(point=6, shooter="3", warnings=2),
)
WHEEL_HEADER = Header(
    version=1,
    table="t2",
    wheel=Wheel(
        pockets="european",
        pockets_clockwise=("0", "32"),
        beams_deg=(0, 90),
        pocket_reader_deg=45,
        rotor_index_deg=0,
        drop_rev_per_s=0.5,
    ),
)


def written(header: Header, readings: list[AnyReading], *, compress: bool = False) -> bytes:
    stream = io.BytesIO()
    with LogWriter(stream, header, compress=compress) as writer:
        for reading in readings:
            writer.write(reading)
    return stream.getvalue()


@pytest.mark.parametrize("header", [HEADER, WHEEL_HEADER], ids=["dice", "wheel"])
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "packed"])
def test_a_header_reads_back_with_its_state_and_numbers(header: Header, compress: bool) -> None:
    log = Log(io.BytesIO(written(header, [], compress=compress)), "a.jsonl")
    assert (list(log), log.header, dict(log.unknown), log.truncated) == ([], header, {}, False)


def test_the_header_begins_with_the_format() -> None:
    assert written(HEADER, []).startswith(
        b'{"log":"table-readings","version":1,"table":"t1","ruleset":"craps-v1",'
    )


EVERY_KIND: list[AnyReading] = [
    DieReleased(t=0, dev="cam", die=1, x=-1.5, y=1e6),
    DieAt(t=2**53, dev="cam", die=2, x=0.1, y=0.2, arrived=2**53),
    DieRest(
        t=5, dev="cam", die=1, x=1, y=2, up=6, confidence=0.5, tilt_deg=3, on="chips", resting_sides=(1, 2)
    ),
    DieRest(t=5, dev="cam", die=1, x=1, y=2, confidence=0),
    DieOffTable(t=6, dev="cam", die=1),
    DieLost(t=6, dev="cam", die=2),
    DieContact(t=7, dev="cam", die=1, with_="chips"),
    WallImpact(t=7, dev="w", wall="back", pos_mm=12.25, peak=700),
    BallBeam(t=8, dev="wheel", beam=3),
    BallDrop(t=9, dev="wheel", arrived=0),
    BallOut(t=9, dev="wheel"),
    RotorIndex(t=9, dev="wheel", direction="ccw"),
    PocketBall(t=9, dev="wheel"),
    ForeignObject(t=9, dev="wheel", where="track"),
    WheelStatus(t=9, dev="ss2", state=5, spin=1, number="00", flags=2, rotor_rpm_x10=251, direction="cw"),
    Card(t=9, dev="shoe", rank="T", suit="h", to=3),
    Card(t=9, dev="shoe"),
    DeviceUp(t=9, dev="cam"),
    DeviceDown(t=9, dev="cam", reason='pulled\n"out"', code=7),
    DeviceFault(t=9, dev="\u00e9\U0001f3b2", reason="dim", code="F1"),
    Switch(t=9, dev="gpio", name="door", open=True),
    Input(t=9, dev="console", name="set_dice", by="boxperson", who="Ann", dice=(3, 4)),
    Input(t=9, dev="console", name="seats", by="dealer", seats=("1", 2), on=False),
]


def test_the_sample_readings_are_of_every_kind() -> None:
    assert {type(reading) for reading in EVERY_KIND} == set(get_args(AnyReading))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(readings=st.lists(st.sampled_from(EVERY_KIND), max_size=25), compress=st.booleans())
def test_every_kind_of_reading_reads_back_in_order_of_arrival(
    readings: list[AnyReading], compress: bool
) -> None:
    log = Log(io.BytesIO(written(HEADER, readings, compress=compress)), "a.jsonl")
    assert list(log) == readings
    assert not log.unknown


def test_the_same_readings_give_the_same_bytes() -> None:
    readings: list[AnyReading] = [
        BallDrop(t=1, dev="w", arrived=3),
        DieContact(t=2, dev="c", die=1, with_="chips"),
    ]
    assert written(HEADER, readings, compress=True) == written(HEADER, readings, compress=True)
    assert b'"arrived":3' in written(HEADER, readings)
    assert b'"with":"chips"' in written(HEADER, readings)


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "packed"])
def test_flushed_readings_survive_a_power_cut(compress: bool) -> None:
    stream = io.BytesIO()
    writer = LogWriter(stream, HEADER, compress=compress)
    writer.write(BallDrop(t=1, dev="w"))
    writer.flush()
    kept = stream.getvalue()
    writer.write(BallDrop(t=2, dev="w"))
    log = Log(io.BytesIO(kept), "a.jsonl")
    assert list(log) == [BallDrop(t=1, dev="w")]
    assert log.truncated == compress
    writer.close()
    assert len(gzip.decompress(stream.getvalue()) if compress else stream.getvalue()) > 0
