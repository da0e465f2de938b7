"""Tests of the JSON line decoder: each line of arbitrary bytes becomes an object or a reported bad line."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.cameras.json_camera import MAX_LINE, BadLine, JsonLines, Object

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
ALIVE = b'{"kind": "alive"}\n'


def read(*chunks: bytes) -> list[Object | BadLine]:
    lines = JsonLines()
    return [found for chunk in chunks for found in lines.feed(chunk)]


def test_each_line_is_an_object() -> None:
    assert read(ALIVE + b'\r\n  \n{"kind": "die_at", "x": 1.5}\r\n') == [
        {"kind": "alive"},
        {"kind": "die_at", "x": 1.5},
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello", "hello, which is not accepted as JSON"),
        (b"[1, 2]", "where one JSON object was expected"),
        (b"7", "where one JSON object was expected"),
        (b'{"x": NaN}', "`x` NaN"),
        (b'{"x": -Infinity}', "`x` -Infinity"),
        (b'{"x": 1, "x": 2}', "`x` twice"),
        (b'{"x": 1', "which is not accepted as JSON"),
        (b"\xff\xfe", "which is not accepted as JSON"),
        (b"[" * 4000, "lists and objects nested more than 200 deep"),
        (b'{"x": ' + b"9" * 4080 + b"}", ""),
        (b" " * (MAX_LINE + 1), "more than 4096 bytes in one line"),
    ],
)
def test_a_line_that_is_not_an_object_is_a_complaint_and_the_next_line_is_read(line: bytes, why: str) -> None:
    first, second = read(line + b"\n" + ALIVE)
    if why:
        assert isinstance(first, BadLine)
        assert why in first.reason
    assert second == {"kind": "alive"}


def test_a_partial_line_is_dropped_with_its_connection() -> None:
    lines = JsonLines()
    lines.feed(b'{"kind": "die')
    lines.connect()
    assert lines.feed(ALIVE) == [{"kind": "alive"}]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.lists(st.binary(max_size=20) | st.sampled_from([ALIVE, b"\n", b'{"a":', b"{}"]), max_size=10),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_any_chunking_of_any_bytes_gives_the_same_objects(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    assert read(data) == read(*(data[a:b] for a, b in pairwise(at)))


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT))
def test_an_object_is_read_as_written(value: dict[str, object]) -> None:
    assert read(json.dumps(value).encode() + b"\n") == [value]
