"""Run benchmarks and print one table of their figures next to those of the previous release.

`python -m tests.benchmarks [NAME...] [--runs N] [--keep RELEASE]` runs all benchmarks, or the named ones, N
times each (default 1). A benchmark is repeated, up to three runs in all, if it misses a goal or if the cost
of a figure relative to its floor has risen by 15 % since the previous release. The best cost of each figure
is used, and the table shows the spread of the runs. The exit status is 1 if a regression remains or if no run
met the goals. `--keep` writes the ratios to `releases.json`, and later runs are compared with the last
release in this file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.benchmarks.figures import FILE, Figure, Release, best, handed_over, regressed, spread, table_of

HERE = Path(__file__).parent
KEPT = HERE / "releases.json"
NAMES = sorted(
    file.stem
    for file in HERE.glob("*.py")
    if not file.stem.startswith(("_", "test_")) and file.stem not in ("figures", "reading_time")
)
MAX_RUNS = 3
"""Maximum number of runs of a benchmark that misses a goal or shows a regression."""


def run(name: str) -> tuple[bool, list[Figure]]:
    """Run a benchmark in its own process; return whether it met its goals, and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures"
        file.touch()
        command = [sys.executable, "-m", f"tests.benchmarks.{name}"]
        ended = subprocess.run(command, env={**os.environ, FILE: str(file)}, check=False)
        return ended.returncode == 0, handed_over(file)


def measured(name: str, before: dict[str, float], least_runs: int) -> tuple[bool, list[list[Figure]]]:
    """Run a benchmark, with repetitions; return whether a run met the goals, and the figures of all runs."""
    met = False
    runs: list[list[Figure]] = []
    while len(runs) < least_runs or (len(runs) < MAX_RUNS and (not met or regressed(best(runs), before))):
        met_now, figures = run(name)
        met = met or met_now
        runs.append(figures)
    return met, runs


def main() -> int:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"the benchmarks to run: {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="run each benchmark at least this many times"
    )
    parser.add_argument("--keep", metavar="RELEASE", help="store the ratios as those of this release")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"found no benchmark {', '.join(sorted(unknown))}, expected one of {', '.join(NAMES)}")
    releases = msgspec.json.decode(KEPT.read_bytes(), type=list[Release])
    before = releases[-1] if releases else Release("none before", {})
    figures: list[Figure] = []
    all_runs: list[list[Figure]] = []
    missed = []
    for name in given.names or NAMES:
        met, runs = measured(name, before.ratios, given.runs)
        figures += best(runs)
        all_runs += runs
        if not met:
            missed.append(f"{name} missed its goal")
    missed += [f"{figure.name}: a regression" for figure in regressed(figures, before.ratios)]
    sys.stdout.write("\n" + table_of(figures, before, spread(all_runs)))
    sys.stdout.write("".join(f"bench: {line}\n" for line in missed))
    if given.keep:
        keep(given.keep, figures, releases)
    return 1 if missed else 0


def keep(release: str, figures: list[Figure], releases: list[Release]) -> None:
    """Add a release's ratios; figures that were not measured keep their earlier ratios."""
    older = [one for one in releases if one.release != release]
    known = next((one.ratios for one in releases if one.release == release), {})
    ratios = {**known, **{figure.name: round(figure.ratio, 3) for figure in figures}}
    now = [*older, Release(release, dict(sorted(ratios.items())))]
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=2) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
