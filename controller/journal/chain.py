"""The journal's rows, and the hash chain that connects them.

One digest covers a row's contents, and another its evidence. The row's link is a hash of both digests, the
row's number, name and time, the outcome's number, and the previous link. The chain can therefore be verified
even after contents and evidence have been pruned. The signature of a link authenticates its row and all
earlier rows.
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
    """A row that is not part of the chain yet.

    `name` is the type of an outcome or the name of an event, and `seq` the number of an outcome. `body` is
    the encoded outcome or event, `after` the session's state after the row, and `evidence` the packed
    evidence of an outcome.
    """

    name: str
    wall: WallTime
    body: bytes
    seq: int | None = None
    after: bytes | None = None
    evidence: bytes | None = None
    signed: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the chain. `body`, `after` and `evidence` are None after pruning."""

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
    """Return the link that precedes a journal's first row. It is unique to the journal."""
    return sha256(_pack(("table-journal", 1, table, public_key, created.us))).digest()


def contents_digest(body: bytes | None, after: bytes | None) -> bytes:
    """Return the digest of a row's contents."""
    return sha256(_pack((body, after))).digest()


def compute_link(previous_link: bytes, row: Row) -> bytes:
    """Return the link of a row, given the link of the previous row."""
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
    """Return the rows of a commit that follows row `last_n`.

    The last row and the drafts marked `signed` are signed. Every row on the disk is therefore covered by a
    signature.
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
