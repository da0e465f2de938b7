"""Tests of the JeVois decoder: both styles, all stamps and line ends, and known firmware errors."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.cameras.jevois import MAX_LINE, Decoder, Detection, DiscardedLine, FrameMark, Message

steady = settings(derandomize=True, max_examples=60, deadline=None)
FIVE = Detection("die5", 92.0, -120.0, 340.0)


def only(line: str) -> Message:
    (message,) = Decoder().feed(line.encode() + b"\n")
    return message


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("N2 die5:92 -120 340 58 57", FIVE),
        ("N2 die5 -120 340 58 57", Detection("die5", None, -120.0, 340.0)),
        ("N2 die5:92.25 -120.50 340.25 58.0 57.0", Detection("die5", 92.25, -120.5, 340.25)),
        ("N2 a:b:7 0 0 1 1", Detection("a:b", 7.0, 0.0, 0.0)),
        ("D2 die5:92 -130 330 -110 330 -110 350 -130 350", FIVE),
        ("D2 die5:92 -130 330 -110 330 -110 350 -130 350 die6:3 die1:2", FIVE),
        ("MARK START", FrameMark("start")),
        ("MARK STOP", FrameMark("stop")),
    ],
)
def test_normal_and_detail_messages_are_read(line: str, meaning: Message) -> None:
    assert only(line) == meaning


@pytest.mark.parametrize("stamp", ["769", "15:52:42", "769/15:52:42", "769/2017-12-24/15:52:42"])
def test_every_kind_of_stamp_is_read(stamp: str) -> None:
    assert only(f"{stamp} N2 die5:92 -120 340 58 57") == Detection("die5", 92.0, -120.0, 340.0, stamp)
    assert only(f"{stamp} MARK STOP") == FrameMark("stop", stamp)


def test_a_corner_that_the_firmware_sends_twice_does_not_move_the_centre() -> None:
    assert only("D2 die5:92 -130 330 -110 330 -110 350 -110 330") == FIVE


def test_a_message_with_another_number_of_corners_than_announced_is_dropped() -> None:
    assert only("D2 die5:92 4 -130 330 -110 330 -110 350 -130 350 die6:3") == FIVE


def test_the_centre_of_a_tilted_quadrangle_is_the_mean_of_its_corners() -> None:
    assert only("D2 die5:92 -120 320 -100 340 -120 360 -140 340") == FIVE


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b"\0"])
def test_every_line_end_of_the_camera_is_accepted(end: bytes) -> None:
    decoder = Decoder()
    data = b"MARK START" + end + b"N2 die5:92 -120 340 58 57 " + end + b"MARK STOP" + end
    assert decoder.feed(data) == [FrameMark("start"), FIVE, FrameMark("stop")]
    assert (decoder.lines, decoder.discarded) == (3, 0)


@pytest.mark.parametrize(
    "line",
    [
        "N2 die5:92 -120 340 58",
        "N2 die5:92 -120 340 58 57 9",
        "N2 die5:92 -120 340 -58 57",
        "N2 die5:92 -120 34O 58 57",
        "N2 die5:120 -120 340 58 57",
        "N2 die5:-3 -120 340 58 57",
        "N2 die5:92 -120 99999 58 57",
        "N2 die5:92 nan 340 58 57",
        "N2 die5:92 1e3 340 58 57",
        "D2 die5:92 -130 330 -110 330 -110 350 -130",
        "D2 die5:92 5 -130 330 -110 330 -110 350 -130 350",
        "D2 die5:92 -130 330 -110 330 -110 350 -130 350 1",
        "N2",
        "MARK",
        "MARK HALT",
        "T2 -120 340",
        "N1 die5 3 4",
        "OK",
        "769",
    ],
)
def test_anything_else_is_discarded_and_counted(line: str) -> None:
    decoder = Decoder()
    assert decoder.feed(line.encode() + b"\n") == [DiscardedLine(line)]
    assert decoder.discarded == 1


def test_a_line_without_an_end_is_limited_and_the_next_one_read() -> None:
    decoder = Decoder()
    decoder.feed(b"N2 " + b"x" * 100_000)
    assert sum(len(v) for v in vars(decoder).values() if isinstance(v, bytes)) <= MAX_LINE
    assert isinstance(decoder.feed(b" 1 2 3 4\n")[0], DiscardedLine)
    assert decoder.feed(b"MARK STOP\n") == [FrameMark("stop")]


def test_a_line_begun_before_the_link_was_lost_is_dropped() -> None:
    decoder = Decoder()
    decoder.feed(b"N2 die5:92 -120 34")
    decoder.reset()
    assert decoder.feed(b"0 58 57\n") == [DiscardedLine("0 58 57")]


SPOILT = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b"N2 die5:92 -120 340 58 57\r\n", b"769 MARK STOP\n", b"N2 die5:92 ", b"\0", b"-120 340 58 57\n"]
        ),
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
@given(st.binary(max_size=2000))
def test_the_next_good_line_is_always_read_whatever_came_before(noise: bytes) -> None:
    assert Decoder().feed(noise + b"\nN2 die5:92 -120 340 58 57\n")[-1] == FIVE


@steady
@given(SPOILT)
def test_no_detection_is_invented(data: bytes) -> None:
    for message in Decoder().feed(data):
        if isinstance(message, Detection):
            assert message.category.encode() in data
            assert b"N2 " in data or b"D2 " in data
