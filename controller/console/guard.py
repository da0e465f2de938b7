"""The checks that every request must pass (host, origin, size, body), and the sessions of signed-in people.

A page on another site can send requests from a browser that is signed in here. The origin of a POST must
therefore be this console. Requests for unknown host names are refused, because another site could make its
host name resolve to this machine (DNS rebinding). A cookie identifies a browser's session. A token in each
page proves that a request came from one of the console's pages.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from controller.console.link import Json, Link
from controller.model.conversion import decode_strict

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from controller.serving.connections import LimitedConnection


MAX_BODY_BYTES = 4096
"""Maximum size of a request's body in bytes. An input with all its arguments needs a few hundred."""
BODY_TIMEOUT_S = 5.0
"""Maximum time for a body to arrive."""
HEADERS = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
            b" form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Passes valid requests to the application, and refuses other requests with the reason."""

    def __init__(self, app: "ASGIApp", hosts: Iterable[str]) -> None:
        """Guard this application; accept only requests for these host names."""
        self._app = app
        self._hosts = frozenset(host.casefold() for host in hosts)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: "Message") -> None:
            if message["type"] == "http.response.start":
                _mark_stream(scope, message)
                own = {name for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *(header for header in HEADERS if header[0] not in own),
                ]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await _plain(answer, *refused)
            return
        try:
            body = await _read_body(receive) if scope["method"] == "POST" else b""
        except ValueError as error:
            await _plain(answer, 413, str(error))
            return
        except TimeoutError:
            await _plain(answer, 408, f"the request was not complete within {BODY_TIMEOUT_S:g} s")
            return
        await self._app(scope, _replayed(body, receive), answer)

    def _refused(self, scope: "Scope") -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if _host_name(f"//{host}") not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return 421, (
                f"found host {host[:80]!r}, expected one of {known}; to add a name, start the console with"
                " --known-as NAME"
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, f"found the method {scope['method'][:20]}, expected GET, HEAD or POST"
        if scope["method"] != "POST":
            return None
        if headers.get(b"origin", "").casefold() != f"{scope['scheme']}://{host}".casefold():
            return 403, "this request does not come from a page of this console"
        if headers.get(b"sec-fetch-site", "same-origin") != "same-origin":
            return 403, "this request comes from a different site"
        if headers.get(b"content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "expected the content type application/json"
        return None


STREAM_TYPES = (b"text/event-stream", b"multipart/x-mixed-replace")


def _mark_stream(scope: "Scope", message: "Message") -> None:
    """Exempt the connection from the time limit on an exchange if the answer is a stream."""
    connection: LimitedConnection | None = scope.get("state", {}).get("connection")
    kind = dict(message.get("headers", ())).get(b"content-type", b"")
    if connection is not None and kind.startswith(STREAM_TYPES):
        connection.remove_time_limit()


def _host_name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return ""


async def _read_body(receive: "Receive") -> bytes:
    body = b""
    async with asyncio.timeout(BODY_TIMEOUT_S):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return body
            body += bytes(message.get("body", b""))
            if len(body) > MAX_BODY_BYTES:
                raise ValueError(f"the request's body exceeds the limit of {MAX_BODY_BYTES} bytes")
            if not message.get("more_body"):
                return body


def _replayed(body: bytes, receive: "Receive") -> "Receive":
    given = False

    async def once() -> "Message":
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


async def _plain(send: "Send", status: int, words: str) -> None:
    text = words.encode("utf-8", "replace")
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


_encode = msgspec.json.Encoder().encode


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request's body in JSON."""


OneBody = TypeVar("OneBody", bound=Body)


class Refusal(Exception):
    """A refused request: the HTTP status, a code and the reason."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


async def body_of(request: Request, read: Callable[[bytes], OneBody]) -> OneBody:
    """Decode a request's body. Raises Refusal if the body is not valid."""
    raw = await request.body()
    try:
        decode_strict(raw)
        return read(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_request", str(error)) from error


def json_answer(answer: Json, status: int = 200) -> Response:
    """Return a response in JSON."""
    return Response(_encode(answer), status, media_type="application/json")


COOKIE = "table_console"
SCREEN_COOKIE = "table_screen"
"""The name of the cookie that identifies a browser to the sign-in process."""
MAX_SCREEN_COOKIE_CHARS = 64
SCREEN_COOKIE_LIFE_S = 400 * 86_400
"""The longest cookie lifetime that browsers accept."""
MAX_SESSIONS = 64
"""Maximum number of simultaneous sessions. A further session ends the oldest one."""


class SignedOutError(Exception):
    """A person can't sign in or is no longer signed in. The message states the reason."""


@dataclass(slots=True, eq=False)
class Session:
    """A person signed in at a browser."""

    secret: str
    """Identifies the session to the sign-in process. It is never sent to the browser."""
    person: str
    roles: tuple[str, ...]
    role: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """The token in the session's pages, which proves that a request came from one of them."""


class Sessions:
    """The sessions of this console. The sign-in process validates them."""

    def __init__(self, sign_in: Link, console: str) -> None:
        """Use the sign-in process at `sign_in`; `console` is this console's name."""
        self._sign_in = sign_in
        self._console = console
        self._open: dict[str, Session] = {}

    async def names(self) -> tuple[str, ...]:
        """Return the names of the people who can sign in.

        Raises LinkError, or SignedOutError if the register can't be used.
        """
        answer = await self._sign_in.ask(do="people")
        if not answer.get("ok"):
            raise SignedOutError(str(answer.get("says")))
        people = answer.get("people")
        return tuple(map(str, people)) if isinstance(people, list) else ()

    async def sign_in(self, person: str | None, typed: str, screen: str | None) -> tuple[str, str]:
        """Sign a person in; return the session's cookie and the screen's cookie.

        `person` is None for a card. `screen` is the screen's cookie from an earlier sign-in. Raises LinkError
        or SignedOutError.
        """
        known = screen if screen and len(screen) <= MAX_SCREEN_COOKIE_CHARS else None
        answer = await self._sign_in.ask(
            do="sign_in", console=self._console, person=person, typed=typed, screen=known
        )
        if not answer.get("ok"):
            raise SignedOutError(str(answer.get("says")))
        roles = tuple(map(str, answer["roles"])) if isinstance(answer["roles"], list) else ()
        while len(self._open) >= MAX_SESSIONS:
            del self._open[next(iter(self._open))]
        cookie = secrets.token_urlsafe(32)
        self._open[cookie] = Session(str(answer["session"]), str(answer["person"]), roles, roles[0])
        return cookie, str(answer["screen"])

    def of(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None if there is none."""
        return None if cookie is None else self._open.get(cookie)

    async def token(self, session: Session) -> str:
        """Return a token for one input. Raises LinkError or SignedOutError."""
        answer = await self._sign_in.ask(do="token", session=session.secret, role=session.role)
        if not answer.get("ok"):
            self._forget(session)
            raise SignedOutError(str(answer.get("says")))
        return str(answer["token"])

    async def is_valid(self, session: Session) -> bool:
        """Return whether the session's person is still signed in. Raises LinkError."""
        answer = await self._sign_in.ask(do="session", session=session.secret)
        if not answer.get("ok"):
            self._forget(session)
        return answer.get("ok") is True

    async def sign_out(self, session: Session) -> None:
        """End a session. Raises LinkError."""
        self._forget(session)
        await self._sign_in.ask(do="sign_out", session=session.secret)

    def _forget(self, session: Session) -> None:
        self._open = {cookie: one for cookie, one in self._open.items() if one is not session}
