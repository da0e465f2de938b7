"""The sign-in process, which checks PINs and cards, limits wrong tries, ends idle sessions and issues tokens.

The process listens on a Unix socket, and answers each line (a JSON object) with a line. It runs as a
dedicated user; no other user except root can read the register and the key. The process that serves the
screens can connect because it is in the socket's group.
"""

import asyncio
import os
import secrets
import socket
import struct
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Meta

from controller.model.conversion import decode_strict
from controller.people.register import (
    MAX_PIN,
    MAX_TRIES,
    Person,
    Register,
    RegisterError,
    Screens,
    Tries,
    cards_key,
    counts_cards,
    digest_of,
    is_person_key,
    is_pin_of,
    lock_us,
    person_key,
)
from controller.people.tokens import TOKEN_LIFE_US, BootClock, Claims, issue

IDLE_US = 15 * 60 * 1_000_000
"""Default time without an entry after which a person is signed out."""
MAX_SESSIONS = 64
"""Maximum number of sessions; a further session ends the session that has been idle the longest."""


class SignInRefused(Exception):
    """A refused sign-in or request; `code` is stable, and `message` is for the person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(slots=True)
class Session:
    """A person's session at a screen."""

    person: str
    console: str
    used_us: int


class SignInSessions:
    """Signs people in and out, in one thread only. All times are measured since boot."""

    def __init__(
        self,
        register: Callable[[], Register],
        key: Callable[[], Ed25519PrivateKey],
        now_us: BootClock,
        *,
        log: Callable[[str], None] = lambda _: None,
        idle_us: int = IDLE_US,
        tries: Mapping[str, Tries] | None = None,
        save_tries: Callable[[Mapping[str, Tries]], None] = lambda _: None,
        screens: Screens | None = None,
    ) -> None:
        """Use this register, and sign with the current key; `log` receives each log line.

        `tries` are the wrong tries from before a restart; `save_tries` receives all tries after each change.
        A person's tries are counted separately at each of the `screens` where the person has signed in.
        """
        self._screens = screens or Screens()
        self._register = register
        self._key = key
        self._now_us = now_us
        self._log = log
        self._idle_us = idle_us
        self._tries = dict(tries or {})
        self._save_tries = save_tries
        self._sessions: dict[str, Session] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of the people in the register, in the register's order."""
        return tuple(one.name for one in self._register().people)

    def sign_in(
        self, console: str, person: str | None, typed: str, screen: str | None = None
    ) -> tuple[str, Person, str]:
        """Return the new session's secret, its person, and the screen's secret for the next sign-in.

        `person` is None for a card; `screen` is None if the screen has no secret.

        Raises SignInRefused: `wrong`, or `locked_out` after five consecutive wrong tries.
        """
        if person is None:
            key = cards_key(console, self._screens.last_person(screen))
        else:
            key = person_key(person, digest_of(screen) if self._screens.knows(screen, person) else "")
        self._require_unlocked(key)
        register = self._register()
        one = register.with_card(typed) if person is None else register.named(person)
        known = one is not None if person is None else is_pin_of(one, typed)
        if one is None or not known:
            self._refuse_try(key, known_name=person is None or one is not None)
        assert one is not None
        self._forget_tries({key})
        return self._begin_session(one, console), one, self._screens.note(screen, one.name)

    def token(self, secret: str, role: str) -> str:
        """Return a token for one input in this role, and restart the session's idle time.

        Raises SignInRefused: `signed_out`, `not_your_role`, or `no_key`.
        """
        session, person = self._session(secret)
        if role not in person.roles:
            raise SignInRefused(
                "not_your_role", f"{person.name} can sign in as {' or '.join(person.roles)}, not as {role}"
            )
        try:
            key = self._key()
        except (OSError, ValueError) as error:
            raise SignInRefused("no_key", str(error)) from error
        session.used_us = self._now_us()
        until_us = session.used_us + TOKEN_LIFE_US
        return issue(key, Claims(person=person.name, role=role, console=session.console, until_us=until_us))

    def status(self, secret: str) -> tuple[Person, int]:
        """Return a session's person and remaining time in microseconds; raises SignInRefused."""
        session, person = self._session(secret)
        return person, session.used_us + self._idle_us - self._now_us()

    def sign_out(self, secret: str) -> None:
        """End this session, if it exists."""
        session = self._sessions.pop(secret, None)
        if session is not None:
            self._log(f"{session.person} signed out at {session.console}")

    def unlock(self, person: str) -> None:
        """Discard a person's wrong tries, which ends the lock."""
        self._forget_tries({key for key in self._tries if is_person_key(key, person)})

    def _forget_tries(self, forgotten: Set[str]) -> None:
        if not forgotten.isdisjoint(self._tries):
            self._tries = {key: tries for key, tries in self._tries.items() if key not in forgotten}
            self._save_tries(self._tries)

    def _session(self, secret: str) -> tuple[Session, Person]:
        session = self._sessions.get(secret)
        person = None if session is None else self._register().named(session.person)
        if session is None or person is None or self._now_us() - session.used_us >= self._idle_us:
            self._sessions.pop(secret, None)
            raise SignInRefused(
                "signed_out",
                "this sign-in has ended, for example because nothing was entered for too long; sign in again",
            )
        return session, person

    def _begin_session(self, person: Person, console: str) -> str:
        if len(self._sessions) >= MAX_SESSIONS:
            idlest = min(self._sessions, key=lambda secret: self._sessions[secret].used_us)
            del self._sessions[idlest]
        secret = secrets.token_urlsafe(32)
        self._sessions[secret] = Session(person.name, console, self._now_us())
        self._log(f"{person.name} signed in at {console}")
        return secret

    def _require_unlocked(self, key: str) -> None:
        left_us = self._tries.get(key, Tries()).locked_until_us - self._now_us()
        if left_us > 0:
            minutes = -(-left_us // 60_000_000)
            unlock = ", or have somebody run `tablectl people unlock` on the table's machine"
            also = "" if counts_cards(key) else unlock
            message = f"locked after {MAX_TRIES} wrong tries; wait {minutes} min{also}"
            raise SignInRefused("locked_out", message)

    def _refuse_try(self, key: str, *, known_name: bool) -> NoReturn:
        """Count and refuse a failed attempt; an attempt with an unknown name is not counted."""
        if not known_name:
            raise SignInRefused("wrong", "unknown name; use a name in the register")
        tries = self._tries.setdefault(key, Tries())
        tries.wrong += 1
        if tries.wrong >= MAX_TRIES:
            self._tries[key] = Tries(locked_until_us=self._now_us() + lock_us(key))
            self._save_tries(self._tries)
            self._log(f"locked: {key}, after {MAX_TRIES} wrong tries")
            self._require_unlocked(key)
        self._save_tries(self._tries)
        left = MAX_TRIES - tries.wrong
        raise SignInRefused("wrong", f"wrong PIN or card; {left} {'try' if left == 1 else 'tries'} left")


MAX_LINE = 4096
"""Maximum size of a request, in bytes."""
LINE_TIMEOUT_S = 10.0
"""Time allowed for a client to send a complete line, and to read the answer."""
MAX_CLIENTS = 32
Short = Annotated[str, Meta(min_length=1, max_length=64)]
Typed = Annotated[str, Meta(min_length=1, max_length=MAX_PIN)]


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", forbid_unknown_fields=True):
    pass


class PeopleRequest(_Request, frozen=True, kw_only=True, tag="people"):
    """Requests the names of the people who can sign in."""


class SignIn(_Request, frozen=True, kw_only=True, tag="sign_in"):
    """Signs in with a PIN or, if `person` is None, with a card's number from a reader."""

    console: Short
    typed: Typed
    person: Short | None = None
    screen: Short | None = None
    """The secret that the screen received at a successful sign-in."""


class TokenRequest(_Request, frozen=True, kw_only=True, tag="token"):
    """Requests a token for one input in this role."""

    session: Short
    role: Short


class SessionRequest(_Request, frozen=True, kw_only=True, tag="session"):
    """Requests a session's person and remaining time."""

    session: Short


class SignOut(_Request, frozen=True, kw_only=True, tag="sign_out"):
    """Ends a session."""

    session: Short


class Unlock(_Request, frozen=True, kw_only=True, tag="unlock"):
    """Discards a person's wrong tries; allowed only for root and the process's user."""

    person: Short


AnyRequest = PeopleRequest | SignIn | TokenRequest | SessionRequest | SignOut | Unlock
_decode = msgspec.json.Decoder(AnyRequest).decode
_encode = msgspec.json.Encoder().encode


class Service:
    """The server of the sign-in process's socket."""

    def __init__(self, sessions: SignInSessions, may_unlock: Callable[[int], bool]) -> None:
        """Serve these sessions; `may_unlock` returns whether a client's uid may unlock people."""
        self._sessions = sessions
        self._may_unlock = may_unlock
        self._clients = 0

    async def serve(self, path: Path, group: int | None, ready: Callable[[], None]) -> None:
        """Answer requests until cancelled; call `ready` when the socket accepts connections.

        Raises OSError if the socket can't be created.
        """
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._client, path, limit=MAX_LINE)
        finally:
            os.umask(before)
        if group is not None:
            os.chown(path, -1, group)
        path.chmod(0o660)
        ready()
        async with server:
            await server.serve_forever()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            while self._clients <= MAX_CLIENTS:
                line = await asyncio.wait_for(reader.readline(), LINE_TIMEOUT_S)
                if not line.endswith(b"\n"):
                    return
                writer.write(self.answer(line, _uid(writer)) + b"\n")
                await asyncio.wait_for(writer.drain(), LINE_TIMEOUT_S)
        except (ValueError, TimeoutError, OSError):
            return  # The line is too long, or the client has gone or is too slow; it can reconnect.
        finally:
            self._clients -= 1
            writer.close()

    def answer(self, line: bytes, uid: int) -> bytes:
        """Return the answer to one request."""
        try:
            decode_strict(line)
            return _encode({"ok": True, **self._do(_decode(line), uid)})
        except SignInRefused as refused:
            return _encode({"ok": False, "code": refused.code, "says": refused.message})
        except (RegisterError, OSError) as error:
            return _encode({"ok": False, "code": "no_register", "says": str(error)})
        except ValueError as error:
            return _encode({"ok": False, "code": "bad_request", "says": str(error)})

    def _do(self, request: AnyRequest, uid: int) -> dict[str, object]:
        sessions = self._sessions
        match request:
            case PeopleRequest():
                return {"people": sessions.names()}
            case SignIn(console=console, person=person, typed=typed, screen=screen):
                session, one, known = sessions.sign_in(console, person, typed, screen)
                return {"session": session, "person": one.name, "roles": one.roles, "screen": known}
            case TokenRequest(session=session, role=role):
                return {"token": sessions.token(session, role)}
            case SessionRequest(session=session):
                one, left_us = sessions.status(session)
                return {"person": one.name, "roles": one.roles, "left_s": left_us // 1_000_000}
            case SignOut(session=session):
                sessions.sign_out(session)
                return {}
            case Unlock(person=person):
                if not self._may_unlock(uid):
                    raise SignInRefused(
                        "not_allowed", "only root and the sign-in process's user may unlock a person"
                    )
                sessions.unlock(person)
                return {"unlocked": person}


def _uid(writer: asyncio.StreamWriter) -> int:
    connection = writer.get_extra_info("socket")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
