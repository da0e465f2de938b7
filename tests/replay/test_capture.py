"""Reading raw serial captures, and the errors in damaged captures."""

import gzip
from io import BytesIO

import pytest

from controller.replay.source import BLOCK_BYTES, MAX_LINE_BYTES, PAUSE_US, BadLineError, Capture, LogError


def read(data: bytes, *, lenient: bool = False) -> tuple[Capture, list[tuple[int, bytes]]]:
    capture = Capture(BytesIO(data), "wheel.tsv", lenient=lenient)
    return capture, [(line.t, line.text) for line in capture]


def test_each_line_has_its_time_in_microseconds_and_its_text_untouched() -> None:
    _, lines = read(b"0\t 8\n496\t*X;2;002;31;0;146;1\n500\t\n")
    assert lines == [(0, b" 8"), (496_000, b"*X;2;002;31;0;146;1"), (500_000, b"")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_may_have_either_line_end_and_the_last_one_none(end: bytes) -> None:
    _, lines = read(b"1\t 8" + end + b"2\t00")
    assert lines == [(1000, b" 8"), (2000, b"00")]


def test_a_packed_capture_is_unpacked() -> None:
    _, lines = read(gzip.compress(b"1\t 8\n"))
    assert lines == [(1000, b" 8")]


def test_a_capture_cut_off_within_a_line_is_read_up_to_the_cut() -> None:
    capture, lines = read(b"1\t 8\n23")
    assert (capture.truncated, lines) == (True, [(1000, b" 8")])


def test_a_clock_set_back_is_a_long_pause_and_never_runs_backwards() -> None:
    capture, lines = read(b"5000\t 8\n0\t 9\n500\t10\n")
    assert [t for t, _ in lines] == [5_000_000, 5_000_000 + PAUSE_US, 5_500_000 + PAUSE_US]
    assert capture.restarts == 1


@pytest.mark.parametrize(
    "line", [b"hello", b"x\t 8", b"-5\t 8", b"1.5\t 8", b"\t 8", b"", b"9" * 30 + b"\t8"]
)
def test_a_bad_line_is_named_with_what_was_expected(line: bytes) -> None:
    with pytest.raises(BadLineError, match=r"wheel\.tsv, line 2: .*expected `milliseconds TAB line`"):
        read(b"1\t 8\n" + line + b"\n3\t 9\n")


def test_a_lenient_reader_skips_bad_lines_and_counts_them() -> None:
    capture, lines = read(b"1\t 8\nhello\nyou\n3\t 9\n", lenient=True)
    assert ([text for _, text in lines], capture.skipped) == ([b" 8", b" 9"], 2)
    assert "line 2" in str(capture.first_skipped)


def test_a_line_without_an_end_is_limited() -> None:
    with pytest.raises(LogError, match="more than 1,048,576 bytes"):
        read(b"1\t" + b"x" * 2_000_000)


@pytest.mark.parametrize("size", [MAX_LINE_BYTES, MAX_LINE_BYTES + BLOCK_BYTES, 3 * MAX_LINE_BYTES])
@pytest.mark.parametrize("end", [b"\n3\t 9\n", b""])
def test_a_line_that_is_too_long_is_skipped_by_a_lenient_reader_only(size: int, end: bytes) -> None:
    data = b"1\t 8\n2\t" + b"x" * size + end
    with pytest.raises(BadLineError, match=r"line 2: found more than 1,048,576 bytes.*--lenient"):
        read(data)
    capture, lines = read(data, lenient=True)
    assert ([text for _, text in lines], capture.skipped) == ([b" 8", b" 9"] if end else [b" 8"], 1)
    assert "line 2: found more than 1,048,576 bytes" in str(capture.first_skipped)
