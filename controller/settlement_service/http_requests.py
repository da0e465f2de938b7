"""Requests received over HTTP, authorized and answered in the engine's own process.

Every request except `health` carries the digest of a token. This module checks the token, its role, and the
account, wager or seat concerned; the engine does not trust the HTTP process. The database stores only the
digests of tokens.
"""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, cast

import msgspec
from pydantic import TypeAdapter
from sqlalchemy import Row, Select, bindparam, func, select, update

from controller.settlement.book import RawRequest
from controller.settlement_service import schema
from controller.settlement_service.account_requests import (
    AccountRequests,
    Caller,
    GrantedResult,
    RequestIdentity,
    need_account,
)
from controller.settlement_service.channel import (
    ACCESS,
    Account,
    Action,
    Alarm,
    BrokerState,
    Health,
    HttpAnswer,
    HttpRequest,
    Result,
    Role,
    RoundView,
    TableView,
    WagerView,
    database_refusal,
    json_answer,
    model_answer,
    refusal,
)
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import DatabaseUnavailable, RequestRefused
from controller.settlement_service.ledger import player_account

MAX_LISTED = 1000
"""Maximum number of tables, alarms or wagers in one answer, which must fit into one frame."""


class Counts(NamedTuple):
    """The numbers of tables, halted tables and alarms that nobody has cleared."""

    tables: int
    halted: int
    alarms: int


class Views:
    """Read access to an engine's database; each method uses a separate transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def account(self, player: str) -> Account | None:
        """Return a player's balance and the wagers that are up; None if the player has no account."""
        wagers = schema.wagers
        query = select(wagers).where(wagers.c.player == player, wagers.c.stake > 0)
        with self._engine.work() as work:
            if not work.has_account(player):
                return None
            cents = work.balance(player_account(player))
            rows = work.connection.execute(
                query.order_by(wagers.c.table_name, wagers.c.id).limit(MAX_LISTED)
            ).all()
        up = [
            WagerView(table=row.table_name, id=row.id, wager=row.wager, stake=row.stake, status=row.status)
            for row in rows
        ]
        return Account(player=player, balance=cents, wagers=up)

    def wager(self, table: str, wager: str) -> tuple[str, WagerView] | None:
        """Return a wager's player and state; None if there is no such wager."""
        wagers = schema.wagers
        query = select(wagers).where(wagers.c.table_name == table, wagers.c.id == wager)
        with self._engine.work() as work:
            row = work.connection.execute(query).first()
        if row is None:
            return None
        view = WagerView(table=table, id=row.id, wager=row.wager, stake=row.stake, status=row.status)
        return row.player, view

    def results(self, player: str, limit: int) -> list[Result]:
        """Return a player's newest valid results across all tables, most recently booked first.

        Movements are numbered in the order in which they are booked, across all tables. A result without a
        movement, such as a correction that changes nothing, counts as booked just before the next movement at
        its table.
        """
        rows: list[Row[Any]] = []  # Any: columns of different types
        with self._engine.work() as work:
            for table in work.connection.execute(select(schema.tables.c.name)).scalars().all():
                found = work.connection.execute(
                    _RESULTS, {"table": table, "player": player, "limit": limit}
                ).all()
                rows += found
        rows.sort(key=lambda row: (row.booked, row.table_name, row.n, row.line), reverse=True)
        return [
            Result(
                table=row.table_name,
                wager=row.wager,
                booked_us=row.booked_us,
                line=cast("dict[str, object]", json.loads(row.body)),
            )
            for row in rows[:limit]
        ]

    def tables(self) -> list[TableView]:
        """Return the states of all tables."""
        query = select(schema.tables).order_by(schema.tables.c.name).limit(MAX_LISTED)
        with self._engine.work() as work:
            rows = work.connection.execute(query).all()
        return [
            TableView(
                table=row.name, rules=row.rules, next_seq=row.next_seq, betting=row.betting, halted=row.halted
            )
            for row in rows
        ]

    def counts(self) -> Counts:
        """Count the tables and alarms, including those beyond `MAX_LISTED`."""
        tables, alarms = schema.tables, schema.alarms
        uncleared = select(func.count()).select_from(alarms).where(alarms.c.cleared_us.is_(None))
        with self._engine.work() as work:
            of_tables = work.connection.execute(select(func.count(), func.count(tables.c.halted))).one()
            of_alarms = work.connection.execute(uncleared).scalar_one()
        return Counts(of_tables[0], of_tables[1], of_alarms)

    def rounds(self, table: str, limit: int) -> list[RoundView]:
        """Return a table's rounds, newest first."""
        rounds = schema.rounds
        query = select(rounds).where(rounds.c.table_name == table).order_by(rounds.c.round.desc())
        with self._engine.work() as work:
            rows = work.connection.execute(query.limit(limit)).all()
        return [
            RoundView(
                round=row.round,
                # Each session of a table has its own clock.
                wager_to_close_ms=_between_ms(row.last_bet_t, row.closed_t)
                if row.bet_session == row.session
                else None,
                close_to_move_ms=_between_ms(row.closed_t, row.moved_t),
                close_to_result_ms=_between_ms(row.closed_t, row.result_t),
            )
            for row in rows
        ]

    def alarms(self) -> list[Alarm]:
        """Return the alarms that nobody has cleared."""
        alarms = schema.alarms
        query = select(alarms).where(alarms.c.cleared_us.is_(None)).order_by(alarms.c.id).limit(MAX_LISTED)
        with self._engine.work() as work:
            rows = work.connection.execute(query).all()
        return [
            Alarm(table=row.table_name, code=row.code, says=row.says, raised_us=row.raised_us) for row in rows
        ]


