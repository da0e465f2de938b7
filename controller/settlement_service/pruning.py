"""Answers that nobody asks for any more are dropped, a slice at a time: their table does not grow for ever.

An answer is kept so that a request which is sent again is done once. It is dropped only where something else
keeps the request from being granted again: a refusal was never granted, a bet's id is used up for good, and a
change is for a wager that is decided beyond correction. That holds whatever the wall clock says; a clock that
is wrong costs a client its answer and nobody any money. Deposits and seats have no other guard: theirs stay.
"""

import msgspec
from sqlalchemy import bindparam, delete, select, tuple_

from controller.settlement_service import schema
from controller.settlement_service.account_requests import was_refused
from controller.settlement_service.engine import Engine
from controller.settlement_service.work import Work

KEEP_DAYS = 30
"""A client without an answer asks again within minutes; a month leaves room for an outage, and for whoever
looks into a complaint."""
SLICE = 500
"""Rows looked at in one transaction: it holds bets up for a few milliseconds."""
EVERY = 10
"""Calls of `look` from one slice to the next: at two a second 100 rows a second are looked at, more than bets
come."""
_KEEP_US = KEEP_DAYS * 86_400_000_000


class _Asked(msgspec.Struct, frozen=True):
    """What a request names, as far as it matters here."""

    do: str
    table: str = ""
    id: str = ""


_read_asked = msgspec.json.Decoder(_Asked).decode
_CHANGES = frozenset({"increase", "reduce", "remove", "working", "no_action"})


class Pruning:
    """Goes through an engine's answers, over and over; for one thread."""

    def __init__(self, engine: Engine) -> None:
        """Begin with the first row; where it has got to is not kept: a restart begins anew."""
        self._engine = engine
        self._after = ("", "")
        self._calls = 0

    def look(self) -> None:
        """Drop what is old in the next slice, at every `EVERY`th call; raises OutOfReach."""
        self._calls += 1
        if self._calls % EVERY == 0:
            self.drop_slice()

    def drop_slice(self) -> int:
        """Drop what is old among the next rows; return how many were. Raises OutOfReach."""
        requests = schema.requests
        caller, key = requests.c.caller, requests.c.key
        with self._engine.work() as work:
            beyond = tuple_(caller, key) > tuple_(*self._after)
            query = select(requests).where(beyond).order_by(caller, key).limit(SLICE)
            rows = work.connection.execute(query).all()
            old = [
                {"old_caller": row.caller, "old_key": row.key}
                for row in rows
                if row.answered_us < work.now_us - _KEEP_US and self._can_go(work, row.asked, row.answer)
            ]
            if old:
                this = (caller == bindparam("old_caller")) & (key == bindparam("old_key"))
                work.connection.execute(delete(requests).where(this), old)
        self._after = (rows[-1].caller, rows[-1].key) if len(rows) == SLICE else ("", "")
        return len(old)

    def _can_go(self, work: Work, text: str, answer: str) -> bool:
        """Return whether this request would be granted no second time without its answer."""
        asked = _read_asked(text)
        if asked.do != "bet" and asked.do not in _CHANGES:
            return False
        if was_refused(answer):
            return True
        if not work.had_wager(asked.table, asked.id):
            return False
        table = self._engine.table(work, asked.table)
        return asked.do == "bet" or (table is not None and table.book.wager(asked.id) is None)
