"""Who is signed in at which browser: a cookie names it, a token in the page proves the page ours."""

import secrets
from dataclasses import dataclass, field

from controller.console.link import Link

COOKIE = "table_console"
SCREEN_COOKIE = "table_screen"
"""Names the browser to the sign-in process, which counts its wrong tries apart from strangers'."""
SCREEN_MAX = 64
SCREEN_S = 400 * 86_400
"""As long as browsers keep a cookie at most."""
SESSIONS = 64
"""Browsers signed in at once; one more ends the oldest."""


class SignedOutError(Exception):
    """The person is not signed in any more; the message says why."""


@dataclass(slots=True, eq=False)
class Session:
    """One person at one browser."""

    secret: str
    """The sign-in process's name for it: it never reaches the browser."""
    person: str
    roles: tuple[str, ...]
    role: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))


class Sessions:
    """The sessions of this process; the sign-in process has the last word on each."""

    def __init__(self, desk: Link, console: str) -> None:
        """Sign people in at this desk, as at a console of this name."""
        self._desk = desk
        self._console = console
        self._open: dict[str, Session] = {}

    async def names(self) -> tuple[str, ...]:
        """Return who can sign in; raises LinkError, or SignedOutError where the register can't be used."""
        told = await self._desk.ask(do="people")
        if not told.get("ok"):
            raise SignedOutError(str(told.get("says")))
        people = told.get("people")
        return tuple(map(str, people)) if isinstance(people, list) else ()

    async def sign_in(self, person: str | None, typed: str, screen: str | None) -> tuple[str, str]:
        """Return a new session's cookie and the screen's; raises LinkError, or SignedOutError as told.

        `screen` is the screen's own cookie from a sign-in before.
        """
        known = screen if screen and len(screen) <= SCREEN_MAX else None
        told = await self._desk.ask(
            do="sign_in", console=self._console, person=person, typed=typed, screen=known
        )
        if not told.get("ok"):
            raise SignedOutError(str(told.get("says")))
        roles = tuple(map(str, told["roles"])) if isinstance(told["roles"], list) else ()
        while len(self._open) >= SESSIONS:
            del self._open[next(iter(self._open))]
        cookie = secrets.token_urlsafe(32)
        self._open[cookie] = Session(str(told["session"]), str(told["person"]), roles, roles[0])
        return cookie, str(told["screen"])

    def of(self, cookie: str | None) -> Session | None:
        """Return the session that a cookie names."""
        return None if cookie is None else self._open.get(cookie)

    async def token(self, session: Session) -> str:
        """Return a token for one word; raises LinkError or SignedOutError."""
        told = await self._desk.ask(do="token", session=session.secret, role=session.role)
        if not told.get("ok"):
            self._forget(session)
            raise SignedOutError(str(told.get("says")))
        return str(told["token"])

    async def stands(self, session: Session) -> bool:
        """Return whether the sign-in process still knows it; raises LinkError."""
        told = await self._desk.ask(do="session", session=session.secret)
        if not told.get("ok"):
            self._forget(session)
        return told.get("ok") is True

    async def sign_out(self, session: Session) -> None:
        """End it; raises LinkError."""
        self._forget(session)
        await self._desk.ask(do="sign_out", session=session.secret)

    def _forget(self, session: Session) -> None:
        self._open = {cookie: one for cookie, one in self._open.items() if one is not session}
