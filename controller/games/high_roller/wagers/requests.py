"""What a High Roller table's settlement is told."""

from typing import Annotated

from msgspec import Meta

from controller.settlement.wire import Cents, Request

Seat = str | int
Face = Annotated[int, Meta(ge=1, le=6)]
Count = Annotated[int, Meta(ge=0, le=10**6)]


class Open(Request, frozen=True, kw_only=True, tag="game"):
    """A new game: the seats clockwise, the button, the Bonus Pot's share, whether it is the final one."""

    seats: tuple[Seat, ...]
    button: Seat
    bonus_take: Count | None = None
    final: bool = False


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A card bought: its rank, 2 to 9, T or 10, J or 11, Q or 12."""

    id: str
    player: Seat
    card: str | int
    wager: str = "card"
    amount: Cents | None = None


class Throw(Request, frozen=True, kw_only=True, tag="throw"):
    """A legal roll, and by whom; without a player it is the one whose turn it is."""

    dice: tuple[Face, Face]
    player: Seat | None = None


class Illegal(Request, frozen=True, kw_only=True, tag="illegal"):
    """A roll that does not count: the same player rolls again (H-LEGAL-4)."""

    player: Seat | None = None
    reason: str = ""


class Decline(Request, frozen=True, kw_only=True, tag="decline"):
    """A player leaves out one of the rolls that his matching cards give him (!H-17)."""

    player: Seat | None = None


class Void(Request, frozen=True, kw_only=True, tag="void"):
    """The game is abandoned; all stakes go back (!H-19)."""

    reason: str = ""


class End(Request, frozen=True, kw_only=True, tag="end"):
    """The hours of operation are over, with so many players left (H-CLOSE-2)."""

    players: Count
