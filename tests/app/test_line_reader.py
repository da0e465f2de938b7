"""A client's bytes become the same lines in any division, and each line has a time limit."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.app.control import FIRST_LINE_TIMEOUT_S, LINE_TIMEOUT_S, LineReader

SECOND_US = 1_000_000
LIMIT = 12


def heard(data: bytes, cuts: list[int]) -> list[bytes | None]:
    hearing = LineReader(0, LIMIT)
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [line for first, end in pairwise(edges) for line in hearing.feed(data[first:end], 0)]


@settings(derandomize=True, max_examples=200)
@given(
    st.lists(st.binary(max_size=LIMIT + 4).filter(lambda line: b"\n" not in line)),
    st.binary(max_size=LIMIT + 4).filter(lambda line: b"\n" not in line),
    st.lists(st.integers(0, 500)),
)
def test_lines_are_the_same_in_any_pieces_and_an_unfinished_one_is_not_a_line(
    lines: list[bytes], unfinished: bytes, cuts: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines) + unfinished
    assert heard(data, cuts) == [line.removesuffix(b"\r") if len(line) <= LIMIT else None for line in lines]


def test_a_client_must_send_its_first_line_in_time_and_may_be_silent_afterwards() -> None:
    hearing = LineReader(5, LIMIT)
    assert hearing.left_s(5) == FIRST_LINE_TIMEOUT_S
    assert hearing.left_s(5 + 61 * SECOND_US) == 0
    assert hearing.waits_for == "the first request"
    assert hearing.feed(b"status\n", 6) == [b"status"]
    assert hearing.left_s(10**15) is None


def test_the_time_limit_of_a_line_runs_from_its_first_byte() -> None:
    hearing = LineReader(0, LIMIT)
    assert hearing.feed(b"sta", SECOND_US) == []
    assert hearing.feed(b"t", 3 * SECOND_US) == []
    assert hearing.left_s(3 * SECOND_US) == LINE_TIMEOUT_S - 2
    assert hearing.waits_for == "the rest of a line"
    assert hearing.feed(b"us\nfau", 4 * SECOND_US) == [b"status"]
    assert hearing.left_s(4 * SECOND_US) == LINE_TIMEOUT_S
    assert hearing.feed(b"lts\n", 5 * SECOND_US) == [b"faults"]
    assert hearing.left_s(5 * SECOND_US) is None
