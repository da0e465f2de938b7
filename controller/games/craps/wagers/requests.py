"""The requests of a craps table, as in the settle contract."""

from typing import Annotated, Literal

from msgspec import Meta

from controller.settlement.book import Cents, Increase, Reduce, Remove, Request, Working

Face = Annotated[int, Meta(ge=1, le=6)]


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """Make a bet of `amount` cents.

    `base` is the flat bet's id behind which odds go, `dice` the two faces of a Hop in any order. `late`: the
    dice had left the hand; `confirmed`: dealer and boxperson both said aloud that it stands (C34-MK-1b).
    """

    id: str
    player: str
    wager: str
    amount: Cents
    number: int | None = None
    base: str | None = None
    dice: tuple[int, ...] | None = None
    working: Literal["on", "off"] | None = None
    ride: bool = False
    late: bool = False
    confirmed: bool = False


class NoAction(Request, frozen=True, kw_only=True, tag="no_action"):
    """Return a Don't Come bet instead of moving it to its number (CV1-DC-7)."""

    id: str


class Roll(Request, frozen=True, kw_only=True, tag="roll"):
    """A roll that counts."""

    dice: tuple[Face, Face]


class NoRoll(Request, frozen=True, kw_only=True, tag="no_roll"):
    """A throw that does not count: nothing is decided (!34-10)."""


class NewShooter(Request, frozen=True, kw_only=True, tag="new_shooter"):
    """A player takes the dice; without a player, they pass to somebody who is not named yet."""

    player: str | None = None


class RunOut(Request, frozen=True, kw_only=True, tag="run_out"):
    """Begin or end throws that only decide the Come and Don't Come bets still up (C34-CONT-2b).

    `by_table` means that a table reports it, which knows of no bets and continues until its boxperson ends
    it: then it is no reason to refuse that no bet is waiting any more (!34-17).
    """

    on: bool
    by_table: bool = False


VOCABULARY: tuple[type[Request], ...] = (
    Bet,
    Working,
    Reduce,
    Increase,
    Remove,
    NoAction,
    Roll,
    NoRoll,
    NewShooter,
    RunOut,
)
