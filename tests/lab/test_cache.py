"""A resource shared by the lab's processes is held by one at a time; this needs no machine."""

import fcntl
from pathlib import Path

import pytest

from tests.lab.cache import alone


def test_a_root_in_use_by_a_test_is_held_by_that_test_only(tmp_path: Path) -> None:
    root = tmp_path / "root"

    with alone(root), (tmp_path / "root.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with (tmp_path / "root.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
