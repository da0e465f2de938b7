"""Tests of the line splitter with chunks of any size and with noise."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.framing import Line, LineSplitter
from drivers.node.sentences import MAX_SENTENCE, Sentence, Speaker, encode, finish
from drivers.node.wire import Wire

BEAT = Sentence(Speaker.NODE, "w1", "3F2A", 1, 5, "beat")
BEAT_LINE = finish(encode(BEAT))


def heard(*chunks: bytes) -> tuple[list[Sentence], Wire]:
    wire = Wire(Speaker.TABLE, "w1")
    found = [wire.read(line) for chunk in chunks for line in wire.lines(chunk)]
    return [one.sentence for one in found if one is not None], wire


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(at)]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([BEAT_LINE, BEAT_LINE[:9], b"\n", b"\r\n", b"$", b"x" * 600]) | st.binary(max_size=9)
    ),
    st.lists(st.integers(0, 5000), max_size=12),
)
def test_any_chunking_gives_the_same_sentences_and_figures(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    whole, one_by_one = heard(data), heard(*(data[at : at + 1] for at in range(len(data))))
    cut = heard(*pieces(data, cuts))
    assert whole[0] == cut[0] == one_by_one[0]
    assert whole[1].counters == cut[1].counters == one_by_one[1].counters


def test_a_line_may_end_as_on_windows() -> None:
    assert heard(BEAT_LINE.replace(b"\n", b"\r\n"))[0] == [BEAT]


def test_the_sentence_after_noise_is_received_at_the_next_newline() -> None:
    sentences, wire = heard(b"\x00\xffgarbage\n" + BEAT_LINE)
    assert sentences == [BEAT]
    assert (wire.counters.noise, wire.counters.noise_bytes) == (1, 9)


def test_the_sentence_after_endless_noise_without_a_newline_is_received() -> None:
    sentences, wire = heard(*[b"x" * 1000] * 50, BEAT_LINE)
    assert (sentences, wire.counters.noise_bytes) == ([BEAT], 50_000)


def test_the_sentence_after_one_that_was_cut_off_is_received() -> None:
    sentences, wire = heard(BEAT_LINE[:12] + BEAT_LINE)
    assert (sentences, wire.counters.noise_bytes) == ([BEAT], 12)


def test_a_modem_managers_probe_is_noise() -> None:
    sentences, wire = heard(b"AT\rAT\r" + BEAT_LINE)
    assert (sentences, wire.counters.noise_bytes) == ([BEAT], 6)


def test_echoed_sentences_of_the_table_are_not_the_nodes() -> None:
    own = finish(encode(BEAT._replace(speaker=Speaker.TABLE)))
    sentences, wire = heard(own, BEAT_LINE)
    assert (sentences, wire.counters.echoes) == ([BEAT], 1)


def test_an_unfinished_line_is_dropped_with_its_connection() -> None:
    wire = Wire(Speaker.TABLE, "w1")
    wire.lines(BEAT_LINE[:9])
    wire.disconnect()
    assert wire.counters.noise_bytes == 9
    assert [wire.read(line) for line in wire.lines(BEAT_LINE[9:])] == [None]


def test_the_stored_part_of_a_line_is_limited() -> None:
    lines = LineSplitter(MAX_SENTENCE)
    for _ in range(100):
        assert lines.feed(b"x" * 4096) == []
    assert lines.feed(b"\n") == [Line(b"x" * MAX_SENTENCE, 100 * 4096 - MAX_SENTENCE)]


def test_a_line_joined_midway_may_be_the_end_of_another_and_the_next_is_complete() -> None:
    lines = LineSplitter(MAX_SENTENCE)
    lines.feed(b"forgotten")
    lines.join()
    assert lines.feed(b"2\n12\n") == [Line(b"2", maybe_cut=True), Line(b"12")]


def test_any_of_several_bytes_can_end_a_line() -> None:
    lines = LineSplitter(MAX_SENTENCE, b"\r\n\0")
    assert [line.text for line in lines.feed(b"a\rb\0c\r\n")] == [b"a", b"b", b"c", b""]
