"""Tests of sentences: a line is decoded to its original sentence, or refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.node.sentences import (
    CLOCK_US,
    MAX_SENTENCE,
    MAX_SEQ,
    Flaw,
    FlawError,
    Sentence,
    Speaker,
    crc_of,
    decode,
    encode,
    finish,
)

KNOCK = Sentence(
    Speaker.NODE,
    "w1",
    "3F2A",
    17,
    81234567,
    "wall_impact",
    {"wall": "left", "pos_mm": "511.0", "peak": "421"},
)
KNOCK_LINE = finish(encode(KNOCK))

words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
printable = st.text(st.characters(codec="utf-8").filter(str.isprintable), max_size=12)
sentences = st.builds(
    Sentence,
    speaker=st.sampled_from(Speaker),
    node=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,15}", fullmatch=True),
    session=st.from_regex(r"[0-9A-F]{4}", fullmatch=True),
    seq=st.integers(0, MAX_SEQ),
    clock_us=st.integers(0, CLOCK_US - 1),
    verb=words,
    fields=st.dictionaries(words, printable, max_size=4),
)


def line_of(sentence: Sentence, seal: bytes = b"") -> bytes:
    return finish(encode(sentence), seal).removesuffix(b"\n")


def flaw_of(line: bytes) -> Flaw:
    with pytest.raises(FlawError) as caught:
        decode(line)
    return caught.value.flaw


def checked(body: bytes) -> bytes:
    return body + b"*" + crc_of(body)


def test_a_sentence_can_be_read_by_a_person() -> None:
    body = b"$w1 3F2A 17 81234567 wall_impact wall=left pos_mm=511.0 peak=421"
    assert body + b"*" + crc_of(body) + b"\n" == KNOCK_LINE


def test_the_checksum_is_the_catalogues() -> None:
    assert crc_of(b"123456789") == b"29B1"


@settings(derandomize=True, max_examples=150, deadline=None)
@given(sentences, st.sampled_from([b"", b"0123456789ABCDEF"]))
def test_a_sentence_is_received_as_sent(sentence: Sentence, seal: bytes) -> None:
    heard = decode(line_of(sentence, seal))
    assert (heard.sentence, heard.seal, heard.body) == (sentence, seal, encode(sentence))


@pytest.mark.parametrize("seal", [b"", b"0123456789ABCDEF"])
def test_every_flipped_bit_is_refused(seal: bytes) -> None:
    line = line_of(KNOCK, seal)
    for at in range(len(line)):
        for bit in range(8):
            flipped = line[:at] + bytes([line[at] ^ 1 << bit]) + line[at + 1 :]
            start = max(flipped.rfind(b"$"), flipped.rfind(b">"))
            flaw_of(flipped[max(start, 0) :])


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda body: checked(b"$" + body)))
def test_any_bytes_are_a_sentence_or_a_flaw(line: bytes) -> None:
    try:
        heard = decode(line)
    except FlawError:
        return
    assert line_of(heard.sentence, heard.seal) == line


@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        (b"", Flaw.HALF),
        (b"$w1 3F2A 17 812", Flaw.HALF),
        (KNOCK_LINE.rstrip()[:-1], Flaw.HALF),
        (KNOCK_LINE.rstrip().lower(), Flaw.BAD_CRC),
        (KNOCK_LINE.rstrip().replace(b"511", b"512"), Flaw.BAD_CRC),
        (checked(b"$w1 3F2A 17 5"), Flaw.BAD_FORM),
        (checked(b"$w1 3f2a 17 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 017 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 4294967296 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 4294967296 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A -1 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1  3F2A 1 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 Beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat "), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=1 a=2"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=%0A"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=%2"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=%FF"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=%E2%80%AE"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=\xc3\xab"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat ~0123"), Flaw.BAD_FORM),
        (checked(b"$-w 3F2A 1 5 beat"), Flaw.BAD_FORM),
        (checked(b"#w1 3F2A 1 5 beat"), Flaw.BAD_FORM),
        (checked(b"$w1 3F2A 1 5 beat a=" + b"x" * MAX_SENTENCE), Flaw.BAD_FORM),
    ],
)
def test_a_line_that_is_not_exactly_a_sentence_is_refused(line: bytes, flaw: Flaw) -> None:
    assert flaw_of(line) is flaw


def test_the_longest_sentence_has_512_bytes() -> None:
    room = MAX_SENTENCE - len(finish(encode(KNOCK._replace(fields={"a": ""}))))
    longest = KNOCK._replace(fields={"a": "x" * room})
    assert decode(line_of(longest)).sentence == longest
    with pytest.raises(ValueError, match="found a sentence of 513 bytes, expected at most 512"):
        line_of(KNOCK._replace(fields={"a": "x" * (room + 1)}))


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        (KNOCK._replace(node="a b"), "found node name 'a b'"),
        (KNOCK._replace(node=""), "found node name ''"),
        (KNOCK._replace(verb="Knock"), "lower-case words"),
        (KNOCK._replace(fields={"a b": "1"}), "lower-case words"),
        (KNOCK._replace(session="3f2a"), "found session '3f2a'"),
        (KNOCK._replace(seq=MAX_SEQ + 1), "expected 32-bit numbers"),
        (KNOCK._replace(clock_us=-1), "expected 32-bit numbers"),
        (KNOCK._replace(fields={"who": "a\x1b[0m"}), "only printable"),
    ],
)
def test_a_sentence_that_cannot_be_sent_raises_an_error(sentence: Sentence, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        encode(sentence)
