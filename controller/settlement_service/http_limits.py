"""Limits on HTTP requests. The token is checked before the body is read, and the body's length before its
content is parsed.

A refused request takes at most a few tens of kilobytes of memory and a few seconds.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import sha256
from typing import Final, Protocol

import msgspec
from fastapi import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.model.conversion import StrictJsonError, decode_strict
from controller.settlement_service.channel import HttpAnswer, HttpRequest, Role, refusal

DIGEST: Final = "table.digest"
"""Key of the token's digest in a request's scope."""
MAX_BODY = 16_384
"""Maximum size of a body in bytes. Fifty wagers take about 5,000 bytes, other requests less than 2,000."""
MAX_HEAD = 16_384
"""Maximum size of the request line and headers in bytes."""
BODY_TIMEOUT_S = 5.0
"""Maximum time for a body to arrive."""
LINGER_TIMEOUT_S = 1.0
MAX_LINGER = 256 * 1024
"""Maximum number of bytes read after a refusal, for at most LINGER_TIMEOUT_S. A client that is still sending
would not receive the reason if the connection were closed immediately.
"""
MAX_TOKEN = 200
"""Maximum length of a token in characters; a valid token has 43."""
MAX_INVALID_TOKENS_PER_S = 20
"""Maximum number of invalid tokens per second from one address. At the limit, further unknown tokens from
the address are refused without a look-up."""
MAX_ADDRESSES = 256
"""Maximum number of addresses counted separately; further addresses share one count."""
MAX_KNOWN = 1000
"""Maximum number of valid tokens remembered; when it is reached, all are forgotten."""
MAX_REQUESTS_PER_TOKEN = 4
"""Maximum number of simultaneous requests with one player's or reader's token. The limit keeps one client
from occupying the engine."""
OPEN_TO_ALL = frozenset({("GET", "/health"), ("GET", "/openapi.json")})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class _RequestHandler(Protocol):
    def ask(self, ask: HttpRequest) -> Awaitable[HttpAnswer]: ...


class _Refused(Exception):
    """A refused request; the rest of its body is discarded."""

    def __init__(self, status: int, reason: str, rule: str = "") -> None:
        super().__init__(reason)
        self.answer = refusal(status, rule or f"HTTP-{status}", reason)


class Bounds:
    """Passes a request to the application if its token is valid and its body is short, strict JSON.

    Requests in OPEN_TO_ALL need no token.
    """

    def __init__(self, app: ASGIApp, handler: _RequestHandler) -> None:
        """Guard this application; `handler` checks tokens."""
        self._app = app
        self._handler = handler
        self._known: dict[str, Role] = {}
        self._in_flight: Counter[str] = Counter()
        self._invalid_tokens: dict[str, list[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body_read = False
        try:
            headers = _headers(scope)
            _check_head(scope)
            counted: AbstractContextManager[None] = nullcontext()
            if (scope["method"], scope["path"]) not in OPEN_TO_ALL:
                digest = scope[DIGEST] = await self._admit(headers, _address(scope))
                _mark_trusted(scope)
                counted = self._counted(digest)
            with counted:
                body = await _body(scope, headers, receive)
                body_read = True
                await self._app(scope, _Replay(body, receive), send)
        except _Refused as refused:
            await _send_refusal(refused.answer, scope, send, None if body_read else receive)

    async def _admit(self, headers: Mapping[bytes, list[bytes]], address: str) -> str:
        """Return the digest of a valid token."""
        given = headers.get(b"authorization", [])
        scheme, _, secret = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        secret = secret.strip()
        if scheme.lower() != b"bearer" or not 0 < len(secret) <= MAX_TOKEN or not secret.isascii():
            raise _Refused(
                401, "the request has no valid token; send the header `Authorization: Bearer TOKEN`"
            )
        digest = sha256(secret).hexdigest()
        if digest in self._known:
            return digest  # The engine checks again whether the token is still valid.
        address = self._counted_address(address)
        if len(self._invalid_tokens.get(address, ())) >= MAX_INVALID_TOKENS_PER_S:
            raise _Refused(429, "too many invalid tokens; try again in a second")
        answer = await self._handler.ask(HttpRequest(do="who", digest=digest))
        if answer.status != 200:
            now_s = asyncio.get_running_loop().time()
            self._invalid_tokens.setdefault(address, []).append(now_s)
            raise _HandlerRefusal(answer)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[digest] = _read_caller(bytes(answer.body)).role
        return digest

    def _counted_address(self, address: str) -> str:
        """Return the key under which an address is counted, after dropping entries older than a second."""
        now_s = asyncio.get_running_loop().time()
        recent = {
            other: [at_s for at_s in times if now_s - at_s < 1]
            for other, times in self._invalid_tokens.items()
        }
        self._invalid_tokens = {other: times for other, times in recent.items() if times}
        return address if address in self._invalid_tokens or len(self._invalid_tokens) < MAX_ADDRESSES else ""

    @contextmanager
    def _counted(self, digest: str) -> Iterator[None]:
        if self._known.get(digest) != "staff" and self._in_flight[digest] >= MAX_REQUESTS_PER_TOKEN:
            raise _Refused(
                429,
                f"{MAX_REQUESTS_PER_TOKEN} requests with this token are in progress; wait for one to end",
            )
        self._in_flight[digest] += 1
        try:
            yield
        finally:
            self._in_flight[digest] -= 1
            if not self._in_flight[digest]:
                del self._in_flight[digest]


class _HandlerRefusal(_Refused):
    """A refusal by the request handler itself."""

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__(answer.status, "")
        self.answer = answer


class _Replay:
    """Passes the application the body in one message, and then the client's disconnect message."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._message: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._receive = receive

    async def __call__(self) -> Message:
        message, self._message = self._message, None
        return message if message is not None else await self._receive()


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _headers(scope: Scope) -> dict[bytes, list[bytes]]:
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.lower(), []).append(value)
    return headers


