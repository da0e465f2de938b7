"""The gate: no bet or change is accepted without the table's fresh statement (docs/betting-window.md).

For a bet that has arrived, the gate sends the table a query with a number used once (nonce). The bet waits
for a statement that repeats the nonce, and until the outcomes that the statement includes are settled, but no
longer than `WAIT_S`. Clocks are never compared: the nonce proves that the statement was made after the bet
had arrived.
"""

from collections.abc import Callable
from threading import Condition
from typing import NamedTuple

from controller.journal.keys import PublicKey
from controller.publish.betting import OpenStatement, read_statement, statement_signed_by
from controller.publish.wire import Unreadable

WAIT_S = 0.6
"""Maximum time that a bet waits for the statement: the table's delay (120 ms), its core, and a slow
network."""
LATE_WAIT_S = 9.0
"""How long a wager made with the dice out waits for confirmation; dice are at rest or under review within
8 s.
"""
MAX_LATE = 8
"""Maximum number of such wagers waiting per table, since they use capacity that other bets need."""
MAX_WAITING = 40
"""Maximum number of bets waiting per table; any more are refused."""


class NoStatement(NamedTuple):
    """Why there is no statement: a rule's id and a reason, as in a refusal."""

    rule: str
    reason: str


class Admitted(NamedTuple):
    """A statement that covers one request, and when the table received the query for it."""

    statement: OpenStatement
    heard_us: int


class LateWager(NamedTuple):
    """A craps wager made with the dice out, as its table receives it (C34-MK-1b)."""

    round: int
    wager: str
    digest: str
    """The SHA-256 of the whole request, in hexadecimal digits."""
    description: str


class PlayAt(NamedTuple):
    """Play at a card table, as its table receives it (T-DEAL-4)."""

    round: int
    seats: tuple[str, ...]


LateLine = Callable[[str, str, LateWager], NoStatement | None]
"""Asks a table (its name, a nonce) whether this wager is confirmed; returns why it can't be queried."""
PlayLine = Callable[[str, str, PlayAt], NoStatement | None]
"""Asks a table (its name, a nonce) whether it accepts Play at these positions; returns why it can't be
queried."""
Line = Callable[[str, str], NoStatement | None]
"""Asks a table (its name, a nonce); returns immediately, with the reason if it can't be queried."""
_NO_LINE = NoStatement(
    "TABLE-WORD", "no broker configured and no table in this process: it is not known whether bets are open"
)
_BUSY = NoStatement(
    "TABLE-WORD", "too many bets are waiting for the table's statement; nothing was accepted, try again"
)
_NEVER = NoStatement(
    "TABLE-WORD",
    "the table did not state in time that bets are open: they are closed, or it is unreachable; the bet was"
    " not accepted",
)
_UNCONFIRMED = NoStatement(
    "C34-MK-1b",
    "dealer and boxperson did not both confirm it, on the record, while the dice were in motion; nothing was"
    " accepted",
)
_UNSETTLED = NoStatement(
    "TABLE-WORD", "outcomes of the table are not settled yet; nothing was accepted, try again in a moment"
)


class _Query:
    def __init__(self, table: str, digest: str | None) -> None:
        self.table = table
        self.digest = digest
        """For a wager made with the dice out: what must be confirmed."""
        self.over = False
        """Whether the throw has been decided, so that every confirmation is now too late."""
        self.statement: OpenStatement | None = None


