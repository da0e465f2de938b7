"""What a Three Card Poker table's settlement is told."""

from typing import Annotated

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
    """The cards of a whole deal, by position, and who folded."""

    hands: dict[str, tuple[CardText, ...]]
    dealer: tuple[CardText, ...]
    folds: tuple[Seat, ...] = ()


class Void(Request, frozen=True, kw_only=True, tag="void"):
    """The deal does not count; all stakes go back."""

    reason: str = ""
