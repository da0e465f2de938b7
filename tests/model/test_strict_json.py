"""JSON with exactly one meaning, or a refusal."""

import json
import math
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.conversion import StrictJsonError, decode_strict

TWO_MEANINGS = {
    b'{"amount":500,"amount":1}': "`amount` twice",
    b'{"a":{"b":1,"b":2}}': "`b` twice",
    b'[{"b":1,"b":1}]': "`b` twice",
    b'{"\\u0061":1,"a":2}': "`a` twice",
    b'{"a":"x:y","a":2}': "`a` twice",
    b'{"a":NaN}': "`a` NaN",
    b'{"a":[1,Infinity]}': "`a` Infinity",
    b'{"a":-Infinity}': "`a` -Infinity",
    b'{"a":1E400}': "`a` 1E400",
    b'{"a":-1e999}': "`a` -1e999",
    b'{"a":' + b"9" * 5000 + b"}": "`a` 999",
    b'{"a":' + b"1" * 310 + b"}": "`a` 111",
    b'{"a":-' + b"1" * 310 + b"}": "`a` -111",
    b"[" + b"1" * 310 + b"]": "the text 111",
    b"1" * 310: "the text 111",
    b'{"a":"\\ud800"}': "half of a surrogate pair in `a`",
    b'{"\\udfff":1}': "half of a surrogate pair in a key",
    b'{"a":["\\udc00\\ud800"]}': "half of a surrogate pair in `a`",
    b'{"a":"b\\u0000c"}': "a NUL in `a`",
    b'{"a\\u0000":1}': "a NUL in a key",
    b'"\xed\xa0\x80"': "a byte that is not UTF-8 (0xed at offset 1)",
    b"\xff": "a byte that is not UTF-8 (0xff at offset 0)",
    b"": "no JSON",
    b"\0": "no JSON",
    b'{"a":1} {"a":1}': "no JSON",
    b"[" * 100_000: "lists and objects nested more than 200 deep",
}


@pytest.mark.parametrize(("raw", "found"), TWO_MEANINGS.items(), ids=[str(raw[:24]) for raw in TWO_MEANINGS])
def test_ambiguous_json_is_refused_and_named(raw: bytes, found: str) -> None:
    with pytest.raises(StrictJsonError) as answer:
        decode_strict(raw)
    assert str(answer.value).startswith(f"found {found}")
    assert ", expected " in str(answer.value)


def test_unambiguous_json_is_read() -> None:
    assert decode_strict('{"a":[1,-2.5e3,"ä\\ud83d\\ude00",{"a":null}],"b":true}'.encode()) == {
        "a": [1, -2500.0, "ä😀", {"a": None}],
        "b": True,
    }


plain = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain,
    lambda inner: st.lists(inner) | st.dictionaries(plain, inner),
)


@settings(derandomize=True, deadline=None)
@given(values, st.booleans())
def test_every_json_value_is_read_unchanged(value: object, ascii_only: bool) -> None:
    assert decode_strict(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@settings(derandomize=True, deadline=None)
@given(st.binary(max_size=40) | st.text('{}[]":,\\u0eE+-.1dD ', max_size=30).map(str.encode))
def test_any_input_is_read_or_refused_with_a_message(raw: bytes) -> None:
    with suppress(StrictJsonError):
        value = decode_strict(raw)
        assert not isinstance(value, float) or math.isfinite(value)
        assert msgspec.json.decode(raw) == value


@settings(derandomize=True, deadline=None)
@given(st.dictionaries(plain, st.integers(), min_size=1), st.data())
def test_any_key_given_twice_is_found(found: dict[str, int], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(found)))
    pairs = [*found.items(), (key, 0)]
    raw = "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"
    with pytest.raises(StrictJsonError, match="twice"):
        decode_strict(raw.encode())


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1500 + b"]" * 1500,
        b'{"a": ' * 1500 + b"1" + b"}" * 1500,
        b'[{"a": 1}, ' + b"[" * 1500 + b"]" * 1500 + b"]",
        b'["\\"", ' + b"[" * 1500 + b"]" * 1500 + b"]",
    ],
)
def test_json_nested_too_deep_is_refused_whatever_python_could_handle(text: bytes) -> None:
    with pytest.raises(StrictJsonError, match="nested more than 200 deep"):
        decode_strict(text)


def test_brackets_in_a_string_or_side_by_side_are_not_nested() -> None:
    assert decode_strict(b'["' + b"[" * 1000 + b'\\"[", ' + b"[], " * 1000 + b"7]")
