"""What a roulette table's settlement is told."""

from typing import Annotated

from msgspec import Meta

from controller.settlement.wire import Cents, Request

_SINGLE_ZERO = r"^(?:0|[1-9]|[12][0-9]|3[0-6])\Z"
_DOUBLE_ZERO = r"^(?:00?|[1-9]|[12][0-9]|3[0-6])\Z"


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A bet on one spot: `numbers` in any order for a wager on numbers, `which` for a column or dozen."""

    id: str
    player: str
    wager: str
    amount: Cents
    numbers: tuple[str, ...] = ()
    which: int | None = None


class Close(Request, frozen=True, kw_only=True, tag="close"):
    """No more bets."""


class Spin(Request, frozen=True, kw_only=True, tag="spin"):
    """A valid spin of a double-zero wheel, and the pocket the ball rests in."""

    number: Annotated[str, Meta(pattern=_DOUBLE_ZERO)]


class SingleZeroSpin(Request, frozen=True, kw_only=True, tag="spin"):
    """The same of a wheel without 00."""

    number: Annotated[str, Meta(pattern=_SINGLE_ZERO)]


class NoSpin(Request, frozen=True, kw_only=True, tag="no_spin"):
    """A spin that does not count; the cause is told with it where one is known."""

    reason: str = ""
