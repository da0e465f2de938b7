"""Simulated histories of a craps table whose crew confirms late wagers, with delays everywhere.

True time is the simulation's, in microseconds. The table's clock drifts. The session, the handling of late
wagers, the gate and the wager book are the controller's. The messages between them stall, and are repeated,
lost or overtaken.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from controller.engine.session import Session
from controller.journal.keys import Key
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import Bets, Outcome
from controller.model.readings import AnyReading, DieRest, Face, Input
from controller.publish.betting import Betting, OpenStatement, statement_bytes
from controller.publish.events import LateWagersQuery
from controller.publish.late import LateWagers
from controller.settings.rulesets import load_ruleset
from controller.settlement_service.account_requests import AccountRequests
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import Admitted, Gate, LateWager, MissingStatement
from tests.scenes import TABLE, input_at, throw
from tests.settlement_service.histories import SECOND_US, Timeline, Trouble
from tests.settlement_service.rig import GAMES, House, SealedTable

LATE_US = 9 * SECOND_US
_NOT_COVERED = MissingStatement("C34-MK-1b", "no word came in time")
FACES: tuple[Face, ...] = (1, 2, 3, 4, 5, 6)
RULES = load_ruleset("craps-12-034")


@dataclass
class Row:
    """A row in transit to the disk."""

    durable: bool = False
    durable_us: int | None = None
    """The true time of the write."""


@dataclass
class Confirmation:
    """One role's confirmation of a wager."""

    wager: str
    by: str
    row: Row


@dataclass
class Granted:
    """An accepted late wager, the time at which its request was complete, and its round."""

    wager: str
    came_us: int
    round: int


@dataclass
class _Waiting:
    wager: LateWager
    came_us: int
    nonce: str
    do: Callable[[], object]


class _Shim(Gate):
    """A replacement for the engine's gate with the simulation's answer to the request."""

    def __init__(self, world: "DiceWorld", real: Gate) -> None:
        super().__init__()
        self._world = world
        self.real = real
        self.answer: Admitted | MissingStatement | None = None

    def ask_late(self, table: str, wager: LateWager) -> Admitted | MissingStatement:
        del table
        if self.answer is None:
            self._world.lodging = wager
            return _NOT_COVERED
        return self.answer

    def note_settled(self, table: str, seq: int) -> None:
        self.real.note_settled(table, seq)

    def reopened(self, table: str) -> None:
        del table
        self._world.give_up()


