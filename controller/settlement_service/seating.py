"""Whose a seat is: a player bets where he sits, and nobody sits at another's or at the dealer's."""

from sqlalchemy import select

from controller.settlement.wire import Asked
from controller.settlement_service import schema
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.standing import Standing
from controller.settlement_service.work import Work

DEALER = "dealer"
"""A deal's own hand: nobody sits there."""


def check_bet_seat(work: Work, standing: Standing, bet: Asked, *, own: bool) -> None:
    """Raise RequestRefused where a bet lies on a position that is not its player's.

    `own` says that the request is a player's own: he bets where staff has seated him, and nowhere else.
    """
    if bet.get("seat") is None:
        return
    seat, player = str(bet["seat"]), str(bet["player"])
    _check_no_dealer(seat)
    owner = _owner(work, standing.name, seat)
    if owner is None and own:
        raise RequestRefused("SEATED", f"nobody has seated {player} at seat {seat}; a dealer does that first")
    _check_whose(seat, player, owner or standing.book.player_at(seat))
    _check_whose(seat, player, standing.book.player_at(seat))


def check_taking_seat(standing: Standing, seat: str, player: str) -> None:
    """Raise RequestRefused where nobody can sit, or another player's wagers lie."""
    _check_no_dealer(seat)
    _check_whose(seat, player, standing.book.player_at(seat))


def _check_no_dealer(seat: str) -> None:
    if seat.strip().casefold() == DEALER:
        raise RequestRefused("SEATED", f"found seat {seat!r}, expected a player's: the dealer has none")


def _check_whose(seat: str, player: str, owner: str | None) -> None:
    if owner is not None and owner != player:
        raise RequestRefused("SEATED", f"seat {seat} is another player's, not {player}'s")


def _owner(work: Work, table: str, seat: str) -> str | None:
    seats = schema.seats
    query = select(seats.c.player).where(seats.c.table_name == table, seats.c.seat == seat)
    owner: str | None = work.connection.execute(query).scalar_one_or_none()
    return owner
