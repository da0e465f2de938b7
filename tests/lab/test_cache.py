"""What the lab's processes share is held by one at a time: it needs no machine."""

import fcntl
from pathlib import Path

import pytest

from tests.lab.cache import alone


def test_a_root_that_a_test_works_in_is_held_by_that_test_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"

    with alone(root), (tmp_path / "root.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with (tmp_path / "root.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
