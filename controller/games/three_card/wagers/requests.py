"""What a Three Card Poker table's settlement is told."""

from typing import Annotated, Literal

from msgspec import Meta

from controller.settlement.wire import Cents, Request

Seat = str | int
CardText = Annotated[str, Meta(pattern=r"^[2-9TJQKA][cdhs]\Z")]


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A wager on a position: ante, pair_plus or side, then play once its cards are seen."""

    id: str
    seat: Seat
    wager: str
    amount: Cents
    player: str = ""


class Close(Request, frozen=True, kw_only=True, tag="close"):
    """No more bets: the first card leaves the shoe. Only Play may still be made."""


class Deal(Request, frozen=True, kw_only=True, tag="deal"):
    """The cards of a whole deal, by position, and who folded.

    `undealt` says what a wager on a position without a hand means: that its cards are missing, which voids
    the deal for all (T-IRR-1), or, where the table counted them, that nobody sat there; it goes back alone.
    """

    hands: dict[str, tuple[CardText, ...]]
    dealer: tuple[CardText, ...]
    folds: tuple[Seat, ...] = ()
    undealt: Literal["irregular", "void"] = "irregular"


class Void(Request, frozen=True, kw_only=True, tag="void"):
    """The deal does not count; all stakes go back."""

    reason: str = ""
