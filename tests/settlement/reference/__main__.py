"""Compare the engines in random sessions.

`python -m tests.settlement.reference --wagers 1000000 --game craps-v1 --seed 1`
"""

import argparse
import json
import sys
import time
from typing import TextIO

from tests.settlement.reference.comparison import BothEngines
from tests.settlement.reference.random_requests import RANDOM_REQUESTS

PROGRESS_EVERY_S = 10
SHOWN = 5
"""Number of differences that are printed in full; the rest are counted."""


def main() -> int:
    """Compare the engines under the given rule sets (default: all); return 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.settlement.reference", description=__doc__)
    parser.add_argument(
        "--game", choices=sorted(RANDOM_REQUESTS), action="append", help="a rule set (default: all)"
    )
    parser.add_argument("--wagers", type=int, default=100_000, help="number of wagers for each rule set")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    differing = [game for game in asked.game or RANDOM_REQUESTS if not _agree(game, asked.wagers, asked.seed)]
    return 1 if differing else 0


def _agree(game: str, wagers: int, seed: int) -> bool:
    engines, done, rejected, different, number = BothEngines(game), 0, 0, 0, 0
    told_at = time.monotonic()
    while done < wagers:
        session = engines.compare(seed, number)
        if session.difference is not None:
            different += 1
            if different <= SHOWN:
                _say(f"{game} seed {seed}, session {number}: {session.difference}")
                _say("\n".join(f"  {json.dumps(request)}" for request in session.requests))
        done, rejected, number = done + session.wagers, rejected + session.rejected, number + 1
        if time.monotonic() - told_at >= PROGRESS_EVERY_S:
            told_at = time.monotonic()
            _say(f"{game}: {done} wagers, {different} sessions differ", sys.stderr)
    _say(f"{game}: {done} wagers in {number} sessions, {rejected} rejected, {different} sessions differ")
    return different == 0


def _say(line: str, stream: TextIO = sys.stdout) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    raise SystemExit(main())
