"""The counter: what comes over HTTP is asked here, in the engine's own process, and answered as it goes back.

Whoever asks shows the digest of a token with every request. The token, what its role may do and whose
account, wager or seat it touches are looked at here, so that what serves HTTP need not be believed.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from pydantic import TypeAdapter

from controller.settlement.wire import Asked
from controller.settlement_service.access import ACCESS, Deed
from controller.settlement_service.channel import (
    CounterAnswer,
    CounterRequest,
    model_told,
    out_of_reach,
    refusal,
    told_of,
)
from controller.settlement_service.desk import Asking, Caller, Done, RequestDesk
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import OutOfReach, RequestRefused
from controller.settlement_service.schemas import Alarm, BrokerWord, Health, Result, RoundView, TableView
from controller.settlement_service.tokens import Tokens
from controller.settlement_service.views import Views

BrokerState = Callable[[], BrokerWord]
"""Returns how the broker is that outcomes come from."""


class _Turned(Exception):
    """A request that ends with this status, rule and reason."""

    def __init__(self, status: int, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.told = refusal(status, rule, reason)


class Counter:
    """Answers what is asked of an engine; any thread may ask."""

    def __init__(self, engine: Engine, broker: BrokerState = lambda: "none") -> None:
        """Answer for this engine; `broker` tells how the broker is that outcomes come from."""
        self._engine = engine
        self._desk = RequestDesk(engine)
        self._views = Views(engine)
        self._tokens = Tokens(engine)
        self._broker = broker

    def answer(self, ask: CounterRequest) -> CounterAnswer:
        """Handle the request, where the token allows it."""
        try:
            return self.health() if ask.do == "health" else self._for(ask, ask.do)
        except _Turned as turned:
            return turned.told
        except RequestRefused as refused:
            return refusal(409, refused.rule, refused.reason)
        except OutOfReach as error:
            return out_of_reach(error)

    def health(self) -> CounterAnswer:
        """Return whether the engine, its database and its broker answer; raises OutOfReach."""
        tables, alarms = self._views.tables(), self._views.alarms()
        if self._engine.trouble is not None:
            raise OutOfReach(self._engine.trouble)
        halted = sum(table.halted is not None for table in tables)
        broker = self._broker()
        health = Health(
            status="attention" if alarms or halted or broker == "away" else "ok",
            tables=len(tables),
            halted=halted,
            alarms=len(alarms),
            broker=broker,
        )
        return model_told(health)

    def _for(self, ask: CounterRequest, do: Deed | Literal["who"]) -> CounterAnswer:
        caller = self._tokens.caller(ask.digest)
        if caller is None:
            raise _Turned(401, "HTTP-401", "give a valid token")
        if do == "who":
            return told_of(msgspec.json.encode(caller))
        reach = ACCESS[do][caller.role]
        if reach == "nothing":
            raise _forbidden(caller)
        if do == "rounds":
            return told_of(_rounds.dump_json(self._views.rounds(ask.table, ask.limit)))
        if do in ("tables", "alarms"):
            return self._listed(do)
        if do in ("wager", "change", "bet", "bets"):
            return self._of_wagers(ask, do, caller, own=reach == "own")
        if reach == "own" and caller.player != ask.player:
            raise _forbidden(caller)
        return self._of_accounts(ask, do, Asking(caller, ask.key))

    def _listed(self, do: Deed) -> CounterAnswer:
        if do == "tables":
            return told_of(_tables.dump_json(self._views.tables()))
        return told_of(_alarms.dump_json(self._views.alarms()))

    def _of_accounts(self, ask: CounterRequest, do: Deed, asking: Asking) -> CounterAnswer:
        match do:
            case "account":
                account = self._views.account(ask.player)
                if account is None:
                    raise _Turned(404, "HTTP-404", f"there is no player {ask.player}")
                return model_told(account)
            case "results":
                return told_of(_results.dump_json(self._views.results(ask.player, ask.limit)))
            case "open_account":
                return _granted(self._desk.open_account(asking, ask.player))
            case "take_seat":
                return _granted(self._desk.seat(asking, ask.table, ask.seat, ask.player))
            case _:
                cents = ask.cents if do == "deposit" else -ask.cents
                return _granted(self._desk.pay(asking, ask.player, cents))

    def _of_wagers(self, ask: CounterRequest, do: Deed, caller: Caller, *, own: bool) -> CounterAnswer:
        asking = Asking(caller, ask.key)
        if do == "change":
            return _granted(self._desk.change(asking, ask.table, dict(ask.asked)))
        if do in ("bet", "bets"):
            bets = (ask.asked,) if do == "bet" else ask.bets
            # What dealer and boxperson must confirm aloud (C34-MK-1b) staff lodges, no player's token.
            if own and any(bet.get("player") != caller.player or bet.get("late") for bet in bets):
                raise _forbidden(caller)
            if do == "bets":
                return _each(bets, self._desk.bets(asking, ask.table, [dict(bet) for bet in bets]))
            return _granted(self._desk.bet(asking, ask.table, dict(ask.asked)))
        found = self._views.wager(ask.table, ask.wager)
        if found is None or (own and found[0] != caller.player):
            raise _Turned(404, "HTTP-404", f"there is no wager {ask.wager} at {ask.table} that you may see")
        return model_told(found[1])


_tables = TypeAdapter(Sequence[TableView])
_alarms = TypeAdapter(Sequence[Alarm])
_rounds = TypeAdapter(Sequence[RoundView])
_results = TypeAdapter(Sequence[Result])


def _forbidden(caller: Caller) -> _Turned:
    return _Turned(403, "HTTP-403", f"the token {caller.name} ({caller.role}) may not do this")


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one of several bets came to; `schemas.WagerAnswer` as it goes over HTTP."""

    id: object
    granted: Done | None = None
    refused: dict[str, str] | None = None


def _each(bets: Sequence[Asked], answers: Sequence[Done | RequestRefused]) -> CounterAnswer:
    told = [
        _Answer(id=bet["id"], refused={"rule": answer.rule, "reason": answer.reason})
        if isinstance(answer, RequestRefused)
        else _Answer(id=bet["id"], granted=answer)
        for bet, answer in zip(bets, answers, strict=True)
    ]
    return told_of(msgspec.json.encode(told))


def _granted(done: Done) -> CounterAnswer:
    return told_of(msgspec.json.encode(done))
