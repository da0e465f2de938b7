"""The gate. It holds each bet or change until the table makes a new statement that bets are open
(docs/betting-window.md).

When a bet arrives, the gate sends the table a query with a number that is used only once (a nonce). The bet
waits, for at most `WAIT_S`, for a statement that repeats the nonce, and for the settlement of the outcomes
that the statement includes. The nonce proves that the statement is newer than the bet; no clocks are
compared.
"""

from collections.abc import Callable
from threading import Condition
from typing import NamedTuple

from controller.journal.keys import PublicKey
from controller.publish.betting import OpenStatement, read_statement, statement_signed_by
from controller.publish.wire import UnreadableMessage

WAIT_S = 0.6
"""Maximum time that a bet waits for the statement. It allows for the table's delay (120 ms), one cycle of the
table's core, and a slow network."""
LATE_WAIT_S = 9.0
"""Maximum time that a wager made with the dice out waits for confirmation. Within 8 s the dice are at rest or
the throw is under review.
"""
MAX_LATE = 8
"""Maximum number of wagers made with the dice out that can wait per table. The limit reserves capacity for
other bets."""
MAX_WAITING = 40
"""Maximum number of other bets waiting per table. Further bets are refused."""


class MissingStatement(NamedTuple):
    """Why there is no statement. `rule` and `reason` are those of the refusal."""

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
    """The round and positions of Play wagers, as a card table receives them (T-DEAL-4)."""

    round: int
    seats: tuple[str, ...]


AskTable = Callable[[str, str], MissingStatement | None]
"""Asks a table whether bets are open. The arguments are the table's name and a nonce. Returns immediately,
with None or the reason why the table can't be asked."""
AskTableLate = Callable[[str, str, LateWager], MissingStatement | None]
"""Asks a table whether a wager made with the dice out is confirmed; see AskTable."""
AskTablePlay = Callable[[str, str, PlayAt], MissingStatement | None]
"""Asks a table whether it accepts Play at these positions; see AskTable."""
_NO_TABLE = MissingStatement(
    "TABLE-WORD",
    "the engine has no broker, so it can't ask a table whether bets are open; start it with `--broker`",
)
_BUSY = MissingStatement(
    "TABLE-WORD", "too many bets are waiting for the table's statement; nothing was accepted, try again"
)
_NEVER = MissingStatement(
    "TABLE-WORD",
    "the table did not state in time that bets are open, because they are closed or the table is unreachable;"
    " nothing was accepted",
)
_UNCONFIRMED = MissingStatement(
    "C34-MK-1b",
    "the dealer and the boxperson did not both confirm the wager while the dice were in motion; nothing was"
    " accepted",
)
_UNSETTLED = MissingStatement(
    "TABLE-WORD", "outcomes from the table are not settled yet; nothing was accepted, try again in a moment"
)


class _Query:
    def __init__(self, table: str, digest: str | None) -> None:
        self.table = table
        self.digest = digest
        """The digest that a confirmation must repeat, for a wager made with the dice out; otherwise None."""
        self.over = False
        """Whether the throw has been decided. A confirmation is then too late."""
        self.statement: OpenStatement | None = None


