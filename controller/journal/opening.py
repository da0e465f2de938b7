"""Open a journal for writing: locked, verified from its last checkpoint, and not older than its head says.

The rows then show where the table continues after a stop of any kind. A key is replaced in the same way: the
journal's own rows say from where on the new one signs.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.engine.resume import InFlight
from controller.journal.chain import Row, WallTime, seal
from controller.journal.contents import (
    ACCEPTED,
    KEY_REPLACED,
    AcceptedJournal,
    AttemptProgress,
    KeyReplaced,
    StandingFault,
    event_draft,
)
from controller.journal.faults import JournalFault
from controller.journal.head import Head, HeadFile, JournalLocation, check_begun, check_head, read_head
from controller.journal.keys import Key, PublicKey
from controller.journal.lock import Lock
from controller.journal.schema import ALL_SIGNED, migrate, version_of
from controller.journal.store import (
    Origin,
    begin,
    fault_of,
    insert,
    open_reader,
    open_writer,
    origin_of,
    rows_there,
)
from controller.journal.totals import Totals
from controller.journal.verify import Progress, Walk, check_strays
from controller.machines.setup import First, State
from controller.model.outcomes import ATTEMPT_KINDS, AttemptKind


class Recovered(NamedTuple):
    """What a session that starts now continues from.

    `session` is its number, `state` and `first` what the last one left, as journaled; whether the table then
    opens locked is up to the caller. `in_flight` is what was cut off: if it was noted before any outcome of
    it, `first` does not count it yet. `faults` began in some session and are not reported to be over.
    `verified_from` is the first row that was verified; rows before it are known only by its digest.
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
"""The fewest rows before the end that a start verifies: some hours of play, a fraction of a second's work."""


def recover(place: JournalLocation, key: PublicKey, table: str) -> Recovered:
    """Verify from the last checkpoint, without writing, and return where a session continues.

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


def recovered_from(memory: Totals, last_n: int, last_link: bytes) -> Recovered:
    """Return where a session continues."""
    first = memory.first if not memory.seq else msgspec.structs.replace(memory.first, seq=memory.seq + 1)
    standings = [(word, memory.attempts[word]) for word in ATTEMPT_KINDS if word in memory.attempts]
    return Recovered(
        session=memory.session + 1,
        state=memory.state,
        first=first,
        in_flight=tuple(_in_flight(word, standing) for word, standing in standings if not standing.ended),
        last_n=last_n,
        last_link=last_link,
        faults=tuple(memory.faults.values()),
    )


def _in_flight(word: AttemptKind, standing: AttemptProgress) -> InFlight:
    return InFlight(word, standing.number, standing.t, standing.review)


FORGIVABLE = frozenset(
    {
        "journal_absent",
        "journal_cut_short",
        "journal_restored",
        "journal_forked",
        "journal_head_missing",
        "journal_head_damaged",
        "journal_head_forged",
        "journal_head_unsigned",
        "journal_old_layout",
    }
)
"""Faults that a named person may accept: the rows are sound, but the end or a signature may be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person's decision to continue with a journal that is behind its head file, and why."""

    by: str
    who: str
    reason: str


class Opened(NamedTuple):
    """An open journal: its connection, the end of its chain, and what undoes the opening."""

    connection: apsw.Connection
    head: HeadFile
    memory: Totals
    last_n: int
    last_link: bytes
    verified_from: int
    release: ExitStack
    """Releases the lock and the head file; the writer closes the connection."""


def open_journal(
    place: JournalLocation,
    key: Key,
    table: str,
    *,
    now: WallTime,
    vfs: str | None,
    accept: Acceptance | None,
    progress: Progress | None = None,
) -> Opened:
    """Open it, or begin it if neither journal nor head exists; `progress` is called with the rows verified.

    Raises:
        JournalFault: anything that forbids publishing a result, unless it was accepted.
    """
    with ExitStack() as stack:
        lock = Lock(place.journal)
        stack.callback(lock.release)
        excused = _Excused(accept)
        head = _known_head(place, excused)
        try:
            check_begun(place, head)
        except JournalFault as fault:
            excused.hear(fault)
        connection = open_writer(place.journal, vfs)
        with ExitStack() as unless_opened:
            unless_opened.callback(connection.close)
            if origin_of(connection, place.journal) is None:
                begin(connection, Origin(table, key.public.raw, now))
            walk = walk_from_checkpoint(connection, place.journal, key.public, table, progress)
            check_strays(connection, place.journal, walk.n)
            for found in _faults_at_the_end(connection, walk, place, head):
                excused.hear(found)
            end = _End(walk.n, walk.link)
            if excused.fault is not None:
                end = _write_acceptance(connection, key, walk, _accepted(excused, walk.memory, head), now)
            _bring_forward(connection, place)
            walk.memory.layout = ALL_SIGNED
            head_file = HeadFile(place.head, table, key)
            stack.callback(head_file.close)
            if head is None or excused.fault is not None:
                head_file.begin(head_at(table, end.n, end.link, walk.memory))
            unless_opened.pop_all()
        return Opened(
            connection, head_file, walk.memory, end.n, end.link, walk.verified_from, stack.pop_all()
        )


def head_at(table: str, n: int, link: bytes, memory: Totals) -> Head:
    """Return the head record of a journal that ends here."""
    return Head(table=table, n=n, link=link.hex(), seq=memory.seq, session=memory.session)


class _End(NamedTuple):
    n: int
    link: bytes


