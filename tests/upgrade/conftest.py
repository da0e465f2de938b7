"""Fixtures: a table's files of release 0.1.0 after a power cut in the middle of the fifth throw.

The daemon of that release and its embedded engine made them: four throws and the beginning of a fifth, all
outcomes acknowledged, then SIGKILL. The last two rows have no signature. One of them is the acknowledgement
of the fifth throw's `bets.closed`.
"""

import tarfile
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parent / "data" / "table-0.1.0.tar.gz"


@pytest.fixture
def old_table(tmp_path: Path) -> Path:
    """Return the journal's folder, which also contains the head file, key, identity and engine database."""
    folder = tmp_path / "journal"
    folder.mkdir()
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder
