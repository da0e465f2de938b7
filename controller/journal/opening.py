"""Opening a journal for writing: locking, verification from the last checkpoint, and comparison with the head
file.

The journal's rows determine the state from which the table continues. The module also replaces keys: a row
records the replacement, and the new key signs all later rows.
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
    RecordedFault,
    event_draft,
)
from controller.journal.faults import JournalFault
from controller.journal.head import (
    Head,
    HeadFile,
    JournalLocation,
    check_head,
    check_journal_exists,
    read_head,
)
from controller.journal.keys import Key, PublicKey
from controller.journal.lock import Lock
from controller.journal.schema import ALL_SIGNED, migrate, version_of
from controller.journal.store import (
    Origin,
    insert,
    last_row_number,
    open_writer,
    read_origin,
    sqlite_fault,
    write_origin,
)
from controller.journal.totals import Totals
from controller.journal.verify import JournalWalk, Progress, check_stray_rows
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import ATTEMPT_KINDS, AttemptKind


class Recovered(NamedTuple):
    """The state from which the next session continues.

    `session` is the number of the next session. `state` and `first` are the values after the last row.
    `in_flight` lists the attempts that were cut off; `first` does not count an attempt without an outcome.
    `faults` lists the faults whose end is not recorded. `verified_from` is the first row that was verified;
    its link covers the earlier rows.
    """

    session: int
    state: State
    first: NextNumbers
    in_flight: tuple[InFlight, ...]
    last_n: int
    last_link: bytes
    faults: tuple[RecordedFault, ...]
    verified_from: int


MIN_VERIFIED_ROWS = 5000
"""Minimum number of rows verified at startup. These rows cover hours of play, and verifying them takes a
fraction of a second."""


def walk_from_checkpoint(
    connection: apsw.Connection, path: Path, key: PublicKey, table: str, progress: Progress | None = None
) -> JournalWalk:
    """Check the journal's table and key, and verify at least the rows since its last checkpoint."""
    origin = read_origin(connection, path)
    if origin is not None and origin.table != table:
        found, expected = f"the journal of table {origin.table}", f"that of table {table}"
        raise JournalFault("journal_other_table", path, found, expected)
    walk = JournalWalk(connection, path)
    if walk.key.raw != key.raw:
        found = f"key {walk.key.raw.hex()[:16]} in the journal"
        raise JournalFault("journal_key_differs", path, found, f"key {key.raw.hex()[:16]}")
    walk.skip_to_last_checkpoint(MIN_VERIFIED_ROWS)
    walk.run(progress, every_signature=False)
    return walk


def recovered_from(totals: Totals, last_n: int, last_link: bytes, verified_from: int) -> Recovered:
    """Return the state from which the next session continues."""
    first = totals.first if not totals.seq else msgspec.structs.replace(totals.first, seq=totals.seq + 1)
    attempts = [(kind, totals.attempts[kind]) for kind in ATTEMPT_KINDS if kind in totals.attempts]
    return Recovered(
        session=totals.session + 1,
        state=totals.state,
        first=first,
        in_flight=tuple(_in_flight(kind, progress) for kind, progress in attempts if not progress.ended),
        last_n=last_n,
        last_link=last_link,
        faults=tuple(totals.faults.values()),
        verified_from=verified_from,
    )


def _in_flight(kind: AttemptKind, progress: AttemptProgress) -> InFlight:
    return InFlight(kind, progress.number, progress.t, progress.review)


