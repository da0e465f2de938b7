"""`python -m tests.settlement.reference --wagers 1000000 --game craps-v1 --seed 1`."""

import argparse
import json
import sys
import time
from typing import TextIO

from tests.settlement.reference.against import Against
from tests.settlement.reference.evenings import EVENINGS

PROGRESS_EVERY_S = 10
SHOWN = 5
"""How many differences are printed in full; the rest are counted."""


def main() -> int:
    """Run the wagers of one rule set or of each; exit with 1 if the engines differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.settlement.reference", description=__doc__)
    parser.add_argument("--game", choices=sorted(EVENINGS), action="append", help="a rule set (default: all)")
    parser.add_argument("--wagers", type=int, default=100_000, help="how many wagers of each rule set")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    differing = [game for game in asked.game or EVENINGS if not _agree(game, asked.wagers, asked.seed)]
    return 1 if differing else 0


def _agree(game: str, wagers: int, seed: int) -> bool:
    against, done, rejected, different, number = Against(game), 0, 0, 0, 0
    told_at = time.monotonic()
    while done < wagers:
        evening = against.evening(seed, number)
        if evening.difference is not None:
            different += 1
            if different <= SHOWN:
                _say(f"{game} seed {seed}, evening {number}: {evening.difference}")
                _say("\n".join(f"  {json.dumps(request)}" for request in evening.requests))
        done, rejected, number = done + evening.wagers, rejected + evening.rejected, number + 1
        if time.monotonic() - told_at >= PROGRESS_EVERY_S:
            told_at = time.monotonic()
            _say(f"{game}: {done} wagers, {different} evenings differ", sys.stderr)
    _say(f"{game}: {done} wagers in {number} evenings, {rejected} rejected, {different} evenings differ")
    return different == 0


def _say(line: str, stream: TextIO = sys.stdout) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    raise SystemExit(main())
