"""The table's statement that bets are open. The settlement engine accepts no bet without it
(docs/betting-window.md).

For each bet the engine sends the table a query with a number that is used only once (a nonce). The table
records the time of the query. If bets are still open, the table repeats the nonce in a statement that covers
this time. The statement proves that the bet was in time, regardless of the delay of either message.
"""

from collections.abc import Callable
from threading import Lock
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from controller.model.outcomes import DiceOut
from controller.publish.wire import STATEMENT, Signature, Signer, Verifier, bounded, is_signed, sign_message

STATEMENT_PERIOD_US = 400_000
"""Interval between statements while bets are open, chosen so that even a busy core sends at least two per
second."""
MAX_QUERIES = 256
"""Maximum number of queries waiting for a statement. A further query displaces the oldest one, whose bet is
refused."""
MAX_STATEMENT_BYTES = 32_768
BetKind = Literal["wagers", "play"]
"""The bets that the table accepts: all wagers, or Play only (T-DEAL-4: Three Card Poker, cards out)."""
StatementKind = Literal[BetKind, "late"]
"""The bets that a statement covers; `late` means wagers confirmed while the dice are out (C34-MK-1b)."""
Nonce = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""The SHA-256 of a wager request. The engine books only the request with the confirmed digest."""


class OpenStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The table's statement that bets are open, published at least twice a second while they remain open.

    The statement is neither retained nor journaled. Times are in microseconds of the table's monotonic clock
    in this session. `t` is the time of the statement. Bets were open up to the time `until`; all readings
    from before `until` have been judged. `round` is the number of the round of bets, and `sequence` that of
    the newest outcome. `heard` maps the nonces of the answered queries to the times at which the table
    received them, which are never later than `until`.

    With `takes` "play", `folded` lists the positions that have folded. The table accepts no Play at these
    positions.

    With `takes` "late", bets are closed, and both dice were still in motion at the time `until`. `late` maps
    each nonce to the digest of a wager whose contents and two confirmations were on disk before `until`.
    """

    table: Annotated[str, Meta(min_length=1, max_length=200)]
    session: str
    round: int
    takes: StatementKind
    sequence: int
    t: int
    until: int
    heard: dict[Nonce, int]
    folded: tuple[str, ...] = ()
    late: dict[Nonce, Digest] = {}
    signature: Signature | UnsetType = UNSET


class Betting(NamedTuple):
    """The state of betting, as determined by the core."""

    takes: BetKind | None
    """None while the table accepts no bets."""
    round: int
    sequence: int
    """The number of the newest outcome."""
    until_us: int
    """The time up to which this state is final. No reading that has yet to arrive can change it."""
    dice_out: DiceOut | None = None
    """Set at a craps table in play, from the release of the dice to the call."""
    folded: tuple[str, ...] = ()
    """The positions that have folded, at a card table that accepts Play (T-DEAL-4)."""


_CLOSED = Betting(None, 0, 0, 0)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(OpenStatement).decode


class Announcer:
    """Publishes the statement at intervals, and whenever a query can be answered.

    Any thread may record a query.
    """

    def __init__(self, table: str, session: str, now_us: Callable[[], int] | None = None) -> None:
        """Make statements for this table; `now_us` is its monotonic clock, which also timestamps readings.

        Without `now_us`, time advances with the readings, and a query is timestamped with the latest `until`.
        """
        self._table = table
        self._session = session
        self._now_us = now_us
        self._lock = Lock()
        self._queries: dict[str, int] = {}
        self._last_published: tuple[BetKind | None, int] = (None, 0)
        self._due_us = 0
        self._until_us = 0
        self.say: Callable[[OpenStatement], None] = _discard
        self.wake: Callable[[], None] = lambda: None
        """Called after a query is recorded. It must wake the core, which might be waiting for a later
        time."""

    def note_query(self, nonce: str, received_us: int | None = None) -> None:
        """Record a query and its time, by default the current time. If a query is repeated, its first time is
        kept.
        """
        if received_us is None:
            received_us = self._until_us if self._now_us is None else self._now_us()
        with self._lock:
            self._queries.setdefault(nonce, received_us)
            if len(self._queries) > MAX_QUERIES:
                del self._queries[next(iter(self._queries))]
        self.wake()

    def due_us(self, lateness_us: int) -> int | None:
        """Return when the next statement is due, on the table's clock; None while bets are closed.

        A query can be answered `lateness_us` after its receipt, because every earlier reading has arrived
        by then. Call this from the core's thread only.
        """
        if self._last_published[0] is None:
            return None
        with self._lock:
            query_us = min(self._queries.values(), default=None)
        return self._due_us if query_us is None else min(self._due_us, query_us + lateness_us)

    def note(self, betting: Betting, now_us: int) -> None:
        """Update the state of betting, and publish a statement if one is due.

        Call this from the core's thread only.
        """
        self._until_us = betting.until_us
        if betting.takes is None:
            self._last_published = (None, 0)
            if self._queries:
                with self._lock:
                    # Queries received while bets are closed get no answer. The engine refuses their bets.
                    self._queries.clear()
            return
        heard = self._take_answerable(betting.until_us) if self._queries else {}
        is_new = (betting.takes, betting.round) != self._last_published
        if not (heard or is_new or now_us >= self._due_us):
            return
        self._last_published, self._due_us = (betting.takes, betting.round), now_us + STATEMENT_PERIOD_US
        self.say(
            OpenStatement(
                table=self._table,
                session=self._session,
                round=betting.round,
                takes=betting.takes,
                sequence=betting.sequence,
                t=now_us,
                until=betting.until_us,
                heard=heard,
                folded=betting.folded,
            )
        )

    def _take_answerable(self, until_us: int) -> dict[str, int]:
        with self._lock:
            answerable = {nonce: t for nonce, t in self._queries.items() if t <= until_us}
            for nonce in answerable:
                del self._queries[nonce]
        return answerable


def statement_bytes(statement: OpenStatement, key: Signer) -> bytes:
    """Encode a statement and sign it with the table's key."""
    return sign_message(_encode(statement), STATEMENT, key)


def read_statement(payload: bytes) -> OpenStatement:
    """Decode a statement. Raises UnreadableMessage if the bytes are not a statement."""
    return bounded(_decode, payload, MAX_STATEMENT_BYTES)


def statement_signed_by(payload: bytes, key: Verifier) -> bool:
    """Return whether these bytes are a statement signed by this key."""
    return is_signed(payload, STATEMENT, key)


def _discard(_statement: OpenStatement) -> None:
    """Discard a statement."""
