"""Measure a whole replay next to `json.loads` of the same lines; the goal is three times the floor.

`python -m tests.benchmarks.replay [--attempts N]` prints a row for dice and one for a wheel. Each row has
the minimum CPU time of several runs, which alternate with runs of the floor. The exit status is 1 if the goal
is missed. A log of a few attempts (`--attempts 1`) measures the creation of a table's machines, which happens
once.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, wheel
from drivers.sim.scenes import write_log
from tests.benchmarks.figures import Figure, hand_over

GOAL = 3.0
RUNS = 5


def measure(path: Path) -> tuple[int, float, float]:
    """Return a log's number of readings, and the minimum seconds of `json.loads` and of the log's replay."""
    lines = path.read_bytes().splitlines()[1:]
    with open_log(str(path)) as log:
        ruleset = load_ruleset(log.header.ruleset)

    def floor() -> None:
        for line in lines:
            json.loads(line)

    def whole() -> None:
        with open_log(str(path)) as log:
            for _ in replay(log, build_setup(log.header, ruleset, log.name)):
                pass

    times = [(_seconds(floor), _seconds(whole)) for _ in range(RUNS)]
    return len(lines), min(time for time, _ in times), min(time for _, time in times)


def _seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Generate the logs, measure them and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=200, help="throws and spins in each log")
    attempts = parser.parse_args().attempts
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, simulate in (("dice", dice.simulate), ("wheel", wheel.simulate)):
            header, feed, _ = simulate(1, n=attempts)
            path = Path(folder) / f"{name}.jsonl"
            write_log(path, header, feed)
            readings, floor, whole = measure(path)
            ratio = whole / floor
            worst = max(worst, ratio)
            us = 1e6 / readings
            hand_over(
                Figure(f"replay, {name}", whole * us, floor * us, "us a reading", "json.loads of the line")
            )
            sys.stdout.write(
                f"{name:<6} {readings:>7,} readings  json.loads {floor / readings * 1e6:5.2f} us each"
                f"  replay {whole / readings * 1e6:5.2f} us each  ratio {ratio:4.2f} (goal {GOAL:g})"
                f"  {readings / whole:9,.0f} readings/s\n"
            )
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
