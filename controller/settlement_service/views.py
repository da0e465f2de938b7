"""What can be read: accounts, wagers, results, tables, alarms."""

import json
from typing import cast

from sqlalchemy import select

from controller.settlement_service import schema
from controller.settlement_service.engine import Engine
from controller.settlement_service.ledger import player_account
from controller.settlement_service.schemas import (
    Account,
    Alarm,
    Result,
    RoundView,
    TableView,
    WagerView,
)

MAX_LISTED = 1000
"""Tables, alarms or wagers of one answer: it stays within what is handed over at once."""


class Views:
    """Reads, each within a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def account(self, player: str) -> Account | None:
        """Return a player's balance and the wagers that are up; None where there is no such account."""
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
        """Return a wager's player and how it stands; None where there is no such wager."""
        wagers = schema.wagers
        query = select(wagers).where(wagers.c.table_name == table, wagers.c.id == wager)
        with self._engine.work() as work:
            row = work.connection.execute(query).first()
        if row is None:
            return None
        view = WagerView(table=table, id=row.id, wager=row.wager, stake=row.stake, status=row.status)
        return row.player, view

    def results(self, player: str, limit: int) -> list[Result]:
        """Return a player's newest results that hold, the newest first."""
        results, movements = schema.results, schema.movements
        query = (
            select(results, movements.c.booked_us)
            .join(
                movements,
                (movements.c.table_name == results.c.table_name) & (movements.c.n == results.c.n),
                isouter=True,
            )
            .where(results.c.player == player, results.c.superseded_by.is_(None))
            .order_by(results.c.table_name, results.c.n.desc(), results.c.line.desc())
            .limit(limit)
        )
        with self._engine.work() as work:
            rows = work.connection.execute(query).all()
        return [
            Result(
                table=row.table_name,
                wager=row.wager,
                booked_us=row.booked_us,
                line=cast("dict[str, object]", json.loads(row.body)),
            )
            for row in rows
        ]

    def tables(self) -> list[TableView]:
        """Return every table and what it waits for."""
        query = select(schema.tables).order_by(schema.tables.c.name).limit(MAX_LISTED)
        with self._engine.work() as work:
            rows = work.connection.execute(query).all()
        return [
            TableView(
                table=row.name, rules=row.rules, next_seq=row.next_seq, betting=row.betting, halted=row.halted
            )
            for row in rows
        ]

    def rounds(self, table: str, limit: int) -> list[RoundView]:
        """Return a table's newest rounds, the newest first."""
        rounds = schema.rounds
        query = select(rounds).where(rounds.c.table_name == table).order_by(rounds.c.round.desc())
        with self._engine.work() as work:
            rows = work.connection.execute(query.limit(limit)).all()
        return [
            RoundView(
                round=row.round,
                # Times of two sessions can't be compared: each has a clock of its own.
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


def _between_ms(from_us: int | None, to_us: int | None) -> float | None:
    return None if from_us is None or to_us is None else (to_us - from_us) / 1000
