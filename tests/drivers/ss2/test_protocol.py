"""Tests of the SS2 decoder with the manufacturer's examples and malformed lines."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.ss2.protocol import (
    MAX_LINE,
    BareNumber,
    Bonus,
    Decoder,
    DiscardedLine,
    LogPage,
    Message,
    Reply,
    SelfTestCode,
    SensorEvent,
    Status,
    decode_number,
    games_between,
    read_parameter,
    restore_blank,
)

steady = settings(derandomize=True, max_examples=60, deadline=None)


def read(*lines: str) -> list[Message]:
    return Decoder().feed("".join(line + "\r\n" for line in lines).encode())


def only(line: str) -> Message:
    (message,) = read(line)
    return message


def status(
    state: int, spin: int, number: str | None, flags: int = 0, rpm: int = 160, direction: str = "cw"
) -> Status:
    return Status(state, spin, number, flags, rpm, "ccw" if direction == "ccw" else "cw")


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("*X;1;001;  ;0;150;0", status(1, 1, None, rpm=150)),
        ("*X;3;017; 7;0;171;1", status(3, 17, "7", rpm=171, direction="ccw")),
        ("*X;5;017;00;0;168;1", status(5, 17, "00", rpm=168, direction="ccw")),
        ("*X;5;018; 0;0;168;0", status(5, 18, "0", rpm=168)),
        ("*X;5;019;38;0;168;0", status(5, 19, "000", rpm=168)),
        ("*X;5;019;39;0;168;0", status(5, 19, "0000", rpm=168)),
        ("*X;3;020;12;2;165;0", status(3, 20, "12", 2, 165)),
        ("*X;2;021;12;8;166;1", status(2, 21, "12", 8, 166, "ccw")),
        ("*X;3;021;12;A;166;1", status(3, 21, "12", 10, 166, "ccw")),
        ("*X;4;022;12;4;000;0", status(4, 22, "12", 4, 0)),
        ("*X;4;022;12;0;953;1", status(4, 22, "12", rpm=953, direction="ccw")),
        ("*X;7;023;12;0;160;0", status(7, 23, "12")),
        ("*X;6;001;  ;0;000;0", status(6, 1, None, rpm=0)),
        (" 8", BareNumber("8")),
        ("00", BareNumber("00")),
        (" 0", BareNumber("0")),
        ("*Y;1;123", Bonus(1, 123, None)),
        ("*Y;1;123;29", Bonus(1, 123, 29)),
        ("*Y;2;999;00", Bonus(2, 999, 0)),
        ("*F 11", SelfTestCode(11)),
        ("*F 22", SelfTestCode(22)),
        ("*F 100", SelfTestCode(100)),
        ("*bs 2", SensorEvent("sensor", 2)),
        ("*bn 17", SensorEvent("pocket", 17)),
        ("*O 6 1 60 1159", Reply("O", "6 1 60 1159")),
        ("*T m 20000.0", Reply("T", "m 20000.0")),
    ],
)
def test_every_kind_of_line_is_read(line: str, meaning: Message) -> None:
    assert only(line) == meaning


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("*o BUSY", "busy"), ("*P NO", "refused"), ("*) NO", "refused"), ("*  NO", "refused"), ("*T OK", "ok")],
)
def test_busy_refused_unknown_and_acknowledged_are_distinguished(line: str, outcome: str) -> None:
    reply = only(line)
    assert isinstance(reply, Reply)
    assert reply.outcome == outcome


def test_self_test_codes_have_their_meaning_and_an_unknown_one_is_reported_as_such() -> None:
    assert SelfTestCode(11).meaning == "sensor 1 stuck on"
    assert SelfTestCode(100).meaning == "timed out"
    assert SelfTestCode(57).meaning == "unknown code 57"


def test_a_line_that_a_full_buffer_cut_is_discarded_and_the_frame_after_it_read() -> None:
    decoder = Decoder()
    messages = decoder.feed(b"*X;4;12*X;*X;4;124; 9;0;158;0\r\n")
    assert messages == [DiscardedLine("*X;4;12*X;*X;4;124; 9;0;158;0"), status(4, 124, "9", rpm=158)]
    assert decoder.discarded == 1


@pytest.mark.parametrize(
    "line",
    [
        "5; 9;0;158;0",
        "00;0",
        "6; 9;0;158;0",
        "*X:3:033:22:0:160:1",
        "*X;8;033;22;0;160;1",
        "*X;0;033;22;0;160;1",
        "*X;3;033;22;G;160;1",
        "*X;3;033;22;a;160;1",
        "*X;3;033;22;0;160;2",
        "*X;3;33;22;0;160;1",
        "*X;3;033;2 ;0;160;1",
        "*X;3;0 3;22;0;160;1",
        "*X;3;   ;22;0;160;1",
        "*X;3;033;22;0;   ;1",
        "*X;3;033;22;0;160;1 ",
        " *X;3;033;22;0;160",
        "*Y;7;123",
        "*Y;1;12",
        "8",
        "8 ",
        " ",
        "  ",
        "40",
        "123",
        "hello",
    ],
)
def test_anything_else_is_discarded_and_counted(line: str) -> None:
    decoder = Decoder()
    assert decoder.feed(line.encode() + b"\r\n") == [DiscardedLine(line)]
    assert (decoder.lines, decoder.discarded) == (1, 1)


@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n", b"\n\r"])
def test_lines_may_have_any_line_end(end: bytes) -> None:
    decoder = Decoder()
    assert decoder.feed(b"*u OK" + end + b" 8" + end) == [Reply("u", "OK"), BareNumber("8")]
    assert (decoder.lines, decoder.discarded) == (2, 0)


def test_noise_without_a_line_end_is_limited_and_the_next_frame_read() -> None:
    decoder = Decoder()
    messages = decoder.feed(b"x" * 100_000 + b"*X;3;017; 7;0;171;1\r\n")
    assert messages[1:] == [status(3, 17, "7", rpm=171, direction="ccw")]
    assert decoder.discarded == 1
    assert sum(len(value) for value in vars(decoder).values() if isinstance(value, bytes)) <= MAX_LINE


def test_a_line_begun_before_the_link_was_lost_is_dropped() -> None:
    decoder = Decoder()
    decoder.feed(b"*X;3;017; 7;0")
    decoder.reset()
    assert decoder.feed(b";171;1\r\n") == [DiscardedLine(";171;1")]


def test_a_page_of_the_wheels_log_is_read_if_its_checksum_is_right() -> None:
    data = b"!FGl" + b"~" * 252
    page = only(data.decode() + f"{sum(data) % 256:02X}")
    assert page == LogPage((("win", 0), ("win", 37), ("misfire", 0), ("misfire", 37)))
    assert only("~" * 256 + "00") == LogPage(())
    assert isinstance(only("~" * 256 + "01"), DiscardedLine)
    assert isinstance(only("~" * 255 + "}00"), DiscardedLine)


def test_numbers_are_distinguished_only_by_their_padding() -> None:
    assert [decode_number(text) for text in (" 0", "00", "38", "39", "  ", "36", "37")] == [
        "0",
        "00",
        "000",
        "0000",
        None,
        "36",
        "37",
    ]


def test_spin_numbers_wrap_at_256() -> None:
    assert [games_between(*pair) for pair in ((256, 1), (256, 0), (255, 256), (12, 12), (4, 2))] == [
        1,
        1,
        1,
        0,
        254,
    ]


def test_a_parameter_query_includes_the_blank_that_the_wheel_requires() -> None:
    assert read_parameter("m") == b"*T M\r"


@pytest.mark.parametrize("letter", ["", "mm", "f", "X"])
def test_a_parameter_that_the_wheel_does_not_have_is_refused(letter: str) -> None:
    with pytest.raises(ValueError, match="expected one of n k r"):
        read_parameter(letter)


def test_blanks_stripped_by_a_recorder_are_tolerated_for_one_digit_only() -> None:
    assert [restore_blank(line) for line in (b"8", b"00", b"18", b"x", b"*u OK")] == [
        b" 8",
        b"00",
        b"18",
        b"x",
        b"*u OK",
    ]


SPOILT = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([b"*X;4;124; 9;0;158;0\r\n", b" 8\r\n", b"*T OK\r\n", b"*X;4;12", b"\r\n", b"*"]),
    ),
    max_size=20,
).map(b"".join)


@steady
@given(SPOILT, st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_same_readings(data: bytes, cuts: list[int]) -> None:
    whole, pieces = Decoder(), Decoder()
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    messages = [m for a, b in pairwise(at) for m in pieces.feed(data[a:b])]
    assert messages == whole.feed(data)
    assert (pieces.lines, pieces.discarded) == (whole.lines, whole.discarded)


@steady
@given(st.binary(max_size=700))
def test_the_next_good_frame_is_always_read_whatever_came_before(noise: bytes) -> None:
    assert Decoder().feed(noise + b"*X;4;124; 9;0;158;0\r\n")[-1] == status(4, 124, "9", rpm=158)


@steady
@given(SPOILT)
def test_no_status_is_invented(data: bytes) -> None:
    for message in Decoder().feed(data):
        if isinstance(message, Status):
            turning = 1 if message.direction == "ccw" else 0
            tail = f";{message.flags:X};{message.rotor_rpm_x10:03};{turning}".encode()
            spins = (f"*X;{message.state};{message.spin:>{width}};" for width in ("03", "3"))
            assert tail in data
            assert any(spin.encode() in data for spin in spins)
