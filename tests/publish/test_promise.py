"""Every outcome takes effect once and in order despite lost, repeated and reordered messages and restarts."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.journal.chain import Row, WallTime, seal
from controller.journal.contents import AckProof, event_draft, outcome_draft
from controller.journal.keys import Key, load_key, new_key
from controller.model.outcomes import Outcome
from controller.model.tables import PublishSettings
from controller.publish.betting import OpenStatement
from controller.publish.events import Answer, Message, TableStatus
from controller.publish.pump import Pump
from controller.publish.sink import Post, Ready
from controller.publish.wire import Signer
from tests.publish.house import Alarms, Books, Clock, half
from tests.publish.samples import SAMPLES

COUNT = 12


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    file = tmp_path_factory.mktemp("key") / "key"
    new_key(file)
    return load_key(file)


class Shelf:
    """A journal and its outbox in memory. Rows of other events separate the outcomes."""

    path = Path("journal.db")

    def __init__(self, key: Key) -> None:
        drafts = []
        for seq, data in zip(range(1, COUNT + 1), SAMPLES.values(), strict=False):
            outcome = Outcome(type=list(SAMPLES)[seq - 1], t=seq, id=f"t/1/{seq}", seq=seq, data=data)
            drafts += [event_draft("control.used", seq, WallTime(seq, False))] * (seq % 3)
            drafts.append(outcome_draft(outcome, WallTime(seq, True)))
        self._rows = seal(drafts, 0, b"\0" * 32, key)
        self.open = {row.n for row in self._rows if row.seq is not None}
        self.chains = {f"t/1/{row.seq}": row for row in self._rows if row.seq is not None}

    def outbox(self, limit: int = 100, after_n: int = 0) -> list[Row]:
        return [row for row in self._rows if row.n > after_n and row.n in self.open][:limit]

    def rows(self, from_n: int = 1, to_n: int | None = None) -> Iterator[Row]:
        return iter(row for row in self._rows if row.n >= from_n and (to_n is None or row.n <= to_n))

    def acknowledge(self, outcome_id: str, chain: str, by: str, proof: AckProof | None = None) -> None:
        row = self.chains[outcome_id]
        assert row.link.hex() == chain, (by, proof)
        self.open.discard(row.n)

    def close(self) -> None:
        """Do nothing."""


class Air:
    """A connection between table and engine that loses, repeats and reorders messages."""

    ready = True

    def __init__(self) -> None:
        self.there: list[Message] = []
        self.back: list[Answer] = []
        self.boards: list[bytes] = []

    def start(self, post: Post) -> None:
        post(Ready())

    def offer(self, messages: Sequence[Message]) -> None:
        self.there += messages

    def send_open_statement(self, word: OpenStatement, key: Signer) -> None:
        raise AssertionError(f"{word} of {key}: only the core sends this, and there is no core here")

    def send_status(self, status: TableStatus) -> None:
        assert status.table == "t"

    def show(self, board: bytes) -> None:
        self.boards.append(board)

    def stop(self, timeout_s: float) -> bool:
        return timeout_s > 0


def pump_of(shelf: Shelf, air: Air, key: Key, clock: Clock) -> Pump:
    return Pump(
        "t",
        PublishSettings(max_in_flight=4),
        key=key,
        journal=shelf,
        open_outbox=lambda: shelf,
        sink=air,
        alarm=Alarms(),
        now_us=clock,
        random_fraction=half,
        status=lambda: TableStatus(table="t", state="online"),
        last_seq=COUNT,
    )


class World:
    """A table, an engine, and possible events; `pick` chooses among several messages."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self.shelf, self.air, self.clock = Shelf(key), Air(), Clock()
        self.books = Books(key=key.public)
        self.pump = pump_of(self.shelf, self.air, key, self.clock)
        self.pick = 0

    def turn(self) -> None:
        """Run the pump until it is idle."""
        self.pump.turn(0)

    def tell(self) -> None:
        """Pass some journaled outcomes to the pump."""
        published = list(self.shelf.chains.values())
        first = self.pick % COUNT
        self.pump.note_durable(published[first : first + 1 + self.pick % 3])

    def hear(self) -> None:
        """Deliver an event to the engine."""
        if self.air.there:
            self.air.back += self.books.enter(self.air.there.pop(0).event)

    def answer(self) -> None:
        """Deliver an answer to the table."""
        if self.air.back:
            self.pump.post(self.air.back.pop(0))

    def lose_event(self) -> None:
        if self.air.there:
            self.air.there.pop(self.pick % len(self.air.there))

    def lose_answer(self) -> None:
        if self.air.back:
            self.air.back.pop(self.pick % len(self.air.back))

    def repeat(self) -> None:
        """Duplicate an event in transit."""
        if self.air.there:
            self.air.there.insert(0, self.air.there[self.pick % len(self.air.there)])

    def mix(self) -> None:
        """Reverse the order of the messages in transit."""
        self.air.there.reverse()
        self.air.back.reverse()

    def restart(self) -> None:
        """Kill the controller; the messages in transit still arrive."""
        self.pump = pump_of(self.shelf, self.air, self._key, self.clock)

    def reconnect(self) -> None:
        """Lose the connection and every event in transit."""
        self.air.there.clear()
        self.pump.post(Ready())

    def wait(self) -> None:
        """Advance the clock by ten seconds."""
        self.clock.forward(10)

    def roll_back(self) -> None:
        """Restore the engine from a backup."""
        del self.books.applied[self.pick % (len(self.books.applied) + 1) :]

    def go_well(self) -> None:
        """Deliver everything in transit, both ways."""
        self.turn()
        while self.air.there:
            self.hear()
        while self.air.back:
            self.answer()

    def settle_what_is_left(self) -> None:
        """Continue without faults until everything is settled, including outcomes lost by the engine."""
        for _ in range(100):
            self.wait()
            if len(self.books.applied) < COUNT and not self.air.there:
                self.pump.post(self.books.request(COUNT))
            self.go_well()


STEPS: tuple[Callable[[World], None], ...] = (
    *(World.turn, World.hear, World.answer, World.go_well) * 2,
    World.tell,
    World.lose_event,
    World.lose_answer,
    World.repeat,
    World.mix,
    World.restart,
    World.reconnect,
    World.wait,
    World.roll_back,
)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=60), seed=st.integers(0, 1000))
def test_every_outcome_has_its_effect_once(key: Key, steps: list[Callable[[World], None]], seed: int) -> None:
    world = World(key)
    for place, step in enumerate(steps):
        world.pick = seed + place
        step(world)
        assert world.books.seqs == list(range(1, len(world.books.applied) + 1))
    world.settle_what_is_left()
    assert world.books.seqs == list(range(1, COUNT + 1))
    assert not world.shelf.open
    assert world.pump.unacknowledged == 0
