"""A table's files as release 0.1.0 left them at a power cut in the middle of the fifth throw.

They were made by that release's own daemon with its embedded engine: four throws and the beginning of a
fifth, all outcomes acknowledged, then SIGKILL. The last two rows, among them the acknowledgement of the fifth
throw's `bets.closed`, have no signature.
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
