"""Settle 100 tables through one broker and one engine, both of which are killed repeatedly.

Usage: `python -m tests.benchmarks.brokered [--tables N] [--throws N] [--kills N]`. Every table has its own
journal, pump and MQTT link. The engine is the service's process on PostgreSQL, or on SQLite if PostgreSQL is
not installed. The result is compared with that of an undisturbed engine with the same outcomes. The exit
status is 1 if an effect is missing, doubled or out of order.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from sqlalchemy import select

from controller.journal.chain import Row
from controller.journal.journal import Journal
from controller.journal.keys import Key
from controller.journal.reading import Reader
from controller.journal.writer import Ticket
from controller.model.outcomes import Outcome
from controller.model.tables import MqttSettings, PublishSettings
from controller.publish.events import TableStatus, build_message
from controller.publish.mqtt import MqttSink
from controller.publish.pump import Pump
from controller.settlement_service import schema
from controller.settlement_service.deliveries import AcknowledgedDelivery
from tests.journal.rig import PATIENCE_S, append, begin, durable, play_throws, rig_in
from tests.publish.broker import MOSQUITTO, Mosquitto
from tests.publish.house import Alarms, half
from tests.settlement_service.postgres import BINARIES, Cluster
from tests.settlement_service.rig import House
from tests.settlement_service.service import Service

RULES = "craps-12-034"
CHIPS = 1_000_000
STAKE = 3_000
SPEED = 10
"""The speed of the tables' time, at which reconnecting takes little real time."""
WAGERS = ("pass", "field", *(("place", number) for number in (4, 5, 6, 8, 9, 10)), ("hard", 8))


class Result(NamedTuple):
    """The result of a session."""

    outcomes: int
    seconds: float
    engines: int
    brokers: int
    faults: list[str]


def fast_us() -> int:
    """Return the tables' time."""
    return time.monotonic_ns() // 1000 * SPEED


class Table:
    """A table that plays a session into its journal and publishes the outcomes."""

    def __init__(self, name: str, folder: Path, settings: MqttSettings, throws: int) -> None:
        """Start a table that plays this many throws."""
        folder.mkdir()
        rig = rig_in(folder)
        self.name = name
        self.key: Key = rig.key
        self.rows: list[Row] = []
        self.alarms = Alarms()
        self._steps = iter(play_throws(throws))
        self._journal = Journal.open(
            rig.place, rig.key, table=name, wall=rig.wall, on_durable=self._note_durable, alarm=lambda _: None
        )
        self._sink = MqttSink(name, settings, self.alarms, now_us=fast_us, random_fraction=half)
        self._pump = Pump(
            name,
            PublishSettings(to="mqtt", mqtt=settings),
            key=rig.key,
            journal=self._journal,
            open_outbox=lambda: Reader(rig.place.journal),
            sink=self._sink,
            alarm=self.alarms,
            now_us=fast_us,
            random_fraction=half,
            status=lambda: TableStatus(table=name, state="online"),
        )
        self._sink.report_to(self._pump.post)
        begin(self._journal)

    def play(self) -> bool:
        """Play the next reading; return False when the session is over."""
        step = next(self._steps, None)
        if step is None:
            return False
        published = tuple(
            msgspec.structs.replace(effect, id=f"{self.name}/1/{effect.seq}")
            for effect in step.effects
            if isinstance(effect, Outcome)
        )
        before = len(self.rows)
        durable(append(self._journal, step._replace(effects=published)))
        self._pump.note_durable(self.rows[before:])
        return True

    def turn(self) -> None:
        """Do the pending work of the pump and the link."""
        self._pump.turn(0)
        self._sink.turn(0)

    @property
    def waits(self) -> int:
        return self._pump.unacknowledged

    @property
    def events(self) -> list[bytes]:
        """Return every event that settlement must have received."""
        return [build_message(row, self.name, self.key).event for row in self.rows]

    def close(self) -> None:
        self._pump.stop(PATIENCE_S)
        self._sink.leave()
        self._journal.close()

    def _note_durable(self, ticket: Ticket) -> None:
        self.rows += ticket.outcomes


@contextmanager
def settled_by(url: str, tables: Sequence[Table]) -> Iterator[House]:
    """Open a new database in which each table is enrolled and has wagers in play."""
    house = House(url)
    for table in tables:
        house.engine.enrol(table.name, RULES, table.key.public.raw, first_seq=1)
        house.player(table.name, CHIPS)
        for number, wager in enumerate(WAGERS):
            kind, more = (wager, {}) if isinstance(wager, str) else (wager[0], {"number": wager[1]})
            asked = {"id": f"{table.name}-{number}", "player": table.name, "wager": kind, "amount": STAKE}
            house.desk.bet(house.new_identity(), table.name, {**asked, **more})
    yield house
    house.store.close()


