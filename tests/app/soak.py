"""Kill tables repeatedly: `python -m tests.app.soak --kills 300 [--seed 1]`."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.app.test_crash import craps, roulette

EACH = 25
"""Number of kills of one table before a table with another seed replaces it."""


def main() -> int:
    """Kill tables the requested number of times, and print the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="number of kills (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first table (default: 1)")
    arguments = parser.parse_args()
    left, seed, published, cut_off = arguments.kills, arguments.seed, 0, 0
    while left > 0:
        play = craps if seed % 2 else roulette
        with tempfile.TemporaryDirectory() as folder:
            table = play(Path(folder), seed)
            for _ in range(min(EACH, left)):
                table.run_until_killed()
            code = table.close()
            assert code == 0, f"seed {seed}: the table ended with {code}"
        left -= EACH
        seed += 1
        published += len(table.table.published)
        cut_off += table.cut_off
    sys.stdout.write(
        f"daemon: {arguments.kills} kills, {published} outcomes published, none lost;"
        f" {cut_off} attempts cut off, each reviewed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
