"""What every request passes: the host it names, the site it comes from, its size; and what every answer says.

A page of another site can send a request from a signed-in browser. So a POST must come from a page of this
console by its Origin, whatever cookie it brings; and a name that is not ours is not answered at all, so that
no foreign name can be pointed at this port.
"""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_MAX = 4096
"""Bytes of a request's body: a word with all its arguments has a few hundred."""
BODY_S = 5.0
"""A body is there whole within this time."""
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
    """Lets requests through to the pages, or answers why not."""

    def __init__(self, app: "ASGIApp", hosts: Iterable[str]) -> None:
        """Guard these pages, which are known by these names alone."""
        self._app = app
        self._hosts = frozenset(host.casefold() for host in hosts)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: "Message") -> None:
            if message["type"] == "http.response.start":
                _let_stream(scope, message)
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
            body = await _whole(receive) if scope["method"] == "POST" else b""
        except ValueError as error:
            await _plain(answer, 413, str(error))
            return
        except TimeoutError:
            await _plain(answer, 408, f"the request did not come whole in {BODY_S:g} s")
            return
        await self._app(scope, _again(body, receive), answer)

    def _refused(self, scope: "Scope") -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if _name(f"//{host}") not in self._hosts:
            return 421, f"found host {host[:80]!r}, expected one of {', '.join(sorted(self._hosts))}"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "expected GET or POST"
        if scope["method"] != "POST":
            return None
        if headers.get(b"origin", "").casefold() != f"{scope['scheme']}://{host}".casefold():
            return 403, "this request does not come from a page of this console"
        if headers.get(b"sec-fetch-site", "same-origin") != "same-origin":
            return 403, "this request comes from another site"
        if headers.get(b"content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "expected application/json"
        return None


STREAMED = (b"text/event-stream", b"multipart/x-mixed-replace")


def _let_stream(scope: "Scope", message: "Message") -> None:
    """Tell the connection of an answer that has no end."""
    connection = scope.get("state", {}).get("connection")
    kind = dict(message.get("headers", ())).get(b"content-type", b"")
    if connection is not None and kind.startswith(STREAMED):
        connection.endless()


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return ""


async def _whole(receive: "Receive") -> bytes:
    body = b""
    async with asyncio.timeout(BODY_S):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return body
            body += bytes(message.get("body", b""))
            if len(body) > BODY_MAX:
                raise ValueError(f"found more than {BODY_MAX} bytes, expected no more")
            if not message.get("more_body"):
                return body


def _again(body: bytes, receive: "Receive") -> "Receive":
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
