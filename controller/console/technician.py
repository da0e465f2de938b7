"""The technician's pages, and the interface to guided tests and calibrations.

Only technicians may open these pages. `tablectl console` supplies the implementation of `Bench`.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Literal, NamedTuple, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from controller.console.equipment import (
    HEIGHT,
    WIDTH,
    Charts,
    Equipment,
    duration_text,
    read_equipment,
    read_log,
    read_recordings,
)
from controller.console.feed import Feed, different_release
from controller.console.guard import Body, Refusal, Session, Sessions, SignedOutError, body_of, json_answer
from controller.console.link import Json, Link, LinkError
from controller.console.pages import environment

Does = Literal["test", "camera", "walls", "wheel"]
"""A guided test, or the calibration of a camera, of the walls' sensors or of a wheel."""
Answer = Literal["done", "skip", "yes", "no", "lamp"]
"""A technician's answer: a step is done or skipped, yes or no, or permission to light the lamps."""
Look = Literal["plain", "ask", "pass", "fail", "skipped", "next"]


class PageLine(NamedTuple):
    """A line of the work's output, and its look."""

    look: Look
    text: str


class CheckResult(NamedTuple):
    """One of the doctor's findings: its state, its subject, the result, and the remedy."""

    state: str
    about: str
    says: str
    remedy: str


class GuidedWork(Protocol):
    """A test or a calibration, which runs in a separate thread."""

    @property
    def title(self) -> str:
        """The kind of work, and the device."""

    @property
    def lines(self) -> Sequence[PageLine]:
        """All lines of output so far."""

    @property
    def asks(self) -> str:
        """The instruction or question for the technician; empty if there is none."""

    @property
    def answers(self) -> Sequence[Answer]:
        """The possible answers; empty if there is no question."""

    @property
    def over(self) -> bool:
        """Whether the work and test mode have ended."""

    def answer(self, given: Answer) -> None:
        """Answer the current question."""

    def stop(self) -> None:
        """End the work and test mode."""


class Bench(Protocol):
    """Starts guided work at the table, and checks the machine."""

    def begin(self, does: Does, device: str, token: str) -> GuidedWork:
        """Start the work; the token identifies the technician."""

    def doctor(self) -> Sequence[CheckResult]:
        """Run the checks that this process can make. The checks take several seconds."""


REFRESH_S = 2.0
"""Interval at which the status is fetched if no change is reported, for values such as rates."""
MIN_REDRAW_INTERVAL_S = 0.4
"""Minimum interval between two updates of the charts."""
WORK_POLL_S = 0.25
"""Interval at which work in progress is polled."""
ABANDON_TIMEOUT_S = 30.0
"""Time after which work ends if its page is closed."""
MAX_SENSOR_SCREENS = 2
"""Maximum number of screens that show sensors. Each uses a slot on the control socket."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_REFUSED = "this page is for technicians; select that role on the staff's page, or sign in as a technician"
RequireSession = Callable[[Request], Session]


class Begin(Body, frozen=True, kw_only=True):
    """The work to start, and the device."""

    does: Does
    device: str


class AnswerBody(Body, frozen=True, kw_only=True):
    """The technician's answer."""

    answer: Answer


_begin_of = msgspec.json.Decoder(Begin).decode
_answered_of = msgspec.json.Decoder(AnswerBody).decode
StillValid = Callable[[], Awaitable[bool]]
Panels = Callable[[], Awaitable[dict[str, str]]]
Stream = Callable[[Request, Session, Panels, Callable[[], Awaitable[None]], StillValid], AsyncIterator[bytes]]


