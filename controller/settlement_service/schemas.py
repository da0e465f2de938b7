"""What goes over HTTP: requests and answers, from which the OpenAPI document is made. Money is cents."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX = 10**12

BrokerWord = Literal["none", "connected", "away"]

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
    """The player who sits here."""

    player: Name


class NewWager(_Message):
    """A bet, in the settle contract's words: each wager takes its own of the optional fields."""

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
    """Several bets, granted or refused one by one, in this order."""

    wagers: Annotated[list[NewWager], Field(min_length=1, max_length=50)]


class Change(_Message):
    """What a wager that is up is to become: `to` cents for increase and reduce, `on` for working.

    `on: "default"` leaves it to the rules again; `stands` keeps a call beyond the next point.
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
    """A request that can't be granted and changed nothing: the rule or code, and what would be accepted."""

    rule: str
    reason: str


class WagerAnswer(BaseModel):
    """What one of several bets came to: `granted` or `refused`, the other is null."""

    id: str
    granted: Granted | None = None
    refused: Refused | None = None


class WagerView(BaseModel):
    """A wager as it stands; `stake` is at risk now."""

    table: str
    id: str
    wager: str
    stake: int
    status: str


class Account(BaseModel):
    """A player's balance and wagers. A negative balance is owed after a correction."""

    player: str
    balance: int
    wagers: list[WagerView]


class Result(BaseModel):
    """One line of the settle contract that still holds, and when it was booked."""

    table: str
    wager: str
    booked_us: int | None
    line: dict[str, object]


class RoundView(BaseModel):
    """How far apart things were in a round of bets, in milliseconds of the table's clock; null: not known.

    `wager_to_close_ms` is from the last wager or change granted to the close of bets: never negative.
    `close_to_move_ms` is from the close to the ball's drop, the dice's release or the first card.
    `close_to_result_ms` is from the close to the decision.
    """

    round: int
    wager_to_close_ms: float | None
    close_to_move_ms: float | None
    close_to_result_ms: float | None


class TableView(BaseModel):
    """A table: the outcome it waits for, whether bets are open, and why it is halted if it is."""

    table: str
    rules: str
    next_seq: int
    betting: str
    halted: str | None


class Alarm(BaseModel):
    """Something that a person must look into."""

    table: str
    code: str
    says: str
    raised_us: int


class Health(BaseModel):
    """Whether the engine and its database answer, how many tables wait for a person, and the broker's state.

    `broker` is `none` where outcomes do not come by one, and `away` while it has not taken the subscription.
    """

    status: Literal["ok", "attention"]
    tables: int
    halted: int
    alarms: int
    broker: BrokerWord