def _faults_at_the_end(
    connection: apsw.Connection, walk: Walk, place: JournalLocation, head: Head | None
) -> Iterator[JournalFault]:
    """Yield what is missing at a journal's end and needs a person's acceptance: signatures or rows."""
    if walk.layout < ALL_SIGNED and walk.n:
        unsigned = walk.n - walk.vouched_n
        found = f"layout {walk.layout}, the last {unsigned} of its {walk.n} rows unsigned"
        yield JournalFault("journal_old_layout", place.journal, found, f"layout {ALL_SIGNED}, all signed")
    try:
        check_head(connection, walk.n, place, head, table=walk.table, keys=walk.keyring)
    except JournalFault as fault:
        yield fault


def _bring_forward(connection: apsw.Connection, place: JournalLocation) -> None:
    if version_of(connection, str(place.journal)) < ALL_SIGNED:
        try:
            migrate(connection, str(place.journal))
        except apsw.Error as error:
            raise fault_of(error, place.journal) from error


class _Excused:
    """Return the first fault, if an acceptance covers it; any other is raised."""

    def __init__(self, accept: Acceptance | None) -> None:
        self.accept = accept
        self.fault: JournalFault | None = None

    def hear(self, fault: JournalFault) -> None:
        if self.accept is None or fault.code not in FORGIVABLE:
            raise fault
        self.fault = self.fault or fault


def _known_head(place: JournalLocation, excused: _Excused) -> Head | None:
    try:
        return read_head(place.head)
    except JournalFault as fault:
        excused.hear(fault)
        return None


def _accepted(excused: _Excused, memory: Totals, head: Head | None) -> AcceptedJournal:
    assert excused.fault is not None
    assert excused.accept is not None
    if excused.fault.code == "journal_head_forged":
        head = None  # It tells nothing of this journal.
    return AcceptedJournal(
        code=excused.fault.code,
        seq=max(memory.seq, head.seq if head else 0),
        session=max(memory.session, head.session if head else 0),
        by=excused.accept.by,
        who=excused.accept.who,
        reason=excused.accept.reason,
    )


def _write_acceptance(
    connection: apsw.Connection, key: Key, walk: Walk, accepted: AcceptedJournal, now: WallTime
) -> _End:
    rows: list[Row] = seal([event_draft(ACCEPTED, accepted, now)], walk.n, walk.link, key)
    # One commit: after a power cut between the two the word would be asked for again.
    insert(connection, rows, [], all_signed=walk.layout < ALL_SIGNED)
    walk.memory.take(rows[-1])
    return _End(rows[-1].n, rows[-1].link)


class KeyReplacement(NamedTuple):
    """A key was replaced: at which row, and of which table."""

    table: str
    row: int


class Authorization(NamedTuple):
    """Who replaces a key, and why."""

    by: str
    who: str
    reason: str


def replace_key(
    place: JournalLocation, old: Key | None, new: Key, word: Authorization, now: WallTime
) -> KeyReplacement:
    """Replace the key that signs from here on; `old` is None if it is lost, and the person's word must do.

    The journal must be whole, and no controller may run. Done twice it changes nothing the second time.

    Raises:
        JournalFault: the journal can't be continued, or `old` is not its key.
    """
    with ExitStack() as stack:
        connection, walk = _opened(stack, place, old, new)
        if walk.key.raw != new.public.raw:
            draft = event_draft(KEY_REPLACED, _handover(walk, old, new, word), now)
            (row,) = seal([draft], walk.n, walk.link, old or new)
            try:
                insert(connection, [row], [])
            except apsw.Error as error:
                raise fault_of(error, place.journal) from error
            walk.memory.take(row)
            walk.n, walk.link = row.n, row.link
        head_file = HeadFile(place.head, walk.table, new)
        stack.callback(head_file.close)
        head_file.begin(head_at(walk.table, walk.n, walk.link, walk.memory))
        return KeyReplacement(walk.table, walk.n)


def check_replaceable(place: JournalLocation, old: Key | None, new: Key | None) -> None:
    """Find out, changing nothing, whether `old` can be replaced (by `new`, if that was begun before).

    Raises:
        JournalFault: there is no journal, it can't be continued, or `old` is not its key.
    """
    with ExitStack() as stack:
        _opened(stack, place, old, new)


def _opened(
    stack: ExitStack, place: JournalLocation, old: Key | None, new: Key | None
) -> tuple[apsw.Connection, Walk]:
    absent = JournalFault(
        "journal_absent",
        place.journal,
        "no row of a journal",
        "the journal of the table whose key this is; name its folder",
    )
    if not place.journal.exists():
        raise absent
    lock = Lock(place.journal)
    stack.callback(lock.release)
    if not rows_there(place.journal):
        raise absent
    head = read_head(place.head)
    check_begun(place, head)
    connection = open_writer(place.journal)
    stack.callback(connection.close)
    walk = Walk(connection, place.journal)
    done = new is not None and walk.key.raw == new.public.raw
    if old is not None and not done and walk.key.raw != old.public.raw:
        found = f"key {walk.key.raw.hex()[:16]} in the journal"
        raise JournalFault("journal_key_differs", place.journal, found, f"key {old.public.raw.hex()[:16]}")
    walk.skip_to_last_checkpoint(LOOK_BACK)
    walk.run(every_signature=False)
    check_strays(connection, place.journal, walk.n)
    if walk.layout < ALL_SIGNED:
        found, expected = f"layout {walk.layout}", f"layout {ALL_SIGNED}, all signed"
        raise JournalFault("journal_old_layout", place.journal, found, expected)
    check_head(connection, walk.n, place, head, table=walk.table, keys=walk.keyring)
    return connection, walk


def _handover(walk: Walk, old: Key | None, new: Key, word: Authorization) -> KeyReplaced:
    before = walk.key.raw
    return KeyReplaced(
        old=before.hex(),
        new=new.public.raw.hex(),
        proof=new.sign_handover(before).hex(),
        by=word.by,
        who=word.who,
        reason=word.reason,
        lost=old is None,
    )
