"""Measure craps settlement in wager decisions per second, next to a floor and to crapssim.

Usage: `python -m tests.benchmarks.settlement [--rolls N]`. Every roll decides eight new bets. Requests and
answers are JSON lines, as with `tablectl settle`. The floor is `json.loads` of every request and `json.dumps`
of every answer, in the same run. crapssim settles the same bets and rolls without JSON. The exit status is 1
if the goal of 50,000 decisions per second is missed.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator

from crapssim.bet import AnyCraps, Big6, CAndE, DontPass, Field, Horn, PassLine, Yo
from crapssim.bet import Bet as TheirBet
from crapssim.strategy.tools import NullStrategy
from crapssim.table import Table, TableUpdate

from controller.settings.paytables import open_book
from controller.settlement.run import settle
from tests.benchmarks.figures import Figure, hand_over

GOAL = 50_000
RUNS = 5
STAKE_CENTS, STAKE_DOLLARS = 600, 6.0
KINDS: dict[str, Callable[[float], TheirBet]] = {
    "pass": PassLine,
    "dont_pass": DontPass,
    "field": Field,
    "yo": Yo,
    "any_craps": AnyCraps,
    "c_and_e": CAndE,
    "horn": Horn,
    "big6": Big6,
}
Dice = tuple[int, int]


def rolls_of(count: int) -> list[Dice]:
    chance = random.Random(1)
    return [(chance.randint(1, 6), chance.randint(1, 6)) for _ in range(count)]


def lines_of(rolls: list[Dice]) -> list[bytes]:
    """Return the requests: one bet of each kind, then the roll."""
    return [json.dumps(request).encode() for request in _requests(rolls)]


def _requests(rolls: list[Dice]) -> Iterator[dict[str, object]]:
    for number, dice in enumerate(rolls):
        for wager in KINDS:
            yield {
                "do": "bet", "id": f"{number}{wager}", "player": "p1", "wager": wager, "amount": STAKE_CENTS
            }  # fmt: skip
        yield {"do": "roll", "dice": dice}


def play_theirs(rolls: list[Dice]) -> None:
    """Settle the same bets with crapssim, each for a separate player, whose bets crapssim adds up."""
    table = Table()
    for dice in rolls:
        for kind in KINDS.values():
            player = table.add_player(bankroll=STAKE_DOLLARS, strategy=NullStrategy())
            player.add_bet(kind(STAKE_DOLLARS))
        TableUpdate().run(table, dice)
        table.players = [player for player in table.players if player.bets]


def seconds(work: Callable[[], object]) -> float:
    """Return the minimum CPU time of several runs, which excludes other work of the machine."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rolls", type=int, default=2000)
    rolls = rolls_of(parser.parse_args().rolls)
    lines = lines_of(rolls)
    results = [json.loads(line) for line in b"".join(settle(lines, open_book("craps-v1"))).splitlines()]
    decisions = sum(line["status"] not in ("rejected", "pending") for line in results)

    def floor() -> None:
        for line in lines:
            json.loads(line)
        for answer in results:
            json.dumps(answer)

    games = iter([open_book("craps-v1") for _ in range(RUNS)])
    ours = seconds(lambda: sum(map(len, settle(lines, next(games)))))
    bare, theirs = seconds(floor), seconds(lambda: play_theirs(rolls))
    us = 1e6 / decisions
    hand_over(Figure("settlement, craps", ours * us, bare * us, "us a decision", "the JSON alone"))
    sys.stdout.write(
        f"settlement  {decisions:,} decisions, {len(lines):,} lines in: {decisions / ours:,.0f} decisions/s "
        f"(goal {GOAL:,}), {ours / bare:.2f} x the JSON alone; "
        f"crapssim {decisions / theirs:,.0f} decisions/s without JSON, {theirs / ours:.2f} x our time\n"
    )
    return 0 if decisions / ours >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
