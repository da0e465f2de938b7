"""Upkeep of a settlement database: the proof of its contents, and the removal of old answers to requests.

The proof checks the ledger, the outcomes' signatures and the wagers. It replays every table from its first
step, and compares the money moved with the money booked.

A stored answer prevents a repeated request from taking effect twice. An old answer is dropped if the request
can't take effect twice anyway: it was refused, its bet's id has been used, or the wager it changed is no
longer up. If the wall clock is wrong, a client can lose an answer, but nobody loses money. Answers to
deposits, withdrawals and seatings are always kept.
"""

from collections.abc import Iterator, Mapping

import msgspec
from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, tuple_

from controller.journal.keys import PublicKey
from controller.settlement_service import schema
from controller.settlement_service.account_requests import was_refused
from controller.settlement_service.book import Anchor, Contradiction, TableBook, UnknownRequest
from controller.settlement_service.deliveries import read, verified_outcome
from controller.settlement_service.engine import Engine
from controller.settlement_service.enrolled_table import Games, steps_after
from controller.settlement_service.ledger import Movement, at_risk
from controller.settlement_service.work import Work


class BookProof(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a proof: the number of rows checked, and a description of every fault."""

    movements: int
    entries: int
    outcomes: int
    steps: int
    accounts: Mapping[str, int]
    """The total of each kind of account, in cents. In a valid ledger the totals sum to zero."""
    faults: tuple[str, ...]


def prove(connection: Connection, games: Games) -> BookProof:
    """Run all checks within the caller's transaction."""
    faults = [
        *_movements(connection),
        *_balances(connection),
        *_outcomes(connection),
        *_wagers(connection),
        *_replays(connection, games),
    ]
    return BookProof(
        movements=_count(connection, schema.movements.c.id),
        entries=_count(connection, schema.entries.c.movement),
        outcomes=_count(connection, schema.outcomes.c.seq),
        steps=_count(connection, schema.steps.c.n),
        accounts=_by_kind(connection),
        faults=tuple(faults),
    )


def _count(connection: Connection, column: ColumnElement[int]) -> int:
    count: int = connection.execute(select(func.count(column))).scalar_one()
    return count


def _by_kind(connection: Connection) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for account, cents in _stored(connection).items():
        kind = account.partition(":")[0]
        kinds[kind] = kinds.get(kind, 0) + cents
    return dict(sorted(kinds.items()))


def _movements(connection: Connection) -> Iterator[str]:
    """Check that every movement has entries, and that they sum to zero."""
    entries, movements = schema.entries, schema.movements
    total = func.sum(entries.c.cents)
    query = select(entries.c.movement, total).group_by(entries.c.movement).having(total != 0)
    for movement, cents in connection.execute(query):
        yield f"movement {movement} is out of balance by {cents} cents"
    bare = select(movements.c.id).where(movements.c.id.not_in(select(entries.c.movement)))
    for movement in connection.execute(bare).scalars():
        yield f"movement {movement} has no entries"
    loose = select(entries.c.movement).where(entries.c.movement.not_in(select(movements.c.id))).distinct()
    for movement in connection.execute(loose).scalars():
        yield f"there are entries for movement {movement}, which does not exist"


def _balances(connection: Connection) -> Iterator[str]:
    """Check that every balance is the sum of its entries."""
    entries = schema.entries
    query = select(entries.c.account, func.sum(entries.c.cents)).group_by(entries.c.account)
    booked = {account: int(cents) for account, cents in connection.execute(query)}
    stored = _stored(connection)
    for account in sorted(booked.keys() | stored.keys()):
        if booked.get(account, 0) != stored.get(account, 0):
            yield (
                f"account {account} has {stored.get(account, 0)} cents, "
                f"but its entries add up to {booked.get(account, 0)}"
            )


def _stored(connection: Connection) -> dict[str, int]:
    query = select(schema.balances.c.account, schema.balances.c.cents)
    return {row.account: row.cents for row in connection.execute(query)}


def _outcomes(connection: Connection) -> Iterator[str]:
    """Check that each table's outcomes are signed by its key, with gaps only where a key was pinned."""
    outcomes = schema.outcomes
    for table in connection.execute(select(schema.tables)):
        keys = _keys(connection, table.name)
        pinned_at = {from_seq for from_seq, _ in keys}
        expected = table.first_seq
        query = select(outcomes).where(outcomes.c.table_name == table.name).order_by(outcomes.c.seq)
        for row in connection.execute(query):
            if row.seq != expected and row.seq not in pinned_at:
                yield f"table {table.name}: found outcome {row.seq}, expected outcome {expected}"
            expected = row.seq + 1
            delivery = read(row.event)
            key = next(key for from_seq, key in keys if row.seq >= from_seq)
            outcome = verified_outcome(delivery, key)
            if isinstance(outcome, str):
                yield f"table {table.name}: {outcome}"
            elif (outcome.seq, outcome.id, delivery.chain) != (row.seq, row.id, row.chain):
                yield f"table {table.name}: outcome {row.seq} has another outcome's number, id or hash"
        if table.next_seq != expected:
            yield f"table {table.name} is waiting for outcome {table.next_seq}, expected outcome {expected}"


def _keys(connection: Connection, table: str) -> list[tuple[int, PublicKey]]:
    keys = schema.keys
    query = select(keys).where(keys.c.table_name == table).order_by(keys.c.from_seq.desc())
    return [(row.from_seq, PublicKey(row.public_key)) for row in connection.execute(query)]


def _wagers(connection: Connection) -> Iterator[str]:
    """Check that each table's stakes add up to the balance of its account for stakes at risk."""
    wagers = schema.wagers
    stored = _stored(connection)
    query = select(wagers.c.table_name, func.sum(wagers.c.stake)).group_by(wagers.c.table_name)
    staked = {table: int(cents) for table, cents in connection.execute(query)}
    for table in connection.execute(select(schema.tables.c.name)).scalars():
        at_stake = stored.get(at_risk(table), 0)
        if at_stake != staked.get(table, 0):
            wagered = staked.get(table, 0)
            yield f"table {table}: {at_stake} cents are at risk, but its wagers add up to {wagered}"


def _replays(connection: Connection, games: Games) -> Iterator[str]:
    """Check that a replay of each table's steps moves the money that was booked."""
    movements, entries = schema.movements, schema.entries
    for table in connection.execute(select(schema.tables)).all():
        query = (
            select(entries.c.account, func.sum(entries.c.cents))
            .join(movements, movements.c.id == entries.c.movement)
            .where(movements.c.table_name == table.name)
            .group_by(entries.c.account)
        )
        booked = {account: int(cents) for account, cents in connection.execute(query) if cents}
        book = TableBook(games(table.rules), table.name, Anchor(), compact=False)
        moved = Movement()
        try:
            for step in steps_after(connection, table.name, 0):
                moved.add(book.apply(step).movement)
        except (Contradiction, UnknownRequest, AssertionError) as error:
            yield f"table {table.name}: step {book.last_n + 1} can't be replayed: {error}"
            continue
        replayed = dict(moved.legs())
        for account in sorted(booked.keys() | replayed.keys()):
            if booked.get(account, 0) != replayed.get(account, 0):
                yield (
                    f"table {table.name}: the balance of {account} changed by {booked.get(account, 0)}"
                    f" cents, but by {replayed.get(account, 0)} in the replay"
                )


KEEP_DAYS = 30
"""Age, in days, at which an answer may be dropped. A client without an answer repeats its request
within minutes; a month also covers an outage or the investigation of a complaint."""
SLICE = 500
"""Number of rows examined per transaction. Each transaction delays bets by a few milliseconds."""
CALLS_PER_SLICE = 10
"""Number of calls to `prune_if_due` per slice. At two calls per second, pruning examines 100 rows per second,
which is faster than requests add them."""
_KEEP_US = KEEP_DAYS * 86_400_000_000


class _StoredRequest(msgspec.Struct, frozen=True):
    """The fields of a stored request that pruning uses."""

    do: str
    table: str = ""
    id: str = ""


_read_request = msgspec.json.Decoder(_StoredRequest).decode
_CHANGES = frozenset({"increase", "reduce", "remove", "working", "no_action"})


class Pruning:
    """Drops an engine's old answers, slice by slice, in a continuous cycle. For use in one thread."""

    def __init__(self, engine: Engine) -> None:
        """Start at the first row."""
        self._engine = engine
        self._after = ("", "")
        self._calls = 0

    def prune_if_due(self) -> None:
        """Drop the old answers of a slice on every `CALLS_PER_SLICE`-th call. Raises DatabaseUnavailable."""
        self._calls += 1
        if self._calls % CALLS_PER_SLICE == 0:
            self.drop_slice()

    def drop_slice(self) -> int:
        """Drop the old answers among the next rows; return how many were dropped.

        Raises DatabaseUnavailable.
        """
        requests = schema.requests
        caller, key = requests.c.caller, requests.c.key
        with self._engine.work() as work:
            beyond = tuple_(caller, key) > tuple_(*self._after)
            query = select(requests).where(beyond).order_by(caller, key).limit(SLICE)
            rows = work.connection.execute(query).all()
            old = [
                {"old_caller": row.caller, "old_key": row.key}
                for row in rows
                if row.answered_us < work.now_us - _KEEP_US
                and self._can_be_dropped(work, row.asked, row.answer)
            ]
            if old:
                this = (caller == bindparam("old_caller")) & (key == bindparam("old_key"))
                work.connection.execute(delete(requests).where(this), old)
        self._after = (rows[-1].caller, rows[-1].key) if len(rows) == SLICE else ("", "")
        return len(old)

    def _can_be_dropped(self, work: Work, text: str, answer: str) -> bool:
        """Return whether the request can't take effect twice, even without its stored answer."""
        request = _read_request(text)
        if request.do != "bet" and request.do not in _CHANGES:
            return False
        if was_refused(answer):
            return True
        if not work.had_wager(request.table, request.id):
            return False
        table = self._engine.table(work, request.table)
        return request.do == "bet" or (table is not None and table.book.wager(request.id) is None)
