"""The head file: how far the journal had come, kept elsewhere, so that an older copy put back is noticed.

Two copies of one small record are written in turn, each within a sector of its own, so that a torn write
can't mix two. It is written after the commit: it may lag behind the journal but never run ahead of it.
Each record is signed with the table's key, so that nobody can write one for a journal that he cut short; what
can still be done is to put back an old record together with the journal of its time.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.journal.faults import JournalFault
from controller.journal.keys import Key, PublicKey
from controller.journal.lock import fault_of_os, sync_directory

SECTOR = 4096
RECORD = 512
"""A disk writes so many bytes whole or not at all."""
SLOTS = 2
_DIGEST = 64


class Place(NamedTuple):
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
    """Of all else, in hex; empty in a record of a release before 0.2."""


_decode_head = msgspec.json.Decoder(Head).decode


class HeadFile:
    """The head file, open for writing."""

    def __init__(self, path: Path, table: str, key: Key) -> None:
        """Open it for this table, made empty where it is missing; raises JournalFault where that fails."""
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
        """Sign and write the record; it reaches the disk with the next sync, or when the system pleases."""
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
        """Have the system write them to the disk."""
        os.fdatasync(self._descriptor)


def read_head(path: Path) -> Head | None:
    """Read the newer of the two records; None where there is no file or nothing was ever written.

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
    """Return whether this key signed the record; a signature that is none is nobody's."""
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
