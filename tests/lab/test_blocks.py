"""Every write to the disk of a table in play is logged, and no cut loses a published outcome."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab import games, writelog
from tests.lab.conftest import MakeMachine
from tests.lab.guest import logged_disk
from tests.lab.kept import Kept, differences, read_disk
from tests.lab.machine import empty_disk
from tests.lab.report import Report

STATES = int(os.environ.get("LAB_STATES") or 40)
OUTCOMES = 30
DISK_MIB, LOG_MIB = 24, 512
SEED = 17


@pytest.mark.timeout(900 + STATES * 20, func_only=True)
@pytest.mark.parametrize("game", ["craps", "roulette"])
def test_published_outcomes_are_in_every_state_that_a_cut_may_leave(
    machine: MakeMachine, report: Report, tmp_path: Path, game: str
) -> None:
    disk, log = empty_disk(tmp_path / "disk.img", DISK_MIB), tmp_path / "log.img"
    before = tmp_path / "before.img"
    shutil.copy(disk, before)
    with log.open("wb") as file:
        file.truncate(LOG_MIB << 20)
    table = machine(disks=[disk, log])
    games.lay_out(game, table.folder)

    published = table.call(logged_disk.play, SEED, OUTCOMES)

    entries = writelog.read(log)
    bad: list[str] = []
    held, undecided = 0, 0
    for n, state in enumerate(writelog.states(entries, STATES, random.Random(SEED))):
        image = tmp_path / "state.img"
        subprocess.run(["cp", "--sparse=always", str(before), str(image)], check=True)
        writelog.apply(state, image)
        number = int(state.mark.removeprefix("told-")) if state.mark.startswith("told-") else 0
        wrong = differences(read_disk(image, tmp_path / "looked-at"), published[:number], {}, Kept())
        bad += [f"state {n} after {number} outcomes: {one}" for one in wrong]
        held += number
        undecided += state.undecided
    report.note(
        f"disk states of {game}",
        f"{STATES - len(bad)} of {STATES} passed, from {len(entries)} entries of the log; on average"
        f" {held / STATES:.1f} outcomes published, {undecided / STATES:.1f} sectors undecided",
    )
    assert bad == []
    assert held, "nothing was published before a cut, so nothing was tested"
    assert undecided, "no sector was undecided, so nothing was tested"
