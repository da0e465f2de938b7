"""The head file, which records the journal's last row on another medium and so reveals a rollback.

The file has two slots in separate sectors, which are written alternately. A torn write can therefore damage
only one record. The file is written after the commit; it can be behind the journal but never ahead of it.
Each record is signed with the table's key. If an old head file is restored together with a journal of the
same age, neither file reveals the rollback.
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
from controller.journal.lock import os_fault, sync_directory
from controller.journal.store import fetch_one, last_row_number, rows_where
from controller.journal.totals import decode_checkpoint
from controller.journal.verify import Keyring

SECTOR = 4096
RECORD = 512
"""The size of a record in bytes. A disk writes 512 bytes completely or not at all."""
SLOTS = 2
_DIGEST = 64


class JournalLocation(NamedTuple):
    """The paths of a journal's database and its head file, which should be on different media."""

    journal: Path
    head: Path


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A record of the journal's last row: its number and link (hex), and the last outcome and session
    numbers.
    """

    table: str
    n: int
    link: str
    seq: int
    session: int
    signature: str = ""
    """The signature (hex) of the other fields; empty in a record from a release before 0.2."""


_decode_head = msgspec.json.Decoder(Head).decode


class HeadFile:
    """The head file, open for writing."""

    def __init__(self, path: Path, table: str, key: Key) -> None:
        """Open the file, or create it if it is missing. Raises JournalFault."""
        self.path = path
        self.table = table
        self._key = key
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise os_fault(error, path, "a writable head file") from error
        newest = _newest_slot(os.pread(self._descriptor, SECTOR * SLOTS, 0))
        self._next_slot = 0 if newest is None else 1 - newest
        self._dirty = False

    def write(self, head: Head) -> None:
        """Sign and write a record. Call `sync` to flush it to the disk."""
        signature = self._key.sign_head(_unsigned(head)).hex()
        text = msgspec.json.encode(msgspec.structs.replace(head, signature=signature))
        record = sha256(text).hexdigest().encode() + text
        assert len(record) <= RECORD
        self.put(record.ljust(RECORD, b"\n"), SECTOR * self._next_slot)
        self._next_slot = (self._next_slot + 1) % SLOTS
        self._dirty = True

    def sync(self) -> None:
        """Wait for the last record to reach the disk."""
        if self._dirty:
            self.flush()
            self._dirty = False

    def write_both(self, head: Head) -> None:
        """Write and sync the record in one slot and then in the other.

        An older record in either slot would allow the last commit to be removed undetected.
        """
        for _ in range(SLOTS):
            self.write(head)
            self.sync()

    def begin(self, head: Head) -> None:
        """Write the record to both slots of a new file. Later writes then do not extend the file."""
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
        """Wait for the file's data to reach the disk."""
        os.fdatasync(self._descriptor)


def read_head(path: Path) -> Head | None:
    """Return the newer of the two records; None if the file is missing or empty.

    Raises JournalFault if both records are damaged or the file can't be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_fault(error, path, "a readable head file") from error
    newest = _newest_slot(data)
    if newest is not None:
        return _record(data, newest)
    if data.strip(b"\0\n"):
        raise JournalFault("journal_head_damaged", path, "no intact record", "at least one of two records")
    return None


def signed_by(head: Head, key: PublicKey) -> bool:
    """Return whether this key signed the record."""
    try:
        signature = bytes.fromhex(head.signature)
    except ValueError:
        return False
    return key.verify_head(_unsigned(head), signature)


def _unsigned(head: Head) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(head, signature=""))


def _newest_slot(data: bytes) -> int | None:
    intact = [(head.n, slot) for slot in range(SLOTS) if (head := _record(data, slot)) is not None]
    return max(intact)[1] if intact else None


def _record(data: bytes, slot: int) -> Head | None:
    record = data[SECTOR * slot : SECTOR * slot + RECORD].rstrip(b"\0\n")
    digest, text = record[:_DIGEST], record[_DIGEST:]
    if sha256(text).hexdigest().encode() != digest:
        return None
    try:
        return _decode_head(text)
    except msgspec.MsgspecError:
        return None


def check_journal_exists(place: JournalLocation, head: Head | None) -> None:
    """Check that the journal exists if its head file records rows. The check creates no files.

    Raises JournalFault if the journal is missing, empty or can't be read.
    """
    if head is None or not head.n:
        return
    expected = f"the journal of {head.table} up to row {head.n}, as recorded in {place.head}"
    if not place.journal.exists():
        raise JournalFault("journal_absent", place.journal, "no file", expected)
    if not last_row_number(place.journal):
        raise JournalFault("journal_cut_short", place.journal, "a journal without rows", expected)


def check_head(
    connection: apsw.Connection,
    last_n: int,
    place: JournalLocation,
    head: Head | None,
    *,
    table: str,
    keys: Keyring,
) -> None:
    """Compare a journal that ends at row `last_n` with its head record, which must be read before the rows.

    The key that signs the row after the recorded one must have signed the record.

    Raises JournalFault if the record is missing, belongs to another table, is unsigned or is signed by
    another key, or if the recorded row is missing or different.
    """
    if head is None:
        if last_n:
            raise JournalFault("journal_head_missing", place.head, "no file", f"a record of row {last_n}")
        return
    if head.table != table:
        found, expected = f"the head file of table {head.table}", f"that of table {table}"
        raise JournalFault("journal_other_table", place.head, found, expected)
    if head.signature and not signed_by(head, keys.at(head.n + 1)):
        found = "a record with an invalid signature"
        raise JournalFault("journal_head_forged", place.head, found, "a record signed with the table's key")
    if head.n > last_n:
        code = "journal_restored" if _was_closed(connection, last_n, place) else "journal_cut_short"
        expected = f"row {head.n} or later, as recorded in {place.head}"
        raise JournalFault(code, place.journal, _missing(connection, last_n, place, head), expected)
    row = next(rows_where(connection, place.journal, "WHERE n = ?", (head.n,)), None)
    if head.n and (row is None or row.link.hex() != head.link):
        raise JournalFault(
            "journal_forked", f"{place.journal}, row {head.n}", "a different row", "the head file's row"
        )
    if not head.signature:
        found = "an unsigned record"
        raise JournalFault("journal_head_unsigned", place.head, found, "a record signed with the table's key")


def _missing(connection: apsw.Connection, last_n: int, place: JournalLocation, head: Head) -> str:
    found = fetch_one(connection, place.journal, "SELECT max(seq) FROM rows WHERE n <= ?", (last_n,))
    seq = 0 if found is None or found[0] is None else int(str(found[0]))
    rows, outcomes = head.n - last_n, head.seq - seq
    return f"row {last_n} as the last row ({rows} or more rows are missing, including {outcomes} outcomes)"


def _was_closed(connection: apsw.Connection, last_n: int, place: JournalLocation) -> bool:
    last = next(rows_where(connection, place.journal, "WHERE n = ?", (last_n,)), None)
    if last is None or last.name != CHECKPOINT or last.body is None:
        return False
    return decode_checkpoint(last.body).closed
