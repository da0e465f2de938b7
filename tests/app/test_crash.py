"""A table killed at any instant keeps every published outcome, guesses nothing, and continues to play."""

from collections.abc import Callable
from pathlib import Path

import pytest

from drivers.sim import dice, high_roller, three_card, wheel
from tests.app.killed_table import KilledTable
from tests.app.rig import Table


def craps(folder: Path, seed: int) -> KilledTable:
    """Return a craps table whose shooters get warnings."""
    _, feed, _ = dice.simulate(seed, {"valid": 6.0, "one_short": 3.0, "off_table": 1.0}, 12, rules="craps-v1")
    return KilledTable(Table(folder, name="craps-v1", anew=True), feed, seed)


def roulette(folder: Path, seed: int) -> KilledTable:
    """Return a roulette table that learns its wheel."""
    _, feed, _ = wheel.simulate(seed, {"valid": 3.0, "hop": 1.0}, 12, wheel=wheel.AMERICAN)
    return KilledTable(Table(folder, name="roulette", anew=True), feed, seed)


def three_card_poker(folder: Path, seed: int) -> KilledTable:
    """Return a Three Card Poker table."""
    _, feed, _ = three_card.simulate(seed)
    return KilledTable(Table(folder, name="three-card", anew=True), feed, seed)


def high_roller_12_005(folder: Path, seed: int) -> KilledTable:
    """Return a High Roller table with the length of the simulated table."""
    _, feed, _ = high_roller.simulate(seed, games=4)
    shipped = Path(__file__).parents[2] / "config" / "tables" / "high-roller.yaml"
    table = folder / "high-roller.yaml"
    length = f"length_mm: {dice.TABLE.length_mm:g}"
    table.write_text(shipped.read_text(encoding="utf-8").replace("length_mm: 2400", length), encoding="utf-8")
    return KilledTable(Table(folder, name=str(table), anew=True), feed, seed)


@pytest.mark.parametrize(
    ("play", "seed", "kills"),
    [(craps, 11, 9), (roulette, 12, 6), (three_card_poker, 13, 6), (high_roller_12_005, 14, 6)],
)
def test_a_killed_table_keeps_its_published_outcomes_and_reviews_the_attempt_that_was_cut_off(
    tmp_path: Path, play: Callable[[Path, int], KilledTable], seed: int, kills: int
) -> None:
    table = play(tmp_path, seed)
    for _ in range(kills):
        table.run_until_killed()
    assert table.close() == 0
    assert table.table.published, "the table published nothing, so nothing was tested"
    assert table.cut_off >= kills // 3, "too few kills happened during an attempt"
