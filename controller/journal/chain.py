"""Rows and the hash chain that connects them.

A row's digest covers its contents, and a separate digest covers its evidence. The row's link covers both
digests, the row's number, name and time, and the previous link. Therefore the chain still verifies after
evidence and old bodies are pruned, and the signature of one link authenticates every row up to it.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from controller.journal.keys import Key

_pack = msgspec.msgpack.Encoder().encode


class WallTime(NamedTuple):
    """A wall time: microseconds since 1970 (UTC), and whether the clock was synchronized."""

    us: int
    synced: bool


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a row that is not part of the chain yet.

    `name` is the type of an outcome or the name of an event. `seq` is the number of an outcome. `body`
    contains the canonical bytes, `after` the session's state after the row, and `evidence` the packed
    readings on which an outcome is based.
    """

    name: str
    wall: WallTime
    body: bytes
    seq: int | None = None
    after: bytes | None = None
    evidence: bytes | None = None
    signed: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the chain. Its `body`, `after` and `evidence` may have been pruned since it was written."""

    n: int
    name: str
    seq: int | None
    wall: WallTime
    body: bytes | None
    after: bytes | None
    digest: bytes
    evidence_digest: bytes | None
    link: bytes
    signature: bytes | None
    evidence: bytes | None = None


def genesis(table: str, public_key: bytes, created: WallTime) -> bytes:
    """Return the link before a journal's first row, which is different for every journal."""
    return sha256(_pack(("table-journal", 1, table, public_key, created.us))).digest()


def contents_digest(body: bytes | None, after: bytes | None) -> bytes:
    """Return the digest of a row's contents."""
    return sha256(_pack((body, after))).digest()


def compute_link(previous_link: bytes, row: Row) -> bytes:
    """Return the link of this row; `previous_link` is that of the row before it."""
    wall = row.wall
    contents = (
        previous_link,
        row.n,
        row.name,
        row.seq,
        wall.us,
        wall.synced,
        row.digest,
        row.evidence_digest,
    )
    return sha256(_pack(contents)).digest()


def seal(drafts: Sequence[Draft], last_n: int, last_link: bytes, key: Key) -> list[Row]:
    """Return the rows of one commit, which follows row `last_n`.

    The drafts marked `signed` and the last row are signed, so that a signature covers every row on the disk.
    """
    rows: list[Row] = []
    link = last_link
    for n, draft in enumerate(drafts, last_n + 1):
        unlinked = Row(
            n=n,
            name=draft.name,
            seq=draft.seq,
            wall=draft.wall,
            body=draft.body,
            after=draft.after,
            digest=contents_digest(draft.body, draft.after),
            evidence_digest=None if draft.evidence is None else sha256(draft.evidence).digest(),
            link=b"",
            signature=None,
            evidence=draft.evidence,
        )
        link = compute_link(link, unlinked)
        is_last = n == last_n + len(drafts)
        signature = key.sign(link) if draft.signed or is_last else None
        rows.append(msgspec.structs.replace(unlinked, link=link, signature=signature))
    return rows