_NEWEST = 2**62
"""A number greater than that of any movement."""


def _results_at_a_table() -> Select[Any]:  # Any: as above
    """Return the query for at least `limit` of a player's newest results at a table, if there are that many.

    The column `booked` gives their order across all tables.
    """
    results, movements = schema.results, schema.movements
    later = movements.alias()
    next_at_table = (
        select(later.c.id)
        .where(later.c.table_name == results.c.table_name, later.c.n > results.c.n)
        .order_by(later.c.n)
        .limit(1)
        .scalar_subquery()
    )
    valid = (
        results.c.table_name == bindparam("table"),
        results.c.player == bindparam("player"),
        results.c.superseded_by.is_(None),
    )
    # Because the query does not sort by line, SQLite can use the index of the player's results.
    newest = select(results.c.n).where(*valid).order_by(results.c.n.desc()).limit(bindparam("limit"))
    oldest_n = select(func.min(newest.subquery().c.n)).scalar_subquery()
    booked = func.coalesce(movements.c.id, next_at_table, _NEWEST)
    return (
        select(results, movements.c.booked_us, booked.label("booked"))
        .join(
            movements,
            (movements.c.table_name == results.c.table_name) & (movements.c.n == results.c.n),
            isouter=True,
        )
        .where(*valid, results.c.n >= oldest_n)
    )


_RESULTS = _results_at_a_table()


def _between_ms(from_us: int | None, to_us: int | None) -> float | None:
    return None if from_us is None or to_us is None else (to_us - from_us) / 1000


TOKEN_BYTES = 32
"""Number of random bytes in a token. The digest of 32 random bytes needs neither a salt nor a slow hash."""


class Tokens:
    """The tokens in a settlement database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def make(self, name: str, role: Role, secret: str, player: str | None = None) -> None:
        """Store the digest of a new secret.

        Raises RequestRefused if the name is in use, the player has no account, `player` is missing for the
        role `player`, or `player` is given for another role.
        """
        if (role == "player") != (player is not None):
            reason = (
                "a token with the role player must name its player"
                if player is None
                else f"a token with the role {role} can't name a player; leave out player {player}"
            )
            raise RequestRefused("TOKEN", reason)
        with self._engine.work() as work:
            tokens = schema.tokens
            if work.connection.execute(select(tokens.c.name).where(tokens.c.name == name)).first():
                raise RequestRefused("TOKEN", f"a token named {name} already exists; choose another name")
            if player is not None:
                need_account(work, player)
            work.add(
                tokens, name=name, digest=digest_of(secret), role=role, player=player, made_us=work.now_us
            )

    def revoke(self, name: str) -> None:
        """Revoke a token. Raises RequestRefused if no valid token has this name."""
        tokens = schema.tokens
        with self._engine.work() as work:
            change = update(tokens).where(tokens.c.name == name, tokens.c.revoked_us.is_(None))
            if not work.connection.execute(change.values(revoked_us=work.now_us)).rowcount:
                raise RequestRefused("TOKEN", f"there is no valid token named {name}")

    def caller(self, digest: str) -> Caller | None:
        """Return the caller whose token has this digest; None if no valid token has it."""
        tokens = schema.tokens
        query = select(tokens).where(tokens.c.digest == digest, tokens.c.revoked_us.is_(None))
        with self._engine.work() as work:
            row = work.connection.execute(query).first()
        return None if row is None else Caller(name=row.name, role=row.role, player=row.player)

    def listed(self) -> list[tuple[str, str, str | None, bool]]:
        """Return every token's name, role and player, and whether it is valid."""
        tokens = schema.tokens
        with self._engine.work() as work:
            rows = work.connection.execute(select(tokens).order_by(tokens.c.made_us)).all()
        return [(row.name, row.role, row.player, row.revoked_us is None) for row in rows]


def digest_of(secret: str) -> str:
    """Return a token's digest, as stored in the database."""
    return sha256(secret.encode()).hexdigest()


ReadBrokerState = Callable[[], BrokerState]
"""Returns the state of the engine's broker."""