def books_of(house: House, tables: Sequence[Table]) -> dict[str, tuple[list[int], int, int]]:
    """Return each table's effective outcomes, and its player's money in hand and at risk."""
    wanted = select(schema.outcomes.c.table_name, schema.outcomes.c.seq).order_by(schema.outcomes.c.seq)
    with house.store.transaction() as connection:
        applied = [(str(name), int(seq)) for name, seq in connection.execute(wanted)]
    return {
        table.name: (
            [seq for name, seq in applied if name == table.name],
            house.balance(f"player:{table.name}"),
            house.balance(f"at_risk:{table.name}"),
        )
        for table in tables
    }


def settle(folder: Path, url: str, *, tables: int, throws: int, kills: int) -> Result:
    """Play a session with this many tables, and kill engine and broker in turn."""
    chance = Random(1)
    broker = Mosquitto(folder)
    broker.start()
    settings = MqttSettings(host="localhost", port=broker.port, timeout_s=60.0, keepalive_s=120)
    there = [
        Table(f"craps-{number}", folder / str(number), settings, throws) for number in range(1, tables + 1)
    ]
    with settled_by(url, there):
        pass
    engine = Service(folder, url, broker.port)
    engine.start()
    start_s = time.monotonic()
    engines = brokers = 1
    victims = cycle(("engine", "broker"))
    due = sorted(chance.random() for _ in range(kills))
    playing, turns = list(there), 0
    while playing or due or any(table.waits for table in there):
        turns += 1
        if playing and turns % 3 == 0:
            playing = [table for table in playing if table.play()]
        for table in there:
            table.turn()
        if due and _done(there, throws) >= due[0]:
            due.pop(0)
            if next(victims) == "engine":
                engine.kill()
                engine.start()
                engines += 1
            else:
                broker.kill()
                broker.start()
                brokers += 1
        assert time.monotonic() - start_s < 60 * PATIENCE_S, "the session does not finish"
    seconds = time.monotonic() - start_s
    engine.terminate()
    for table in there:
        table.close()
    broker.kill()
    faults = _faults(folder, url, there)
    return Result(sum(len(table.rows) for table in there), seconds, engines, brokers, faults)


def _done(tables: Sequence[Table], throws: int) -> float:
    """Return the fraction of the session that settlement has acknowledged."""
    whole = len(tables) * sum(len(step.outcomes) for step in play_throws(throws))
    return sum(len(table.rows) - table.waits for table in tables) / whole


def _faults(folder: Path, url: str, tables: Sequence[Table]) -> list[str]:
    with settled_by(f"sqlite:///{folder}/undisturbed.db", tables) as house:
        for table in tables:
            assert all(
                isinstance(answer, AcknowledgedDelivery) for answer in house.engine.deliver(table.events)
            )
        expected = books_of(house, tables)
    house = House(url)
    found, faults = books_of(house, tables), list(house.proof().faults)
    if all(in_hand == CHIPS - len(WAGERS) * STAKE for _, in_hand, _ in expected.values()):
        faults.append("no wager was decided, so nothing is proved")
    house.store.close()
    for table in tables:
        if found[table.name][0] != list(range(1, len(table.rows) + 1)):
            faults.append(f"{table.name}: outcomes {found[table.name][0]} of {len(table.rows)}")
        if found[table.name] != expected[table.name]:
            faults.append(f"{table.name}: {found[table.name][1:]}, undisturbed {expected[table.name][1:]}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--throws", type=int, default=10)
    parser.add_argument("--kills", type=int, default=10)
    given = parser.parse_args()
    if MOSQUITTO is None:
        sys.stdout.write("brokered  not measured: mosquitto is not installed; run: .ci/services\n")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder, cluster = Path(name), None if BINARIES is None else Cluster()
        url = f"sqlite:///{folder}/engine.db" if cluster is None else cluster.database("brokered")
        try:
            came = settle(folder, url, tables=given.tables, throws=given.throws, kills=given.kills)
        finally:
            if cluster is not None:
                cluster.remove()
    said = "see below" if came.faults else "each effect once, in order, to the cent"
    sys.stdout.write(
        f"brokered  {given.tables} tables, one broker, {'SQLite' if cluster is None else 'PostgreSQL'}:"
        f" {came.outcomes:,} outcomes in {came.seconds:.0f} s; {came.engines} engines and {came.brokers}"
        f" brokers, all but the last killed: {said}\n"
    )
    sys.stdout.write("".join(f"brokered  {fault}\n" for fault in came.faults))
    return 1 if came.faults else 0


if __name__ == "__main__":
    sys.exit(main())
