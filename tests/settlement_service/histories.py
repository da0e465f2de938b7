"""Simulated histories of a wheel, its broker, its engine and a cheat, with delays and a check.

True time is the simulation's, in microseconds. The table's clock drifts, and jumps when the table restarts.
Queries, statements, outcomes, writes to the journal's disk and the engine's database may stall. Messages may
also be repeated, lost or overtaken.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from controller.journal.keys import Key
from controller.publish.betting import Announcer, BetKind, Betting, OpenStatement, statement_bytes
from controller.settlement_service.account_requests import AccountRequests
from controller.settlement_service.engine import Engine
from controller.settlement_service.enrolled_table import steps_after
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import Admitted, Gate, MissingStatement, PlayAt
from tests.settlement_service.rig import GAMES, House, SealedTable

SECOND_US = 1_000_000
LATENESS_US = 120_000
WAIT_US = 600_000
_NOT_COVERED = MissingStatement("TABLE-WORD", "no statement came in time")


class Trouble(NamedTuple):
    """The probabilities of stalled, repeated and lost messages, and the longest stall."""

    stalls: float = 0.0
    stall_us: int = 0
    repeats: float = 0.0
    loses: float = 0.0
    restarts: float = 0.0
    """The probability per bet that the table or the engine restarts."""
    cable: float = 0.0
    """The probability that a cable delays a reading."""
    cable_us: int = 0


@dataclass
class Granted:
    """A wager, or the withdrawal of a wager, that the engine accepted."""

    what: str
    came_us: int
    """The true time at which the request was complete."""
    step: int
    """The step in the table's book."""
    round: int
    """The round of the book, whose spin decides the wager."""


class _Shim(Gate):
    """A replacement for the engine's gate with the simulation's answer to the request."""

    def __init__(self, real: Gate) -> None:
        super().__init__()
        self.real = real
        self.answer: Admitted | MissingStatement = _NOT_COVERED

    def ask(self, table: str, play: PlayAt | None = None) -> Admitted | MissingStatement:
        assert table
        assert play is None
        return self.answer

    def note_settled(self, table: str, seq: int) -> None:
        self.real.note_settled(table, seq)


@dataclass
class _Waiting:
    what: str
    came_us: int
    nonce: str
    do: Callable[[], object]
    word: OpenStatement | None = None


class Timeline:
    """Scheduled events in true time, and the delays of connections."""

    chance: random.Random
    trouble: Trouble
    now_us: int

    def begin(self) -> None:
        """Start with an empty schedule."""
        self._order = count()
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._clear_us: dict[str, int] = {}

    def later(self, us: int, do: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now_us + max(0, us), next(self._order), do))

    def run(self, seconds: float) -> None:
        """Run all events that are due within this time."""
        end_us = self.now_us + round(seconds * SECOND_US)
        while self._due and self._due[0][0] <= end_us:
            self.now_us, _, do = heapq.heappop(self._due)
            do()
        self.now_us = end_us

    def delay(self, base_us: int) -> int:
        trouble = self.trouble
        stall = self.chance.random() < trouble.stalls
        return self.chance.randrange(base_us) + (self.chance.randrange(trouble.stall_us) if stall else 0)

    def send(self, line: str, base_us: int, do: Callable[[], None], *, sure: bool = False) -> None:
        """Send over a connection in order, except for repeats; a `sure` message is never lost."""
        if not sure and self.chance.random() < self.trouble.loses:
            return
        arrives_us = max(self.now_us + self.delay(base_us), self._clear_us.get(line, 0))
        self._clear_us[line] = arrives_us
        self.later(arrives_us - self.now_us, do)
        if self.chance.random() < self.trouble.repeats:
            self.later(arrives_us - self.now_us + self.delay(base_us), do)


