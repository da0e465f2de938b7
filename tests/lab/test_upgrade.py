"""After a power cut during an upgrade, the table runs a complete release, the previous one or the new one."""

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.lab.cache import CannotBuild, cache
from tests.lab.conftest import MakeMachine
from tests.lab.cuts import IN_UPGRADE, Cut, Ledger, in_words
from tests.lab.guest import upgrade
from tests.lab.kept import Kept, differences, read_disk
from tests.lab.machine import Machine, empty_disk
from tests.lab.report import Report
from tests.lab.root import CHECKOUT, wheelhouse

CUTS = max(1, int(os.environ.get("LAB_CUTS") or 20) // 20)
"""Number of cuts in this run, by default one (two minutes); the next run tries another moment."""
MOMENTS: Mapping[str, tuple[str, float]] = {
    "while it is built": ("begun", 30.0),
    "when it is whole": ("whole", 5.0),
    "when it is switched to": ("switched", 0.5),
    "while it is tried": ("switched", 20.0),
    "soon after": ("ended", 5.0),
}
"""The guest's message after which the power is cut, and the maximum delay in seconds."""
HUNG_S = 600
PATIENCE_S = 900
"""An upgrade in the guest takes a minute or two on an idle core."""
DISK_MIB = 64


@pytest.fixture(scope="session")
def wheels() -> Path:
    """Return the libraries from which a table without a network is upgraded."""
    try:
        return wheelhouse()
    except CannotBuild as why:
        pytest.skip(f"no upgrade without a network: {why}")


@pytest.mark.timeout(CUTS * 1800, func_only=True)
def test_a_table_whose_power_was_cut_in_an_upgrade_has_a_complete_release(
    machine: MakeMachine, built: tuple[Path, Path], report: Report, wheels: Path, tmp_path: Path
) -> None:
    ledger, names = Ledger(cache() / "cuts.jsonl"), list(MOMENTS)
    cuts = []
    for _ in range(CUTS):
        ran_before = sum(cut.moment.startswith(IN_UPGRADE) for cut in ledger.cuts())
        moment = names[ran_before % len(names)]
        published, bad, words = _cut(
            machine, moment, wheels, tmp_path / str(ran_before), random.Random(ran_before)
        )
        report.note(f"a power cut during an upgrade, {moment}", words)
        cuts.append(
            Cut(
                release=built[1].stem,
                game="craps",
                told=published,
                acknowledged=0,
                in_flight=0,
                began=True,
                bad=bad,
                moment=IN_UPGRADE + moment,
            )
        )
        ledger.add(cuts[-1])
    report.note("power cuts of all runs", in_words(ledger.cuts()))
    assert [cut for cut in cuts if cut.bad] == []
    assert all(cut.told for cut in cuts), "nothing was published, so nothing was tested"


def _cut(
    machine: MakeMachine, moment: str, wheels: Path, folder: Path, chance: random.Random
) -> tuple[int, list[str], str]:
    """Cut the power during an upgrade; return the number of published outcomes, the errors and a summary."""
    folder.mkdir()
    after, within_s = MOMENTS[moment]
    again = after == "begun"
    disk = empty_disk(folder / "journal.img", DISK_MIB)
    table = machine(systemd=True, tells=True, keeps_disk=True, disks=[disk], patience_s=PATIENCE_S)
    places = str(CHECKOUT), str(wheels)
    table.start(upgrade.upgrade, *places)
    words = _cut_after(after, chance.uniform(0, within_s), table)
    [before] = [str(one["what"]) for one in words if one["kind"] == "begun"]
    published = [one["what"] for one in words if one["kind"] == "told"]
    kept = read_disk(disk, folder / "looked-at")
    found = table.call(upgrade.inspect_after_cut, *places, upgrade_again=again)
    later = read_disk(disk, folder / "looked-at")
    bad = [
        *differences(kept, published, {}, Kept()),
        *(f"later: {one}" for one in differences(later, published, {}, kept)),
        *_wrong(found, before, again=again),
    ]
    return (
        len(published),
        bad,
        f"{len(published)} outcomes published; {before} ran before the cut, {found.release} after it",
    )


def _wrong(found: upgrade.StateAfterCut, before: str, *, again: bool) -> list[str]:
    """Return the errors in the state after the cut."""
    bad = [f"not whole: {path}" for path in found.broken] + [f"empty: {path}" for path in found.empty]
    if not found.ready:
        bad.append(f"did not come up: {found.words}")
    if "sound" not in found.verified:
        bad.append(f"the journal: {found.verified}")
    if again and found.upgraded == before:
        bad.append(f"could not be upgraded again: {found.words}")
    return bad


def _cut_after(word: str, wait_s: float, table: Machine) -> list[dict[str, Any]]:
    """Cut the power at a delay after this message of the guest; return all its messages."""
    words: list[dict[str, Any]] = []
    began, cut_at = time.monotonic(), float("inf")
    while time.monotonic() < cut_at:
        assert table.runs, f"the guest ended early:\n{table.console()}"
        assert time.monotonic() < began + HUNG_S, f"{word}: did not come within {HUNG_S} s\n{table.console()}"
        words += _decoded(table.heard(min(1.0, max(0.0, cut_at - time.monotonic()))))
        if cut_at == float("inf") and any(one["kind"] == word for one in words):
            cut_at = time.monotonic() + wait_s
    table.cut()
    return words + _decoded(table.last_words())


def _decoded(lines: list[bytes]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in lines]
