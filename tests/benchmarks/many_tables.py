"""Settle 100 tables with one engine that is killed, and check that each effect happens exactly once.

`python -m tests.benchmarks.many_tables [--tables N] [--spins N] [--kills N]` uses SQLite and, if installed,
PostgreSQL. The floor reads the same events, checks their signatures and writes each as one row, in
transactions of the same size. The exit status is 1 if an effect is missing, doubled or out of order.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path

from sqlalchemy import insert

from controller.journal.keys import Key
from controller.settlement_service import schema
from controller.settlement_service.consuming import BATCH
from controller.settlement_service.deliveries import AcknowledgedDelivery, read, verified_outcome
from controller.settlement_service.store import Store
from tests.benchmarks.figures import Figure, hand_over
from tests.settlement_service.listener import feed_and_kill
from tests.settlement_service.postgres import BINARIES, Cluster
from tests.settlement_service.rig import House, SealedTable, key_in
from tests.settlement_service.wheel_play import Line, rounds

CHIPS = 10_000_000
Round = tuple[list[Line], list[Line]]
"""The bets of all tables, then their outcomes, one of each table in turn."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--spins", type=int, default=10)
    parser.add_argument("--kills", type=int, default=10)
    given = parser.parse_args()
    names = [f"wheel-{number}" for number in range(1, given.tables + 1)]
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        key = key_in(Path(folder))
        rounds_played = interleaved([rounds(name, key, given.spins, 1, name) for name in names])
        bench = Bench(key, names, rounds_played)
        bench.compare("SQLite", *(f"sqlite:///{folder}/{word}.db" for word in ("run", "bare", "kill")))
        faults += bench.kill("SQLite", f"sqlite:///{folder}/kill.db", given.kills)
        if BINARIES is not None:
            cluster = Cluster()
            bench.compare("PostgreSQL", *(cluster.database(word) for word in ("run", "bare", "kill")))
            faults += bench.kill("PostgreSQL", cluster.database("kill"), given.kills)
            cluster.remove()
        faults += bench.faults
    sys.stdout.write("".join(f"many tables  {fault}\n" for fault in faults))
    return 1 if faults else 0


def interleaved(sessions: Sequence[Sequence[Sequence[Line]]]) -> list[Round]:
    """Interleave the sessions of all tables, round by round."""
    return [
        (
            [one[0] for one in of_tables],
            [lines for lines in chain(*zip_longest(*(one[1:] for one in of_tables))) if lines is not None],
        )
        for of_tables in zip(*sessions, strict=True)
    ]


def payloads(rounds_played: Sequence[Round]) -> Iterator[list[bytes]]:
    """Yield the events of the outcomes in batches, one per transaction."""
    for _, line in rounds_played:
        for start in range(0, len(line), BATCH):
            yield [bytes.fromhex(one.line[2:]) for one in line[start : start + BATCH]]


class Bench:
    """A session of many tables, settled on successive databases."""

    def __init__(self, key: Key, names: Sequence[str], rounds_played: Sequence[Round]) -> None:
        self._key = key
        self._names = names
        self._rounds = rounds_played
        self._balances: dict[str, int] = {}
        self.faults: list[str] = []

    @contextmanager
    def house(self, url: str, *, new: bool = True) -> Iterator[House]:
        """Open a house; if it is new, enrol the tables, each with a player."""
        house = House(url)
        if new:
            for name in self._names:
                house.enrol(SealedTable(name, self._key), "roulette")
                house.player(name, CHIPS)
        yield house
        house.store.close()

    def compare(self, name: str, url: str, bare_url: str, kill_url: str) -> None:
        """Settle the session undisturbed, next to the floor on another database."""
        del kill_url
        events = bets = 0
        settling_s = betting_s = 0.0
        with self.house(url) as house:
            for number, (made, _) in enumerate(self._rounds):
                start = time.perf_counter()
                for bet in made:
                    table, fields = json.loads(bet.line[2:])
                    house.desk.bet(house.new_identity(), table, fields)
                between = time.perf_counter()
                for batch in payloads(self._rounds[number : number + 1]):
                    answers = house.engine.deliver(batch)
                    assert all(isinstance(answer, AcknowledgedDelivery) for answer in answers)
                    events += len(batch)
                settling_s += time.perf_counter() - between
                betting_s += between - start
                bets += len(made)
            self.faults += house.proof().faults
            self._balances = self._balances_in(house)
        floor_s = self._floor_s(bare_url)
        us = 1e6 / events
        beside = "signature and row alone"
        hand_over(Figure(f"many tables, {name}", settling_s * us, floor_s * us, "us an outcome", beside))
        sys.stdout.write(
            f"many tables  {name}: {len(self._names)} tables, {events:,} outcomes, "
            f"{events / settling_s:,.0f}/s settled, {settling_s / floor_s:.1f} x signature and row alone; "
            f"{bets / betting_s:,.0f} bets/s, each in a transaction of its own\n"
        )

    def _floor_s(self, url: str) -> float:
        """Return the seconds for reading, checking and writing the same events as bare rows."""
        store = Store(url)
        store.open()
        start = time.perf_counter()
        for batch in payloads(self._rounds):
            rows = []
            for payload in batch:
                delivery = read(payload)
                outcome = verified_outcome(delivery, self._key.public)
                assert not isinstance(outcome, str)
                rows.append(
                    {
                        "table_name": delivery.table,
                        "seq": outcome.seq,
                        "id": outcome.id,
                        "type": outcome.type,
                        "chain": delivery.chain,
                        "event": payload,
                        "applied_us": 0,
                    }
                )
            with store.transaction() as connection:
                connection.execute(insert(schema.outcomes), rows)
        taken_s = time.perf_counter() - start
        store.close()
        return taken_s

    def kill(self, name: str, url: str, kills: int) -> list[str]:
        """Settle the session with successive engines that are killed; return the errors."""
        with self.house(url):
            pass
        published = [line for made, outcomes in self._rounds for line in (*made, *outcomes)]
        chance = random.Random(1)
        done: set[str] = set()
        engines = 0
        while left := [line for line in published if line.word not in done]:
            acks = chance.randrange(1, 2 * len(published) // (kills + 1)) if engines < kills else len(left)
            done.update(feed_and_kill(url, left, acks=acks))
            engines += 1
        with self.house(url, new=False) as house:
            faults = [f"{name}: {fault}" for fault in house.proof().faults]
            if self._balances_in(house) != self._balances:
                faults.append(f"{name}: balances differ from those of an undisturbed engine")
        said = "see below" if faults else "each effect once, in order, to the cent"
        sys.stdout.write(f"many tables  {name}: {engines} engines, all but the last killed: {said}\n")
        return faults

    def _balances_in(self, house: House) -> dict[str, int]:
        return {name: house.balance(f"player:{name}") for name in self._names}


if __name__ == "__main__":
    sys.exit(main())
