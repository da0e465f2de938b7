"""Only one process at a time uses the lab's cached files. These tests need no machine."""

import fcntl
from pathlib import Path

import pytest

from tests.lab import results
from tests.lab.cache import alone


def test_a_root_in_use_by_a_test_is_held_by_that_test_only(tmp_path: Path) -> None:
    root = tmp_path / "root"

    with alone(root), (tmp_path / "root.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with (tmp_path / "root.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_long_test_is_repeated_once_a_file_that_it_tests_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    monkeypatch.setattr(results, "sources", lambda: "before")
    results.keep("a_day", ["24 hours"])
    kept = results.kept("a_day")
    assert kept is not None
    assert kept.notes == ["24 hours"]

    monkeypatch.setattr(results, "sources", lambda: "after")

    assert results.kept("a_day") is None
    assert results.kept("another") is None
