"""A configuration file is read strictly, and all its mistakes are reported together."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, MinLen
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.settings.document import read_document
from controller.settings.mistakes import Mistake, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Throw:
    wall: Literal["end", "far", "any"]
    call_hold_ms: Annotated[float, Ge(0)] = 250.0
    required: bool = False
    delay_ms: tuple[float, float] = (0.5, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    name: str
    limit_cents: int | None = None
    throw: Throw | None = None
    pays: Mapping[str, int] = field(default_factory=dict)
    throws: Annotated[tuple[Throw, ...], MinLen(1)] | None = None
    factor: float | tuple[float, ...] = 1.0


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "rules.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mistakes(folder: Path, text: str | bytes) -> tuple[Mistake, ...]:
    with pytest.raises(SettingsError) as caught:
        read_document(write(folder, text), Rules)
    return caught.value.mistakes


def only_mistake(folder: Path, text: str | bytes) -> Mistake:
    (mistake,) = mistakes(folder, text)
    return mistake


def test_a_file_becomes_its_type(tmp_path: Path) -> None:
    text = """
        name: craps
        limit_cents: 1000
        pays: {"4": 7, yo: 15}
        throw:
          wall: far
          call_hold_ms: 300    # a whole number where a float is wanted
          delay_ms: [1, 2.5]   # a list where a tuple is wanted
          required: true
        throws: [{wall: end}, {wall: any}]
        factor: [1, 2]
    """
    assert read_document(write(tmp_path, text), Rules) == Rules(
        name="craps",
        limit_cents=1000,
        pays={"4": 7, "yo": 15},
        throw=Throw(wall="far", call_hold_ms=300.0, delay_ms=(1.0, 2.5), required=True),
        throws=(Throw(wall="end"), Throw(wall="any")),
        factor=(1.0, 2.0),
    )


WORDS = [
    "on",
    "off",
    "no",
    "yes",
    "y",
    "True",
    "017",
    "0o17",
    "0x1f",
    "1_000",
    "12:30",
    "2021-04-14",
    "+5",
    ".inf",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_value_that_looks_like_a_word_stays_a_word(tmp_path: Path, word: str) -> None:
    assert read_document(write(tmp_path, f"name: {word}"), Rules).name == word


@pytest.mark.parametrize("word", [*WORDS, "1e999", '"250"', "9" * 400 + ".5"])
def test_a_word_is_never_taken_for_a_number(tmp_path: Path, word: str) -> None:
    mistake = only_mistake(tmp_path, f"name: x\nthrow:\n  wall: end\n  call_hold_ms: {word}\n")
    assert (mistake.key, mistake.expected) == ("throw.call_hold_ms", "a number of milliseconds, at least 0")


@pytest.mark.parametrize("word", ["on", "yes", "True", "1", "'true'", "null"])
def test_only_true_and_false_are_booleans(tmp_path: Path, word: str) -> None:
    mistake = only_mistake(tmp_path, f"name: x\nthrow: {{wall: end, required: {word}}}")
    assert (mistake.key, mistake.expected) == ("throw.required", "true or false")


def test_a_boolean_is_not_a_number_and_a_number_is_not_a_text(tmp_path: Path) -> None:
    limit, name = mistakes(tmp_path, "limit_cents: true\nname: 17\n")
    assert (limit.found, limit.expected) == ("true", "a whole number of cents")
    assert (name.found, name.expected, name.hint) == ("17", "text", "write it in quotes: '17'")


def test_a_float_is_not_an_integer(tmp_path: Path) -> None:
    assert only_mistake(tmp_path, "name: x\nlimit_cents: 10.0").found == "10.0"


def test_a_mistake_names_its_place_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mistake = only_mistake(tmp_path, "name: x\nthrow:\n    wall: end\n    call_hold_ms: soon\n")
    assert str(mistake) == (
        "rules.yaml:4:5: throw.call_hold_ms: found 'soon', expected a number of milliseconds, at least 0; "
        "write a plain decimal number, without a unit or quotes"
    )


def test_all_mistakes_come_at_once_in_the_files_order(tmp_path: Path) -> None:
    throw = "throw:\n  wall: front\n  call_hold_ms: -1\n  delay_ms: [1]\n"
    text = f"name: x\n{throw}throws: [{{wall: any}}, {{}}]\nlimit: 5\n"
    assert [(mistake.line, mistake.key) for mistake in mistakes(tmp_path, text)] == [
        (3, "throw.wall"),
        (4, "throw.call_hold_ms"),
        (5, "throw.delay_ms"),
        (6, "throws[1].wall"),
        (7, "limit"),
    ]


def test_the_error_prints_one_line_per_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_document(write(tmp_path, "limit_cents: a\n"), Rules)
    assert str(caught.value).splitlines() == [str(mistake) for mistake in caught.value.mistakes]
    assert len(caught.value.mistakes) == 2


def test_for_a_misspelt_key_the_right_one_is_suggested(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, "name: x\nthrow:\n  wall: end\n  call_hold: 3\n")
    assert (mistake.line, mistake.found, mistake.hint) == (
        4,
        "an unknown key",
        "did you mean 'call_hold_ms'?",
    )


def test_for_a_misspelt_value_the_right_one_is_suggested(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, "name: x\nthrow: {wall: farr}")
    assert mistake.expected == "one of 'end', 'far' or 'any'"
    assert mistake.hint == "did you mean 'far'?"


def test_a_missing_key_is_reported_at_its_section(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, "name: x\nthrow:\n  call_hold_ms: 3\n")
    assert (mistake.line, mistake.key, mistake.found) == (2, "throw.wall", "nothing")
    assert mistake.hint == "add the key 'wall'"


def test_a_list_of_the_wrong_length_is_a_mistake(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, "name: x\nthrow: {wall: end, delay_ms: [1, 2, 3]}")
    assert (mistake.found, mistake.expected) == ("a list of 3", "a list of 2")
    assert only_mistake(tmp_path, "name: x\nthrows: []").found == "a list of 0"


def test_a_wrong_value_in_a_mapping_is_a_mistake(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, "name: x\npays:\n  yo: fifteen\n")
    assert (mistake.line, mistake.key, mistake.expected) == (3, "pays.yo", "a whole number")


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("name: x\nlimit_cents: 1\nname: y\n", 3, "the key a second time (first on line 1)"),
        ("name: x\nthrow: &throw\n  wall: end\n", 2, "the anchor '&throw'"),
        ("name: *x\n", 1, "the alias '*x'"),
        ("name: !secret x\n", 1, "the tag '!secret'"),
        ("name: !!str 5\n", 1, "the tag 'tag:yaml.org,2002:str'"),
        ("name: x\n? [a, b]\n: 1\n", 2, "a key that is not a plain word"),
        ("name: x\n---\nname: y\n", 2, "a second document ('---')"),
        ('name: "\\ud800"\n', 1, "half a surrogate pair"),
    ],
)
def test_yaml_features_that_a_technician_does_not_expect_are_mistakes(
    tmp_path: Path, text: str, line: int, found: str
) -> None:
    first = mistakes(tmp_path, text)[0]
    assert (first.line, first.found) == (line, found)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 0, "an empty file"),
        ("# nothing\n", 0, "an empty file"),
        (b"name: \xff", 0, "bytes that are not UTF-8 text (byte 6)"),
        ("name: x\nlimit: [1\n", 3, "text that is not YAML (expected ',' or ']', but got '<stream end>')"),
        (
            "name: x\n\tlimit: 1\n",
            2,
            "text that is not YAML (found character '\\t' that cannot start any token)",
        ),
        ("name: x\nb: \x07", 2, "a character that YAML does not allow (U+0007)"),
        (r'name: "\UFFFFFFFF"', 0, r"an escape such as \UFFFFFFFF that names no character"),
        ("[" * 5000, 1, "more than 24 nested levels"),
        ("- a\n", 1, "a list of 1"),
        ("just words", 1, "'just words'"),
    ],
)
def test_a_file_without_a_section_is_a_mistake(
    tmp_path: Path, text: str | bytes, line: int, found: str
) -> None:
    mistake = only_mistake(tmp_path, text)
    assert (mistake.line, mistake.found) == (line, found)


def test_a_missing_file_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no readable file"):
        read_document(tmp_path / "none.yaml", Rules)
    with pytest.raises(SettingsError, match="no valid file name"):
        read_document(tmp_path / "\0.yaml", Rules)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    assert read_document(write(tmp_path, b"\xef\xbb\xbfname: x"), Rules).name == "x"


FRAGMENTS = """
name throw wall end delay_ms pays : :_ -_ _ { } [ ] , ?_ &a *a ! !!int_ | > ' " \\ \\U \\ud800 FFFFFFFF #
--- ... 1 - . e9
true null ~ << %YAML
"""


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    text=st.one_of(
        st.lists(
            st.sampled_from([word.replace("_", " ") for word in FRAGMENTS.split()] + ["\n", "\n  ", "\t"]),
            max_size=25,
        ).map("".join),
        st.text(max_size=60),
        st.binary(max_size=40),
    )
)
def test_no_text_raises_anything_but_mistakes(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(SettingsError):
        assert isinstance(read_document(path, Rules), Rules)