class Technician:
    """The technician's part of a console's application."""

    def __init__(self, table: Link, sessions: Sessions, feed: Feed, bench: Bench | None) -> None:
        """Show the table at this link.

        Without `bench`, tests and calibrations are refused, and the machine is not checked.
        """
        self._table = table
        self._sessions = sessions
        self._feed = feed
        self._bench = bench
        self._env = environment()
        self._env.globals.update(duration_text=duration_text, wide=WIDTH, high=HEIGHT)
        self._work: GuidedWork | None = None
        self._worker: Session | None = None
        self._last_seen_s = 0.0
        self._sensing = 0
        self._beginning = asyncio.Lock()

    def routes(
        self,
        session_of: Callable[[Request], Session | None],
        require_session: RequireSession,
        with_refusals: Callable[
            [Callable[[Request], Awaitable[Response]]], Callable[[Request], Awaitable[Response]]
        ],
        stream: Stream,
    ) -> list[Route]:
        """Return the routes.

        `session_of` returns a request's session, if any. `require_session` returns the session whose page
        sent a request, or raises Refusal. `with_refusals` wraps a handler, so that refusals are answered in
        JSON. `stream` yields the changed panels.
        """
        self._session_of = session_of
        self._require_session = require_session
        self._stream = stream
        return [
            Route("/technician", self._guarded(self._devices)),
            Route("/technician/events", self._guarded(self._devices_events)),
            Route("/technician/sensors", self._guarded(self._sensors)),
            Route("/technician/sensors/events", self._guarded(self._sensors_events)),
            Route("/technician/work", self._guarded(self._work_page)),
            Route("/technician/work/events", self._guarded(self._work_events)),
            Route("/technician/recordings", self._guarded(self._recordings)),
            Route("/technician/recordings/{name}", self._guarded(self._recording)),
            Route("/technician/checks", self._guarded(self._checks)),
            Route("/technician/begin", with_refusals(self._begin), methods=["POST"]),
            Route("/technician/answer", with_refusals(self._answer), methods=["POST"]),
            Route("/technician/stop", with_refusals(self._stop), methods=["POST"]),
        ]

    def _guarded(
        self, page: Callable[[Request, Session], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            session = self._session_of(request)
            if session is None and request.url.path.endswith("/events"):
                return PlainTextResponse("sign in first", 401)
            if session is None:
                return RedirectResponse("/", 303)
            if session.role != "technician":
                return PlainTextResponse(_REFUSED, 403)
            try:
                return await page(request, session)
            except SignedOutError as error:
                return PlainTextResponse(str(error), 401)
            except LinkError as error:
                return PlainTextResponse(str(error), 503)
            except msgspec.ValidationError as error:
                return PlainTextResponse(different_release(error), 503)

        return guarded

    def _page(self, template: str, session: Session, **values: object) -> Response:
        text = self._env.get_template(f"technician/{template}.html").render(
            session=session, at=template, **values
        )
        return HTMLResponse(text)

    def _panel(self, name: str, **values: object) -> str:
        return self._env.get_template(f"technician/{name}-panel.html").render(**values)

    async def _is_technician(self, request: Request, session: Session) -> bool:
        same = self._session_of(request) is session and session.role == "technician"
        return same and await self._sessions.is_valid(session)

    def _streamed(
        self, request: Request, session: Session, panels: Panels, wait: Callable[[], Awaitable[None]]
    ) -> Response:
        async def still_valid() -> bool:
            return await self._is_technician(request, session)

        return StreamingResponse(
            self._stream(request, session, panels, wait, still_valid), media_type="text/event-stream"
        )

    # --- devices ---

    async def _equipment(self) -> tuple[Equipment | None, str]:
        try:
            return read_equipment((await self._table.once(do="status")).get("status")), ""
        except LinkError as error:
            return None, str(error)
        except msgspec.ValidationError as error:
            return None, different_release(error)

    async def _devices_panels(self) -> dict[str, str]:
        equipment, why = await self._equipment()
        return {
            "devices": self._panel("devices", equipment=equipment, why=why, felt=self._felt()),
            "journal": self._panel("journal", equipment=equipment),
        }

    def _felt(self) -> object:
        return None if self._feed.now.floor is None else self._feed.now.floor.felt

    async def _devices(self, _request: Request, session: Session) -> Response:
        return self._page("devices", session, panels=await self._devices_panels())

    async def _devices_events(self, request: Request, session: Session) -> Response:
        async def wait() -> None:
            await self._feed.after(self._feed.version, REFRESH_S)

        return self._streamed(request, session, self._devices_panels, wait)

    # --- sensors ---

    def _sensors_panel(self, charts: Charts) -> dict[str, str]:
        floor = self._feed.now.floor
        return {"sensors": self._panel("sensors", charts=charts, floor=floor)}

    async def _sensors(self, _request: Request, session: Session) -> Response:
        return self._page("sensors", session, panels=self._sensors_panel(Charts()))

    async def _sensors_events(self, request: Request, session: Session) -> Response:
        if self._sensing >= MAX_SENSOR_SCREENS:
            return PlainTextResponse(
                "too many screens are showing the sensors; close one of them", 503, {"retry-after": "5"}
            )
        charts, changed, over = Charts(), asyncio.Event(), asyncio.Event()
        token = await self._sessions.token(session)

        async def panels() -> dict[str, str]:
            changed.clear()
            return self._sensors_panel(charts)

        async def wait() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await changed.wait()
            await asyncio.sleep(MIN_REDRAW_INTERVAL_S)
            if over.is_set():
                raise LinkError("the controller has stopped sending readings")

        async def still_valid() -> bool:
            return await self._is_technician(request, session)

        async def streamed() -> AsyncIterator[bytes]:
            self._sensing += 1
            listening = asyncio.create_task(self._listen(charts, changed, over, token))
            try:
                async for block in self._stream(request, session, panels, wait, still_valid):
                    yield block
            except LinkError:
                return  # The browser reconnects.
            finally:
                self._sensing -= 1
                listening.cancel()

        return StreamingResponse(streamed(), media_type="text/event-stream")

    async def _listen(self, charts: Charts, changed: asyncio.Event, over: asyncio.Event, token: str) -> None:
        """Add readings to the charts until the connection or the stream ends."""
        lines = self._table.lines(do="watch", topics=["readings"], token=token)
        try:
            async with aclosing(lines) as received:
                async for line in received:
                    if "reading" in line:
                        charts.add(line["reading"], late=line.get("delayed") is True)
                        changed.set()
        except LinkError:
            return
        finally:
            over.set()

    # --- tests and calibrations ---

    async def _work_panel(self) -> dict[str, str]:
        work = self._work
        lines = [] if work is None else list(work.lines)
        return {"work": self._panel("work", work=work, lines=lines)}

    async def _work_page(self, _request: Request, session: Session) -> Response:
        equipment, _ = await self._equipment()
        known = {} if equipment is None else equipment.devices
        devices = {name: device for name, device in known.items() if device.reads}
        calibrations = [(one.calibrates, name) for name, one in devices.items() if one.calibrates]
        panels = await self._work_panel()
        return self._page("work", session, panels=panels, devices=devices, calibrations=calibrations)

    async def _work_events(self, request: Request, session: Session) -> Response:
        async def wait() -> None:
            self._last_seen_s = asyncio.get_running_loop().time()
            await asyncio.sleep(WORK_POLL_S)

        return self._streamed(request, session, self._work_panel, wait)

    async def _begin(self, request: Request) -> Response:
        session = self._technician(request)
        begin = await body_of(request, _begin_of)
        if self._bench is None:
            raise Refusal(
                400,
                "no_bench",
                "this console can't test or calibrate; use `tablectl test` or `tablectl calibrate`",
            )
        if _NAME.fullmatch(begin.device) is None:
            raise Refusal(400, "bad_request", f"found {begin.device[:64]!r}, expected the name of a device")
        async with self._beginning:
            if self._work is not None and not self._work.over:
                raise Refusal(409, "busy", f"{self._work.title} is in progress; end it first")
            token = await self._sessions.token(session)
            self._work = await asyncio.to_thread(self._bench.begin, begin.does, begin.device, token)
            self._worker = session
        self._last_seen_s = asyncio.get_running_loop().time()
        self._watching = asyncio.create_task(self._end_if_abandoned(self._work, session))
        return json_answer({"ok": True})

    async def _end_if_abandoned(self, work: GuidedWork, session: Session) -> None:
        """End the work if its technician signs out or closes the page."""
        while not work.over:
            await asyncio.sleep(REFRESH_S)
            left = asyncio.get_running_loop().time() - self._last_seen_s > ABANDON_TIMEOUT_S
            with suppress(LinkError):
                if left or not await self._sessions.is_valid(session):
                    work.stop()
                    return

    async def _answer(self, request: Request) -> Response:
        session = self._technician(request)
        answered = await body_of(request, _answered_of)
        work = self._current_work(session)
        await self._sessions.token(session)  # This restarts the idle timer.
        if answered.answer not in work.answers:
            raise Refusal(409, "not_now", "this question is no longer open")
        work.answer(answered.answer)
        return json_answer({"ok": True})

    async def _stop(self, request: Request) -> Response:
        self._current_work(self._technician(request)).stop()
        return json_answer({"ok": True})

    def _technician(self, request: Request) -> Session:
        session = self._require_session(request)
        if session.role != "technician":
            raise Refusal(403, "not_your_role", _REFUSED)
        return session

    def _current_work(self, session: Session) -> GuidedWork:
        if self._work is None or self._work.over:
            raise Refusal(409, "not_now", "no test or calibration is in progress")
        if self._worker is not session:
            raise Refusal(409, "busy", "another technician's work is in progress")
        return self._work

    # --- recordings and checks ---

    async def _request(self, session: Session, do: str) -> Json:
        return await self._table.once(do=do, token=await self._sessions.token(session))

    async def _recordings(self, _request: Request, session: Session) -> Response:
        answer = await self._request(session, "recordings")
        recordings = read_recordings(answer.get("recordings", []))
        return self._page("recordings", session, recordings=recordings, why=str(answer.get("says", "")))

    async def _recording(self, request: Request, session: Session) -> Response:
        name = request.path_params["name"]
        if _NAME.fullmatch(name) is None:
            return PlainTextResponse(f"found {name[:64]!r}, expected the name of a recording", 404)
        token = await self._sessions.token(session)
        lines = self._table.lines(do="recording", name=name, token=token)
        first = await anext(lines)
        if first.get("ok") is not True:
            await lines.aclose()
            return PlainTextResponse(str(first.get("says")), 404)

        async def text() -> AsyncIterator[bytes]:
            async with aclosing(lines) as received:
                async for line in received:
                    if line.get("ok") is not None:
                        return
                    yield str(line.get("lines", "")).encode()

        disposition = f'attachment; filename="{name}.jsonl"'
        return StreamingResponse(
            text(), media_type="application/jsonl", headers={"content-disposition": disposition}
        )

    async def _checks(self, _request: Request, session: Session) -> Response:
        answer = await self._request(session, "log")
        log = read_log(answer.get("log", []))
        found = () if self._bench is None else await asyncio.to_thread(self._bench.doctor)
        return self._page("checks", session, found=found, log=log, why=str(answer.get("says", "")))
