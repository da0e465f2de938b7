"""The writes of one transaction, collected in memory and written at its end."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from sqlalchemy import Connection, Table, bindparam, func, insert, select, text, update

from controller.model.outcomes import Bets, Outcome, SpinCalled
from controller.model.printable import printable
from controller.publish.betting import OpenStatement
from controller.settlement.book import AnswerLine, Bonus
from controller.settlement_service import schema
from controller.settlement_service.book import RESULTS, ReceivedAt, Step, StepAnswer, StepResult
from controller.settlement_service.deliveries import Delivery
from controller.settlement_service.ledger import Movement

_ADD_TO_BALANCE = text(
    "INSERT INTO balances (account, cents) VALUES (:account, :cents)"
    " ON CONFLICT (account) DO UPDATE SET cents = balances.cents + excluded.cents"
)
_PUT_WAGER = text(
    "INSERT INTO wagers (table_name, id, player, wager, stake, status)"
    " VALUES (:table_name, :id, :player, :wager, :stake, :status)"
    " ON CONFLICT (table_name, id) DO UPDATE SET stake = excluded.stake, status = excluded.status"
)
_PUT_TABLE = text(
    "UPDATE tables SET next_seq = :next_seq, last_n = :last_n, betting = :betting, anchor = :anchor,"
    " halted = :halted, skip_seq = :skip_seq WHERE name = :t"
)
_HALT_TABLE = text("UPDATE tables SET halted = :halted WHERE name = :t")
_PUT_ROUND = text(
    "INSERT INTO rounds (table_name, round, bet_session, last_bet_t, session, closed_t, moved_t, result_t)"
    " VALUES (:t, :round, :bet_session, :last_bet_t, :session, :closed_t, :moved_t, :result_t)"
    " ON CONFLICT (table_name, round) DO UPDATE SET"
    " bet_session = COALESCE(excluded.bet_session, rounds.bet_session),"
    " last_bet_t = COALESCE(excluded.last_bet_t, rounds.last_bet_t),"
    " session = COALESCE(excluded.session, rounds.session),"
    " closed_t = COALESCE(excluded.closed_t, rounds.closed_t),"
    " moved_t = COALESCE(excluded.moved_t, rounds.moved_t),"
    " result_t = COALESCE(excluded.result_t, rounds.result_t)"
)
_STRIKE_ROUND = text(
    "UPDATE rounds SET last_bet_t = :last_t"
    " WHERE table_name = :t AND round = :round AND bet_session = :session"
)
_CENTS = select(schema.balances.c.cents).where(schema.balances.c.account == bindparam("account"))
_PLAYER = select(schema.players.c.name).where(schema.players.c.name == bindparam("player"))
_ANSWERS = select(schema.requests.c.key, schema.requests.c.asked, schema.requests.c.answer).where(
    schema.requests.c.caller == bindparam("caller"),
    schema.requests.c.key.in_(bindparam("keys", expanding=True)),
)
_WAGERS = select(schema.wagers.c.id).where(
    schema.wagers.c.table_name == bindparam("table"),
    schema.wagers.c.id.in_(bindparam("wagers", expanding=True)),
)
"""All these statements are built once. Building a statement takes as long as running it."""
MOVES = frozenset({"dice_released", "ball_drop", "first_card"})
"""Reasons for closing bets that also mark the moment at which the dice, the ball or a card moves."""
encode = msgspec.json.Encoder().encode
Row = dict[str, object]


class Numbers:
    """The next free numbers for movements and alarms."""

    def __init__(self, connection: Connection) -> None:
        """Continue from the numbers in the database."""
        self.movement = _after(connection, schema.movements)
        self.alarm = _after(connection, schema.alarms)


class Cause(NamedTuple):
    """Why money moves: a keyword, and the table and step concerned."""

    word: str
    table: str | None = None
    n: int | None = None


class AnsweredRequest(NamedTuple):
    """An answered request and its answer, both in JSON."""

    request: str
    answer: str


class Work:
    """The writes of one transaction. `flush` passes them to the database."""

    def __init__(self, connection: Connection, numbers: Numbers, now_us: int) -> None:
        """Start without any writes; reads use this connection."""
        self.connection = connection
        self.now_us = now_us
        self._numbers = numbers
        self._rows: dict[Table, list[Row]] = {}
        self._balances: dict[str, int] = {}
        self._read: dict[str, int] = {}
        """The stored balances of the accounts queried so far."""
        self._players: dict[str, bool] = {}
        self._answers: dict[tuple[str, str], AnsweredRequest | None] = {}
        self._had: dict[tuple[str, str], bool] = {}
        self._wagers: dict[tuple[str, str], Row] = {}
        self._superseded: list[Row] = []
        self._states: dict[str, Row] = {}
        self._halted: list[Row] = []
        self._struck: list[Row] = []
        self._chains: dict[tuple[str, int], str] = {}
        self._rounds: list[Row] = []

    def add(self, table: Table, **row: object) -> None:
        """Add a new row."""
        self._rows.setdefault(table, []).append(row)

    def book(self, movement: Movement, cause: Cause) -> None:
        """Book a movement, unless it is empty. Raises UnbalancedMovement."""
        legs = movement.balanced_legs()
        if not legs:
            return
        number = self._numbers.movement
        self._numbers.movement += 1
        self.add(
            schema.movements,
            id=number,
            cause=cause.word,
            table_name=cause.table,
            n=cause.n,
            booked_us=self.now_us,
        )
        for account, cents in legs.items():
            self.add(schema.entries, movement=number, account=account, cents=cents)
            self._balances[account] = self._balances.get(account, 0) + cents

    def balance(self, account: str) -> int:
        """Return an account's balance in cents, including the movements of this transaction."""
        if account not in self._read:
            self._read[account] = (
                self.connection.execute(_CENTS, {"account": account}).scalar_one_or_none() or 0
            )
        return self._read[account] + self._balances.get(account, 0)

    def has_account(self, player: str) -> bool:
        """Return whether a player's account is open."""
        if player not in self._players:
            self._players[player] = self.connection.execute(_PLAYER, {"player": player}).first() is not None
        return self._players[player]

    def find_answer(self, caller: str, key: str) -> AnsweredRequest | None:
        """Return a caller's earlier request with this key, and its answer; None if there is none."""
        if (caller, key) not in self._answers:
            self.read_answers(caller, (key,))
        return self._answers[caller, key]

    def read_answers(self, caller: str, keys: Sequence[str]) -> None:
        """Read the answers to these keys in one query, for `find_answer`."""
        self._answers |= dict.fromkeys(((caller, key) for key in keys), None)
        for key, asked, answer in self.connection.execute(_ANSWERS, {"caller": caller, "keys": keys}):
            self._answers[caller, key] = AnsweredRequest(asked, answer)

    def had_wager(self, table: str, wager: str) -> bool:
        """Return whether a wager with this id was granted in an earlier transaction."""
        if (table, wager) not in self._had:
            self.read_wagers(table, (wager,))
        return self._had[table, wager]

    def read_wagers(self, table: str, wagers: Sequence[str]) -> None:
        """Look up these wagers in one query, for `had_wager`."""
        found = set(self.connection.execute(_WAGERS, {"table": table, "wagers": wagers}).scalars())
        self._had |= {(table, wager): wager in found for wager in wagers}

    def outcome(self, delivery: Delivery, outcome: Outcome) -> None:
        """Store an applied outcome and its signed event."""
        self._chains[delivery.table, outcome.seq] = delivery.chain
        self.add(
            schema.outcomes,
            table_name=delivery.table,
            seq=outcome.seq,
            id=outcome.id,
            type=outcome.type,
            chain=delivery.chain,
            event=delivery.payload,
            applied_us=self.now_us,
        )

    def chain_of(self, table: str, seq: int) -> str | None:
        """Return the chain hash of the applied outcome with this number; None if there is none."""
        if (table, seq) in self._chains:
            return self._chains[table, seq]
        outcomes = schema.outcomes
        query = select(outcomes.c.chain).where(outcomes.c.table_name == table, outcomes.c.seq == seq)
        return self.connection.execute(query).scalar_one_or_none()

    def step(self, table: str, step: Step, booked: StepResult) -> None:
        """Store a step with its lines, wagers and movement."""
        self.add(schema.steps, table_name=table, n=step.n, body=encode(step).decode())
        if booked.supersedes_from is not None:
            self._supersede(table, booked.supersedes_from, step.n)
        for line, answer in enumerate(_wager_answers(booked.lines)):
            named = _wager_id(answer.line)
            self.add(
                schema.results,
                table_name=table,
                n=step.n,
                line=line,
                of_n=answer.of_n,
                wager=named,
                player=booked.players.get(named),
                body=encode(answer.line).decode(),
                superseded_by=None,
            )
        for wager in booked.wagers:
            self._wagers[table, wager.id] = {
                "table_name": table,
                "id": wager.id,
                "player": wager.player,
                "wager": wager.wager,
                "stake": wager.stake,
                "status": wager.status,
            }
        self.book(booked.movement, Cause(step.kind, table, step.n))

    def _supersede(self, table: str, from_n: int, by_n: int) -> None:
        self._superseded.append({"t": table, "from_n": from_n, "by_n": by_n})
        for row in self._rows.get(schema.results, ()):
            of_n = row["of_n"]
            assert isinstance(of_n, int)
            if row["table_name"] == table and of_n >= from_n and row["superseded_by"] is None:
                row["superseded_by"] = by_n

    @property
    def touched(self) -> tuple[str, ...]:
        """The tables whose book or outcomes this transaction changes."""
        return tuple(self._states)

    def store_state(self, table: str, row: Row) -> None:
        """Store a table's state, replacing the state stored earlier in this transaction."""
        self._states[table] = {"t": table, **row}

    def halt(self, table: str, reason: str) -> None:
        """Halt a table without any other change to its stored state."""
        self._halted.append({"t": table, "halted": reason})

    def store_bet_time(self, statement: OpenStatement, heard_us: int) -> None:
        """Store the time at which the table received a granted wager or change."""
        self._round(statement.table, statement.round, bet_session=statement.session, last_bet_t=heard_us)

    def store_round_times(self, table: str, round_: int | None, session: str, outcome: Outcome) -> None:
        """Store the times in an outcome: the close of bets, the release, drop or first card, and the
        decision."""
        if round_ is None:
            return
        if isinstance(outcome.data, Bets) and outcome.type == "bets.closed":
            moved_t = outcome.t if outcome.data.cause in MOVES else None
            self._round(table, round_, session=session, closed_t=outcome.t, moved_t=moved_t)
        elif outcome.type in RESULTS:
            dropped = outcome.data.dropped_us if isinstance(outcome.data, SpinCalled) else UNSET
            moved_t = None if dropped is UNSET else dropped
            self._round(table, round_, session=session, result_t=outcome.t, moved_t=moved_t)

    def _round(self, table: str, round_: int, **values: str | int | None) -> None:
        columns = ("bet_session", "last_bet_t", "session", "closed_t", "moved_t", "result_t")
        self._rounds.append({"t": table, "round": round_, **dict.fromkeys(columns), **values})

    def store_last_bet(self, table: str, closed: ReceivedAt, last_t: int | None) -> None:
        """Store the time at which the table received a round's last request that has not been withdrawn."""
        self._struck.append({"t": table, "session": closed.session, "round": closed.round, "last_t": last_t})

    def has_alarm(self, table: str) -> bool:
        """Return whether this table has an alarm that nobody has cleared."""
        alarms = schema.alarms
        query = select(alarms.c.id).where(alarms.c.table_name == table, alarms.c.cleared_us.is_(None))
        return self.connection.execute(query).first() is not None

    def alarm(self, table: str, code: str, message: str) -> None:
        """Raise an alarm with a printable message, unless the table already has one with this code."""
        alarms = schema.alarms
        query = select(alarms.c.id).where(
            alarms.c.table_name == table, alarms.c.code == code, alarms.c.cleared_us.is_(None)
        )
        raised = any(row["table_name"] == table and row["code"] == code for row in self._rows.get(alarms, ()))
        if raised or self.connection.execute(query).first():
            return
        self.add(
            alarms,
            id=self._numbers.alarm,
            table_name=table,
            code=code,
            says=printable(message),
            raised_us=self.now_us,
        )
        self._numbers.alarm += 1

    def flush(self) -> None:
        """Write the collected rows and changes to the database."""
        results = schema.results
        for row in self._superseded:
            self.connection.execute(
                update(results)
                .where(
                    results.c.table_name == row["t"],
                    results.c.of_n >= row["from_n"],
                    results.c.superseded_by.is_(None),
                )
                .values(superseded_by=row["by_n"]),
            )
        for table, rows in self._rows.items():
            self.connection.execute(insert(table), rows)
        if self._balances:
            changed = [{"account": account, "cents": cents} for account, cents in self._balances.items()]
            self.connection.execute(_ADD_TO_BALANCE, changed)
        if self._wagers:
            self.connection.execute(_PUT_WAGER, list(self._wagers.values()))
        if self._rounds:
            self.connection.execute(_PUT_ROUND, self._rounds)
        if self._struck:
            self.connection.execute(_STRIKE_ROUND, self._struck)
        if self._states:
            self.connection.execute(_PUT_TABLE, list(self._states.values()))
        if self._halted:
            self.connection.execute(_HALT_TABLE, self._halted)


def _after(connection: Connection, table: Table) -> int:
    last: int = connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()
    return last + 1


def _wager_answers(lines: Iterable[StepAnswer]) -> list[StepAnswer]:
    return [answer for answer in lines if isinstance(_id_of(answer.line), str)]


def _id_of(line: AnswerLine) -> object:
    return getattr(line, "id", None)


def _wager_id(line: AnswerLine) -> str:
    return line.bet if isinstance(line, Bonus) else str(_id_of(line))
