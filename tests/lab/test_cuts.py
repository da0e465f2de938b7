"""Power cuts: the disk has exactly the published outcomes, and the game's state is unchanged."""

import os
import random
from pathlib import Path

import pytest

from tests.lab import games
from tests.lab.cache import cache
from tests.lab.conftest import MakeMachine
from tests.lab.cuts import LIVES, MOMENTS, Cut, CutTable, Ledger, in_words
from tests.lab.report import Report

CUTS = int(os.environ.get("LAB_CUTS") or 20)
ROUNDS = max(1, CUTS // 20)
"""Number of cuts at each of the journal's critical moments."""


def _tables(ran_before: int) -> list[tuple[str, int]]:
    """Return the games in turn with their numbers of cuts, up to LIVES on the same disks.

    The sequence continues where the last run ended, so that even short runs reach every game over time.
    """
    whole, rest = divmod(CUTS, LIVES)
    names = list(games.GAMES)
    first = ran_before // LIVES
    turns = [LIVES] * whole + [rest] * bool(rest)
    return [(names[(first + n) % len(names)], count) for n, count in enumerate(turns)]


def _cut(
    machine: MakeMachine, release: str, folder: Path, report: Report, tables: list[tuple[str, list[str]]]
) -> list[Cut]:
    """Cut the power of each of these tables at its moments, and return the results."""
    ledger, cuts = Ledger(cache() / "cuts.jsonl"), []
    ran_before = len(ledger.cuts())
    for n, (game, moments) in enumerate(tables):
        chance = random.Random(ran_before * 1000 + n)
        table = CutTable(game, release, folder / f"table-{n}", machine, chance)
        for cut in table.run_with_cuts(moments):
            ledger.add(cut)
            cuts.append(cut)
    report.note("power cuts of this run", in_words(cuts))
    report.note("power cuts of all runs", in_words(ledger.cuts()))
    return cuts


@pytest.mark.timeout(CUTS * 120, func_only=True)
def test_no_published_outcome_is_lost_with_the_power(
    machine: MakeMachine, built: tuple[Path, Path], report: Report, tmp_path: Path
) -> None:
    ran_before = len(Ledger(cache() / "cuts.jsonl").cuts())
    tables = [(game, [""] * count) for game, count in _tables(ran_before)]

    cuts = _cut(machine, built[1].stem, tmp_path, report, tables)

    assert [cut for cut in cuts if cut.bad] == []
    assert sum(cut.told for cut in cuts), "nothing was published, so nothing was tested"


@pytest.mark.timeout(len(MOMENTS) * (ROUNDS + 1) * 120, func_only=True)
def test_nothing_is_lost_at_the_journals_worst_moments(
    machine: MakeMachine, built: tuple[Path, Path], report: Report, tmp_path: Path
) -> None:
    ran_before = len(Ledger(cache() / "cuts.jsonl").cuts())
    names = list(games.GAMES)
    tables = [(names[(ran_before // LIVES + n) % len(names)], ["", *MOMENTS]) for n in range(ROUNDS)]

    cuts = _cut(machine, built[1].stem, tmp_path, report, tables)

    assert [cut for cut in cuts if cut.bad] == []
    assert {cut.moment for cut in cuts} == {"", *MOMENTS}
