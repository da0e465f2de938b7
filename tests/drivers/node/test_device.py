"""Tests of the node device: readings of the table's devices, and faults with remedies."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import (
    AnyReading,
    BallBeam,
    Card,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieRest,
    Input,
    Reading,
    WallImpact,
)
from drivers.device import Device
from drivers.health import DEVICE_FAULTS
from drivers.node.device import ChannelSettings, NodeDevice, NodeSettings
from drivers.node.node_end import NodeEnd
from drivers.node.sentences import Hello
from drivers.readings import ReadingError, build_reading, to_texts

STEP_US = 5_000
WALLS = {
    1: ChannelSettings(dev="wall-left", fields={"wall": "left"}),
    2: ChannelSettings(dev="wall-right", fields={"wall": "right"}),
}


class Wired:
    """A node device and its board with a common clock, and a line with a delay of 200 us each way."""

    def __init__(self, settings: NodeSettings | None = None, hello: Hello | None = None) -> None:
        self.now_us = 1_000_000
        self.device = NodeDevice(
            "cam", settings or NodeSettings(node="cam", port="/dev/table-cam"), lambda count: b"\x3f" * count
        )
        self.board = NodeEnd(
            hello or Hello("cam", "1.0", "B" * 16, {0: ("die_at",)}, ("lamp",), 16), "A" * 16
        )
        self.reported: list[AnyReading] = self.device.start(self.now_us) + self.device.on_open(self.now_us)

    def after(self, more_us: int) -> list[AnyReading]:
        reported: list[AnyReading] = []
        end_us = self.now_us + more_us
        while self.now_us < end_us:
            self.now_us += STEP_US
            reported += self.device.tick(self.now_us)
            commands = self.board.receive(self.now_us + 200, self.device.take_output())
            for command in commands:
                self.board.acknowledge(self.now_us + 200, command.number)
            self.board.tick(self.now_us + 200)
            reported += self.device.receive(self.now_us + 400, self.board.take_output())
        self.reported += reported
        return reported

    def up(self) -> "Wired":
        self.after(500_000)
        assert isinstance(self.reported[-1], DeviceUp), self.reported
        return self

    def say(self, kind: str, channel: int = 0, **fields: str) -> list[AnyReading]:
        self.board.reading(self.now_us, kind, fields, channel=channel)
        return self.after(STEP_US)


def test_a_node_is_a_device() -> None:
    assert isinstance(Wired().device, Device)


def test_a_sentence_becomes_a_reading_with_its_own_time_and_that_of_its_arrival() -> None:
    wired = Wired().up()
    (reading,) = wired.say("die_at", die="1", x="450.8", y="498.5")
    assert reading == DieAt(t=reading.t, dev="cam", die=1, x=450.8, y=498.5, arrived=reading.arrived)
    assert reading.arrived is not None
    assert abs(reading.t - (wired.now_us - STEP_US)) <= 400
    assert reading.arrived >= reading.t


def test_a_channel_is_a_device_of_the_table_with_its_wall() -> None:
    wired = Wired(NodeSettings(node="cam", port="/dev/x", channels=WALLS)).up()
    (reading,) = wired.say("wall_impact", channel=2, pos_mm="511", peak="421")
    assert isinstance(reading, WallImpact)
    assert (reading.dev, reading.wall, reading.pos_mm) == ("wall-right", "right", 511.0)


@pytest.mark.parametrize(
    ("channel", "fields"),
    [
        (3, {"pos_mm": "1", "peak": "1"}),
        (0, {"pos_mm": "1", "peak": "1"}),
        (1, {"wall": "right", "pos_mm": "1"}),
    ],
)
def test_an_impossible_channel_counts_as_a_missed_reading(channel: int, fields: dict[str, str]) -> None:
    wired = Wired(NodeSettings(node="cam", port="/dev/x", channels=WALLS)).up()
    wired.board.reading(wired.now_us, "wall_impact", fields, channel=channel)
    reported = wired.after(STEP_US)
    assert {(type(reading), reading.dev) for reading in reported} == {
        (DeviceDown, "cam"),
        (DeviceDown, "wall-left"),
        (DeviceDown, "wall-right"),
    }


@pytest.mark.parametrize(
    ("kind", "fields", "complaint"),
    [
        (
            "die_at",
            {"die": "3", "x": "1", "y": "1"},
            r"not a valid die_at: Invalid enum value 3 - at `\$.die`",
        ),
        ("die_at", {"die": "1", "x": "nan", "y": "1"}, "not a valid"),
        ("die_at", {"die": "1", "x": "1e9", "y": "1"}, "not a valid"),
        ("die_at", {"die": "1", "x": "1"}, "missing required field `y`"),
        ("die_at", {"die": "1", "x": "1", "y": "1", "z": "1"}, "unknown field `z`"),
        (
            "die_at",
            {"die": "1", "x": "1", "y": "1", "t": "5"},
            r"\['t'\] in a die_at; only the table sets these",
        ),
        ("zap", {}, "found kind 'zap', expected a kind such as die_at"),
        ("die_rest", {"die": "1", "x": "1", "y": "1", "confidence": "1.5"}, "confidence"),
        ("ball_beam", {"beam": "-1"}, "beam"),
    ],
)
def test_an_impossible_reading_is_reported_as_missed_with_the_reason(
    kind: str, fields: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ReadingError, match=complaint):
        build_reading(kind, fields, "cam", 0, 0, text_values=True)
    wired = Wired().up()
    wired.board.reading(wired.now_us, kind, fields)
    (reported,) = wired.after(STEP_US)
    assert isinstance(reported, DeviceDown)
    assert reported.code == "bad_reading"


def test_after_a_bad_reading_the_node_recovers_within_half_a_second() -> None:
    wired = Wired().up()
    wired.say("zap")
    assert [type(reading) for reading in wired.after(600_000)] == [DeviceUp]


def test_texts_stay_texts_if_a_number_would_lose_information() -> None:
    wired = Wired().up()
    (number,) = wired.say("input", name="set_number", by="dealer", who="Zoë 2", number="00")
    assert isinstance(number, Input)
    assert (number.number, number.who) == ("00", "Zoë 2")
    (card,) = wired.say("card", rank="7", suit="h", to="3")
    assert isinstance(card, Card)
    assert (card.rank, card.to) == ("7", "3")
    (rest,) = wired.say("die_rest", die="1", x="1", y="2", up="3", confidence="0.9", resting_sides="1,2")
    assert isinstance(rest, DieRest)
    assert rest.resting_sides == (1, 2)


def examples() -> st.SearchStrategy[Reading]:
    kinds = [kind for kind in get_args(AnyReading) if kind not in (DeviceUp, DeviceDown, DeviceFault)]
    return st.sampled_from(kinds).flatmap(_example)


def _example(kind: type[Reading]) -> st.SearchStrategy[Reading]:
    fields = {}
    for field in msgspec.structs.fields(kind):
        if field.name in ("t", "dev", "arrived"):
            continue
        options = [value for value in _VALUES if _fits(value, field.type)]
        fields[field.name] = st.sampled_from(options)
    return st.builds(kind, t=st.just(5), dev=st.just("cam"), arrived=st.just(9), **fields)


_VALUES = (
    1,
    2,
    0.5,
    511.25,
    1.0,
    "left",
    "felt",
    "cw",
    "h",
    "a b=%,*$~",
    "00",
    True,
    False,
    None,
    (1, 2),
    ("1", "2"),
)


def _fits(value: object, hint: object) -> bool:
    """Return whether a field can have this value. A field of type `str | int` preserves only text."""
    parts = value if isinstance(value, tuple) else (value,)
    if "str" in str(hint) and any(type(part) is int for part in parts):
        return False
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True


@settings(derandomize=True, max_examples=150, deadline=None)
@given(examples())
def test_every_kind_of_reading_survives_conversion_to_text_and_back(reading: Reading) -> None:
    kind, texts = to_texts(reading)
    assert build_reading(kind, texts, "cam", 5, 9, text_values=True) == reading


def test_a_ruling_may_name_its_attempt_by_a_number() -> None:
    made = build_reading("input", {"name": "void", "by": "dealer", "what": 3}, "box", 5, 9)
    assert made == Input(t=5, dev="box", arrived=9, name="void", by="dealer", what="3")


def test_a_node_reports_its_own_faults() -> None:
    (fault,) = Wired().up().say("device_fault", reason="piezo open", code="adc")
    assert isinstance(fault, DeviceFault)
    assert (fault.reason, fault.code) == ("piezo open", "adc")


def test_a_channel_with_a_wall_of_its_own_reports_its_health_without_one() -> None:
    hello = Hello("cam", "1.0", "B" * 16, {1: ("wall_impact",), 2: ("wall_impact",)}, (), 16)
    wired = Wired(NodeSettings(node="cam", port="/dev/table-cam", channels=WALLS), hello).up()
    reported = wired.say("device_down", 1, reason="cable broken")
    assert [(r.dev, r.reason) for r in reported if isinstance(r, DeviceDown)] == [
        ("wall-left", "cable broken")
    ]


def test_a_node_that_cannot_send_its_required_readings_is_not_up() -> None:
    wired = Wired(NodeSettings(node="cam", port="/dev/x", reads=("die_at", "die_rest")))
    wired.after(500_000)
    last = wired.reported[-1]
    assert isinstance(last, DeviceDown)
    assert (last.code, last.reason.split(";")[0]) == ("lacks", "node cam cannot send die_rest")


def test_a_lost_port_takes_all_its_devices_down() -> None:
    wired = Wired(NodeSettings(node="cam", port="/dev/x", channels=WALLS)).up()
    down = wired.device.on_close(wired.now_us, "unplugged", "/dev/x went away")
    assert [reading.dev for reading in down] == ["cam", "wall-left", "wall-right"]
    assert all(isinstance(r, DeviceDown) and r.code == "unplugged" for r in down)
    assert isinstance(down[0], DeviceDown)
    assert down[0].reason == "/dev/x went away; " + DEVICE_FAULTS["unplugged"].do


def test_a_silent_node_has_its_port_reopened_once() -> None:
    wired = Wired().up()
    for _ in range(500):
        wired.now_us += STEP_US
        wired.device.tick(wired.now_us)
    assert wired.device.take_reopen()
    assert not wired.device.take_reopen()


def impacts(reported: list[AnyReading]) -> list[float]:
    return [reading.peak for reading in reported if isinstance(reading, WallImpact)]


def test_an_impact_weaker_than_the_threshold_is_noise_and_is_counted() -> None:
    hello = Hello("cam", "1.0", "B" * 16, {0: ("wall_impact",), 1: ("wall_impact",)}, (), 16)
    alone = Wired(NodeSettings(node="cam", port="x", least_peak=70.5), hello).up()
    channel = ChannelSettings(dev="wall-left", fields={"wall": "left"}, least_peak=70.5)
    mounted = Wired(NodeSettings(node="cam", port="x", channels={1: channel}), hello).up()
    for wired, number in ((alone, 0), (mounted, 1)):
        reported: list[AnyReading] = []
        for peak in ("70", "71", "12"):
            reported += wired.say("wall_impact", channel=number, wall="left", pos_mm="5", peak=peak)
        assert impacts(reported) == [71]
        assert wired.device.status()["soft_impacts"] == 2


def test_a_command_is_answered() -> None:
    wired = Wired().up()
    number = wired.device.command(wired.now_us, "lamp", {"name": "puck", "shows": "on"})
    wired.after(20_000)
    assert [(answer.command, answer.ok) for answer in wired.device.results] == [(number, True)]


def test_the_status_of_a_node_shows_its_identity_and_what_was_received() -> None:
    status = Wired().up().device.status()
    assert (status["node"], status["phase"], status["firmware"]) == ("cam", "up", "1.0")
    assert (status["lost"], status["bad_crc"], status["troubles"]) == (0, 0, [])
    assert msgspec.json.encode(status)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"node": "a b"}, "node: found 'a b', expected 1 to 16 letters"),
        ({"key": "secret"}, "key: expected an even number of hexadecimal digits, 32 to 128"),
        ({"key": "0" * 33}, "key: expected an even number of hexadecimal digits, 32 to 128"),
        ({"max_per_s": 0}, "max_per_s: found 0, expected at least 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        NodeSettings(**{"node": "cam", "port": "/dev/x", **wrong})  # type: ignore[arg-type]  # wrong on purpose


def test_a_key_in_the_settings_seals_the_link() -> None:
    wired = Wired(NodeSettings(node="cam", port="/dev/x", key="00" * 16))
    wired.after(500_000)
    last = wired.reported[-1]
    assert isinstance(last, DeviceDown)
    assert last.code == "wrong_key"


def test_beams_are_numbers() -> None:
    (beam,) = Wired().up().say("ball_beam", beam="2")
    assert isinstance(beam, BallBeam)
    assert beam.beam == 2
