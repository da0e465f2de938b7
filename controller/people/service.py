"""The sign-in process: the desk behind a unix socket, one JSON object a line in, one out.

It runs as a user of its own, which alone can read the register and the key; who may connect is whoever the
socket's group lets in: the process that serves the screens.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from controller.model.conversion import strict
from controller.people.desk import SignInDesk, SignInRefused
from controller.people.register import MAX_PIN, RegisterError

MAX_LINE = 4096
LINE_S = 10.0
"""A client that has begun a line ends it within this time."""
CLIENTS = 32
Short = Annotated[str, Meta(min_length=1, max_length=64)]
Typed = Annotated[str, Meta(min_length=1, max_length=MAX_PIN)]


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", forbid_unknown_fields=True):
    pass


class PeopleRequest(_Request, frozen=True, kw_only=True, tag="people"):
    """Who can sign in?"""


class SignIn(_Request, frozen=True, kw_only=True, tag="sign_in"):
    """Somebody typed a PIN, or (`person` None) a card reader typed a card's number."""

    console: Short
    typed: Typed
    person: Short | None = None
    screen: Short | None = None
    """The secret that the desk gave this screen at a good sign-in."""


class TokenRequest(_Request, frozen=True, kw_only=True, tag="token"):
    """A token for one word in this role."""

    session: Short
    role: Short


class SessionRequest(_Request, frozen=True, kw_only=True, tag="session"):
    """Does this session still stand?"""

    session: Short


class SignOut(_Request, frozen=True, kw_only=True, tag="sign_out"):
    """The person leaves the screen."""

    session: Short


class Unlock(_Request, frozen=True, kw_only=True, tag="unlock"):
    """Forget a person's wrong tries; for root and the process's own user."""

    person: Short


AnyRequest = PeopleRequest | SignIn | TokenRequest | SessionRequest | SignOut | Unlock
_decode = msgspec.json.Decoder(AnyRequest).decode
_encode = msgspec.json.Encoder().encode


class Service:
    """Serves one desk."""

    def __init__(self, desk: SignInDesk, may_unlock: Callable[[int], bool]) -> None:
        """Serve this desk; `may_unlock` tells of a client's uid whether it may forget wrong tries."""
        self._desk = desk
        self._may_unlock = may_unlock
        self._clients = 0

    async def serve(self, path: Path, group: int | None, ready: Callable[[], None]) -> None:
        """Answer at this socket until cancelled; raises OSError where it can't be made."""
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
            while self._clients <= CLIENTS:
                line = await asyncio.wait_for(reader.readline(), LINE_S)
                if not line.endswith(b"\n"):
                    return
                writer.write(self.answer(line, _uid(writer)) + b"\n")
                await asyncio.wait_for(writer.drain(), LINE_S)
        except (ValueError, TimeoutError, OSError):
            return  # A line without an end, or a client that is gone or too slow: it connects again.
        finally:
            self._clients -= 1
            writer.close()

    def answer(self, line: bytes, uid: int) -> bytes:
        """Return the answer to one request."""
        try:
            strict(line)
            return _encode({"ok": True, **self._do(_decode(line), uid)})
        except SignInRefused as refused:
            return _encode({"ok": False, "code": refused.code, "says": refused.says})
        except (RegisterError, OSError) as error:
            return _encode({"ok": False, "code": "no_register", "says": str(error)})
        except ValueError as error:
            return _encode({"ok": False, "code": "bad_request", "says": str(error)})

    def _do(self, request: AnyRequest, uid: int) -> dict[str, object]:
        desk = self._desk
        match request:
            case PeopleRequest():
                return {"people": desk.names()}
            case SignIn(console=console, person=person, typed=typed, screen=screen):
                session, one, known = desk.sign_in(console, person, typed, screen)
                return {"session": session, "person": one.name, "roles": one.roles, "screen": known}
            case TokenRequest(session=session, role=role):
                return {"token": desk.token(session, role)}
            case SessionRequest(session=session):
                one, left_us = desk.standing(session)
                return {"person": one.name, "roles": one.roles, "left_s": left_us // 1_000_000}
            case SignOut(session=session):
                desk.sign_out(session)
                return {}
            case Unlock(person=person):
                if not self._may_unlock(uid):
                    raise SignInRefused(
                        "not_allowed", "root or the sign-in process's own user unlocks a person"
                    )
                desk.unlock(person)
                return {"unlocked": person}


def _uid(writer: asyncio.StreamWriter) -> int:
    connection = writer.get_extra_info("socket")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
