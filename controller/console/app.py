"""The console's HTTP application: pages, streams of changed panels, and people's inputs."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from controller.console.feed import CLIP_REPEATS, Feed, NoRoomError, ReviewPictures, Stream, Streams
from controller.console.guard import (
    COOKIE,
    LOOPBACK,
    SCREEN_COOKIE,
    SCREEN_COOKIE_LIFE_S,
    Body,
    Guard,
    Refusal,
    Session,
    Sessions,
    SignedOutError,
    body_of,
    json_answer,
)
from controller.console.link import Link, LinkError
from controller.console.metrics import CONTENT_TYPE, exposition, read_status
from controller.console.pages import Pages
from controller.console.technician import Bench, Panels, Technician
from controller.evidence.pictures import FOLDER, MissingError

if TYPE_CHECKING:
    from controller.serving.connections import LimitedConnection

MAX_STAFF_STREAMS = 32
MAX_DISPLAY_STREAMS = 24
"""Maximum numbers of streams to signed-in people, clips included, and to displays. A further stream replaces
an existing one, or is refused (see `Streams`)."""
TRY_AGAIN = b"retry: 5000\n\n"
"""Tells a browser whose stream got no slot to try again after 5 s."""
HEARTBEAT_INTERVAL_S = 10.0
"""Interval between heartbeats on an unchanged stream to a staff page or a display. Sending one reveals a lost
connection."""
DECISION_TIMEOUT_S = 5.0
"""Maximum time to wait for the table's decision before answering an input."""
MUST_NAME_ATTEMPT = frozenset({"accept", "void", "no_roll", "set_dice", "set_number", "misdeal"})
"""Rulings for which a screen must name the attempt, so that a ruling can't apply to a different attempt."""
Handler = Callable[[Request], Awaitable[Response]]
Short = Annotated[str, Meta(min_length=1, max_length=64)]
_STATIC = Path(__file__).parent / "static"
_NUMBER = re.compile("[0-9]{1,12}", re.ASCII)
_encode = msgspec.json.Encoder().encode
StreamSlot = AbstractContextManager[Stream]
"""A stream's slot, released when the context ends."""


class SignIn(Body, frozen=True, kw_only=True):
    """A person's PIN or, if `person` is None, a card's number."""

    typed: Short
    person: Short | None = None


class ChangeRole(Body, frozen=True, kw_only=True):
    """The role to which a person changes."""

    role: Short


class Approve(Body, frozen=True, kw_only=True):
    """Approval of a changed identity, a repaired device or the clock."""

    approve: Literal["identity", "device", "clock"]


