"""A table with a journal: folders, a key, a session of throws, and listeners."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import NamedTuple

import msgspec

from controller.engine.session import Session
from controller.journal.chain import Row, WallTime
from controller.journal.contents import Identity
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation, check_head, read_head
from controller.journal.journal import Journal
from controller.journal.keys import Key, PublicKey, load_key, new_key
from controller.journal.opening import Acceptance, Recovered, recovered_from, walk_from_checkpoint
from controller.journal.store import open_reader
from controller.journal.writer import Limits, Ticket
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Face
from controller.settings.rulesets import load_ruleset
from tests.scenes import SECOND_US, TABLE, input_at, throw

NAME = "table-7"
NIGHT_US = 1_800_000_000_000_000
"""Wall time of the first row; each further row is a second later."""
PATIENCE_S = 300.0
"""Time limit for a thread, in seconds, after which it counts as hung."""
LIMITS = Limits(retry_s=0.001, file_check_s=0.01)


class Step(NamedTuple):
    """The session's results for one reading."""

    effects: tuple[Effect, ...]
    state: State
    first: NextNumbers

    @property
    def outcomes(self) -> list[Outcome]:
        return [effect for effect in self.effects if isinstance(effect, Outcome)]


def setup_at(first: NextNumbers, state: State, session: int = 1, rules: str = "craps-12-034") -> Setup:
    """Return the setup of a session that starts in this state."""
    return Setup(
        table=NAME,
        ruleset=load_ruleset(rules),
        session=str(session),
        first=first,
        state=state,
        dice_table=TABLE,
    )


def identity(setup: Setup) -> Identity:
    """Return the identity of the session."""
    return Identity(session=int(setup.session), software="1.2.3", config="c0ffee", boot="b1", setup=setup)


def session_steps(session: Session, readings: list[AnyReading]) -> list[Step]:
    """Feed readings, and return the session's results for each."""
    kept: list[Step] = []
    for reading in readings:
        # A live table behaves in the same way: no reading waits for the next one to confirm its time.
        effects = session.feed(msgspec.structs.replace(reading, arrived=reading.t))
        if effects:
            kept.append(Step(tuple(effects), session.state(), session.first()))
    return kept


def throws(count: int, start_us: int = SECOND_US) -> list[AnyReading]:
    """Throw the dice `count` times: most count, some fall short, some are called No Roll by the boxperson."""
    readings: list[AnyReading] = []
    t = start_us
    for number in range(count):
        faces: tuple[Face, Face] = ((4, 4), (6, 2), (3, 2), (5, 5), (3, 4))[number % 5]
        one = throw(t, faces, short_mm=(0.0, 300.0) if number % 7 == 3 else (0.0, 0.0))
        readings += one
        if number % 6 == 5:
            readings.append(input_at(one[-1].t + 100_000, "no_roll", who="ann"))
        t += 5 * SECOND_US
    return readings


@functools.cache
def play_throws(count: int, rules: str = "craps-12-034") -> tuple[Step, ...]:
    """Play this many throws, and enough time for the last call."""
    session = Session(setup_at(NextNumbers(), State(), rules=rules))
    readings = throws(count)
    end = input_at(readings[-1].t + 3 * SECOND_US, "dice_collected")
    return tuple(session_steps(session, [*readings, end]))


@dataclass
class Rig:
    """One table's folder and key, and the reports of its journal."""

    folder: Path
    key: Key
    published: list[Row] = field(default_factory=list)
    alarms: list[str | None] = field(default_factory=list)
    alarmed: Event = field(default_factory=Event)
    seconds: int = 0

    @property
    def place(self) -> JournalLocation:
        """Return the journal's location; its head file is in another folder."""
        return JournalLocation(self.folder / "journal.db", self.folder / "elsewhere" / "head")

    def open(
        self, limits: Limits = LIMITS, vfs: str | None = None, accept: Acceptance | None = None
    ) -> Journal:
        return Journal.open(
            self.place,
            self.key,
            table=NAME,
            wall=self.wall,
            on_durable=self._hear,
            alarm=self._be_alarmed,
            limits=limits,
            vfs=vfs,
            accept=accept,
        )

    def wall(self) -> WallTime:
        """Return a wall time that advances by a second with each call."""
        self.seconds += 1
        return WallTime(NIGHT_US + self.seconds * 1_000_000, self.seconds % 2 == 0)

    def played(self, count: int, *, rules: str = "craps-12-034", limits: Limits = LIMITS) -> list[Step]:
        """Journal a session of this many throws, from opening the journal to closing it."""
        steps = list(play_throws(count, rules))
        with self.open(limits) as journal:
            begin(journal, rules=rules)
            for step in steps:
                durable(append(journal, step))
        return steps

    def _hear(self, ticket: Ticket) -> None:
        self.published += ticket.outcomes

    def _be_alarmed(self, fault: JournalFault | None) -> None:
        self.alarms.append(None if fault is None else fault.code)
        self.alarmed.set()


def rig_in(folder: Path) -> Rig:
    """Create a new table's key and folders in this folder."""
    (folder / "elsewhere").mkdir()
    new_key(folder / "key")
    return Rig(folder, load_key(folder / "key"))


def recover(place: JournalLocation, key: PublicKey, table: str) -> Recovered:
    """Return what opening the journal would recover, without opening it for writing.

    The files stay as a crash left them. Raises JournalFault.
    """
    connection = open_reader(place.journal)
    try:
        head = read_head(place.head)
        walk = walk_from_checkpoint(connection, place.journal, key, table)
        check_head(connection, walk.n, place, head, table=table, keys=walk.keyring)
        return recovered_from(walk.totals, walk.n, walk.link, walk.verified_from)
    finally:
        connection.close()


def begin(journal: Journal, *, rules: str = "craps-12-034") -> Ticket:
    """Start the next session, as the journal numbers it."""
    recovered = journal.recovered
    return journal.start(identity(setup_at(recovered.first, recovered.state, recovered.session, rules)))


def append(journal: Journal, step: Step) -> Ticket:
    return journal.append(step.effects, step.state, step.first)


def durable(ticket: Ticket) -> Ticket:
    """Wait until a ticket is durable."""
    assert ticket.wait(PATIENCE_S), "the journal's thread hangs"
    return ticket


def renumbered(step: Step, first_seq: int, session: int) -> Step:
    """Return the results under another session, with outcome numbers from `first_seq` on."""
    effects: list[Effect] = []
    seq = first_seq
    for effect in step.effects:
        if isinstance(effect, Outcome):
            effects.append(msgspec.structs.replace(effect, seq=seq, id=f"{NAME}/{session}/{seq}"))
            seq += 1
        elif not hasattr(effect, "outcome"):
            effects.append(effect)
    return Step(tuple(effects), step.state, msgspec.structs.replace(step.first, seq=seq))
