"""The table of all benchmarks: what is a regression, and what is held against which release."""

from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.__main__ import KEPT, NAMES
from tests.benchmarks.figures import FILE, Figure, Release, best, regressed, spread, table_of, tell, told

BEFORE = {"replay": 2.0}


def costing(ratio: float, name: str = "replay") -> Figure:
    """Return a figure that costs so many times its floor."""
    return Figure(name, ratio * 3, 3.0, "us", "json.loads")


@pytest.mark.parametrize(("ratio", "worse"), [(1.5, False), (2.0, False), (2.29, False), (2.31, True)])
def test_what_costs_15_percent_more_of_its_floor_than_in_the_release_before_is_a_regression(
    ratio: float, worse: bool
) -> None:
    assert bool(regressed([costing(ratio)], BEFORE)) is worse


def test_what_the_release_before_did_not_measure_is_new_and_no_regression() -> None:
    assert regressed([costing(99, "brand new")], BEFORE) == []
    assert "new" in table_of([costing(99, "brand new")], Release("0.1.0", BEFORE), {"brand new": (1, 1)})


def test_a_run_on_a_busy_machine_is_no_regression_where_another_run_was_not() -> None:
    figures = best([[costing(3.1), costing(1.2, "link")], [costing(2.1), costing(1.4, "link")]])
    assert [figure.ratio for figure in figures] == pytest.approx([2.1, 1.2])


def test_the_table_has_ratio_floor_and_the_release_before() -> None:
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


def test_a_benchmark_reports_its_figures_only_where_it_was_started_for_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FILE, raising=False)
    tell(costing(1))
    monkeypatch.setenv(FILE, str(tmp_path / "figures"))
    tell(costing(2))
    tell(costing(3), costing(4))
    assert told(tmp_path / "figures") == [costing(2), costing(3), costing(4)]


def test_the_kept_ratios_are_whole() -> None:
    assert {"replay", "settlement", "journal"} <= set(NAMES)
    for release in msgspec.json.decode(KEPT.read_bytes(), type=list[Release]):
        assert release.ratios
        assert all(ratio > 0 for ratio in release.ratios.values())
