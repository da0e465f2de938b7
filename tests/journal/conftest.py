"""Fixtures: a fresh table for every test of the journal."""

from pathlib import Path

import pytest

from tests.journal.rig import Rig, rig_in


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return rig_in(tmp_path)
