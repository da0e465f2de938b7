"""Amounts that nobody can bet, in whatever game: such a bet was never accepted, and the run goes on."""

from controller.settlement.game import BOOK_AMOUNT, Line, Refusal
from controller.settlement.money import MOST_CENTS
from controller.settlement.wire import Increase, Reduce, Request

_BETWEEN = f"an amount is 1 to {MOST_CENTS:,} cents"


def impossible_amount(request: Request) -> Line | None:
    """Answer a request whose amount is no sum of money that can be bet; None for every other."""
    match request:
        case Increase(to=to) if not 1 <= to <= MOST_CENTS:
            return _refusal(to).refuse(request.id, "increase")
        case Reduce(to=to) if not 0 <= to <= MOST_CENTS:
            return _refusal(to).refuse(request.id, "reduce")
        case Increase() | Reduce():
            return None
    amount = getattr(request, "amount", None)
    if amount is None or 1 <= amount <= MOST_CENTS:
        return None
    return _refusal(amount).reject(getattr(request, "id", ""), getattr(request, "wager", ""), amount)


def _refusal(found: int) -> Refusal:
    return Refusal(BOOK_AMOUNT, f"{_BETWEEN}; found {found}")
