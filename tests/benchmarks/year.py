"""Measure the replay of a year's recordings with `tablectl replay`, piece by piece on all cores.

`python -m tests.benchmarks.year [--readings N] [--pieces N]` passes pieces of 500 throws, and pieces of 500
spins, to one `tablectl replay --json`, repeated up to N readings (default: 2,000,000). It computes the
minutes for a year of a busy table, which has 100,000,000 readings. The floor is `json.loads` of the same
lines on as many cores. The exit status is 1 if the outcomes differ from those of the single pieces, or if a
year of throws takes longer than ten minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from controller.cli.replay import cores
from drivers.sim import dice, wheel
from drivers.sim.scenes import write_log
from tests.benchmarks.figures import Figure, hand_over

A_YEAR = 100_000_000
GOAL_MIN = 10.0
ATTEMPTS = 500
PIECES = 4


def replayed(logs: list[Path], to: Path) -> float:
    """Replay logs into a file, with progress on a terminal; return the duration in seconds."""
    command = [sys.executable, "-m", "controller.cli.main", "replay", "--json", *map(str, logs)]
    start = time.perf_counter()
    with to.open("wb") as out:
        subprocess.run(command, check=True, stdout=out)
    return time.perf_counter() - start


def floor_us(log: Path) -> tuple[int, float]:
    """Return a log's number of readings, and the processor time of `json.loads` per reading in us."""
    lines = log.read_bytes().splitlines()[1:]
    start = time.process_time()
    for line in lines:
        json.loads(line)
    return len(lines), (time.process_time() - start) / len(lines) * 1e6


def digest_of(chunks: list[bytes], times: int) -> str:
    """Return the digest of these bytes, in order, repeated `times` times."""
    digest = sha256()
    for _ in range(times):
        for chunk in chunks:
            digest.update(chunk)
    return digest.hexdigest()


def digest_of_file(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def measure(name: str, logs: list[Path], readings: int, folder: Path) -> tuple[bool, float]:
    """Print a row; return whether the outcomes match the pieces, and the minutes for a year."""
    out, alone = folder / "year.jsonl", []
    for log in logs:
        replayed([log], out)
        alone.append(out.read_bytes())
    counted = [floor_us(log) for log in logs]
    in_a_round = sum(count for count, _ in counted)
    rounds = -(-readings // in_a_round)
    took_s = replayed(logs * rounds, out)
    same = digest_of_file(out) == digest_of(alone, rounds)
    us = took_s / (in_a_round * rounds) * 1e6
    floor = sum(cost for _, cost in counted) / len(counted) / cores()
    minutes = us * A_YEAR / 1e6 / 60
    hand_over(Figure(f"year, {name}", us, floor, "us a reading", "json.loads of the line, on as many cores"))
    sys.stdout.write(
        f"{name:<6} {in_a_round * rounds:>11,} readings in {rounds * len(logs):,} pieces, {took_s:.1f} s on "
        f"{cores()} cores, {out.stat().st_size / 1e6:,.0f} MB of outcomes, "
        f"{'the same as' if same else 'NOT as'} each alone; a year {minutes:.1f} min (goal {GOAL_MIN:g})\n"
    )
    return same, minutes


def main() -> int:
    """Write the pieces, replay them and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=2_000_000)
    parser.add_argument("--pieces", type=int, default=PIECES, help="different pieces of each game")
    given = parser.parse_args()
    all_same, minutes = True, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for game, simulate in (("dice", dice.simulate), ("wheel", wheel.simulate)):
            logs = []
            for seed in range(given.pieces):
                header, feed, _ = simulate(seed, n=ATTEMPTS)
                logs.append(folder / f"{game}-{seed}.jsonl")
                write_log(logs[-1], header, feed)
            same, minutes[game] = measure(game, logs, given.readings, folder)
            all_same &= same
    return 0 if all_same and minutes["dice"] <= GOAL_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