@dataclass
class DiceWorld(Timeline):
    """A table at which dice are thrown round after round, and a crew that wants to bet on the result."""

    key: Key
    seed: int
    trouble: Trouble
    now_us: int = 10 * SECOND_US
    granted: list[Granted] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)
    known_us: dict[int, int] = field(default_factory=dict)
    """The true time at which the first die of each round came to rest, when half the result is known."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.begin()
        self.house = House("sqlite:///:memory:")
        self.table = SealedTable("craps-1", self.key)
        self.house.enrol(self.table, RULES.name)
        self.house.player("cheat", 100_000_000)
        self._numbers = count(1)
        self._drift = 1 + self.chance.uniform(-0.02, 0.02)
        self._offset_us = self.chance.randrange(10**9)
        self.session = Session(
            Setup(
                table="craps-1",
                session="1",
                ruleset=RULES,
                dice_table=TABLE,
                state=State(),
                first=NextNumbers(),
            ),
            self._heard,
        )
        self.desk_of_table = LateWagers("craps-1", "1", self._clock)
        self.desk_of_table.say = self._say
        self._bets_closed = False
        self._waiting: dict[str, _Waiting] = {}
        self.lodging: LateWager | None = None
        self._round = 1
        self._start_engine()
        self.later(0, self._turn)
        self.later(SECOND_US, self._throw)

    # --- the table ---

    def _clock(self) -> int:
        return self._offset_us + round(self.now_us * self._drift)

    def _true_us(self, table_us: int) -> int:
        return round((table_us - self._offset_us) / self._drift)

    def _throw(self) -> None:
        """Throw the dice. The crew lodges and confirms wagers during the throw and afterwards."""
        apart_us = self.chance.randrange(40_000)
        faces = (self.chance.choice(FACES), self.chance.choice(FACES))
        readings = throw(self._clock(), faces, apart_us=apart_us)
        self.known_us[self._round] = min(self._true_us(r.t) for r in readings if isinstance(r, DieRest))
        behind_us = 0
        for reading in readings:
            seen_us = self._true_us(reading.t) - self.now_us
            behind_us = max(behind_us, seen_us + self.chance.randrange(30_000) + self.delay(1) // 20)
            self.later(behind_us, partial(self._feed, reading))
        lies_us = self.known_us[self._round] - self.now_us
        for latest_us in (300_000, 500_000, 1_400_000):
            self.later(self.chance.randrange(150_000, latest_us), self._lodge)
        self.later(lies_us + self.chance.randrange(100_000), self._lodge)
        for by in ("dealer", "boxperson"):
            for number, latest_us in ((0, 900_000), (1, 1_400_000)):
                confirming = self._confirming(f"w{self._round}-{number}", by)
                self.later(self.chance.randrange(250_000, latest_us), confirming)
        self._round += 1
        self.later(SECOND_US * 4 + self.chance.randrange(SECOND_US), self._throw)

    def _confirming(self, wager: str, by: str) -> Callable[[], None]:
        return lambda: self._feed(input_at(self._clock(), "confirm_late", by, who=by, what=wager))

    def _feed(self, reading: AnyReading) -> None:
        self._carry_out(self.session.feed(reading))

    def _turn(self) -> None:
        self._carry_out(self.session.advance(self._clock()))
        slow = self.chance.random() < self.trouble.stalls
        self.later(self.chance.randrange(1_000, 400_000 if slow else 20_000), self._turn)

    def _heard(self, entered: Input, refused: object, _answer: str) -> None:
        if entered.name == "confirm_late" and refused is None and entered.what is not None:
            row = self._kept()
            self.confirmations.append(Confirmation(entered.what, entered.by, row))
            self.desk_of_table.add_confirmation(entered.what, row)

    def _kept(self) -> Row:
        row = Row()

        def written() -> None:
            row.durable, row.durable_us = True, self.now_us

        self.later(self.delay(10_000), written)
        return row

    def _carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Outcome):
                if isinstance(effect.data, Bets):
                    self._bets_closed = effect.type == "bets.closed"
                event = self.table.sealed(effect)
                self.send("outcome", 30_000, partial(self._deliver, event), sure=True)
        first = self.session.first()
        out = self.session.dice_out if self._bets_closed else None
        self.desk_of_table.note(
            Betting(None, first.round, first.seq - 1, self.session.certain_us, out), self._clock()
        )

    def _say(self, word: OpenStatement) -> None:
        payload = statement_bytes(word, self.key)
        self.send("open", 20_000, lambda: self._hear(payload))

    def _ask_late(self, asked: LateWagersQuery) -> None:
        if self.desk_of_table.lodge(asked, self._kept):
            entered = Input(t=self._clock(), dev="settlement", name="late_wager", by="settlement")
            self._feed(_named(entered, asked.wager))

    # --- the engine ---

    def _start_engine(self) -> None:
        numbers = self._numbers
        self.gate = Gate(lambda: f"{next(numbers):032x}")
        self.shim = _Shim(self, self.gate)
        self.engine = Engine(self.house.store, lambda: self.now_us, games=GAMES, gate=self.shim)
        self.gate.pin(self.table.name, self.table.key.public)
        self.desk = AccountRequests(self.engine)
        self._waiting.clear()

    def give_up(self) -> None:
        """Refuse all waiting requests, because the throw is decided."""
        self._waiting = {
            n: one for n, one in self._waiting.items() if self.gate.find_statement(n) is not None
        }

    def _deliver(self, event: bytes) -> None:
        self.engine.deliver([event])
        self._look()

    def _hear(self, payload: bytes) -> None:
        self.gate.receive(payload)
        self._look()

    def _lodge(self) -> None:
        """Lodge a wager of this throw under one of two ids, which may be in use."""
        if self.chance.random() < self.trouble.restarts:
            self._start_engine()
        wager = f"w{self._round - 1}-{self.chance.randint(0, 1)}"
        number = self.chance.choice((4, 5, 6, 8, 9, 10))
        bet: dict[str, object] = {
            "id": wager,
            "player": "cheat",
            "wager": "place",
            "number": number,
            "amount": 100 + next(self._numbers),
            "late": True,
        }
        key = self.house.new_identity()
        self.lodging, self.shim.answer = None, None
        with suppress(RequestRefused):
            self.desk.bet(self.house.new_identity(), self.table.name, bet)
        if (lodging := self._taken()) is None:
            return
        nonce = f"{next(self._numbers):032x}"
        waiting = _Waiting(lodging, self.now_us, nonce, lambda: self.desk.bet(key, self.table.name, bet))
        self.gate.expect(self.table.name, nonce, lodging.digest)
        self._waiting[nonce] = waiting
        asked = LateWagersQuery(
            table=self.table.name,
            round=lodging.round,
            nonce=nonce,
            by="settlement",
            wager=lodging.wager,
            digest=lodging.digest,
            says=lodging.description,
        )
        self.send("ask", 20_000, lambda: self._ask_late(asked))
        self.later(LATE_US, partial(self._forget, nonce))

    def _forget(self, nonce: str) -> None:
        self._waiting.pop(nonce, None)

    def _taken(self) -> LateWager | None:
        return self.lodging

    def _look(self) -> None:
        for nonce, waiting in list(self._waiting.items()):
            answer = self.gate.find_statement(nonce)
            if answer is not None:
                del self._waiting[nonce]
                self.gate.forget(nonce)
                self.later(self.delay(5_000), partial(self._commit, waiting, answer))

    def _commit(self, waiting: _Waiting, answer: Admitted) -> None:
        self.shim.answer = answer
        try:
            waiting.do()
        except RequestRefused:
            return
        finally:
            self.shim.answer = None
        with self.engine.work() as work:
            standing = self.engine.table(work, self.table.name)
        assert standing is not None
        self.granted.append(Granted(waiting.wager.wager, waiting.came_us, standing.round or 1))

    # --- the check ---

    def past_posted(self) -> list[Granted]:
        """Return accepted wagers whose contents or confirmation arrived after a die was at rest."""
        return [one for one in self.granted if not self._in_time(one)]

    def _in_time(self, one: Granted) -> bool:
        known_us = self.known_us[one.round]
        confirmed = {
            word.by
            for word in self.confirmations
            if word.wager == one.wager and word.row.durable_us is not None and word.row.durable_us < known_us
        }
        return one.came_us < known_us and confirmed == {"dealer", "boxperson"}

    def end(self) -> None:
        self.house.store.close()


def _named(entered: Input, wager: str) -> Input:
    return Input(t=entered.t, dev=entered.dev, name=entered.name, by=entered.by, what=wager)
