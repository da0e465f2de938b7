"""The table of all benchmarks: regressions, and the compared releases."""

from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.__main__ import KEPT, NAMES
from tests.benchmarks.figures import (
    FILE,
    Figure,
    Release,
    best,
    hand_over,
    handed_over,
    regressed,
    spread,
    table_of,
)

BEFORE = {"replay": 2.0}


def costing(ratio: float, name: str = "replay") -> Figure:
    """Return a figure that costs this many times its floor."""
    return Figure(name, ratio * 3, 3.0, "us", "json.loads")


@pytest.mark.parametrize(("ratio", "worse"), [(1.5, False), (2.0, False), (2.29, False), (2.31, True)])
def test_a_cost_15_percent_higher_relative_to_its_floor_is_a_regression(ratio: float, worse: bool) -> None:
    assert bool(regressed([costing(ratio)], BEFORE)) is worse


def test_a_figure_not_measured_in_the_previous_release_is_new_and_not_a_regression() -> None:
    assert regressed([costing(99, "brand new")], BEFORE) == []
    assert "new" in table_of([costing(99, "brand new")], Release("0.1.0", BEFORE), {"brand new": (1, 1)})


def test_a_slow_run_is_not_a_regression_if_another_run_was_fast() -> None:
    figures = best([[costing(3.1), costing(1.2, "link")], [costing(2.1), costing(1.4, "link")]])
    assert [figure.ratio for figure in figures] == pytest.approx([2.1, 1.2])


def test_the_table_has_ratio_floor_and_the_previous_release() -> None:
    runs = [[costing(2.4)], [costing(2.2)], [costing(3.0)]]
    head, row = table_of(best(runs), Release("0.1.0", BEFORE), spread(runs)).splitlines()
    assert head.split()[:7] == ["figure", "cost", "all", "runs", "floor", "ratio", "0.1.0"]
    assert row.split() == [
        "replay",
        "6.6",
        "us",
        "6.6",
        "to",
        "9",
        "3",
        "us",
        "2.20",
        "2.00",
        "+10%",
        "json.loads",
    ]


def test_a_benchmark_hands_its_figures_over_only_if_started_for_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FILE, raising=False)
    hand_over(costing(1))
    monkeypatch.setenv(FILE, str(tmp_path / "figures"))
    hand_over(costing(2))
    hand_over(costing(3), costing(4))
    assert handed_over(tmp_path / "figures") == [costing(2), costing(3), costing(4)]


def test_the_stored_ratios_are_complete() -> None:
    assert {"replay", "settlement", "journal"} <= set(NAMES)
    for release in msgspec.json.decode(KEPT.read_bytes(), type=list[Release]):
        assert release.ratios
        assert all(ratio > 0 for ratio in release.ratios.values())
