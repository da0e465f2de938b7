"""Finding recorded logs and their stored outcomes."""

from pathlib import Path

from tests.replay.cases import Case, find_cases


def test_each_log_plain_or_packed_is_a_case_with_its_expected_outcomes(tmp_path: Path) -> None:
    for name in ("b.jsonl", "b.expected.jsonl", "a.b.jsonl.gz", "README.md"):
        (tmp_path / name).touch()
    assert find_cases(tmp_path) == [
        Case("a.b", tmp_path / "a.b.jsonl.gz", tmp_path / "a.b.expected.jsonl"),
        Case("b", tmp_path / "b.jsonl", tmp_path / "b.expected.jsonl"),
    ]
