"""A power failure at any write of a journal's upgrade leaves the old or the new journal."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.keys import load_key
from controller.journal.reading import Reader
from tests.journal import crash
from tests.journal.disks import RecordingDisk, Written, mounted
from tests.upgrade.test_journal import ANN, NOW, opened, place_of

STATES = 24
NAMES = {"journal.db": "journal.db", "journal.db-wal": "journal.db-wal", "journal.head": crash.HEAD}


def accepted_on(disk: RecordingDisk, folder: Path) -> dict[str, bytes]:
    """Accept a journal on a disk that records writes; return the journal's files from before."""
    before = {name: (folder / name).read_bytes() if (folder / name).exists() else b"" for name in NAMES}
    with mounted(disk) as vfs, crash._recorded_head(disk):
        Journal.open(
            place_of(folder),
            load_key(folder / "table.key"),
            table="craps",
            wall=lambda: NOW,
            on_durable=lambda _: None,
            alarm=lambda _: None,
            accept=ANN,
            vfs=vfs,
        ).close()
    return before


def after_cut(template: Path, to: Path, before: dict[str, bytes], log: Sequence[Written], seed: int) -> Path:
    """Write the folder as a power cut during these operations may have left it."""
    chance = random.Random(seed)
    shutil.copytree(template, to)
    for name, recorded in NAMES.items():
        image = crash._image(before[name], log, recorded, chance)
        (to / name).write_bytes(image)
    (to / "journal.db-shm").unlink(missing_ok=True)
    return to


def approval_required(folder: Path) -> str:
    """Open the journal as a start does, with a person's approval if required; return the requirement."""
    asked = ""
    try:
        opened(folder).close()
    except JournalFault as fault:
        asked = fault.code
        opened(folder, ANN).close()
    with Reader(folder / "journal.db") as reader:
        found = reader.verify_all(head=folder / "journal.head")
        words = [json.loads(row.body or b"")["code"] for row in reader.rows(types={"journal.accepted"})]
    assert found.unauthenticated == ()
    assert words.count("journal_old_layout") == 1, (
        "a person who is asked twice would think that the journal is an older copy"
    )
    return asked


def test_a_journal_that_was_being_accepted_is_the_old_one_or_the_new_one(
    old_table: Path, tmp_path: Path
) -> None:
    template = tmp_path / "template"
    shutil.copytree(old_table, template)
    disk = RecordingDisk()
    before = accepted_on(disk, old_table)
    chance = random.Random(1)
    cuts = [len(disk.log), *(chance.randrange(1, len(disk.log)) for _ in range(STATES))]
    found = [
        approval_required(after_cut(template, tmp_path / f"cut-{n}", before, disk.log[:cut], n))
        for n, cut in enumerate(cuts)
    ]
    assert set(found) == {"", "journal_old_layout", "journal_head_unsigned"}


@pytest.mark.parametrize("cut", ["head lost", "head cut"])
def test_a_head_lost_meanwhile_is_reported(cut: str, old_table: Path) -> None:
    opened(old_table, ANN).close()
    head = old_table / "journal.head"
    if cut == "head lost":
        head.unlink()
    else:
        head.write_bytes(head.read_bytes()[:20])
    with pytest.raises(JournalFault, match="head"):
        opened(old_table)
