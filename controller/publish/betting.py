"""The table's statement that bets are open: without it no money is accepted (docs/betting-window.md).

A statement covers the time up to its `until`. When a bet has arrived, the engine requests a statement with a
number that is used only once (a nonce). The table records when it received this query, and answers once
`until` has passed that time with bets still open. So a statement that repeats the nonce covers the bet,
however long either message took.
"""

from collections.abc import Callable
from threading import Lock
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from controller.model.outcomes import DiceOut
from controller.publish.wire import STATEMENT, Signature, Signer, Verifier, bounded, is_signed, sign_message

STATEMENT_PERIOD_US = 400_000
"""The statement is due at least twice per second while bets are open; 0.4 s leaves time for a busy core."""
MAX_QUERIES = 256
"""Maximum number of queries waiting for a statement; one more displaces the oldest, and the bet that it was
for is refused."""
MAX_STATEMENT_BYTES = 32_768
Takes = Literal["wagers", "play"]
"""What the table accepts: any wager, or only Play (Three Card Poker with the cards out, T-DEAL-4)."""
Says = Literal[Takes, "late"]
"""What a statement covers: what the table accepts, or wagers confirmed with the dice out (C34-MK-1b)."""
Nonce = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""The SHA-256 of a request, so that exactly the confirmed request is booked."""


class OpenStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The table's statement that bets are open, published at least twice a second while they remain open.

    It is neither retained nor journaled. `until` is the time (microseconds of the table's monotonic clock in
    this session) up to which nothing has closed the bets: everything that sensors saw before it has been
    judged. `t` is when the statement was made, `round` is the round of bets, and `sequence` is the number of
    the newest outcome. `heard` lists the queries that the statement answers, by nonce, each with the time at
    which the table received it, which is never later than `until`.

    With `takes` "play", `folded` are the positions that have folded: Play is no longer accepted there.

    With `takes` "late", bets are closed, `until` is a time at which both dice were still in motion, and
    `late` gives, for each query, the digest of a wager whose contents and two confirmations were on the disk
    before `until`.
    """

    table: Annotated[str, Meta(min_length=1, max_length=200)]
    session: str
    round: int
    takes: Says
    sequence: int
    t: int
    until: int
    heard: dict[Nonce, int]
    folded: tuple[str, ...] = ()
    late: dict[Nonce, Digest] = {}
    signature: Signature | UnsetType = UNSET


class Betting(NamedTuple):
    """The state of betting at the table at one time, as known to the core."""

    takes: Takes | None
    """None while no bet may be accepted."""
    round: int
    sequence: int
    """The number of the newest outcome."""
    until_us: int
    """The time up to which this state is certain: no reading up to then can still change it."""
    dice_out: DiceOut | None = None
    """At a craps table in play, from the release to the call."""
    folded: tuple[str, ...] = ()
    """At a card table that accepts Play: the positions that have folded (T-DEAL-4)."""


_CLOSED = Betting(None, 0, 0, 0)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(OpenStatement).decode


class Announcer:
    """Publishes the statement, as often as required and whenever a query can be answered.

    Any thread may record a query.
    """

    def __init__(self, table: str, session: str, now_us: Callable[[], int] | None = None) -> None:
        """Make statements for this table; `now_us` is its monotonic clock, which timestamps readings.

        Without `now_us`, time advances with the readings, and a query counts as received at the latest
        `until`.
        """
        self._table = table
        self._session = session
        self._now_us = now_us
        self._lock = Lock()
        self._queries: dict[str, int] = {}
        self._last_published: tuple[Takes | None, int] = (None, 0)
        self._due_us = 0
        self._until_us = 0
        self.say: Callable[[OpenStatement], None] = _discard
        self.wake: Callable[[], None] = lambda: None
        """Called when a query is recorded, since the core may be waiting for a later time."""

    def note_query(self, nonce: str, received_us: int | None = None) -> None:
        """Record a query and the time at which it was received; a repeated query keeps its first time.

        `received_us` defaults to the current time.
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

        A query can be answered `lateness_us` after it was received, once no earlier reading can arrive. Only
        for the core's thread.
        """
        if self._last_published[0] is None:
            return None
        with self._lock:
            query_us = min(self._queries.values(), default=None)
        return self._due_us if query_us is None else min(self._due_us, query_us + lateness_us)

    def note(self, betting: Betting, now_us: int) -> None:
        """Update the betting state, and publish the statement if it is due; only for the core's thread."""
        self._until_us = betting.until_us
        if betting.takes is None:
            self._last_published = (None, 0)
            if self._queries:
                with self._lock:
                    # A query received while bets are closed is not answered, so its bet is refused.
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
    """Return a statement's bytes, signed by the table's key."""
    return sign_message(_encode(statement), STATEMENT, key)


def read_statement(payload: bytes) -> OpenStatement:
    """Decode a statement. Raises Unreadable if the bytes are not one."""
    return bounded(_decode, payload, MAX_STATEMENT_BYTES)


def statement_signed_by(payload: bytes, key: Verifier) -> bool:
    """Return whether these bytes are a statement that this table's key signed."""
    return is_signed(payload, STATEMENT, key)


def _discard(_statement: OpenStatement) -> None:
    """Discard a statement, which has no receiver yet."""
