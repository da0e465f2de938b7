"""Play seeded sessions of every kind for a given time, and print each disagreement with its seed.

`python -m tests.sim.soak --seconds 600 [--first SEED]` exits with 1 if an outcome disagrees with the ground
truth, or if more than one attempt in a hundred goes to review needlessly.
"""

import argparse
import sys
import time
from collections import Counter

from drivers.sim import dice, wheel
from drivers.sim.scenes import Disagreement, disagreements
from tests.sim.play import outcomes_of

THROWS, SPINS = 20, 10
MAX_NEEDLESS = 0.01
"""Maximum fraction of attempts that may go to review although their readings decide them."""


def play(seed: int) -> tuple[int, list[Disagreement]]:
    """Play the session of this seed, which also determines the game, the rules and the wheel."""
    arrivals = seed % 8 < 6
    if seed % 2:
        dead = frozenset((seed % 3,)) if seed % 11 == 0 else frozenset[int]()
        drawn = wheel.AMERICAN if dead else None
        spins = wheel.simulate(seed, n=SPINS, wheel=drawn, dead_beams=dead)
        return SPINS, disagreements(spins[2], outcomes_of(*spins[:2], arrivals=arrivals))
    rules: dice.Rules = "craps-v1" if seed % 3 == 0 else "craps-12-034"
    throws = dice.simulate(seed, n=THROWS, rules=rules)
    return THROWS, disagreements(throws[2], outcomes_of(*throws[:2], arrivals=arrivals))


def say(line: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    arguments = parser.parse_args()
    faults: Counter[tuple[str, str]] = Counter()
    attempts, seed, end = 0, arguments.first, time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        played, found = play(seed)
        attempts += played
        for each in found:
            faults[each.scene.kind, each.fault] += 1
            say(f"seed {seed} #{each.attempt} {each.scene.kind}: {each.fault}, {each.told}")
        seed += 1
    for (kind, fault), count in faults.most_common():
        say(f"{count:>5} x {kind}: {fault}")
    needless = sum(count for (_, fault), count in faults.items() if fault == "needless_review")
    wrong = faults.total() - needless
    say(
        f"{attempts} attempts, seeds {arguments.first} to {seed - 1}: {wrong} disagree with the ground truth,"
        f" {needless} needless reviews ({needless / attempts:.2%})"
    )
    return 1 if wrong or needless > MAX_NEEDLESS * attempts else 0


if __name__ == "__main__":
    sys.exit(main())
