"""Comparing outcomes with the expected outcomes."""

import gzip
from pathlib import Path

import pytest

from controller.replay.run import Json, compare, read_expected
from controller.replay.source import LogError

OPENED: Json = {"type": "bets.opened", "t": 1, "id": "t/s/1", "seq": 1, "data": {"round": 1, "cause": "paid"}}
NATURAL: Json = {
    "type": "roll.called",
    "t": 5,
    "id": "t/s/2",
    "seq": 2,
    "data": {"roll": 1, "dice": [3, 4], "point": None, "by": None},
}
NO_ROLL: Json = {
    "type": "roll.no_roll",
    "t": 9,
    "id": "t/s/3",
    "seq": 3,
    "data": {
        "roll": 2,
        "reasons": [{"code": "no_wall_hit", "rule": "C34-INV-2ii", "seen": "400 mm short", "die": 2}],
    },
}
GIVEN = [OPENED, NATURAL, NO_ROLL]

MATCHES: dict[str, list[Json]] = {
    "themselves": GIVEN,
    "types alone, in order": [{"type": "bets.opened"}, {"type": "roll.called"}, {"type": "roll.no_roll"}],
    "only one type of those given": [{"type": "roll.no_roll"}],
    "some keys": [{"type": "roll.called", "data": {"dice": [3, 4]}}],
    "a key that is null": [{"type": "roll.called", "data": {"point": None}}],
    "some keys of a cause": [
        {"type": "roll.no_roll", "data": {"reasons": [{"code": "no_wall_hit", "die": 2}]}}
    ],
    "nothing": [],
}


@pytest.mark.parametrize("expected", MATCHES.values(), ids=MATCHES.keys())
def test_expected_outcomes_match(expected: list[Json]) -> None:
    assert compare(GIVEN, expected) is None


DIFFERENCES: dict[str, tuple[list[Json], str]] = {
    "another value": (
        [{"type": "roll.called", "data": {"dice": [4, 3]}}],
        "outcome 1, key `data.dice[0]`: found 3, expected 4",
    ),
    "another length": (
        [{"type": "roll.called", "data": {"dice": [3]}}],
        "outcome 1, key `data.dice`: found [3,4], expected [3]",
    ),
    "a key that is not there": (
        [{"type": "roll.called", "data": {"total": 7}}],
        "outcome 1, key `data.total`: found no such key, expected 7",
    ),
    "a key that is null and not there": (
        [{"type": "roll.called", "data": {"late": None}}],
        "outcome 1, key `data.late`: found no such key, expected null",
    ),
    "true is not one": (
        [{"type": "roll.called", "seq": 2, "data": {"roll": True}}],
        "outcome 1, key `data.roll`: found 1, expected true",
    ),
    "another cause": (
        [{"type": "roll.no_roll", "data": {"reasons": [{"code": "off_table"}]}}],
        'outcome 1, key `data.reasons[0].code`: found "no_wall_hit", expected "off_table"',
    ),
    "a list for an object": ([{"type": "bets.opened", "data": []}], "outcome 1, key `data`: found {"),
    "another order": (
        [{"type": "roll.no_roll"}, {"type": "roll.called"}],
        'outcome 1, key `type`: found "roll.called", expected "roll.no_roll"',
    ),
    "one too many expected": (
        [{"type": "roll.called"}, {"type": "roll.called", "seq": 9}],
        'outcome 2, outcome: found none (the log has ended), expected {"type":"roll.called","seq":9}',
    ),
    "a type that never comes": ([{"type": "spin.called"}], "outcome 1, outcome: found none"),
}


@pytest.mark.parametrize(("expected", "says"), DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_the_first_difference_is_named(expected: list[Json], says: str) -> None:
    assert str(compare(GIVEN, expected)).startswith(says)


def test_one_outcome_too_many_of_an_expected_type_is_a_difference() -> None:
    difference = compare([NATURAL, OPENED, NATURAL], [{"type": "roll.called"}])
    assert "outcome 2, outcome: found {" in str(difference)
    assert str(difference).endswith("expected no further outcome of its type")


class TestReadingExpectedOutcomes:
    def test_plain_or_packed_with_blank_lines_between(self, tmp_path: Path) -> None:
        text = b'{"type": "bets.opened"}\n\n{"type": "roll.called"}\n'
        for name, data in {"plain": text, "packed": gzip.compress(text)}.items():
            (tmp_path / name).write_bytes(data)
            assert read_expected(str(tmp_path / name)) == [{"type": "bets.opened"}, {"type": "roll.called"}]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (b'{"type": "a"}\noops\n', r"e, line 2: found no JSON object \(oops\)"),
            (b"[1]\n", r"e, line 1: found no JSON object \(\[1\]\)"),
            (
                b'{"t": 1}\n',
                r"e, line 1: found an object without `type`, expected an outcome such as",
            ),
            (b'{"type": 7}\n', "e, line 1: found a `type` that is not text"),
            (b'{"type": "a", "data": {"total": 99, "total": 7}}\n', "e, line 1: found .*total.* twice"),
            (b'{"type": "\xff"}\n', r"e, line 1: found no JSON object \(.*xff"),
            (b"\x1f\x8b oops", "e: found damaged gzip data"),
            (b'\xef\xbb\xbf{"type": "roll.called"}', "e, line 1: found a UTF-8 byte order mark"),
            (gzip.compress(b'{"type": "a"}\n', mtime=0)[:-9], "e: found a file that was cut off"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path: Path, text: bytes, says: str) -> None:
        (tmp_path / "e").write_bytes(text)
        with pytest.raises(LogError, match=says):
            read_expected(str(tmp_path / "e"))

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(
            LogError, match=r"none: found no readable file .*expected a file of expected outcomes"
        ):
            read_expected(str(tmp_path / "none"))
