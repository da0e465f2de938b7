"""Compute the shipped throws: `python -m drivers.sim.bodies.make_flights [--seed S] [--throws N]`.

Requires the `physics` extra. The same seed and the same release of the engine produce the same throws.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path

from drivers.sim.bodies import engine
from drivers.sim.bodies.casts import UnsettledError
from drivers.sim.bodies.flights import FILE_NAME, Flight, Kind, pack

WEIGHTS: dict[Kind, int] = {
    "one_hand": 6,
    "apart": 4,
    "together": 4,
    "stacked": 2,
    "collide": 2,
    "at_wall": 2,
    "backspin": 2,
    "soft": 3,
    "chips": 2,
    "hard": 2,
    "near_miss": 3,
    "near_miss_one_hit": 1,
}
"""Weights by kind. They reflect real play, except that throws that are hard to judge have higher weights."""
RELIEFS_MM = (0.0, 6.0, 12.0)
"""Wall reliefs of the computed throws; a session uses the relief nearest to its table's."""
Draw = tuple[Kind, str, float]


def draws(seed: int, throws: int) -> Iterator[Draw]:
    """Yield about `throws` throws to compute, distributed over kinds and reliefs."""
    total = sum(WEIGHTS.values()) * len(RELIEFS_MM)
    for kind, weight in WEIGHTS.items():
        for relief in RELIEFS_MM:
            for number in range(max(1, round(throws * weight / total))):
                yield kind, f"{seed}-{number}", relief


def make(draw: Draw) -> Flight | None:
    """Simulate one throw; return None if the throw does not settle."""
    kind, seed, relief = draw
    try:
        return engine.thrown(kind, seed, relief_mm=relief)
    except UnsettledError:
        return None


def main() -> int:
    """Compute the throws and write them next to this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--throws", type=int, default=480)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    todo = list(draws(arguments.seed, arguments.throws))
    flights = []
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        for done, flight in enumerate(pool.imap(make, todo), 1):
            if flight is not None:
                flights.append(flight)
            if done % 20 == 0:
                sys.stdout.write(f"{done} of {len(todo)}\n")
                sys.stdout.flush()
    data = pack(flights)
    Path(__file__).with_name(FILE_NAME).write_bytes(data)
    sys.stdout.write(f"{len(flights)} throws, {len(data)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