class Gate:
    """Waits for tables' statements. Any thread may use it without the engine's lock."""

    def __init__(
        self, nonce: Callable[[], str] | None = None, wait_s: float = WAIT_S, late_s: float = LATE_WAIT_S
    ) -> None:
        """Wait at most `wait_s` for a statement, and `late_s` if the wager was made with the dice out.

        `nonce` returns 32 unpredictable hexadecimal digits. Without `nonce`, every bet is refused.
        """
        self._wait_s = wait_s
        self._late_s = late_s
        self._nonce = nonce
        self._changed = Condition()
        self._ask_table: AskTable | None = None
        self._ask_table_late: AskTableLate | None = None
        self._ask_table_play: AskTablePlay | None = None
        self._queries: dict[str, _Query] = {}
        self._settled: dict[str, int] = {}
        self._keys: dict[str, PublicKey] = {}
        self.forged = 0
        """The number of statements ignored because they were not signed by their table's key."""
        self.statements: dict[str, OpenStatement] = {}
        """The newest statement of each table that was queried."""

    def connect(
        self,
        ask_table: AskTable,
        ask_table_late: AskTableLate | None = None,
        ask_table_play: AskTablePlay | None = None,
    ) -> None:
        """Set the functions that ask tables.

        Without `ask_table_late`, wagers made with the dice out are refused. Without `ask_table_play`, Play is
        treated like other bets.
        """
        self._ask_table = ask_table
        self._ask_table_late = ask_table_late
        self._ask_table_play = ask_table_play

    @property
    def waiting(self) -> int:
        """The number of requests that are waiting for a statement."""
        return len(self._queries)

    # --- the engine's side ---

    def pin(self, table: str, key: PublicKey) -> None:
        """Accept a table's statements if they are signed by this key."""
        with self._changed:
            self._keys[table] = key

    def note_settled(self, table: str, seq: int) -> None:
        """Record that a table's outcomes up to this number are committed."""
        with self._changed:
            self._settled[table] = seq
            self._changed.notify_all()

    def end_late_waits(self, table: str) -> None:
        """Refuse a table's waiting late wagers, because its dice are no longer out."""
        with self._changed:
            for query in self._queries.values():
                query.over = query.over or query.table == table
            self._changed.notify_all()

    # --- the receiver's side ---

    def receive(self, payload: bytes) -> None:
        """Handle a received statement.

        Raises ValueError if the bytes are not a statement, or if its table's key did not sign the statement.
        """
        try:
            statement = read_statement(payload)
        except UnreadableMessage as error:
            raise ValueError(f"it is not a table's statement ({error})") from error
        with self._changed:
            key = self._keys.get(statement.table)
            requested = any(nonce in self._queries for nonce in statement.heard)
        if not requested or key is None:
            return  # No request is waiting for this statement. It might be old, or for another engine.
        if not statement_signed_by(payload, key):
            self.forged += 1
            raise ValueError(f"a statement from table {statement.table} is not signed with the table's key")
        self.accept(statement)

    def accept(self, statement: OpenStatement) -> None:
        """Handle a genuine statement, received from the table itself or with a verified signature."""
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

    def ask(self, table: str, play: PlayAt | None = None) -> Admitted | MissingStatement:
        """Ask for the statement and wait for it. The request must already be complete.

        `play` names the positions of the request's Play wagers, if there are any.
        """
        ask_table = self._ask_table
        if ask_table is None or self._nonce is None:
            return _NO_TABLE
        nonce = self._nonce()
        if not self.expect(table, nonce):
            return _BUSY
        try:
            ask_table_play = self._ask_table_play if play is not None else None
            if play is None or ask_table_play is None:
                return ask_table(table, nonce) or self._wait(nonce)
            return ask_table_play(table, nonce, play) or self._wait(nonce)
        finally:
            self.forget(nonce)

    def ask_late(self, table: str, wager: LateWager) -> Admitted | MissingStatement:
        """Ask for the statement about a wager made with the dice out, and wait for it."""
        ask_table_late = self._ask_table_late
        if ask_table_late is None or self._nonce is None:
            return _NO_TABLE
        nonce = self._nonce()
        if not self.expect(table, nonce, wager.digest):
            return _BUSY
        try:
            return ask_table_late(table, nonce, wager) or self._wait_late(nonce)
        finally:
            self.forget(nonce)

    def expect(self, table: str, nonce: str, digest: str | None = None) -> bool:
        """Start accepting statements that repeat this nonce; return False if too many bets are waiting.

        For a wager made with the dice out, a statement must also repeat its `digest`.
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

    def find_statement(self, nonce: str) -> Admitted | None:
        """Return the statement that covers this nonce; None if it has not arrived or includes an outcome that
        is not settled.
        """
        with self._changed:
            query = self._queries.get(nonce)
            statement = None if query is None else query.statement
            if query is None or statement is None or self._settled.get(query.table, 0) < statement.sequence:
                return None
            return Admitted(statement, statement.heard[nonce])

    def forget(self, nonce: str) -> None:
        """Stop accepting statements that repeat this nonce."""
        with self._changed:
            self._queries.pop(nonce, None)

    def _wait_late(self, nonce: str) -> Admitted | MissingStatement:
        with self._changed:
            query = self._queries[nonce]
            self._changed.wait_for(lambda: query.over or self.find_statement(nonce) is not None, self._late_s)
            return self.find_statement(nonce) or (_UNCONFIRMED if query.statement is None else _UNSETTLED)

    def _wait(self, nonce: str) -> Admitted | MissingStatement:
        with self._changed:
            self._changed.wait_for(lambda: self.find_statement(nonce) is not None, self._wait_s)
            admitted = self.find_statement(nonce)
            if admitted is not None:
                return admitted
            return _NEVER if self._queries[nonce].statement is None else _UNSETTLED