def _check_head(scope: Scope) -> None:
    named = sum(len(name) + len(value) for name, value in scope["headers"])
    if named + len(scope.get("raw_path", b"")) + len(scope.get("query_string", b"")) > MAX_HEAD:
        raise _Refused(431, f"the request line and headers exceed the limit of {MAX_HEAD} bytes")


async def _body(scope: Scope, headers: Mapping[bytes, list[bytes]], receive: Receive) -> bytes:
    """Read a body within the limits, and check that it is unambiguous JSON."""
    length = headers.get(b"content-length", [b"0"])[0]
    if int(length) > MAX_BODY:
        raise _Refused(413, f"found a body of {int(length)} bytes, expected at most {MAX_BODY}")
    kind = headers.get(b"content-type", [b""])[0].partition(b";")[0].strip().lower()
    announced = int(length) > 0 or b"transfer-encoding" in headers
    if announced and scope["method"] in _WITH_BODY and kind != b"application/json":
        raise _Refused(415, "the body's content type is not application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise _Refused(400, "the client disconnected before the body was complete")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MAX_BODY:
                    raise _Refused(413, f"the body exceeds the limit of {MAX_BODY} bytes")
    except TimeoutError:
        raise _Refused(408, f"the body did not arrive within {BODY_TIMEOUT_S:g} s") from None
    if body:
        try:
            decode_strict(bytes(body))
        except StrictJsonError as error:
            raise _Refused(400, str(error), "JSON") from error
    return bytes(body)


async def _send_refusal(answer: HttpAnswer, scope: Scope, send: Send, unread: Receive | None) -> None:
    """Send a refusal. Discard any unread body, so that the client can read the refusal, and disconnect."""
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(bytes(answer.body))),
        *((name.encode(), value.encode()) for name, value in _extra(answer).items()),
    ]
    if unread is not None:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else bytes(answer.body)
    await send({"type": "http.response.body", "body": body, "more_body": unread is not None})
    if unread is not None:
        await _discard_rest(unread)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _discard_rest(receive: Receive) -> None:
    left = MAX_LINGER
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_TIMEOUT_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return


class _Caller(msgspec.Struct, frozen=True):
    role: Role


_read_caller = msgspec.json.Decoder(_Caller).decode


class Connection(Protocol):
    """The connection over which a request was received."""

    trusted: bool
    """Whether a valid token was received over this connection."""


def _mark_trusted(scope: Scope) -> None:
    connection = scope.get("state", {}).get("connection")
    if connection is not None:
        connection.trusted = True


_EXTRA = {401: ("WWW-Authenticate", "Bearer"), 429: ("Retry-After", "1"), 503: ("Retry-After", "1")}


def _extra(answer: HttpAnswer) -> dict[str, str]:
    extra = _EXTRA.get(answer.status)
    return {} if extra is None else dict([extra])


def build_response(answer: HttpAnswer) -> Response:
    """Return an answer as an HTTP response."""
    return Response(bytes(answer.body), answer.status, _extra(answer), "application/json")
