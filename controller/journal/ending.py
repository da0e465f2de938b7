"""Whether a journal still ends where its head file remembers: one that lost its end verifies by itself."""

import apsw

from controller.journal.contents import CHECKPOINT
from controller.journal.faults import JournalFault
from controller.journal.head import Head, Place, signed_by
from controller.journal.keyring import Keyring
from controller.journal.memory import checkpoint_of
from controller.journal.store import fetch_one, rows_there, rows_where


def check_begun(place: Place, head: Head | None) -> None:
    """Look, making nothing, whether there is a journal at all where its head remembers rows.

    Raises:
        JournalFault: there is none, it is empty, or it can't be read.
    """
    if head is None or not head.n:
        return
    expected = f"the journal of {head.table} up to row {head.n}, as {place.head} remembers"
    if not place.journal.exists():
        raise JournalFault("journal_absent", place.journal, "no file", expected)
    if not rows_there(place.journal):
        raise JournalFault("journal_cut_short", place.journal, "a journal without a row", expected)


def check_head(
    connection: apsw.Connection, last_n: int, place: Place, head: Head | None, *, table: str, keys: Keyring
) -> None:
    """Compare a journal that ends at this row with its head, which was read before that row was looked for.

    A head is signed by the key that signs the row after it, of those that signed the journal.

    Raises:
        JournalFault: there is no head, it is another table's, another signed it, nobody did, or rows that it
            remembers are not there.
    """
    if head is None:
        if last_n:
            raise JournalFault("journal_head_missing", place.head, "no head", f"one of about row {last_n}")
        return
    if head.table != table:
        raise JournalFault("journal_other_table", place.head, f"the head of {head.table}", f"that of {table}")
    if head.signature and not signed_by(head, keys.at(head.n + 1)):
        found = "a record that the table's key did not sign"
        raise JournalFault("journal_head_forged", place.head, found, "the table's own")
    if head.n > last_n:
        code = "journal_restored" if _closed_in_order(connection, last_n, place) else "journal_cut_short"
        expected = f"row {head.n} or later, as {place.head} remembers"
        raise JournalFault(code, place.journal, _missing(connection, last_n, place, head), expected)
    row = next(rows_where(connection, place.journal, "WHERE n = ?", (head.n,)), None)
    if head.n and (row is None or row.link.hex() != head.link):
        raise JournalFault(
            "journal_forked", f"{place.journal}, row {head.n}", "another row", "the one in the head file"
        )
    if not head.signature:
        found = "a record that nobody signed"
        raise JournalFault("journal_head_unsigned", place.head, found, "one with the table's signature")


def _missing(connection: apsw.Connection, last_n: int, place: Place, head: Head) -> str:
    found = fetch_one(connection, place.journal, "SELECT max(seq) FROM rows WHERE n <= ?", (last_n,))
    seq = 0 if found is None or found[0] is None else int(str(found[0]))
    rows, outcomes = head.n - last_n, head.seq - seq
    return f"row {last_n} as its last: at least {rows} rows are missing, {outcomes} outcomes among them"


def _closed_in_order(connection: apsw.Connection, last_n: int, place: Place) -> bool:
    last = next(rows_where(connection, place.journal, "WHERE n = ?", (last_n,)), None)
    if last is None or last.name != CHECKPOINT or last.body is None:
        return False
    return checkpoint_of(last.body).closed
