"""The messages between the engine and the process that serves HTTP, and the roles that may send each request.

The OpenAPI document is generated from these types. Money is in cents. The channel carries messages as
numbered frames of limited length.
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
    """The player to open an account for."""

    player: Name


class Amount(_Message):
    """The value of the chips, in cents."""

    cents: Cents


class Seating(_Message):
    """The player to seat."""

    player: Name


class NewWager(_Message):
    """A bet, as defined by the settle contract. The wager determines which optional fields apply."""

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
    """Several bets. They are granted or refused individually, in this order."""

    wagers: Annotated[list[NewWager], Field(min_length=1, max_length=50)]


class Change(_Message):
    """A change to a wager that is up. Increase and reduce need `to`, in cents; working needs `on`.

    `on: "default"` restores the rules' default. `stands` keeps the call in force after the next point.
    """

    do: Literal["increase", "reduce", "remove", "working", "no_action"]
    to: Cents | None = None
    on: bool | Literal["default"] | None = None
    stands: bool | None = None


class Granted(BaseModel):
    """A granted request: the player's new balance, and the lines of the game's answer."""

    player: str
    balance: int
    lines: list[dict[str, object]]


class Refused(BaseModel):
    """A refused request, which changed nothing: the rule or code, and the reason."""

    rule: str
    reason: str


class WagerAnswer(BaseModel):
    """The result of one of several bets: `granted` or `refused` is set; the other field is null."""

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
    """A player's balance and wagers.

    After a correction, the balance can be negative; the player then owes that amount.
    """

    player: str
    balance: int
    wagers: list[WagerView]


class Result(BaseModel):
    """A line of the settle contract that no correction has superseded, and when it was booked."""

    table: str
    wager: str
    booked_us: int | None
    line: dict[str, object]


class RoundView(BaseModel):
    """The intervals in a round of bets, in milliseconds on the table's clock; null if unknown.

    `wager_to_close_ms`: from the last granted wager or change to the close of bets; never negative.
    `close_to_move_ms`: from the close to the ball's drop, the dice's release or the first card.
    `close_to_result_ms`: from the close to the decision.
    """

    round: int
    wager_to_close_ms: float | None
    close_to_move_ms: float | None
    close_to_result_ms: float | None


class TableView(BaseModel):
    """A table. `next_seq` is the number of its next outcome, and `halted` the reason for a halt."""

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
    """The state of the engine, and the numbers of its tables, halted tables and alarms.

    `broker` is `none` if no broker is used, and `away` until the broker accepts the subscription.
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
"""The access of each role. `own` means the account named by the token, with its wagers and seats."""


MAX_REQUEST = 64 * 1024
"""Maximum size of a request in bytes: four times the maximum size of an HTTP body."""
MAX_ANSWER = 4 * 1024 * 1024
"""Maximum size of an answer in bytes; 500 results take about 200 kB."""
BEAT = 0
"""The number of a heartbeat frame; requests are numbered from 1."""
_HEADER = struct.Struct("!IQ")


class Broken(ValueError):
    """A frame is longer than allowed. The other end can no longer be trusted."""


def frame(number: int, payload: bytes) -> bytes:
    """Return the bytes of a frame."""
    return _HEADER.pack(len(payload), number) + payload


class Frames:
    """Splits received bytes into frames."""

    def __init__(self, max_bytes: int) -> None:
        """Accept frames with at most this many bytes of payload."""
        self._max_bytes = max_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Add received bytes; return the number and payload of each complete frame. Raises Broken."""
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
    """A request: the action, the digest of the caller's token, and the action's arguments."""

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
    """The request for a bet or a change, as in the settle contract."""
    bets: tuple[dict[str, object], ...] = ()
    """The requests for several bets, as in the settle contract."""


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: the HTTP status and the JSON body."""

    status: int
    body: msgspec.Raw


def refusal(status: int, rule: str, reason: str) -> HttpAnswer:
    """Return a refusal as an answer."""
    return model_answer(Refused(rule=rule, reason=reason), status)


def database_refusal(error: object) -> HttpAnswer:
    """Return the refusal for an unavailable database. The request might have been carried out."""
    return refusal(503, "DATABASE", str(error))


def model_answer(model: BaseModel, status: int = 200) -> HttpAnswer:
    """Return a model as an answer."""
    return json_answer(model.model_dump_json().encode(), status)


def json_answer(body: bytes, status: int = 200) -> HttpAnswer:
    """Return JSON as an answer."""
    return HttpAnswer(status=status, body=msgspec.Raw(body))
