"""The controller's answers as decoded by the console. Unknown keys are ignored."""

from typing import Literal

import msgspec

from controller.model.conversion import converter_of

Seat = str | int


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why an attempt does not count or is under review. `seen` is for staff only."""

    code: str
    rule: str | None = None
    die: int | None = None
    seen: str = ""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """The review or proposal that is waiting for a person."""

    attempt: str
    number: int
    state: Literal["review", "proposed"]
    reasons: tuple[Reason, ...] = ()
    missing: tuple[Reason, ...] = ()
    seen: str = ""
    proposes: str = ""
    may: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """The positions of a deal that lack a card."""
    entered: tuple[tuple[str, str], ...] = ()
    """The cards that a person entered for a deal, each with its position."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The newest throw, spin or deal. `number` is 0 if there has been none."""

    word: str = "roll"
    number: int = 0
    under_way: bool = False
    open: bool = False


class Bets(msgspec.Struct, frozen=True, kw_only=True):
    """The state of betting."""

    open: bool = False
    round: int = 0


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """The table's lock: who or what set it, the cause, and the condition that clears the lock."""

    by: str = ""
    who: str | None = None
    cause: str = ""
    says: str = ""
    clears: str = ""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """An active fault and the next step."""

    code: str
    where: str = ""
    found: str = ""
    what: str = ""
    cause: str = ""
    next_step: str = ""
    clears: str = ""
    locks: bool = False
    approve: str | None = None
    """The approval that clears the fault; None if no approval clears it."""


class HighRoller(msgspec.Struct, frozen=True, kw_only=True):
    """A High Roller game in the table's state."""

    stage: str = "button_draw"
    seats: tuple[Seat, ...] = ()
    button: str | None = None
    game: int = 1
    cards: dict[str, tuple[int, ...]] = {}
    owed: dict[str, int] = {}
    gone: tuple[str, ...] = ()
    closing: bool = False
    final: bool = False


class ThreeCard(msgspec.Struct, frozen=True, kw_only=True):
    """The positions in play at a Three Card Poker table."""

    seats: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The table's state."""

    table: Literal["open", "closed"] = "open"
    point: int | None = None
    shooter: Seat | None = None
    run_out: bool = False
    inspect: tuple[str, ...] = ()
    dice_set: str | None = None
    chips: dict[str, str] = {}
    high_roller: HighRoller | None = None
    three_card: ThreeCard | None = None


class Pot(msgspec.Struct, frozen=True, kw_only=True):
    """A game's pot, in cents."""

    prize: int = 0


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The data of an attempt's outcome, with the fields of all outcome types."""

    dice: tuple[int, int] | None = None
    total: int | None = None
    call: str | None = None
    point_after: int | None = None
    number: str | None = None
    colour: str | None = None
    hands: dict[str, tuple[str, ...]] | None = None
    dealer: tuple[str, ...] | None = None
    announcement: str | None = None
    reasons: tuple[Reason, ...] = ()
    ruling: str | None = None
    by: str | None = None
    who: str | None = None


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of an attempt."""

    type: str
    sequence: int
    data: Data


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt and all its outcomes, in order."""

    attempt: str
    number: int
    outcomes: tuple[AttemptOutcome, ...] = msgspec.field(name="told")


class LateWager(msgspec.Struct, frozen=True, kw_only=True):
    """A craps wager made with the dice out, which the dealer and the boxperson must confirm."""

    wager: str
    says: str


class Felt(msgspec.Struct, frozen=True, kw_only=True):
    """The inner dimensions of a dice table, in millimetres."""

    length_mm: float
    width_mm: float


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the table for the staff's screens."""

    table: str
    ruleset: str
    title: str
    game: str
    """The game's name. If a screen does not know the game, it omits game-specific keys and facts."""
    calls: str = "automatic"
    hold_ms: float = 0.0
    hold_left_ms: float | None = None
    """The remaining time in which a held call can be stopped; None if no call is held."""
    felt: Felt | None = None
    """None at a table without dice."""
    pockets: tuple[str, ...] = ()
    headline: str = ""
    faults: tuple[Fault, ...] = ()
    up: bool = False
    state: State = State()
    lock: Literal["locked", "unlocked"] = "locked"
    locked: Lock | None = None
    testing: bool = False
    attempt: Attempt = Attempt()
    standing: int | None = None
    bets: Bets = Bets()
    awaited: Awaited | None = None
    acted: dict[str, Literal["play", "fold"]] = {}
    """The decisions in the current deal, by position."""
    may: dict[str, tuple[str, ...]] = {}
    late: tuple[LateWager, ...] = ()
    results: tuple[Result, ...] = ()


class BoardResult(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt's result, for players."""

    type: str
    subject: str
    corrected: bool = False
    data: Data

    @property
    def number(self) -> int:
        """The attempt's number."""
        return int(self.subject.rpartition("/")[2])


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """The players' board."""

    table: str
    state: Literal["open", "closed"]
    lock: Literal["unlocked", "locked"]
    bets: Literal["open", "closed"]
    round: int
    point: int | None = None
    puck: str | int | None = None
    shooter: Seat | None = None
    results: tuple[BoardResult, ...] = ()
    awaited: Awaited | None = None


_floor_of, _board_of = converter_of(Floor), converter_of(Board)


def read_floor(value: object) -> Floor:
    """Convert an answer's `floor`. Raises `msgspec.ValidationError`."""
    return _floor_of(value)


def read_board(value: object) -> Board:
    """Convert an answer's `board`. Raises `msgspec.ValidationError`."""
    return _board_of(value)
