"""The HTTP process: `python -m controller.settlement_service.http_process FD FD [PEM KEY]`.

It passes each request to the engine and returns the engine's answer. The engine (http_supervisor.py) starts
this process with two open file descriptors: the listening socket and the channel to the engine. The process
has no access to the database, the engine's key or the stored tokens, and ends when the engine ends.
"""

import asyncio
import gc
import itertools
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Protocol

import msgspec
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException as StarletteHTTPException

from controller.model.printable import printable
from controller.serving.connections import Server
from controller.settlement_service.channel import (
    BEAT,
    MAX_ANSWER,
    Account,
    Alarm,
    Amount,
    Broken,
    Change,
    Frames,
    Granted,
    Health,
    HttpAnswer,
    HttpRequest,
    Id,
    Name,
    NewAccount,
    NewWager,
    NewWagers,
    Refused,
    Result,
    RoundView,
    Seating,
    TableView,
    WagerAnswer,
    WagerView,
    frame,
    refusal,
)
from controller.settlement_service.http_limits import DIGEST, MAX_HEAD, Bounds, build_response

Key = Annotated[
    Id,
    Header(
        alias="Idempotency-Key", description="Unique to each request. Use the same key to repeat a request."
    ),
]
Player = Annotated[Name, Path()]
Table = Annotated[Name, Path()]
Wager = Annotated[Id, Path()]
_COMMON_RESPONSES: dict[int, dict[str, object]] = {
    401: {"model": Refused, "description": "No valid token."},
    403: {"model": Refused, "description": "The token's role does not allow this request."},
    429: {
        "model": Refused,
        "description": "Too many invalid tokens or simultaneous requests; try again later.",
    },
    431: {"model": Refused, "description": "The request's headers are too long."},
    503: {
        "model": Refused,
        "description": "The engine or its database is busy or does not respond; repeat the request with the"
        " same key.",
    },
}
_BODY: dict[int, dict[str, object]] = {
    400: {"model": Refused, "description": "The body is not JSON, or is ambiguous JSON."},
    408: {"model": Refused, "description": "The body did not arrive in time."},
    413: {"model": Refused, "description": "The body is too long."},
    415: {"model": Refused, "description": "The body's content type is not JSON."},
}
_REFUSES: dict[int, dict[str, object]] = {
    **_BODY,
    409: {"model": Refused, "description": "Refused by a rule; nothing has changed."},
}
_UNKNOWN: dict[int, dict[str, object]] = {404: {"model": Refused, "description": "Not found."}}


class RequestHandler(Protocol):
    """Passes requests to the engine and returns its answers."""

    def ask(self, ask: HttpRequest) -> Awaitable[HttpAnswer]:
        """Return the answer, or a refusal if no answer arrives in time."""
        ...


def _responses(*kinds: dict[int, dict[str, object]]) -> dict[int | str, dict[str, Any]]:
    """Return the possible answers of a route, in the form that FastAPI expects."""
    return {code: response for kind in kinds for code, response in kind.items()}


router = APIRouter()
_bearer = HTTPBearer(auto_error=False, description="A token made with `tablectl settlement token make`.")
guarded = APIRouter(dependencies=[Depends(_bearer)])


def make_app(handler: RequestHandler) -> FastAPI:
    """Return the HTTP application, which passes requests to this handler."""
    app = FastAPI(
        title="Table settlement",
        version="1",
        docs_url=None,
        redoc_url=None,
        responses=_responses(_COMMON_RESPONSES),
    )
    app.state.handler = handler
    app.include_router(router)
    app.include_router(guarded)

    @app.exception_handler(StarletteHTTPException)
    def _http(_request: Request, error: StarletteHTTPException) -> JSONResponse:
        refused = Refused(rule=f"HTTP-{error.status_code}", reason=str(error.detail))
        headers = dict(error.headers) if error.headers else None
        return JSONResponse(refused.model_dump(), error.status_code, headers)

    app.add_middleware(Bounds, handler=handler)
    return app


class _Engine:
    """Passes one HTTP request to the engine with the digest of the caller's token."""

    def __init__(self, request: Request) -> None:
        self._handler: RequestHandler = request.app.state.handler
        self._digest: str = request.scope.get(DIGEST, "")

    async def ask(self, do: str, **more: object) -> Response:
        return build_response(await self._handler.ask(HttpRequest(do=do, digest=self._digest, **more)))  # type: ignore[arg-type]  # each route passes its action's arguments


Engine = Annotated[_Engine, Depends(_Engine)]


