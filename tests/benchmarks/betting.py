"""Measure bets over HTTP, fifty per request, next to bare commits in the same run.

`python -m tests.benchmarks.betting [--rounds N]` starts a settlement engine on SQLite and, if installed, on
PostgreSQL, with its HTTP process. Four wheels immediately announce open bets. At each wheel, ten players
place fifty chips twice per round, one request after the other. The settlement of the number is not timed. The
floor is the rate of fsynced commits of one row. The exit status is 1 if a wager is refused, if the rate of
accepted wagers is less than half of the floor, or if a request's duration at p99 is over 20 ms.
"""

import argparse
import http.client
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from sqlalchemy import insert

from controller.cli.shell import startup_frozen
from controller.settlement_service import schema
from controller.settlement_service.http_requests import Tokens
from controller.settlement_service.http_supervisor import HttpSupervisor
from controller.settlement_service.store import Store
from tests.app.rig import until
from tests.benchmarks.figures import Figure, hand_over
from tests.publish.broker import free_port
from tests.settlement_service.postgres import BINARIES, Cluster
from tests.settlement_service.rig import House, SealedTable, key_in

WHEELS, PLAYERS, REQUESTS, WAGERS = 4, 10, 2, 50
SHARE, P99_MS = 0.5, 20.0
CHIPS, STAKE = 10**9, 100
TOKEN = "betting-benchmark"
STRAIGHT = [["straight", str(number)] for number in range(37)]
SPLITS = [["split", str(number), str(number + 1)] for number in range(1, 35) if number % 3][: WAGERS - 37]
SPOTS = STRAIGHT + SPLITS


class Wheel:
    """A wheel with its players, who bet over one connection of the house's front end."""

    def __init__(self, house: House, table: SealedTable, connection: http.client.HTTPConnection) -> None:
        self.table = table
        self._players = [f"{table.name}-{number}" for number in range(PLAYERS)]
        house.enrol(table, "roulette")
        for player in self._players:
            house.player(player, CHIPS)
        self._connection = connection
        self._numbers = count()
        self.granted = self.refused = 0
        self.times_s: list[float] = []

    def lay(self) -> None:
        """Place all players' chips for a round."""
        for player in self._players * REQUESTS:
            self._send(player, next(self._numbers))

    def _send(self, player: str, number: int) -> None:
        wagers = [
            {"id": f"{number}.{spot}", "player": player, "wager": wager, "numbers": numbers, "amount": STAKE}
            for spot, (wager, *numbers) in enumerate(SPOTS)
        ]
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {TOKEN}",
            "Idempotency-Key": f"{self.table.name}-{number}",
        }
        body = json.dumps({"wagers": wagers})
        start = time.perf_counter()
        self._connection.request("POST", f"/tables/{self.table.name}/wagers/batch", body, headers)
        answer = json.loads(self._connection.getresponse().read())
        self.times_s.append(time.perf_counter() - start)
        granted = sum(isinstance(one, dict) and one["granted"] is not None for one in answer)
        self.granted += granted
        self.refused += WAGERS - granted


@contextmanager
def serving(house: House) -> Iterator[int]:
    """Serve the house over HTTP; yield the port."""
    port = free_port()
    front = HttpSupervisor(house.engine, "127.0.0.1", port)
    front.start()
    try:
        until(lambda: front.ready, "the HTTP process")
        yield port
    finally:
        front.stop()


def commits_per_s(url: str, commits: int) -> float:
    """Return the number of one-row transactions per second."""
    store = Store(url)
    store.open()
    start = time.perf_counter()
    for number in range(commits):
        row = {
            "caller": "floor",
            "key": str(number),
            "asked": "x" * 150,
            "answer": "x" * 60,
            "answered_us": 0,
        }
        with store.transaction() as connection:
            connection.execute(insert(schema.requests), [row])
    taken_s = time.perf_counter() - start
    store.close()
    return commits / taken_s


def measure(name: str, url: str, bare_url: str, folder: Path, rounds: int) -> bool:
    """Print a row; return whether the goals are met."""
    house = House(url)
    Tokens(house.engine).make("benchmark", "staff", TOKEN)
    betting_s = 0.0
    with serving(house) as port, closing(http.client.HTTPConnection("127.0.0.1", port)) as way:
        wheels = [Wheel(house, SealedTable(f"wheel-{n}", key_in(folder)), way) for n in range(WHEELS)]
        with startup_frozen():  # as `tablectl settlement serve` does
            for _ in range(rounds):
                start = time.perf_counter()
                for wheel in wheels:
                    wheel.lay()
                betting_s += time.perf_counter() - start
                for wheel in wheels:
                    house.takes(wheel.table.spins("17"))
    faults = house.proof().faults
    house.store.close()
    granted = sum(wheel.granted for wheel in wheels)
    refused = sum(wheel.refused for wheel in wheels)
    rate = granted / betting_s
    bare = commits_per_s(bare_url, min(granted, 2000))
    times_ms = sorted(1e3 * time_s for wheel in wheels for time_s in wheel.times_s)
    p50, p99 = (times_ms[round(len(times_ms) * share) - 1] for share in (0.5, 0.99))
    hand_over(Figure(f"a wager over HTTP, {name}", 1e6 / rate, 1e6 / bare, "us", "a bare commit"))
    sys.stdout.write(
        f"betting  {name}: {granted:,} wagers in requests of {WAGERS}, {rate:,.0f}/s, {rate / bare:.2f} x "
        f"bare commits ({bare:,.0f}/s; goal {SHARE:g} x); a request p50 {p50:.1f} ms, p99 {p99:.1f} ms "
        f"(goal {P99_MS:g} ms); {refused} refused, {len(faults)} faults in the books\n"
    )
    return not faults and not refused and rate >= SHARE * bare and p99 <= P99_MS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        met.append(measure("SQLite", f"sqlite:///{name}/run.db", f"sqlite:///{name}/bare.db", folder, rounds))
        if BINARIES is not None:
            cluster = Cluster()
            try:
                urls = cluster.database("run"), cluster.database("bare")
                met.append(measure("PostgreSQL", *urls, folder, rounds))
            finally:
                cluster.remove()
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
