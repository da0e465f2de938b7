"""Put another key in the place of a table's: the journal's own rows say from where on it signs."""

from contextlib import ExitStack
from typing import NamedTuple

import apsw

from controller.journal.chain import Wall, seal
from controller.journal.contents import KEY_REPLACED, KeyReplaced
from controller.journal.drafting import event_draft
from controller.journal.ending import check_begun, check_head
from controller.journal.faults import JournalFault
from controller.journal.head import HeadFile, Place, read_head
from controller.journal.keys import Key
from controller.journal.lock import Lock
from controller.journal.opening import head_at
from controller.journal.recovery import LOOK_BACK
from controller.journal.schema import ALL_SIGNED
from controller.journal.store import fault_of, insert, open_writer, rows_there
from controller.journal.verify import Walk, check_strays


class Replaced(NamedTuple):
    """A key was replaced: at which row, and of which table."""

    table: str
    row: int


class Word(NamedTuple):
    """Who replaces a key, and why."""

    by: str
    who: str
    reason: str


def replace_key(place: Place, old: Key | None, new: Key, word: Word, now: Wall) -> Replaced:
    """Have the new key sign from here on; `old` is None where it is lost, and the person's word must do.

    The journal must be whole, and no controller may run. Done twice it changes nothing the second time.

    Raises:
        JournalFault: the journal can't be gone on with, or `old` is not its key.
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
        return Replaced(walk.table, walk.n)


def check_replaceable(place: Place, old: Key | None, new: Key | None) -> None:
    """Find out, changing nothing, whether `old` can be replaced (by `new`, where that was begun before).

    Raises:
        JournalFault: there is no journal, it can't be gone on with, or `old` is not its key.
    """
    with ExitStack() as stack:
        _opened(stack, place, old, new)


def _opened(stack: ExitStack, place: Place, old: Key | None, new: Key | None) -> tuple[apsw.Connection, Walk]:
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


def _handover(walk: Walk, old: Key | None, new: Key, word: Word) -> KeyReplaced:
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
