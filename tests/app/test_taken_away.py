"""A table whose journal is deleted or renamed while it runs reports this and locks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from drivers.sim import dice
from tests.app.rig import Table, lines_of, tick, until


def _deleted(file: Path) -> None:
    file.unlink()


def _renamed(file: Path) -> None:
    file.rename(file.with_name("aside"))


@pytest.mark.parametrize("deed", [_deleted, _renamed])
def test_a_table_whose_journal_is_removed_locks_and_publishes_nothing_more(
    tmp_path: Path, deed: Callable[[Path], None]
) -> None:
    table = Table(tmp_path)
    table.start()
    try:
        table.unlock()
        until(
            lambda: any("unlocked" in str(line) for line in table.published), "table.unlocked to be published"
        )
        deed(table.journal / "journal.db")
        until(lambda: "journal_taken_away" in str(table.status()), "the fault")
        until(lambda: table.status()["lock"] == "locked", "the lock")
        published = list(table.published)
        _, feed, _ = dice.simulate(3, {"valid": 1.0}, 2)
        readings = list(feed)
        table.feed([*lines_of(readings), tick(readings[-1][0] + 10_000_000)])
        assert table.terminate() != 0
    finally:
        if table.process is not None:
            table.kill()
    assert table.published == published
    assert "journal_taken_away" in table.log