class EnterInput(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A person's input to the table, with its arguments."""

    name: Short
    dice: Annotated[tuple[Annotated[int, Meta(ge=1, le=6)], ...], Meta(min_length=2, max_length=2)] | None = (
        None
    )
    seat: Short | None = None
    seats: Annotated[tuple[Short, ...], Meta(max_length=32)] | None = None
    number: Short | None = None
    card: Short | None = None
    count: Annotated[int, Meta(ge=0, le=100)] | None = None
    reason: Short | None = None
    what: Short | None = None
    on: bool | None = None
    of_review: bool | None = None
    """Whether the ruling is for a review or a proposal rather than for a called result."""


_sign_in_of = msgspec.json.Decoder(SignIn).decode
_change_role_of = msgspec.json.Decoder(ChangeRole).decode
_approve_of = msgspec.json.Decoder(Approve).decode
_enter_input_of = msgspec.json.Decoder(EnterInput).decode


def _closer_of(request: Request) -> Callable[[], None]:
    """Return a function that closes a request's connection; without a server, it does nothing."""
    connection: LimitedConnection | None = request.scope.get("state", {}).get("connection")
    return _do_nothing if connection is None else connection.abort


def _do_nothing() -> None:
    return


class Console:
    """A console's application: its feed, sessions and pages."""

    def __init__(
        self,
        table: Link,
        sign_in: Link,
        name: str,
        *,
        secure: bool,
        scrapers: Iterable[str] = LOOPBACK,
        evidence: Path = Path(FOLDER),
        bench: Bench | None = None,
    ) -> None:
        """Use the controller at `table` and the sign-in process at `sign_in`.

        `name` is this console's name in the journal.

        Set `secure` if the pages are served over TLS; browsers then send the cookies only over TLS.
        `scrapers` are the addresses that may read the metrics, and `evidence` is the folder with the camera's
        pictures. Without `bench`, technicians can't test, calibrate or check the machine.
        """
        self._scrapers = frozenset(scrapers)
        self._filmed = ReviewPictures(evidence)
        self.feed = Feed(table, self._filmed)
        self.pages = Pages()
        self.sessions = Sessions(sign_in, name)
        self._technician = Technician(table, self.sessions, self.feed, bench)
        self._table = table
        self._secure = secure
        self._staff = Streams(MAX_STAFF_STREAMS)
        self._displays = Streams(MAX_DISPLAY_STREAMS)
        self._ending = False

    def app(self, hosts: tuple[str, ...]) -> Guard:
        """Return the guarded application. It accepts only requests for these host names."""
        routes = [
            Route("/", self._home),
            Route("/events", self._events),
            Route("/picture/{number}", self._drawing),
            Route("/pictures/{number}/{at}/clip", self._clip),
            Route("/pictures/{number}/{at}/{name}", self._picture),
            Route("/sign-in", self._with_refusals(self._sign_in), methods=["POST"]),
            Route("/sign-out", self._with_refusals(self._sign_out), methods=["POST"]),
            Route("/role", self._with_refusals(self._role), methods=["POST"]),
            Route("/say", self._with_refusals(self._enter), methods=["POST"]),
            Route("/approve", self._with_refusals(self._approve), methods=["POST"]),
            Route("/display", self._display),
            Route("/display/events", self._display_events),
            Route("/metrics", self._metrics),
            *self._technician.routes(
                self._session, self._require_session, self._with_refusals, self._technicians_changes
            ),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]
        app = Starlette(routes=routes, lifespan=self._lifespan)
        app.router.redirect_slashes = False  # A redirect fails if the query is not UTF-8.
        return Guard(app, hosts)

    async def end_streams(self) -> None:
        """End all streams, so that the server can stop. Browsers reconnect when the console has restarted."""
        self._ending = True
        await self.feed.wake()

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(self.feed.run())
        try:
            yield
        finally:
            following.cancel()

    # --- pages ---

    async def _home(self, request: Request) -> Response:
        session = self._session(request)
        if session is not None:
            return HTMLResponse(self.pages.staff(self.feed.now, session))
        names: tuple[str, ...] = ()
        message = ""
        try:
            names = await self.sessions.names()
        except (LinkError, SignedOutError) as error:
            message = str(error)
        return HTMLResponse(self.pages.sign_in(names, message))

    async def _display(self, _request: Request) -> Response:
        return HTMLResponse(self.pages.display(self.feed.now))

    async def _drawing(self, request: Request) -> Response:
        if self._session(request) is None:
            return PlainTextResponse("sign in first", 401)
        number = request.path_params["number"]
        if _NUMBER.fullmatch(number) is None:
            return PlainTextResponse("expected an attempt's number", 404)
        try:
            answer = await self._table.once(do="picture", number=int(number))
        except LinkError as error:
            return PlainTextResponse(str(error), 503)
        svg = answer.get("svg")
        if not isinstance(svg, str):
            return PlainTextResponse(str(answer.get("says", "there is nothing to draw")), 404)
        return Response(svg, media_type="image/svg+xml")

    async def _picture(self, request: Request) -> Response:
        """Send a picture of the throw under review to a signed-in person."""
        try:
            jpeg = await self._filmed.picture(self._file(request), request.path_params["name"])
        except (Refusal, MissingError) as error:
            return _no_picture(error)
        return Response(jpeg, media_type="image/jpeg")

    async def _clip(self, request: Request) -> Response:
        """Send a clip as JPEGs that replace each other, which a browser shows without a script."""
        try:
            frames = await self._filmed.clip(self._file(request))
        except (Refusal, MissingError) as error:
            return _no_picture(error)
        session = self._session(request)
        if session is None:
            return PlainTextResponse("sign in first", 401)

        async def played() -> AsyncIterator[bytes]:
            with suppress(NoRoomError), self._staff.hold(session.person, _closer_of(request)) as stream:
                for stay_s, jpeg in (*frames,) * CLIP_REPEATS:
                    if self._ending or not stream.is_open:
                        return
                    if self._session(request) is not session:
                        return
                    yield b"--frame\r\nContent-Type: image/jpeg\r\n\r\n" + jpeg + b"\r\n"
                    await asyncio.sleep(stay_s)
                yield b"--frame--\r\n"

        return StreamingResponse(played(), media_type="multipart/x-mixed-replace; boundary=frame")

    def _file(self, request: Request) -> str:
        """Return the digest of the requested file. Raises Refusal."""
        if self._session(request) is None:
            raise Refusal(401, "signed_out", "sign in first")
        now = self.feed.now
        number, at = request.path_params["number"], request.path_params["at"]
        awaited = None if now.floor is None else now.floor.awaited
        if awaited is None or str(awaited.number) != number or at not in map(str, range(len(now.filmed))):
            raise Refusal(404, "not_now", "pictures are shown only while their throw is under review")
        return now.filmed[int(at)].sha256

    async def _metrics(self, request: Request) -> Response:
        client = request.client.host if request.client is not None else ""
        if client not in self._scrapers:
            return PlainTextResponse(
                f"the request comes from {client}, but only {', '.join(sorted(self._scrapers))} may read the"
                f" metrics; if Prometheus runs at {client}, start the console with --metrics-to {client}",
                403,
            )
        try:
            status = read_status((await self._table.once(do="status")).get("status"))
        except (LinkError, msgspec.ValidationError):
            status = None
        return Response(
            exposition(status, self.feed.outcome_counts, len(self._staff) + len(self._displays)),
            headers={"content-type": CONTENT_TYPE},
        )

    # --- streams ---

    async def _events(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return PlainTextResponse("sign in first", 401)

        async def still_valid() -> bool:
            return self._session(request) is session and await self.sessions.is_valid(session)

        async def panels() -> dict[str, str]:
            return self.pages.panels(self.feed.now, session)

        return self._stream(panels, still_valid, self._staff.hold(session.person, _closer_of(request)))

    async def _display_events(self, request: Request) -> Response:
        async def still_valid() -> bool:
            return True

        async def panels() -> dict[str, str]:
            return {"board": self.pages.board(self.feed.now)}

        address = "" if request.client is None else request.client.host
        return self._stream(panels, still_valid, self._displays.hold(address, _closer_of(request)))

    def _stream(
        self, panels: Panels, still_valid: Callable[[], Awaitable[bool]], slot: StreamSlot
    ) -> Response:
        seen = self.feed.version

        async def wait() -> None:
            nonlocal seen
            await self.feed.after(seen, HEARTBEAT_INTERVAL_S)
            seen = self.feed.version

        return StreamingResponse(
            self._changes(panels, wait, still_valid, slot), media_type="text/event-stream"
        )

    def _technicians_changes(
        self,
        request: Request,
        session: Session,
        panels: Panels,
        wait: Callable[[], Awaitable[None]],
        still_valid: Callable[[], Awaitable[bool]],
    ) -> AsyncIterator[bytes]:
        return self._changes(panels, wait, still_valid, self._staff.hold(session.person, _closer_of(request)))

    async def _changes(
        self,
        panels: Panels,
        wait: Callable[[], Awaitable[None]],
        still_valid: Callable[[], Awaitable[bool]],
        slot: StreamSlot,
    ) -> AsyncIterator[bytes]:
        """Yield the changed panels or, without changes, a heartbeat, at once and each time `wait` returns.

        The stream ends when `still_valid` returns False, when another stream takes its slot, or when the
        console stops. If there is no slot for it, it only tells the browser to try again.
        """
        with ExitStack() as held:
            try:
                stream = held.enter_context(slot)
            except NoRoomError:
                yield TRY_AGAIN
                return
            shown: dict[str, str] = {}
            while True:
                made = await panels()
                changed = {name: html for name, html in made.items() if shown.get(name) != html}
                shown = made
                yield b"data: " + _encode(changed) + b"\n\n" if changed else b": beat\n\n"
                await wait()
                if self._ending or not stream.is_open:
                    return
                if not await _is_true_or_unknown(still_valid):
                    yield b'data: {"":"signed out"}\n\n'
                    return

    # --- people's inputs ---

    def _with_refusals(self, do: Handler) -> Handler:
        """Wrap a handler, so that a refusal, a sign-out or a broken connection is answered in JSON."""

        async def answered(request: Request) -> Response:
            try:
                return await do(request)
            except Refusal as refusal:
                return json_answer(
                    {"ok": False, "code": refusal.code, "says": refusal.message}, refusal.status
                )
            except SignedOutError as error:
                return json_answer({"ok": False, "code": "signed_out", "says": str(error)}, 401)
            except LinkError as error:
                return json_answer({"ok": False, "code": "out_of_reach", "says": str(error)}, 503)

        return answered

    async def _sign_in(self, request: Request) -> Response:
        body = await body_of(request, _sign_in_of)
        cookie, screen = await self.sessions.sign_in(
            body.person, body.typed, request.cookies.get(SCREEN_COOKIE)
        )
        response = json_answer({"ok": True})
        response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=self._secure)
        response.set_cookie(
            SCREEN_COOKIE,
            screen,
            SCREEN_COOKIE_LIFE_S,
            path="/sign-in",
            httponly=True,
            samesite="strict",
            secure=self._secure,
        )
        return response

    async def _sign_out(self, request: Request) -> Response:
        await self.sessions.sign_out(self._require_session(request))
        await self.feed.wake()
        response = json_answer({"ok": True})
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=self._secure)
        return response

    async def _role(self, request: Request) -> Response:
        session = self._require_session(request)
        role = (await body_of(request, _change_role_of)).role
        if role not in session.roles:
            raise Refusal(403, "not_your_role", f"{session.person} does not have the role {role}")
        session.role = role
        await self.feed.wake()
        return json_answer({"ok": True})

    async def _enter(self, request: Request) -> Response:
        session = self._require_session(request)
        entered = await body_of(request, _enter_input_of)
        if entered.name in MUST_NAME_ATTEMPT and entered.what is None:
            raise Refusal(400, "unbound", f"{entered.name} must name the attempt that it applies to")
        token = await self.sessions.token(session)
        fields = msgspec.to_builtins(entered)
        answer = await self._table.once(
            do="input", by=session.role, wait_s=DECISION_TIMEOUT_S, token=token, **fields
        )
        return json_answer({key: answer[key] for key in ("ok", "code", "says", "allowed") if key in answer})

    async def _approve(self, request: Request) -> Response:
        session = self._require_session(request)
        what = (await body_of(request, _approve_of)).approve
        token = await self.sessions.token(session)
        answer = await self._table.once(do="approve", what=what, token=token)
        if answer.get("ok"):
            return json_answer({"ok": True, "says": "Approved. Unlock the table when it is ready."})
        return json_answer({key: answer[key] for key in ("ok", "code", "says") if key in answer})

    def _session(self, request: Request) -> Session | None:
        return self.sessions.of(request.cookies.get(COOKIE))

    def _require_session(self, request: Request) -> Session:
        """Return the session whose page sent this request. Raises Refusal."""
        session = self._session(request)
        if session is None:
            raise Refusal(401, "signed_out", "you are signed out; sign in again")
        if request.headers.get("x-console-page") != session.csrf:
            raise Refusal(403, "another_page", "this page was loaded before you signed in; reload it")
        return session


def _no_picture(error: Refusal | MissingError) -> Response:
    if isinstance(error, Refusal):
        return PlainTextResponse(error.message, error.status)
    return PlainTextResponse(str(error), 404)


async def _is_true_or_unknown(still_valid: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await still_valid()
    except LinkError:
        return True  # The page can remain open, because nothing can be entered without the sign-in process.
