"""The channel between the engine and the process that serves HTTP: numbered frames of limited length.

It carries the requests and answers declared here, with the roles that may make each.
"""

import struct
from collections.abc import Mapping
from typing import Literal

import msgspec
from pydantic import BaseModel

from controller.settlement_service.schemas import Refused

Role = Literal["staff", "player", "reader"]
Reach = Literal["nothing", "own", "all"]
Deed = Literal[
    "account",
    "alarms",
    "bet",
    "bets",
    "change",
    "deposit",
    "open_account",
    "results",
    "rounds",
    "tables",
    "take_seat",
    "wager",
    "withdraw",
]

ACCESS: Mapping[Deed, Mapping[Role, Reach]] = {
    "account": {"staff": "all", "player": "own", "reader": "all"},
    "alarms": {"staff": "all", "player": "nothing", "reader": "all"},
    "bet": {"staff": "all", "player": "own", "reader": "nothing"},
    "bets": {"staff": "all", "player": "own", "reader": "nothing"},
    "change": {"staff": "all", "player": "own", "reader": "nothing"},
    "deposit": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "open_account": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "results": {"staff": "all", "player": "own", "reader": "all"},
    "rounds": {"staff": "all", "player": "nothing", "reader": "all"},
    "tables": {"staff": "all", "player": "nothing", "reader": "all"},
    "take_seat": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "wager": {"staff": "all", "player": "own", "reader": "all"},
    "withdraw": {"staff": "all", "player": "nothing", "reader": "nothing"},
}
"""What each role may reach: `own` is the one account that the token is for, with its wagers and seats."""


MAX_ASK = 64 * 1024
"""The most bytes of a request; its body has at most a quarter."""
MAX_TOLD = 4 * 1024 * 1024
"""Bytes: 500 results are 200 kB."""
BEAT = 0
"""The number of a frame that only shows that the other end is running; requests count from 1."""
_HEADER = struct.Struct("!IQ")


class Broken(ValueError):
    """A frame longer than any may be: the other end can no longer be trusted."""


def frame(number: int, payload: bytes) -> bytes:
    """Return a frame's bytes."""
    return _HEADER.pack(len(payload), number) + payload


class Frames:
    """Bytes in, frames out, however they are cut."""

    def __init__(self, most: int) -> None:
        """Expect frames of at most this many bytes."""
        self._most = most
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Handle bytes; return the number and payload of each whole frame. Raises Broken."""
        self._rest += data
        whole = []
        while len(self._rest) >= _HEADER.size:
            length, number = _HEADER.unpack_from(self._rest)
            if length > self._most:
                raise Broken(f"found a frame of {length} bytes, expected at most {self._most}")
            end = _HEADER.size + length
            if len(self._rest) < end:
                break
            whole.append((number, bytes(self._rest[_HEADER.size : end])))
            del self._rest[:end]
        return whole


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request: the deed, the digest of a token, and what the deed takes."""

    do: Deed | Literal["health", "who"]
    digest: str = ""
    key: str = ""
    player: str = ""
    table: str = ""
    seat: str = ""
    wager: str = ""
    cents: int = 0
    limit: int = 0
    asked: dict[str, object] = {}
    """Of a bet or a change: the request of the settle contract."""
    bets: tuple[dict[str, object], ...] = ()
    """Of several bets: their requests."""


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: the HTTP status and the body's JSON."""

    status: int
    body: msgspec.Raw


def refusal(status: int, rule: str, reason: str) -> HttpAnswer:
    """Write a refusal."""
    return model_told(Refused(rule=rule, reason=reason), status)


def out_of_reach(error: object) -> HttpAnswer:
    """Write that the database does not answer: nothing is known to have been done."""
    return refusal(503, "DATABASE", str(error))


def model_told(model: BaseModel, status: int = 200) -> HttpAnswer:
    """Write a model as an answer."""
    return told_of(model.model_dump_json().encode(), status)


def told_of(body: bytes, status: int = 200) -> HttpAnswer:
    """Write JSON as an answer."""
    return HttpAnswer(status=status, body=msgspec.Raw(body))
