"""The channel between the engine and the process that serves HTTP, and the messages on it.

Requests and answers are declared here, with the roles that may make each request; the OpenAPI document is
generated from these types. Money is in cents. Messages are sent as numbered frames of limited length.
"""

import struct
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

MAX = 10**12

BrokerState = Literal["none", "connected", "away"]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$", max_length=64)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$", max_length=64)]
Cents = Annotated[int, Field(ge=1, le=MAX)]
Number = Annotated[int, Field(ge=0, le=1000)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NewAccount(_Message):
    """Open an account for this player."""

    player: Name


class Amount(_Message):
    """Chips, in cents."""

    cents: Cents


class Seating(_Message):
    """The player to seat."""

    player: Name


class NewWager(_Message):
    """A bet of the settle contract; which optional fields apply depends on the wager."""

    id: Id
    player: Name
    wager: Name
    amount: Cents
    number: Number | None = None
    base: Id | None = None
    dice: Annotated[list[Annotated[int, Field(ge=1, le=6)]], Field(max_length=2)] | None = None
    working: Literal["on", "off"] | None = None
    ride: bool | None = None
    late: bool | None = None
    numbers: Annotated[list[Id], Field(max_length=6)] | None = None
    which: Number | None = None
    seat: Name | None = None


class NewWagers(_Message):
    """Several bets, granted or refused individually, in this order."""

    wagers: Annotated[list[NewWager], Field(min_length=1, max_length=50)]


class Change(_Message):
    """A change to a wager that is up: `to` in cents for increase and reduce, `on` for working.

    `on: "default"` restores the rules' default; `stands` keeps the call in force after the next point.
    """

    do: Literal["increase", "reduce", "remove", "working", "no_action"]
    to: Cents | None = None
    on: bool | Literal["default"] | None = None
    stands: bool | None = None


class Granted(BaseModel):
    """The result of a request: the balance after it, and the game's lines."""

    player: str
    balance: int
    lines: list[dict[str, object]]


class Refused(BaseModel):
    """A request that was refused and changed nothing: the rule or code, and what would be accepted."""

    rule: str
    reason: str


class WagerAnswer(BaseModel):
    """The result of one of several bets: either `granted` or `refused`; the other is null."""

    id: str
    granted: Granted | None = None
    refused: Refused | None = None


class WagerView(BaseModel):
    """The state of a wager; `stake` is the amount at risk."""

    table: str
    id: str
    wager: str
    stake: int
    status: str


class Account(BaseModel):
    """A player's balance and wagers. After a correction the balance may be negative: the player then owes
    that amount.
    """

    player: str
    balance: int
    wagers: list[WagerView]


class Result(BaseModel):
    """One line of the settle contract that is still valid, and when it was booked."""

    table: str
    wager: str
    booked_us: int | None
    line: dict[str, object]


class RoundView(BaseModel):
    """The intervals of a round of bets, in milliseconds on the table's clock; null if unknown.

    `wager_to_close_ms` is from the last granted wager or change to the close of bets, and never negative.
    `close_to_move_ms` is from the close to the ball's drop, the dice's release or the first card.
    `close_to_result_ms` is from the close to the decision.
    """

    round: int
    wager_to_close_ms: float | None
    close_to_move_ms: float | None
    close_to_result_ms: float | None


class TableView(BaseModel):
    """A table: the number of its next outcome, whether bets are open, and why it is halted, if it is."""

    table: str
    rules: str
    next_seq: int
    betting: str
    halted: str | None


class Alarm(BaseModel):
    """A condition that a person must investigate."""

    table: str
    code: str
    says: str
    raised_us: int


class Health(BaseModel):
    """Whether the engine and its database respond, how many tables are halted, and the broker's state.

    `broker` is `none` if no broker is used, and `away` until the broker has accepted the subscription.
    """

    status: Literal["ok", "attention"]
    tables: int
    halted: int
    alarms: int
    broker: BrokerState


Role = Literal["staff", "player", "reader"]
Reach = Literal["nothing", "own", "all"]
Action = Literal[
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

ACCESS: Mapping[Action, Mapping[Role, Reach]] = {
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
"""What each role may access: `own` is the account that the token is for, with its wagers and seats."""


MAX_REQUEST = 64 * 1024
"""Maximum size of a request in bytes; its HTTP body may have at most a quarter of that."""
MAX_ANSWER = 4 * 1024 * 1024
"""Maximum size of an answer in bytes; 500 results take about 200 kB."""
BEAT = 0
"""The number of a frame that only shows that the other end is running; requests are numbered from 1."""
_HEADER = struct.Struct("!IQ")


class Broken(ValueError):
    """A frame is longer than allowed, so the other end can no longer be trusted."""


def frame(number: int, payload: bytes) -> bytes:
    """Return a frame's bytes."""
    return _HEADER.pack(len(payload), number) + payload


class Frames:
    """Splits received bytes into frames."""

    def __init__(self, max_bytes: int) -> None:
        """Accept frames with at most this many bytes of payload."""
        self._max_bytes = max_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Handle received bytes; return the number and payload of each complete frame. Raises Broken."""
        self._rest += data
        whole = []
        while len(self._rest) >= _HEADER.size:
            length, number = _HEADER.unpack_from(self._rest)
            if length > self._max_bytes:
                raise Broken(f"found a frame of {length} bytes, expected at most {self._max_bytes}")
            end = _HEADER.size + length
            if len(self._rest) < end:
                break
            whole.append((number, bytes(self._rest[_HEADER.size : end])))
            del self._rest[:end]
        return whole


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request: the action, the digest of a token, and the action's arguments."""

    do: Action | Literal["health", "who"]
    digest: str = ""
    key: str = ""
    player: str = ""
    table: str = ""
    seat: str = ""
    wager: str = ""
    cents: int = 0
    limit: int = 0
    asked: dict[str, object] = {}
    """For a bet or a change: the request, in the settle contract's form."""
    bets: tuple[dict[str, object], ...] = ()
    """For several bets: their requests, in the same form."""


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: the HTTP status and the body in JSON."""

    status: int
    body: msgspec.Raw


def refusal(status: int, rule: str, reason: str) -> HttpAnswer:
    """Return a refusal as an answer."""
    return model_answer(Refused(rule=rule, reason=reason), status)


def database_refusal(error: object) -> HttpAnswer:
    """Return the refusal for a database that does not respond; the request may have been carried out."""
    return refusal(503, "DATABASE", str(error))


def model_answer(model: BaseModel, status: int = 200) -> HttpAnswer:
    """Return a model as an answer."""
    return json_answer(model.model_dump_json().encode(), status)


def json_answer(body: bytes, status: int = 200) -> HttpAnswer:
    """Return JSON as an answer."""
    return HttpAnswer(status=status, body=msgspec.Raw(body))