@dataclass
class World(Timeline):
    """A wheel that spins round after round, its engine and a cheat."""

    key: Key
    seed: int
    trouble: Trouble
    now_us: int = 10 * SECOND_US
    granted: list[Granted] = field(default_factory=list)
    refused: int = 0
    closes: dict[int, int] = field(default_factory=dict)
    """The true time at which each round's bets closed. From then on the number may be known."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.house = House("sqlite:///:memory:")
        self.table = SealedTable("wheel-1", self.key)
        self.house.enrol(self.table, "roulette")
        self.house.player("cheat", 100_000_000)
        self.begin()
        self._numbers = count(1)
        self._ids = count(1)
        self._made: list[str] = []
        self._waiting: dict[str, _Waiting] = {}
        self._old_words: list[bytes] = []
        self._sensed: list[tuple[int, Callable[[], None]]] = []
        self._cable_clear_us = 0
        self.shown: str | None = None
        """The visible number in the wheel."""
        self._takes_round: int | None = 1
        self._true_round = 1
        self._start_engine()
        self._start_table()
        self._spin_on(after_us=2 * SECOND_US)
        self.later(100_000, self._cheat)

    # --- the table ---

    def _start_table(self) -> None:
        self._drift = 1 + self.chance.uniform(-0.05, 0.05)
        self._offset_us = self.chance.randrange(10**12)
        self._session = self.table.session = str(next(self._numbers))
        self.announcer = announcer = Announcer(self.table.name, self._session, self._clock)
        announcer.say = self._say
        self.later(0, lambda: self._turn(announcer))

    def _clock(self) -> int:
        return self._offset_us + round(self.now_us * self._drift)

    def _turn(self, announcer: Announcer) -> None:
        """Take one turn of the core: judge readings from before the watermark, then send the statement."""
        if announcer is not self.announcer:
            return
        now = self._clock()
        watermark = now - LATENESS_US
        while self._sensed and self._sensed[0][0] < watermark:
            self.table.moment_us, judged = self._sensed.pop(0)
            judged()
        takes: BetKind | None = None if self._takes_round is None else "wagers"
        announcer.note(Betting(takes, self._takes_round or 0, self.table.seq - 1, watermark), now)
        slow = self.chance.random() < self.trouble.stalls
        self.later(self.chance.randrange(1_000, 400_000 if slow else 50_000), lambda: self._turn(announcer))

    def _say(self, word: OpenStatement) -> None:
        payload = statement_bytes(word, self.key)
        self._old_words.append(payload)
        self.send("open", 20_000, lambda: self._hear(payload))
        if self.trouble.repeats and self.chance.random() < 0.2:
            old = self.chance.choice(self._old_words)
            self.send("open", 20_000, lambda: self._hear(old))

    def _tell(self, event: bytes) -> None:
        """Publish an outcome, which arrives after a delay for its write and its transit."""
        self.send("outcome", 30_000, lambda: self._deliver(event), sure=True)

    def _spin_on(self, *, after_us: int) -> None:
        """Schedule the close of bets, the number and the reopening at the wheel."""

        def closes() -> None:
            self.closes[self._true_round] = self.now_us
            self.shown = str(self.chance.randrange(37))
            self._sense(self._judges_closed)
            self.later(self.chance.randrange(200_000, SECOND_US), opens)

        def opens() -> None:
            number = self.shown
            assert number is not None
            self._sense(lambda: self._judges_result(number))
            self._true_round += 1
            self._spin_on(after_us=self.chance.randrange(SECOND_US // 2, 2 * SECOND_US))

        self.later(after_us, closes)

    def _sense(self, do: Callable[[], None]) -> None:
        seen_us = self._clock()
        stalls = self.chance.random() < self.trouble.cable
        arrives_us = self.now_us + (self.chance.randrange(self.trouble.cable_us) if stalls else 0)
        self._cable_clear_us = max(self._cable_clear_us, arrives_us)
        self.later(self._cable_clear_us - self.now_us, lambda: self._sensed.append((seen_us, do)))

    def _judges_closed(self) -> None:
        self._takes_round = None
        self._tell(self.table.close_bets())

    def _judges_result(self, number: str) -> None:
        for event in self.table.shows(number):
            self._tell(event)
        self._takes_round = self.table.round

    # --- the engine ---

    def _start_engine(self) -> None:
        numbers = self._numbers
        self.gate = Gate(lambda: f"{next(numbers):032x}")
        self.shim = _Shim(self.gate)
        self.engine = Engine(self.house.store, lambda: self.now_us, games=GAMES, gate=self.shim)
        self.gate.pin(self.table.name, self.table.key.public)
        self.desk = AccountRequests(self.engine)
        self.refused += len(self._waiting)
        self._waiting.clear()

    def _deliver(self, event: bytes) -> None:
        self.engine.deliver([event])
        self._look()

    def _hear(self, payload: bytes) -> None:
        self.gate.receive(payload)
        self._look()

    def _ask(self, what: str, do: Callable[[], object]) -> None:
        nonce = next(self._numbers)
        waiting = _Waiting(what, self.now_us, f"{nonce:032x}", do)
        self._waiting[waiting.nonce] = waiting
        self.gate.expect(self.table.name, waiting.nonce)
        self.send("ask", 20_000, lambda: self.announcer.note_query(waiting.nonce))
        self.later(WAIT_US, lambda: self._decide(waiting, late=True))

    def _look(self) -> None:
        """Continue every request whose statement has arrived, after a possible delay of the database."""
        for waiting in list(self._waiting.values()):
            if self.gate.find_statement(waiting.nonce) is not None:
                self._decide(waiting)

    def _decide(self, waiting: _Waiting, *, late: bool = False) -> None:
        if self._waiting.pop(waiting.nonce, None) is None:
            return
        answer = self.gate.find_statement(waiting.nonce)
        self.gate.forget(waiting.nonce)
        if answer is None:
            assert late
            self.refused += 1
            return
        self.later(self.delay(5_000), lambda: self._commit(waiting, answer))

    def _commit(self, waiting: _Waiting, answer: Admitted) -> None:
        self.shim.answer = answer
        try:
            waiting.do()
        except RequestRefused:
            self.refused += 1
            return
        with self.engine.work() as work:
            standing = self.engine.table(work, self.table.name)
        assert standing is not None
        self.granted.append(Granted(waiting.what, waiting.came_us, standing.book.last_n, standing.round or 1))

    # --- bets ---

    def _cheat(self) -> None:
        """Bet on the visible number or withdraw a recent bet, and schedule the next attempt."""
        made = self._made
        if made and self.chance.random() < 0.4:
            self._ask("removal", self._removal(self.chance.choice(made[-3:])))
        else:
            self._ask("wager", self._bet(self.shown or "17"))
        if self.chance.random() < self.trouble.restarts:
            self.chance.choice((self._start_engine, self._restart_table))()
        self.later(self.chance.randrange(20_000, 300_000), self._cheat)

    def _restart_table(self) -> None:
        """Restart the table during play with another clock; the pending readings are kept."""
        ages = [(self._clock() - t, do) for t, do in self._sensed]
        self._start_table()
        self._sensed = [(self._clock() - age, do) for age, do in ages]

    def _bet(self, number: str) -> Callable[[], object]:
        id_ = f"b{next(self._ids)}"
        bet: dict[str, object] = {
            "id": id_,
            "player": "cheat",
            "wager": "straight",
            "amount": 100,
            "numbers": [number],
        }
        identity = self.house.new_identity()

        def do() -> object:
            done = self.desk.bet(identity, self.table.name, bet)
            self._made.append(id_)
            return done

        return do

    def _removal(self, id_: str) -> Callable[[], object]:
        identity = self.house.new_identity()
        return lambda: self.desk.change(identity, self.table.name, {"do": "remove", "id": id_})

    # --- the check ---

    def past_posted(self) -> list[Granted]:
        """Return accepted wagers, still up, on spins whose number could be known at the request."""
        struck = self.struck()
        return [
            one
            for one in self.granted
            if one.came_us >= self.closes.get(one.round, one.came_us + 1)
            and one.step not in struck
            and not (self.trouble.cable and one.round >= self._round_of_book)
        ]

    @property
    def _round_of_book(self) -> int:
        """Return the undecided round. Its close may still be in transit on a cable."""
        with self.engine.work() as work:
            standing = self.engine.table(work, self.table.name)
        assert standing is not None
        return standing.round or 1

    def struck(self) -> set[int]:
        """Return the steps of the book that were undone."""
        with self.engine.work() as work:
            steps = steps_after(work.connection, self.table.name, 0)
        return {n for step in steps for n in step.strikes}

    def end(self) -> None:
        self.house.store.close()
