"""The API's limits, tested request by request without a network."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.types import Message, Receive, Scope, Send

from controller.settlement_service.channel import HttpAnswer, HttpRequest, json_answer
from controller.settlement_service.http_limits import (
    MAX_ADDRESSES,
    MAX_INVALID_TOKENS_PER_S,
    MAX_REQUESTS_PER_TOKEN,
    Bounds,
)

T = TypeVar("T")


def ran(task: Coroutine[object, object, T]) -> T:
    """Run a coroutine in a new thread, because a browser's driver may have an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, task).result()


class RequestHandler:
    """Knows two tokens, and counts the requests."""

    def __init__(self) -> None:
        self.asked: list[HttpRequest] = []

    async def ask(self, ask: HttpRequest) -> HttpAnswer:
        self.asked.append(ask)
        role = ROLES.get(ask.digest)
        return (
            json_answer(b"{}", 401)
            if role is None
            else json_answer(f'{{"name":"x","role":"{role}"}}'.encode())
        )


ROLES: dict[str, str] = {}


def digest(secret: str, role: str) -> str:
    from hashlib import sha256  # noqa: PLC0415 - as the gate does

    ROLES[sha256(secret.encode()).hexdigest()] = role
    return secret


class Application:
    """Answers when the test releases it, and counts the requests in progress."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.within = self.most = 0
        self.bodies: list[bytes] = []

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        self.within += 1
        self.most = max(self.most, self.within)
        self.bodies.append((await receive())["body"])
        await self.go.wait()
        self.within -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def scope(secret: str, method: str = "GET", **headers: str) -> Scope:
    given = {
        "authorization": f"Bearer {secret}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {
        "type": "http",
        "method": method,
        "path": "/tables",
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
    }


async def requested(bounds: Bounds, of: Scope, *body: bytes) -> int:
    """Make a request whose body arrives in these pieces; return the status."""
    pieces = list(body) or [b""]
    status = 0

    async def receive() -> Message:
        piece = pieces.pop(0) if pieces else None
        if piece is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    await bounds(of, receive, send)
    return status


def test_a_player_may_have_few_requests_in_progress_at_once() -> None:
    async def tried(role: str) -> tuple[list[int], int]:
        application = Application()
        bounds = Bounds(application, RequestHandler())
        secret = digest(f"{role}-secret", role)
        tasks = [
            asyncio.create_task(requested(bounds, scope(secret))) for _ in range(3 * MAX_REQUESTS_PER_TOKEN)
        ]
        await asyncio.sleep(0)
        while len([task for task in tasks if task.done()]) + application.within < len(tasks):
            await asyncio.sleep(0)
        application.go.set()
        return sorted(await asyncio.gather(*tasks)), application.most

    assert ran(tried("player")) == (
        [200] * MAX_REQUESTS_PER_TOKEN + [429] * 2 * MAX_REQUESTS_PER_TOKEN,
        MAX_REQUESTS_PER_TOKEN,
    )
    assert ran(tried("staff")) == ([200] * 3 * MAX_REQUESTS_PER_TOKEN, 3 * MAX_REQUESTS_PER_TOKEN)


def test_a_known_token_is_admitted_while_unknown_ones_are_refused() -> None:
    async def tried() -> tuple[list[int], int, int]:
        application, handler = Application(), RequestHandler()
        application.go.set()
        bounds = Bounds(application, handler)
        known = scope(digest("till-secret", "staff"))
        first = await requested(bounds, known)
        guessed = [await requested(bounds, scope(f"guess-{n}")) for n in range(100)]
        assert (first, await requested(bounds, known)) == (200, 200)
        return guessed, len(handler.asked), sum(status == 429 for status in guessed)

    guessed, asked, turned = ran(tried())
    assert set(guessed) == {401, 429}
    assert asked == 1 + len(guessed) - turned
    assert asked <= 1 + 3 * MAX_INVALID_TOKENS_PER_S


def test_guessing_tokens_does_not_block_a_new_token_of_another_address() -> None:
    """Twenty guesses a second must not block a token that is new to this process."""

    async def tried() -> tuple[int, int]:
        application = Application()
        application.go.set()
        bounds = Bounds(application, RequestHandler())
        guesses = [
            await requested(bounds, {**scope(f"guess-{n}"), "client": (f"10.0.{n % 2}.9", n)})
            for n in range(4 * MAX_INVALID_TOKENS_PER_S)
        ]
        fresh = {**scope(digest("never-seen-before", "player")), "client": ("10.0.7.7", 1)}
        return guesses.count(429), await requested(bounds, fresh)

    turned, answered = ran(tried())
    assert turned > 0
    assert answered == 200


def test_token_guesses_count_for_their_real_address_whatever_a_header_claims() -> None:
    """Each guess claims another address in the header that a proxy would add."""

    async def tried() -> int:
        handler = RequestHandler()
        bounds = Bounds(Application(), handler)
        for n in range(20 * MAX_INVALID_TOKENS_PER_S):
            claims = {"x_forwarded_for": f"10.0.0.{n}", "forwarded": f"for=10.0.0.{n}"}
            await requested(bounds, {**scope(f"try-{n}", **claims), "client": ("10.9.9.9", n)})
        return len(bounds._invalid_tokens)

    assert ran(tried()) == 1


def test_a_limited_number_of_addresses_is_tracked_and_forgotten_in_time() -> None:
    async def tried() -> int:
        bounds = Bounds(Application(), RequestHandler())
        for n in range(2 * MAX_ADDRESSES):
            await requested(bounds, {**scope(f"guess-{n}"), "client": (f"10.1.{n // 250}.{n % 250}", n)})
        return len(bounds._invalid_tokens)

    assert ran(tried()) <= MAX_ADDRESSES + 1


def test_the_body_reaches_the_application_as_sent() -> None:
    async def tried() -> list[bytes]:
        application = Application()
        application.go.set()
        bounds = Bounds(application, RequestHandler())
        of = scope(
            digest("till-secret", "staff"), "POST", content_type="application/json", content_length="13"
        )
        assert await requested(bounds, of, b'{"cents"', b":", b"500}") == 200
        return application.bodies

    assert ran(tried()) == [b'{"cents":500}']
