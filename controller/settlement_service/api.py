"""The HTTP API: accounts, chips, wagers, results. OpenAPI 3.1 at /openapi.json, made from the types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Path, Query, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException as StarletteHTTPException

from controller.settlement_service.desk import Asking, Caller, Desk, Done
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import OutOfReach, RequestRefused
from controller.settlement_service.schemas import (
    Account,
    Alarm,
    Amount,
    BrokerWord,
    Change,
    Granted,
    Health,
    Id,
    Name,
    NewAccount,
    NewWager,
    Refused,
    Result,
    Seating,
    TableView,
    WagerView,
)
from controller.settlement_service.tokens import Tokens
from controller.settlement_service.views import Views

Key = Annotated[Id, Header(alias="Idempotency-Key", description="One request's own; sent again with it.")]
Player = Annotated[Name, Path()]
Table = Annotated[Name, Path()]
Wager = Annotated[Id, Path()]
_bearer = HTTPBearer(auto_error=False, description="A token of `tablectl settlement token make`.")
_SAYS: dict[int, dict[str, object]] = {
    401: {"model": Refused, "description": "No valid token."},
    403: {"model": Refused, "description": "The token's role may not do this."},
    503: {"model": Refused, "description": "The database does not answer; ask again with the same key."},
}
_REFUSES: dict[int, dict[str, object]] = {
    400: {"model": Refused, "description": "The body is no JSON."},
    409: {"model": Refused, "description": "Refused by a rule; nothing has changed."},
}
_UNKNOWN: dict[int, dict[str, object]] = {404: {"model": Refused, "description": "There is no such thing."}}


def _more(*kinds: dict[int, dict[str, object]]) -> dict[int | str, dict[str, Any]]:
    """Give what FastAPI takes for the answers of a route."""
    return {code: says for kind in kinds for code, says in kind.items()}


router = APIRouter()
BrokerState = Callable[[], BrokerWord]
"""Tells how the broker is that outcomes come from."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What answers requests."""

    desk: Desk
    views: Views
    tokens: Tokens
    broker: BrokerState


def make_app(engine: Engine, broker: BrokerState = lambda: "none") -> FastAPI:
    """Make the application of an engine; `broker` tells how the broker is that outcomes come from."""
    app = FastAPI(
        title="Table settlement",
        version="1",
        docs_url=None,
        redoc_url=None,
        responses=_more(_SAYS),
    )
    app.state.parts = Parts(Desk(engine), Views(engine), Tokens(engine), broker)
    app.include_router(router)
    _answer_errors(app)
    return app


def _parts(request: Request) -> Parts:
    parts = request.app.state.parts
    assert isinstance(parts, Parts)
    return parts


House = Annotated[Parts, Depends(_parts)]