class _HttpRefusal(Exception):
    def __init__(self, status: int, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.answer = refusal(status, rule, reason)


class HttpRequests:
    """Answers requests to an engine. Any thread may use it."""

    def __init__(self, engine: Engine, broker: ReadBrokerState = lambda: "none") -> None:
        """Answer requests for this engine; `broker` returns the state of its broker."""
        self._engine = engine
        self._accounts = AccountRequests(engine)
        self._views = Views(engine)
        self._tokens = Tokens(engine)
        self._broker = broker

    def answer(self, ask: HttpRequest) -> HttpAnswer:
        """Carry out a request if its token allows it; return the answer."""
        try:
            return self.health() if ask.do == "health" else self._authorize(ask, ask.do)
        except _HttpRefusal as refused:
            return refused.answer
        except RequestRefused as refused:
            return refusal(409, refused.rule, refused.reason)
        except DatabaseUnavailable as error:
            return database_refusal(error)

    def health(self) -> HttpAnswer:
        """Return the state of the engine, its database and its broker. Raises DatabaseUnavailable."""
        counts = self._views.counts()
        if self._engine.write_fault is not None:
            raise DatabaseUnavailable(self._engine.write_fault)
        broker = self._broker()
        health = Health(
            status="attention" if counts.alarms or counts.halted or broker == "away" else "ok",
            tables=counts.tables,
            halted=counts.halted,
            alarms=counts.alarms,
            broker=broker,
        )
        return model_answer(health)

    def _authorize(self, ask: HttpRequest, do: Action | Literal["who"]) -> HttpAnswer:
        caller = self._tokens.caller(ask.digest)
        if caller is None:
            raise _HttpRefusal(
                401,
                "HTTP-401",
                "the request has no valid token; send the header `Authorization: Bearer TOKEN`",
            )
        if do == "who":
            return json_answer(msgspec.json.encode(caller))
        reach = ACCESS[do][caller.role]
        if reach == "nothing":
            raise _forbidden(caller)
        if do == "rounds":
            return json_answer(_rounds.dump_json(self._views.rounds(ask.table, ask.limit)))
        if do in ("tables", "alarms"):
            return self._list(do)
        if do in ("wager", "change", "bet", "bets"):
            return self._answer_wager(ask, do, caller, own=reach == "own")
        if reach == "own" and caller.player != ask.player:
            raise _forbidden(caller)
        return self._answer_account(ask, do, RequestIdentity(caller, ask.key))

    def _list(self, do: Action) -> HttpAnswer:
        if do == "tables":
            return json_answer(_tables.dump_json(self._views.tables()))
        return json_answer(_alarms.dump_json(self._views.alarms()))

    def _answer_account(self, ask: HttpRequest, do: Action, identity: RequestIdentity) -> HttpAnswer:
        match do:
            case "account":
                account = self._views.account(ask.player)
                if account is None:
                    raise _HttpRefusal(404, "HTTP-404", f"there is no player {ask.player}")
                return model_answer(account)
            case "results":
                return json_answer(_results.dump_json(self._views.results(ask.player, ask.limit)))
            case "open_account":
                return _granted(self._accounts.open_account(identity, ask.player))
            case "take_seat":
                return _granted(self._accounts.seat(identity, ask.table, ask.seat, ask.player))
            case _:
                cents = ask.cents if do == "deposit" else -ask.cents
                return _granted(self._accounts.pay(identity, ask.player, cents))

    def _answer_wager(self, ask: HttpRequest, do: Action, caller: Caller, *, own: bool) -> HttpAnswer:
        identity = RequestIdentity(caller, ask.key)
        if do == "change":
            return _granted(self._accounts.change(identity, ask.table, dict(ask.asked)))
        if do in ("bet", "bets"):
            bets = (ask.asked,) if do == "bet" else ask.bets
            # Only staff may lodge a late wager; a dealer and a boxperson must confirm it (C34-MK-1b).
            if own and any(bet.get("player") != caller.player or bet.get("late") for bet in bets):
                raise _forbidden(caller)
            if do == "bets":
                return _each(bets, self._accounts.bets(identity, ask.table, [dict(bet) for bet in bets]))
            return _granted(self._accounts.bet(identity, ask.table, dict(ask.asked)))
        found = self._views.wager(ask.table, ask.wager)
        if found is None or (own and found[0] != caller.player):
            raise _HttpRefusal(404, "HTTP-404", f"found no wager {ask.wager} at {ask.table} that you may see")
        return model_answer(found[1])


_tables = TypeAdapter(Sequence[TableView])
_alarms = TypeAdapter(Sequence[Alarm])
_rounds = TypeAdapter(Sequence[RoundView])
_results = TypeAdapter(Sequence[Result])


def _forbidden(caller: Caller) -> _HttpRefusal:
    return _HttpRefusal(403, "HTTP-403", f"the token {caller.name} ({caller.role}) may not do this")


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one of several bets; encodes like `channel.WagerAnswer`."""

    id: object
    granted: GrantedResult | None = None
    refused: dict[str, str] | None = None


def _each(bets: Sequence[RawRequest], answers: Sequence[GrantedResult | RequestRefused]) -> HttpAnswer:
    each = [
        _Answer(id=bet["id"], refused={"rule": answer.rule, "reason": answer.reason})
        if isinstance(answer, RequestRefused)
        else _Answer(id=bet["id"], granted=answer)
        for bet, answer in zip(bets, answers, strict=True)
    ]
    return json_answer(msgspec.json.encode(each))


def _granted(done: GrantedResult) -> HttpAnswer:
    return json_answer(msgspec.json.encode(done))
