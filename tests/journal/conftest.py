"""Fixtures: a fresh table for every test of the journal."""

from pathlib import Path

import pytest

from tests.journal.rig import Rig, rig_in


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Return a table with its own key and folders."""
    return rig_in(tmp_path)