def _caller(house: House, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
    known = None if given is None else house.tokens.caller(given.credentials)
    if known is None:
        raise HTTPException(401, "give a valid token", {"WWW-Authenticate": "Bearer"})
    return known


Anybody = Annotated[Caller, Depends(_caller)]


def _staff(who: Anybody) -> Caller:
    return _allowed(who, who.role == "staff")


def _overseer(who: Anybody) -> Caller:
    return _allowed(who, who.role in ("staff", "reader"))


Staff = Annotated[Caller, Depends(_staff)]
Overseer = Annotated[Caller, Depends(_overseer)]


@router.get("/health")
def health(house: House) -> Health:
    """Say whether the engine, its database and its broker answer."""
    tables, alarms = house.views.tables(), house.views.alarms()
    halted = sum(table.halted is not None for table in tables)
    return Health(
        status="attention" if alarms or halted or house.broker() == "away" else "ok",
        tables=len(tables),
        halted=halted,
        alarms=len(alarms),
        broker=house.broker(),
    )


@router.post("/players", responses=_more(_REFUSES))
def open_account(house: House, who: Staff, key: Key, wanted: NewAccount) -> Granted:
    """Open a player's account."""
    return _granted(house.desk.open_account(Asking(who, key), wanted.player))


@router.get("/players/{player}", responses=_more(_UNKNOWN))
def account(house: House, who: Anybody, player: Player) -> Account:
    """Read a balance and the wagers that are up."""
    _allowed(who, who.may_see(player))
    return _found(house.views.account(player), f"player {player}")


@router.get("/players/{player}/results")
def results(
    house: House, who: Anybody, player: Player, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> list[Result]:
    """Read the newest results that hold."""
    _allowed(who, who.may_see(player))
    return house.views.results(player, limit)


@router.post("/players/{player}/deposits", responses=_more(_REFUSES))
def deposit(house: House, who: Staff, key: Key, player: Player, amount: Amount) -> Granted:
    """Take chips in."""
    return _granted(house.desk.pay(Asking(who, key), player, amount.cents))


@router.post("/players/{player}/withdrawals", responses=_more(_REFUSES))
def withdraw(house: House, who: Staff, key: Key, player: Player, amount: Amount) -> Granted:
    """Hand chips out."""
    return _granted(house.desk.pay(Asking(who, key), player, -amount.cents))


@router.get("/tables")
def tables(house: House, _who: Overseer) -> list[TableView]:
    """List the tables and what each waits for."""
    return house.views.tables()


@router.get("/alarms")
def alarms(house: House, _who: Overseer) -> list[Alarm]:
    """List what a person must look into."""
    return house.views.alarms()


@router.put("/tables/{table}/seats/{seat}", responses=_more(_REFUSES))
def take_seat(
    *, house: House, who: Staff, key: Key, table: Table, seat: Annotated[Name, Path()], wanted: Seating
) -> Granted:
    """Let a player take a seat."""
    return _granted(house.desk.seat(Asking(who, key), table, seat, wanted.player))


@router.post("/tables/{table}/wagers", responses=_more(_REFUSES))
def bet(house: House, who: Anybody, key: Key, table: Table, wanted: NewWager) -> Granted:
    """Make a bet."""
    _allowed(who, who.may_act_for(wanted.player))
    # What a boxperson and a dealer must confirm aloud (C34-MK-1b) no player's own request can.
    _allowed(who, who.role == "staff" or not wanted.confirmed)
    return _granted(house.desk.bet(Asking(who, key), table, wanted.model_dump(exclude_none=True)))


@router.get("/tables/{table}/wagers/{wager}", responses=_more(_UNKNOWN))
def wager(house: House, who: Anybody, table: Table, wager: Wager) -> WagerView:
    """Read how a wager stands."""
    found = house.views.wager(table, wager)
    if found is None or not who.may_see(found[0]):
        raise HTTPException(404, f"there is no wager {wager} at {table} that you may see")
    return found[1]


@router.post("/tables/{table}/wagers/{wager}/changes", responses=_more(_REFUSES))
def change(*, house: House, who: Anybody, key: Key, table: Table, wager: Wager, wanted: Change) -> Granted:
    """Increase, reduce, remove a wager, or call it on or off."""
    _allowed(who, who.role != "reader")
    asked: dict[str, object] = {**wanted.model_dump(exclude_none=True), "id": wager}
    return _granted(house.desk.change(Asking(who, key), table, asked))


def _allowed(who: Caller, allowed: bool) -> Caller:
    if not allowed:
        raise HTTPException(403, f"the token {who.name} ({who.role}) may not do this")
    return who


def _found(account: Account | None, what: str) -> Account:
    if account is None:
        raise HTTPException(404, f"there is no {what}")
    return account


def _granted(done: Done) -> Granted:
    lines = [msgspec.json.decode(line, type=dict[str, object]) for line in done.lines]
    return Granted(player=done.player, balance=done.balance, lines=lines)


def _answer_errors(app: FastAPI) -> None:
    """Give every error the same shape: a rule or code, and a reason."""

    @app.exception_handler(RequestRefused)
    def _refused(_request: Request, error: RequestRefused) -> JSONResponse:
        return _problem(409, error.rule, error.reason)

    @app.exception_handler(OutOfReach)
    def _out_of_reach(_request: Request, error: OutOfReach) -> JSONResponse:
        return _problem(503, "DATABASE", str(error), {"Retry-After": "1"})

    @app.exception_handler(StarletteHTTPException)
    def _http(_request: Request, error: StarletteHTTPException) -> JSONResponse:
        headers = dict(error.headers) if error.headers else None
        return _problem(error.status_code, f"HTTP-{error.status_code}", str(error.detail), headers)


def _problem(status: int, rule: str, reason: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(Refused(rule=rule, reason=reason).model_dump(), status, headers)
