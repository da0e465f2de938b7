"""Where a table goes on after a stop of whatever kind, as its journal holds it."""

from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.engine.resume import InFlight
from controller.journal.contents import AttemptProgress, StandingFault
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation, check_head, read_head
from controller.journal.keys import PublicKey
from controller.journal.memory import Memory
from controller.journal.store import open_reader, origin_of
from controller.journal.verify import Progress, Walk
from controller.machines.setup import First, State
from controller.model.outcomes import WORDS, Word


class Recovered(NamedTuple):
    """What a session that starts now continues from.

    `session` is its number, `state` and `first` what the last one left, as journaled; whether the table then
    opens locked is the caller's matter. `in_flight` is what was cut off: where it was noted before anything
    told of it, `first` does not count it yet.
    `faults` began in some session and were not told to be over.
    `verified_from` is the first row that was verified; what stands before it is known by its digest alone.
    """

    session: int
    state: State
    first: First
    in_flight: tuple[InFlight, ...]
    last_n: int
    last_link: bytes
    faults: tuple[StandingFault, ...] = ()
    verified_from: int = 1


LOOK_BACK = 5000
"""Rows before the end that a start verifies at least: some hours of play, a fraction of a second's work."""


def recover(place: JournalLocation, key: PublicKey, table: str) -> Recovered:
    """Verify from the last checkpoint, without writing anything, and say where a session goes on.

    Raises:
        JournalFault: the journal is absent, another table's, damaged, changed, of a layout that a person has
            to vouch for, or older than its head.
    """
    connection = open_reader(place.journal)
    try:
        head = read_head(place.head)
        walk = walk_from_checkpoint(connection, place.journal, key, table)
        check_head(connection, walk.n, place, head, table=table, keys=walk.keyring)
        return recovered_from(walk.memory, walk.n, walk.link)
    finally:
        connection.close()


def walk_from_checkpoint(
    connection: apsw.Connection, path: Path, key: PublicKey, table: str, progress: Progress | None = None
) -> Walk:
    """Verify what came since the last checkpoint, and that the journal is this table's and this key's."""
    origin = origin_of(connection, path)
    if origin is not None and origin.table != table:
        raise JournalFault("journal_other_table", path, f"the journal of {origin.table}", f"that of {table}")
    walk = Walk(connection, path)
    if walk.key.raw != key.raw:
        found = f"key {walk.key.raw.hex()[:16]} in the journal"
        raise JournalFault("journal_key_differs", path, found, f"key {key.raw.hex()[:16]}")
    walk.skip_to_last_checkpoint(LOOK_BACK)
    walk.run(progress, every_signature=False)
    return walk


def recovered_from(memory: Memory, last_n: int, last_link: bytes) -> Recovered:
    """Return where a session goes on."""
    first = memory.first if not memory.seq else msgspec.structs.replace(memory.first, seq=memory.seq + 1)
    standings = [(word, memory.attempts[word]) for word in WORDS if word in memory.attempts]
    return Recovered(
        session=memory.session + 1,
        state=memory.state,
        first=first,
        in_flight=tuple(_in_flight(word, standing) for word, standing in standings if not standing.ended),
        last_n=last_n,
        last_link=last_link,
        faults=tuple(memory.faults.values()),
    )


def _in_flight(word: Word, standing: AttemptProgress) -> InFlight:
    return InFlight(word, standing.number, standing.t, standing.review)
