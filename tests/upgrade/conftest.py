"""A table's files as 0.1.0 left them at a power cut, in the middle of its fifth throw.

They were made by that release's own daemon with its embedded engine: four throws, with all outcomes
acknowledged except the last one's `bets.closed`, then SIGKILL. The last row, an acknowledgement, has no
signature.
"""

import tarfile
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parent / "data" / "table-0.1.0.tar.gz"


@pytest.fixture
def old_table(tmp_path: Path) -> Path:
    """Return the journal's folder, with head, key, identity and the engine's database in it."""
    folder = tmp_path / "journal"
    folder.mkdir()
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder
