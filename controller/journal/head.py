"""The head file: how far the journal had come, kept elsewhere, so that an older copy put in its place is
noticed.

Two copies of one small record are written in turn, each within a sector of its own, so that a torn write
can't damage both. It is written after the commit: it may lag behind the journal but never run ahead of it.
Each record is signed with the table's key, so that nobody can write one for a journal that was truncated;
what can still be done is to restore an old record together with the journal of its time.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.contents import CHECKPOINT
from controller.journal.faults import JournalFault
from controller.journal.keys import Key, PublicKey
from controller.journal.lock import fault_of_os, sync_directory
from controller.journal.store import fetch_one, rows_there, rows_where
from controller.journal.totals import checkpoint_of
from controller.journal.verify import Keyring

SECTOR = 4096
RECORD = 512
"""Bytes that a disk writes completely or not at all."""
SLOTS = 2
_DIGEST = 64


class JournalLocation(NamedTuple):
    """Where a journal is: the database, and the head file that should lie on another medium."""

    journal: Path
    head: Path


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's last row as far as this file knows: its number, link (hex), outcome and session."""

    table: str
    n: int
    link: str
    seq: int
    session: int
    signature: str = ""
    """The signature of all else, in hex; empty in a record of a release before 0.2."""


_decode_head = msgspec.json.Decoder(Head).decode


class HeadFile:
    """The head file, open for writing."""

    def __init__(self, path: Path, table: str, key: Key) -> None:
        """Open it for this table, made empty if it is missing; raises JournalFault if that fails."""
        self.path = path
        self.table = table
        self._key = key
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise fault_of_os(error, path, "a head file that can be written") from error
        newest = _newest_slot(os.pread(self._descriptor, SECTOR * SLOTS, 0))
        self._turn = 0 if newest is None else 1 - newest
        self._dirty = False

    def write(self, head: Head) -> None:
        """Sign and write the record; it reaches the disk with the next sync, or when the system decides."""
        signature = self._key.sign_head(_unsigned(head)).hex()
        text = msgspec.json.encode(msgspec.structs.replace(head, signature=signature))
        record = sha256(text).hexdigest().encode() + text
        assert len(record) <= RECORD
        self.put(record.ljust(RECORD, b"\n"), SECTOR * self._turn)
        self._turn = (self._turn + 1) % SLOTS
        self._dirty = True

    def sync(self) -> None:
        """Wait until the last record is on the disk."""
        if self._dirty:
            self.flush()
            self._dirty = False

    def settle(self, head: Head) -> None:
        """Write the record to both places, one after the other.

        No older one is left that a disk's owner could go back to, dropping the last commit.
        """
        for _ in range(SLOTS):
            self.write(head)
            self.sync()

    def begin(self, head: Head) -> None:
        """Fill both places of a new file, so that every later write only replaces one."""
        for _ in range(SLOTS):
            self.write(head)
        self.sync()
        sync_directory(self.path.parent)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def put(self, data: bytes, offset: int) -> None:
        """Write bytes at an offset."""
        os.pwrite(self._descriptor, data, offset)

    def flush(self) -> None:
        """Make the system write them to the disk."""
        os.fdatasync(self._descriptor)


def read_head(path: Path) -> Head | None:
    """Read the newer of the two records; None if there is no file or nothing was ever written.

    Raises:
        JournalFault: both records are damaged, or the file can't be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise fault_of_os(error, path, "a readable head file") from error
    newest = _newest_slot(data)
    if newest is not None:
        return _record(data, newest)
    if data.strip(b"\0\n"):
        raise JournalFault("journal_head_damaged", path, "no sound record", "one of its two to be sound")
    return None


def signed_by(head: Head, key: PublicKey) -> bool:
    """Return whether this key signed the record; a malformed signature belongs to no key."""
    try:
        signature = bytes.fromhex(head.signature)
    except ValueError:
        return False
    return key.signed_head(_unsigned(head), signature)


def _unsigned(head: Head) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(head, signature=""))


def _newest_slot(data: bytes) -> int | None:
    sound = [(head.n, slot) for slot in range(SLOTS) if (head := _record(data, slot)) is not None]
    return max(sound)[1] if sound else None


def _record(data: bytes, slot: int) -> Head | None:
    record = data[SECTOR * slot : SECTOR * slot + RECORD].rstrip(b"\0\n")
    digest, text = record[:_DIGEST], record[_DIGEST:]
    if sha256(text).hexdigest().encode() != digest:
        return None
    try:
        return _decode_head(text)
    except msgspec.MsgspecError:
        return None


def check_begun(place: JournalLocation, head: Head | None) -> None:
    """Check, creating nothing, that there is a journal if its head remembers rows.

    Raises JournalFault if there is none, it is empty, or it can't be read.
    """
    if head is None or not head.n:
        return
    expected = f"the journal of {head.table} up to row {head.n}, as {place.head} remembers"
    if not place.journal.exists():
        raise JournalFault("journal_absent", place.journal, "no file", expected)
    if not rows_there(place.journal):
        raise JournalFault("journal_cut_short", place.journal, "a journal without a row", expected)


def check_head(
    connection: apsw.Connection,
    last_n: int,
    place: JournalLocation,
    head: Head | None,
    *,
    table: str,
    keys: Keyring,
) -> None:
    """Compare a journal that ends at this row with its head, which was read before that row was looked for.

    A head is signed by the key that signs the row after it, among those that signed the journal.

    Raises JournalFault if there is no head, it is another table's, another key or none signed it, or rows
    that it remembers are missing.
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
        found = "an unsigned record"
        raise JournalFault("journal_head_unsigned", place.head, found, "one with the table's signature")


def _missing(connection: apsw.Connection, last_n: int, place: JournalLocation, head: Head) -> str:
    found = fetch_one(connection, place.journal, "SELECT max(seq) FROM rows WHERE n <= ?", (last_n,))
    seq = 0 if found is None or found[0] is None else int(str(found[0]))
    rows, outcomes = head.n - last_n, head.seq - seq
    return f"row {last_n} as its last: at least {rows} rows are missing, {outcomes} outcomes among them"


def _closed_in_order(connection: apsw.Connection, last_n: int, place: JournalLocation) -> bool:
    last = next(rows_where(connection, place.journal, "WHERE n = ?", (last_n,)), None)
    if last is None or last.name != CHECKPOINT or last.body is None:
        return False
    return checkpoint_of(last.body).closed