@router.get("/health", response_model=Health)
async def health(engine: Engine) -> Response:
    """Report whether the engine, its database and its broker respond."""
    return await engine.ask("health")


@guarded.post("/players", response_model=Granted, responses=_responses(_REFUSES))
async def open_account(engine: Engine, key: Key, wanted: NewAccount) -> Response:
    """Open a player's account."""
    return await engine.ask("open_account", key=key, player=wanted.player)


@guarded.get("/players/{player}", response_model=Account, responses=_responses(_UNKNOWN))
async def account(engine: Engine, player: Player) -> Response:
    """Read a player's balance and the wagers that are up."""
    return await engine.ask("account", player=player)


@guarded.get("/players/{player}/results", response_model=list[Result])
async def results(
    engine: Engine, player: Player, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> Response:
    """List a player's valid results across all tables, most recently booked first."""
    return await engine.ask("results", player=player, limit=limit)


@guarded.post("/players/{player}/deposits", response_model=Granted, responses=_responses(_REFUSES))
async def deposit(engine: Engine, key: Key, player: Player, amount: Amount) -> Response:
    """Record a buy-in."""
    return await engine.ask("deposit", key=key, player=player, cents=amount.cents)


@guarded.post("/players/{player}/withdrawals", response_model=Granted, responses=_responses(_REFUSES))
async def withdraw(engine: Engine, key: Key, player: Player, amount: Amount) -> Response:
    """Record a cash-out."""
    return await engine.ask("withdraw", key=key, player=player, cents=amount.cents)


@guarded.get("/tables", response_model=list[TableView])
async def tables(engine: Engine) -> Response:
    """List the tables, each with the number of its next outcome."""
    return await engine.ask("tables")


@guarded.get("/tables/{table}/rounds", response_model=list[RoundView])
async def rounds(engine: Engine, table: Table, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> Response:
    """List the intervals between the last wager, the close of bets and the result, newest round first."""
    return await engine.ask("rounds", table=table, limit=limit)


@guarded.get("/alarms", response_model=list[Alarm])
async def alarms(engine: Engine) -> Response:
    """List the alarms that nobody has cleared."""
    return await engine.ask("alarms")


@guarded.put("/tables/{table}/seats/{seat}", response_model=Granted, responses=_responses(_REFUSES))
async def take_seat(
    *, engine: Engine, key: Key, table: Table, seat: Annotated[Name, Path()], wanted: Seating
) -> Response:
    """Seat a player."""
    return await engine.ask("take_seat", key=key, table=table, seat=seat, player=wanted.player)


@guarded.post("/tables/{table}/wagers", response_model=Granted, responses=_responses(_REFUSES))
async def bet(engine: Engine, key: Key, table: Table, wanted: NewWager) -> Response:
    """Make a bet."""
    return await engine.ask("bet", key=key, table=table, asked=wanted.model_dump(exclude_none=True))


@guarded.post(
    "/tables/{table}/wagers/batch", response_model=list[WagerAnswer], responses=_responses(_REFUSES)
)
async def bets(engine: Engine, key: Key, table: Table, wanted: NewWagers) -> Response:
    """Make up to 50 bets. Each is granted or refused individually."""
    asked = tuple(wager.model_dump(exclude_none=True) for wager in wanted.wagers)
    return await engine.ask("bets", key=key, table=table, bets=asked)


@guarded.get("/tables/{table}/wagers/{wager}", response_model=WagerView, responses=_responses(_UNKNOWN))
async def wager(engine: Engine, table: Table, wager: Wager) -> Response:
    """Read the state of a wager."""
    return await engine.ask("wager", table=table, wager=wager)


@guarded.post(
    "/tables/{table}/wagers/{wager}/changes", response_model=Granted, responses=_responses(_REFUSES)
)
async def change(*, engine: Engine, key: Key, table: Table, wager: Wager, wanted: Change) -> Response:
    """Increase, reduce or remove a wager, or call it on or off."""
    asked = {**wanted.model_dump(exclude_none=True), "id": wager}
    return await engine.ask("change", key=key, table=table, asked=asked)


MAX_LINES = 20
"""Maximum number of log records per minute; further records are counted but not written."""
MINUTE_S = 60.0
MAX_CHARACTERS = 2000
"""Maximum length of a log record in characters, including its traceback."""


class LimitedLog(logging.Handler):
    """Logs a limited number of records per minute, and counts the rest."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Pass the text of each record to `write`."""
        super().__init__()
        self._write = write
        self._since_s = 0.0
        self._lines = 0
        self._omitted = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write or count a record."""
        if not 0 <= record.created - self._since_s < MINUTE_S:
            if self._omitted:
                self._write(f"{self._omitted} more log records were omitted\n")
            self._since_s, self._lines, self._omitted = record.created, 0, 0
        if self._lines >= MAX_LINES:
            self._omitted += 1
            return
        self._lines += 1
        # A traceback has several lines, so line feeds are kept and other control characters are escaped.
        text = "\n".join(map(printable, self.format(record).split("\n")))
        self._write(f"{text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + '...'}\n")


BEAT_S = 1.0
HEALTH_TIMEOUT_S = 1.0
"""Maximum time to wait for the engine's health report."""
ANSWER_TIMEOUT_S = 10.0
NICENESS = 5
"""The increase in the nice value. The controller has priority over this process on a busy machine."""
_decode: Callable[[bytes], HttpAnswer] = msgspec.json.Decoder(HttpAnswer).decode


_ENGINE_GONE = refusal(
    503,
    "ENGINE",
    "the engine stopped before it answered and might have carried out the request;"
    " repeat the request with the same key",
)


class Remote:
    """The engine at the other end of the channel."""

    def __init__(self, channel: socket.socket) -> None:
        """Send requests over this channel."""
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[HttpAnswer]] = {}
        self._health: asyncio.Task[HttpAnswer] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._gone = False

    async def ask(self, ask: HttpRequest) -> HttpAnswer:
        """Pass a request to the engine. Simultaneous health requests share one answer."""
        if ask.do != "health":
            return await self._exchange(ask, ANSWER_TIMEOUT_S)
        if self._health is None or self._health.done():
            self._health = asyncio.create_task(self._exchange(ask, HEALTH_TIMEOUT_S))
        return await asyncio.shield(self._health)

    async def _exchange(self, ask: HttpRequest, timeout_s: float) -> HttpAnswer:
        if self._gone:
            return _ENGINE_GONE
        number = next(self._numbers)
        answer: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write(frame(number, msgspec.json.encode(ask)))
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            return refusal(
                503, "DATABASE", f"the engine or its database did not answer within {timeout_s:g} s"
            )
        finally:
            del self._waiting[number]

    async def run(self, server: Server) -> None:
        """Receive answers until the engine closes the channel, then stop the server."""
        reader, self._writer = await asyncio.open_connection(sock=self._channel)
        beating = asyncio.create_task(self._beat(server))
        frames = Frames(MAX_ANSWER)
        with suppress(OSError, Broken, msgspec.MsgspecError):
            while data := await reader.read(65_536):
                for number, payload in frames.feed(data):
                    answer = self._waiting.get(number)
                    if answer is not None and not answer.done():
                        answer.set_result(_decode(payload))
        beating.cancel()
        self._gone = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(_ENGINE_GONE)
        server.should_exit = True

    async def _beat(self, server: Server) -> None:
        while True:
            if server.started:
                self._write(frame(BEAT, b""))
            await asyncio.sleep(BEAT_S if server.started else BEAT_S / 20)

    def _write(self, data: bytes) -> None:
        if self._writer is not None:
            self._writer.write(data)


async def serve(listener: socket.socket, channel: socket.socket, certificate: tuple[str, ...]) -> None:
    """Serve until the engine closes the channel; `certificate` is empty or names a PEM file and its key."""
    remote = Remote(channel)
    pem, key = (*certificate, None, None)[:2]
    config = uvicorn.Config(
        make_app(remote),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_graceful_shutdown=2,
        ssl_certfile=pem,
        ssl_keyfile=key,
    )
    server = Server(config)
    gc.collect()
    gc.freeze()  # Garbage collection of all modules' objects would delay a request by 50 ms.
    receiving = asyncio.create_task(remote.run(server))
    await server.serve([listener])
    receiving.cancel()


def main() -> None:
    """Serve on the file descriptors given on the command line."""
    listener_fd, channel_fd, *certificate = sys.argv[1:]
    logging.basicConfig(
        handlers=[LimitedLog(sys.stderr.write)], level=logging.WARNING, format="HTTP API: %(message)s"
    )
    with suppress(OSError):
        os.nice(NICENESS)
    with socket.socket(fileno=int(listener_fd)) as listener, socket.socket(fileno=int(channel_fd)) as channel:
        asyncio.run(serve(listener, channel, tuple(certificate)))


if __name__ == "__main__":
    main()
