"""The figures of a benchmark: costs, each with a floor measured in the same run."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

FILE = "BENCH_FIGURES"
"""The environment variable with the file to which a benchmark's process appends its figures."""
REGRESSION = 1.15
"""Factor by which a cost relative to its floor must increase from one release to the next to be a regression.
"""


class Figure(msgspec.Struct, frozen=True):
    """A cost and its floor, the lowest possible cost, in the same `unit`. A lower cost is better."""

    name: str
    cost: float
    floor: float
    unit: str
    beside: str
    """A description of the floor."""

    @property
    def ratio(self) -> float:
        """Return the cost as a multiple of the floor."""
        return self.cost / self.floor


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ratios of a release, by figure."""

    release: str
    ratios: dict[str, float]


def hand_over(*figures: Figure) -> None:
    """Append figures to the file for the table of all benchmarks, if there is such a file."""
    if file := os.environ.get(FILE):
        with Path(file).open("ab") as lines:
            lines.writelines(msgspec.json.encode(figure) + b"\n" for figure in figures)


def handed_over(file: Path) -> list[Figure]:
    """Read the figures that a benchmark's process appended."""
    return [msgspec.json.decode(line, type=Figure) for line in file.read_bytes().splitlines()]


def best(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """Return each figure from its best run, because a busy machine only adds cost."""
    cheapest: dict[str, Figure] = {}
    for figure in (figure for run in runs for figure in run):
        known = cheapest.get(figure.name)
        if known is None or figure.ratio < known.ratio:
            cheapest[figure.name] = figure
    return list(cheapest.values())


def regressed(figures: Sequence[Figure], before: Mapping[str, float]) -> list[Figure]:
    """Return the figures whose cost relative to the floor has risen by at least 15 %."""
    return [
        figure
        for figure in figures
        if figure.name in before and figure.ratio >= REGRESSION * before[figure.name]
    ]


Spread = Mapping[str, tuple[float, float]]
"""The minimum and maximum cost of several runs, by figure."""


def spread(runs: Sequence[Sequence[Figure]]) -> Spread:
    costs: dict[str, list[float]] = {}
    for figure in (figure for run in runs for figure in run):
        costs.setdefault(figure.name, []).append(figure.cost)
    return {name: (min(each), max(each)) for name, each in costs.items()}


def table_of(figures: Sequence[Figure], before: Release, costs: Spread) -> str:
    """Return a table of all figures next to those of the previous release."""
    head = ("figure", "cost", "all runs", "floor", "ratio", before.release, "change", "the floor is")
    rows = [
        head,
        *(_row(figure, before.ratios.get(figure.name), costs[figure.name]) for figure in figures),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place in (0, 7) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join((*lines, ""))


def _row(figure: Figure, before: float | None, costs: tuple[float, float]) -> tuple[str, ...]:
    return (
        figure.name,
        f"{figure.cost:.4g} {figure.unit}",
        "{:.4g} to {:.4g}".format(*costs),
        f"{figure.floor:.4g} {figure.unit}",
        f"{figure.ratio:.2f}",
        "-" if before is None else f"{before:.2f}",
        "new" if before is None else f"{figure.ratio / before - 1:+.0%}",
        figure.beside,
    )
