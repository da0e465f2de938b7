"""The keys that signed a journal, one after the other, as its own rows tell: each hands over to the next."""

from bisect import bisect_left
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from controller.journal.chain import Row, digest_of, link_of
from controller.journal.contents import KEY_REPLACED, KeyReplaced
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.store import LANDMARK, rows_where

_decode = msgspec.json.Decoder(KeyReplaced).decode


class Keyring(NamedTuple):
    """Which key signs which row: `keys` has one more than `handovers`, the rows that replaced a key."""

    keys: tuple[PublicKey, ...]
    handovers: tuple[int, ...]
    lost: tuple[int, ...]
    """Of the handovers those that the old key did not sign: a named person's word joins the two."""

    @property
    def last(self) -> PublicKey:
        """The key in force at the end."""
        return self.keys[-1]

    @property
    def unvouched(self) -> tuple[str, ...]:
        """In words: the handovers for which no key vouches."""
        return tuple(
            f"the key from row {n} on: the one before it was lost, and a person vouched for this one"
            for n in self.lost
        )

    def at(self, n: int) -> PublicKey:
        """Return the key that signs row `n`; a row that hands over is the old key's, unless that was lost."""
        return self.keys[bisect_left(self.handovers, n) + (n in self.lost)]


def read_keyring(connection: apsw.Connection, path: Path, first: PublicKey) -> Keyring:
    """Read and check every handover, which proves itself given the key before it.

    Raises:
        JournalFault: a handover is not what its own signatures say.
    """
    keys, handovers, lost = [first], [], []
    for row in list(rows_where(connection, path, f"{LANDMARK} ORDER BY n", (KEY_REPLACED,))):
        told = _checked(connection, path, row, keys[-1])
        keys.append(PublicKey(bytes.fromhex(told.new)))
        handovers.append(row.n)
        if told.lost:
            lost.append(row.n)
    return Keyring(tuple(keys), tuple(handovers), tuple(lost))


def check_in_place(connection: apsw.Connection, path: Path, row: Row) -> None:
    """Check that a row is what its digest says and follows from the one before, without a walk to it.

    Its signature then vouches for it, wherever it stands. Raises JournalFault.
    """
    where = f"{path}, row {row.n}"
    before = next(rows_where(connection, path, "WHERE n = ?", (row.n - 1,)), None)
    if row.body is None or digest_of(row.body, row.after) != row.digest:
        raise JournalFault("journal_row_changed", where, "other contents", "what its digest says")
    if before is None or link_of(before.link, row) != row.link:
        raise JournalFault("journal_row_moved", where, "a hash that does not follow", "the one that follows")


def _checked(connection: apsw.Connection, path: Path, row: Row, old: PublicKey) -> KeyReplaced:
    """Return what a handover tells, whose place in the chain its signature proves."""
    where = f"{path}, row {row.n}"
    check_in_place(connection, path, row)
    assert row.body is not None
    told = _decode(row.body)
    try:
        new, proof = PublicKey(bytes.fromhex(told.new)), bytes.fromhex(told.proof)
    except ValueError as error:
        raise JournalFault("journal_row_changed", where, "a key that is none", "a public key") from error
    signer = new if told.lost else old
    right = told.old == old.raw.hex() and new.signed_handover(old.raw, proof)
    if not right or row.signature is None or not signer.signed(row.link, row.signature):
        raise JournalFault(
            "journal_bad_signature", where, "a change of keys that they did not sign", "both keys' word"
        )
    return told