ACCEPTABLE = frozenset(
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
"""The codes of faults that a named person may accept. With each of these faults, the existing rows are valid,
but others might be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person's decision, with a reason, to continue a journal despite a fault in `ACCEPTABLE`."""

    by: str
    who: str
    reason: str


class Opened(NamedTuple):
    """A journal open for writing: its connection, its totals, and the end of its chain."""

    connection: apsw.Connection
    head: HeadFile
    totals: Totals
    last_n: int
    last_link: bytes
    verified_from: int
    release: ExitStack
    """Releases the lock and the head file. The writer closes the connection."""


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
    """Open the journal, or create it if neither the journal nor its head file exists.

    `progress` is called with the number of the last row verified so far and that of the journal's last row.

    Raises:
        JournalFault: the journal has a fault that prevents results from being published and that
            `accept` does not cover.
    """
    with ExitStack() as stack:
        lock = Lock(place.journal)
        stack.callback(lock.release)
        acceptances = _Acceptances(accept)
        head = _read_known_head(place, acceptances)
        try:
            check_journal_exists(place, head)
        except JournalFault as fault:
            acceptances.accept_or_raise(fault)
        connection = open_writer(place.journal, vfs)
        with ExitStack() as unless_opened:
            unless_opened.callback(connection.close)
            if read_origin(connection, place.journal) is None:
                write_origin(connection, Origin(table, key.public.raw, now))
            walk = walk_from_checkpoint(connection, place.journal, key.public, table, progress)
            check_stray_rows(connection, place.journal, walk.n)
            for found in _faults_at_the_end(connection, walk, place, head):
                acceptances.accept_or_raise(found)
            end = _End(walk.n, walk.link)
            if acceptances.fault is not None:
                end = _write_acceptance(
                    connection, key, walk, _build_acceptance(acceptances, walk.totals, head), now
                )
            _migrate(connection, place)
            walk.totals.layout = ALL_SIGNED
            head_file = HeadFile(place.head, table, key)
            stack.callback(head_file.close)
            if head is None or acceptances.fault is not None:
                head_file.begin(head_at(table, end.n, end.link, walk.totals))
            unless_opened.pop_all()
        return Opened(
            connection, head_file, walk.totals, end.n, end.link, walk.verified_from, stack.pop_all()
        )


def head_at(table: str, n: int, link: bytes, totals: Totals) -> Head:
    """Return the head record of a journal that ends with row `n`."""
    return Head(table=table, n=n, link=link.hex(), seq=totals.seq, session=totals.session)


class _End(NamedTuple):
    n: int
    link: bytes


def _faults_at_the_end(
    connection: apsw.Connection, walk: JournalWalk, place: JournalLocation, head: Head | None
) -> Iterator[JournalFault]:
    """Yield the faults at a journal's end: unsigned rows, missing rows, or a fault in the head file."""
    if walk.layout < ALL_SIGNED and walk.n:
        unsigned = walk.n - walk.authenticated_n
        found = f"layout {walk.layout}, with the last {unsigned} of its {walk.n} rows unsigned"
        expected = f"layout {ALL_SIGNED}, with all rows signed"
        yield JournalFault("journal_old_layout", place.journal, found, expected)
    try:
        check_head(connection, walk.n, place, head, table=walk.table, keys=walk.keyring)
    except JournalFault as fault:
        yield fault


def _migrate(connection: apsw.Connection, place: JournalLocation) -> None:
    if version_of(connection, str(place.journal)) < ALL_SIGNED:
        try:
            migrate(connection, str(place.journal))
        except apsw.Error as error:
            raise sqlite_fault(error, place.journal) from error


class _Acceptances:
    """Stores the first fault that a person accepted, and raises any fault that is not accepted."""

    def __init__(self, accept: Acceptance | None) -> None:
        self.accept = accept
        self.fault: JournalFault | None = None

    def accept_or_raise(self, fault: JournalFault) -> None:
        if self.accept is None or fault.code not in ACCEPTABLE:
            raise fault
        self.fault = self.fault or fault


def _read_known_head(place: JournalLocation, acceptances: _Acceptances) -> Head | None:
    try:
        return read_head(place.head)
    except JournalFault as fault:
        acceptances.accept_or_raise(fault)
        return None


def _build_acceptance(acceptances: _Acceptances, totals: Totals, head: Head | None) -> AcceptedJournal:
    assert acceptances.fault is not None
    assert acceptances.accept is not None
    if acceptances.fault.code == "journal_head_forged":
        head = None  # A forged head's numbers do not belong to this journal.
    return AcceptedJournal(
        code=acceptances.fault.code,
        seq=max(totals.seq, head.seq if head else 0),
        session=max(totals.session, head.session if head else 0),
        by=acceptances.accept.by,
        who=acceptances.accept.who,
        reason=acceptances.accept.reason,
    )


def _write_acceptance(
    connection: apsw.Connection, key: Key, walk: JournalWalk, accepted: AcceptedJournal, now: WallTime
) -> _End:
    rows: list[Row] = seal([event_draft(ACCEPTED, accepted, now)], walk.n, walk.link, key)
    # One commit writes both the row and the layout. With two commits, a person might have to accept the
    # journal again after a power cut between them.
    insert(connection, rows, [], all_signed=walk.layout < ALL_SIGNED)
    walk.totals.add(rows[-1])
    return _End(rows[-1].n, rows[-1].link)


class KeyReplacement(NamedTuple):
    """A key replacement: the table, and the number of the row that records it."""

    table: str
    row: int


class Authorization(NamedTuple):
    """The person who replaces a key, and the reason."""

    by: str
    who: str
    reason: str


def replace_key(
    place: JournalLocation, old: Key | None, new: Key, authorization: Authorization, now: WallTime
) -> KeyReplacement:
    """Replace the journal's signing key; `old` is None if the old key is lost.

    The journal must be complete, and the controller must not be running. Repeating a replacement adds no row.

    Raises JournalFault if the journal can't be continued or `old` is not its key.
    """
    with ExitStack() as stack:
        connection, walk = _open_for_replacement(stack, place, old, new)
        if walk.key.raw != new.public.raw:
            draft = event_draft(KEY_REPLACED, _handover(walk, old, new, authorization), now)
            (row,) = seal([draft], walk.n, walk.link, old or new)
            try:
                insert(connection, [row], [])
            except apsw.Error as error:
                raise sqlite_fault(error, place.journal) from error
            walk.totals.add(row)
            walk.n, walk.link = row.n, row.link
        head_file = HeadFile(place.head, walk.table, new)
        stack.callback(head_file.close)
        head_file.begin(head_at(walk.table, walk.n, walk.link, walk.totals))
        return KeyReplacement(walk.table, walk.n)


def check_replaceable(place: JournalLocation, old: Key | None, new: Key | None) -> None:
    """Check that `old` can be replaced, or that the journal already uses `new`.

    Raises JournalFault if the journal is missing, can't be continued, or uses a different key from `old`.
    """
    with ExitStack() as stack:
        _open_for_replacement(stack, place, old, new)


def _open_for_replacement(
    stack: ExitStack, place: JournalLocation, old: Key | None, new: Key | None
) -> tuple[apsw.Connection, JournalWalk]:
    absent = JournalFault(
        "journal_absent",
        place.journal,
        "no journal rows",
        "the journal of the table that uses this key; specify its folder",
    )
    if not place.journal.exists():
        raise absent
    lock = Lock(place.journal)
    stack.callback(lock.release)
    if not last_row_number(place.journal):
        raise absent
    head = read_head(place.head)
    check_journal_exists(place, head)
    connection = open_writer(place.journal)
    stack.callback(connection.close)
    walk = JournalWalk(connection, place.journal)
    done = new is not None and walk.key.raw == new.public.raw
    if old is not None and not done and walk.key.raw != old.public.raw:
        found = f"key {walk.key.raw.hex()[:16]} in the journal"
        raise JournalFault("journal_key_differs", place.journal, found, f"key {old.public.raw.hex()[:16]}")
    walk.skip_to_last_checkpoint(MIN_VERIFIED_ROWS)
    walk.run(every_signature=False)
    check_stray_rows(connection, place.journal, walk.n)
    if walk.layout < ALL_SIGNED:
        found, expected = f"layout {walk.layout}", f"layout {ALL_SIGNED}, with all rows signed"
        raise JournalFault("journal_old_layout", place.journal, found, expected)
    check_head(connection, walk.n, place, head, table=walk.table, keys=walk.keyring)
    return connection, walk


def _handover(walk: JournalWalk, old: Key | None, new: Key, authorization: Authorization) -> KeyReplaced:
    before = walk.key.raw
    return KeyReplaced(
        old=before.hex(),
        new=new.public.raw.hex(),
        proof=new.sign_handover(before).hex(),
        by=authorization.by,
        who=authorization.who,
        reason=authorization.reason,
        lost=old is None,
    )