class Gate:
    """Waits for tables' statements. Any thread may use it, without the engine's lock."""

    def __init__(
        self, nonce: Callable[[], str] | None = None, wait_s: float = WAIT_S, late_s: float = LATE_WAIT_S
    ) -> None:
        """Wait `wait_s` for a statement, and `late_s` for one on a wager made with the dice out.

        `nonce` returns 32 unpredictable hexadecimal digits; without it no table can be queried and no bet is
        granted.
        """
        self._wait_s = wait_s
        self._late_s = late_s
        self._nonce = nonce
        self._changed = Condition()
        self._line: Line | None = None
        self._late_line: LateLine | None = None
        self._play_line: PlayLine | None = None
        self._queries: dict[str, _Query] = {}
        self._settled: dict[str, int] = {}
        self._keys: dict[str, PublicKey] = {}
        self.forged = 0
        """Statements that were not signed by their table's key; they are ignored."""
        self.statements: dict[str, OpenStatement] = {}
        """The newest statement of each table that was queried."""

    def connect(
        self, line: Line, late_line: LateLine | None = None, play_line: PlayLine | None = None
    ) -> None:
        """Set the functions that ask tables: `late_line` about wagers made with the dice out.

        `play_line` asks about Play; without it, Play is treated like any other bet.
        """
        self._line, self._late_line, self._play_line = line, late_line, play_line

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a statement."""
        return len(self._queries)

    # --- the engine's side ---

    def pin(self, table: str, key: PublicKey) -> None:
        """Accept a table's statements signed by this key."""
        with self._changed:
            self._keys[table] = key

    def settled(self, table: str, seq: int) -> None:
        """Record that a table's outcomes up to this number are committed."""
        with self._changed:
            self._settled[table] = seq
            self._changed.notify_all()

    def reopened(self, table: str) -> None:
        """Record that a table's throw in progress was decided: late wagers stop waiting."""
        with self._changed:
            for query in self._queries.values():
                query.over = query.over or query.table == table
            self._changed.notify_all()

    # --- the receiver's side ---

    def receive(self, payload: bytes) -> None:
        """Handle a received statement.

        Raises ValueError if it is not one, or not signed by its table's key.
        """
        try:
            statement = read_statement(payload)
        except Unreadable as error:
            raise ValueError(f"not a statement of a table ({error})") from error
        with self._changed:
            key = self._keys.get(statement.table)
            requested = any(nonce in self._queries for nonce in statement.heard)
        if not requested or key is None:
            return  # No request waits for it: it is old, for another engine, or for everyone.
        if not statement_signed_by(payload, key):
            self.forged += 1
            raise ValueError(f"a statement of table {statement.table} that its key did not sign")
        self.accept(statement)

    def accept(self, statement: OpenStatement) -> None:
        """Handle a statement that is known to be genuine."""
        with self._changed:
            self.statements[statement.table] = statement
            for nonce, heard_us in statement.heard.items():
                query = self._queries.get(nonce)
                if query is None or query.table != statement.table or heard_us > statement.until:
                    continue
                if (statement.takes == "late") == (query.digest is not None):
                    query.statement = (
                        statement if query.digest == statement.late.get(nonce) else query.statement
                    )
            self._changed.notify_all()

    # --- the requester's side ---

    def ask(self, table: str, play: PlayAt | None = None) -> Admitted | NoStatement:
        """Ask for the statement and wait for it; the request must already be complete.

        `play` is the position at which Play is made, if the request makes it.
        """
        line = self._line
        if line is None or self._nonce is None:
            return _NO_LINE
        nonce = self._nonce()
        if not self.expect(table, nonce):
            return _BUSY
        try:
            play_line = self._play_line if play is not None else None
            if play is None or play_line is None:
                return line(table, nonce) or self._wait(nonce)
            return play_line(table, nonce, play) or self._wait(nonce)
        finally:
            self.forget(nonce)

    def ask_late(self, table: str, wager: LateWager) -> Admitted | NoStatement:
        """Ask whether a wager made with the dice out is confirmed in time, and wait for the decision."""
        line = self._late_line
        if line is None or self._nonce is None:
            return _NO_LINE
        nonce = self._nonce()
        if not self.expect(table, nonce, wager.digest):
            return _BUSY
        try:
            return line(table, nonce, wager) or self._wait_late(nonce)
        finally:
            self.forget(nonce)

    def expect(self, table: str, nonce: str, digest: str | None = None) -> bool:
        """Accept statements that repeat this nonce from now on; return False if too many bets are waiting.

        With `digest` it is for a wager made with the dice out, and the statement must also repeat the digest.
        """
        with self._changed:
            waiting = [
                query
                for query in self._queries.values()
                if query.table == table and (query.digest is None) == (digest is None)
            ]
            if len(waiting) >= (MAX_WAITING if digest is None else MAX_LATE):
                return False
            self._queries[nonce] = _Query(table, digest)
        return True

    def covered(self, nonce: str) -> Admitted | None:
        """Return the statement that covers this nonce once all outcomes that it includes are settled, else
        None.
        """
        with self._changed:
            query = self._queries.get(nonce)
            statement = None if query is None else query.statement
            if query is None or statement is None or self._settled.get(query.table, 0) < statement.sequence:
                return None
            return Admitted(statement, statement.heard[nonce])

    def forget(self, nonce: str) -> None:
        """Stop waiting for this nonce: a later statement that repeats it covers nothing."""
        with self._changed:
            self._queries.pop(nonce, None)

    def _wait_late(self, nonce: str) -> Admitted | NoStatement:
        with self._changed:
            query = self._queries[nonce]
            self._changed.wait_for(lambda: query.over or self.covered(nonce) is not None, self._late_s)
            return self.covered(nonce) or (_UNCONFIRMED if query.statement is None else _UNSETTLED)

    def _wait(self, nonce: str) -> Admitted | NoStatement:
        with self._changed:
            self._changed.wait_for(lambda: self.covered(nonce) is not None, self._wait_s)
            admitted = self.covered(nonce)
            if admitted is not None:
                return admitted
            return _NEVER if self._queries[nonce].statement is None else _UNSETTLED
